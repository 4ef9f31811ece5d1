/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_observe.h - the containers of one job, how one of them ended, and what the engine tells by itself.
 */
#ifndef SW_PLATFORM_DOCKER_OBSERVE_H
#define SW_PLATFORM_DOCKER_OBSERVE_H

#include "core/run_end.h"
#include "platform/docker/docker_job.h"
#include "platform/kit/ranks.h"
#include "platform/kit/watch.h"

struct docker_containers {           /* of one attempt, as the list shows them; borrowed */
    const json_t *at[DOCKER_NODES_MAX];      /* by rank; NULL: missing */
    struct sw_rank ranks[DOCKER_NODES_MAX];
    struct sw_ranks all;
    int queued;                      /* containers that wait for GPUs, beside the ranks */
};
void docker_containers_read(struct docker_containers *out, const json_t *listed);
/* The containers of each attempt in a list: object "id/attempt" -> array; owned. And those of one attempt;
 * borrowed. */
json_t *docker_list_by_attempt(const json_t *list);
const json_t *docker_attempt_in(const json_t *by_attempt, const struct sw_jobref *job);
bool docker_is_over(const char *state);
int docker_plan_nodes(const struct sw_jobref *job);
/* Did a submit die between making and starting it? Then it is removed: no submit will start it. */
bool docker_is_half_made(const struct sw_jobref *job, const struct docker_containers *own);

/* The first rank of the newest attempt in a list of a job's containers; borrowed; NULL: it is empty. */
const json_t *docker_newest(const json_t *list);
/* The mount of a container whose "Destination" or "Name" this is; borrowed; NULL: none. */
const json_t *docker_mount_of(const json_t *container, const char *key, const char *value);
/* The folder bound at /results, when it is one of this machine; owned; NULL: none. */
char *docker_bound_results(const struct sw_connection *conn, const json_t *inspected, const char *id);

struct docker_job {                  /* one job, and the client that asks about it; borrowed */
    struct sw_connection *conn;
    struct docker_api *api;
    const struct sw_jobref *ref;
};

/* ---- docker_ended.c -------------------------------------------------------------------------- */

struct docker_ended {                /* one container that ended */
    json_t *inspected, *report;      /* owned; report NULL: it left none */
    bool recorded;                   /* the report is not from the log */
    char *tail;                      /* of its log, when it failed; owned; may be NULL */
    struct sw_run_end end;           /* its texts live in these */
    enum docker_engine engine;       /* asked only where it matters */
    bool gone;                       /* there is no container any more, and no report */
    bool never_began;                /* gone, and the engine remembers no start of it */
    int64_t started_ms, ended_ms;
};
int docker_ended_read(struct docker_api *api, const char *container, struct docker_ended *out,
                      struct sw_error *err);
void docker_ended_done(struct docker_ended *ended);
static inline void docker_ended_auto(struct docker_ended *ended) { docker_ended_done(ended); }
/* Since when the engine runs; 0: it does not tell. */
int docker_up_since(struct docker_api *api, int64_t *since_ms, struct sw_error *err);

struct docker_ends {                 /* of all ranks */
    int count;
    struct docker_ended *at;         /* owned */
    struct sw_rank ranks[DOCKER_NODES_MAX];
    int failed;                      /* the rank that failed first; -1: none */
};
/* `closely`: all containers are inspected, whatever the events told. 0, -1 + err; 1: a record must be fetched
 * first (docker_record_fetch). In any case docker_ends_done() follows. */
int docker_ends_read(const struct docker_job *job, const struct docker_containers *own, bool closely,
                     struct docker_ends *out, struct sw_error *err);
void docker_ends_done(struct docker_ends *ends);
static inline void docker_ends_auto(struct docker_ends *ends) { docker_ends_done(ends); }
/* None goes on: what that means for the job, which rank failed first, and facts about it. As
 * docker_ends_read(). */
int docker_judge(const struct docker_job *job, const struct docker_containers *own,
                 struct sw_observation *seen, struct sw_error *err);

/* ---- docker_record.c ------------------------------------------------------------------------- */

/* The last report of a container's runner; owned, NULL: it left none. *kept: there is a place for it. -1: it
 * could not be read. */
int docker_record_of(struct docker_api *api, const json_t *container, json_t **report, bool *kept,
                     struct sw_error *err);
/* A report that is not the last one is a heartbeat: its runner was killed in the middle of its work. */
void docker_drop_beat(json_t **report);
/* The same of a rank without a container. 1: it is in a volume, and must be fetched first. */
int docker_record_gone(const struct docker_job *job, int rank, json_t **report, struct sw_error *err);
/* Copy the records of ranks without a container from the job's volume to this machine. */
int docker_record_fetch(const struct docker_job *job, const struct docker_containers *own,
                        struct sw_error *err);
/* The folder of this machine that holds them, as its containers say; borrowed; NULL: a volume, or none. */
const char *docker_bound_ends(const json_t *container);

/* ---- docker_events.c --------------------------------------------------------------------------
 * The watch (platform/kit/watch.h) holds one stream open and hears when a container of ours starts, pauses,
 * runs out of memory, ends or is removed. The list of containers stays the truth: the stream says when it is
 * worth asking for one, and how a container ended, which the list does not. */

/* Nothing is asked before docker_wake_fd(). */
struct sw_watch *docker_events_open(const struct docker_endpoint *endpoint);

/* docker_list(), with what was heard put into it: one that ended a moment ago is over although the engine's
 * list still calls it running, and DOCKER_HEARD of it is how it ended. */
#define DOCKER_HEARD "slipway-heard" /* {"exit_code","oom","started_ms","ended_ms"} */
json_t *docker_list_now(struct sw_connection *conn, struct docker_api *api, const char *id,
                        struct sw_error *err);

/* What the engine remembers of one container: it keeps the last 256 events of anything. */
struct docker_past {
    const char *container;           /* its id; NULL: the one of this attempt and rank */
    int attempt, rank;
    int events;                      /* that it sent, of anything */
    bool started, died, killed, removed;
    int exit_code;                   /* of the end */
    int64_t ended_ms;
};
/* `job`: only its events are asked for; NULL: all. */
int docker_past_read(struct docker_api *api, const char *job, struct docker_past *past,
                     struct sw_error *err);

/* Pure: one event, into what is known by name of container. true: it may change what a job is. */
bool docker_event_note(json_t *known, const json_t *event);

#endif
