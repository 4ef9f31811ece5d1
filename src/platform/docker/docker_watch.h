/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_watch.h - the containers of one job, and how one of them ended.
 */
#ifndef SW_PLATFORM_DOCKER_WATCH_H
#define SW_PLATFORM_DOCKER_WATCH_H

#include "core/run_end.h"
#include "platform/docker/docker_job.h"

struct docker_crew {                 /* one attempt's containers, as the list tells them; borrowed */
    const json_t *ranks[DOCKER_NODES_MAX];
    int nodes;                       /* 0: none */
    int missing, created, running, paused, over;
    int waiting;                     /* containers that wait for GPUs, beside the ranks */
};
void docker_crew_read(struct docker_crew *crew, const json_t *containers);
bool docker_is_over(const char *state);

/* Of a job's containers as a list tells them: the newest attempt (0: none), its first rank. */
int docker_newest_attempt(const json_t *list);
const json_t *docker_first_rank(const json_t *list, int attempt);
/* The folder bound at /results, when it is one of this machine; owned; NULL: none. */
char *docker_bound_results(const struct sw_connection *conn, const json_t *inspected, const char *id);

struct docker_story {                /* one container that ended */
    json_t *inspected, *report;      /* owned; report NULL: it left none */
    bool recorded;                   /* the report is not from the log */
    char *tail;                      /* of its log, when it failed; owned; may be NULL */
    struct sw_run_end end;           /* its texts live in these */
    enum docker_engine engine;       /* asked only where it matters */
    bool gone;                       /* there is no container any more, and no report */
    bool never_began;                /* gone, and the engine remembers no start of it */
    int64_t started_ms, ended_ms;
};
/* All are over: what that means for the job, which rank failed first, and facts about it (owned),
 * the end of its log among them as "log_tail". */
int docker_judge_crew(struct sw_connection *conn, struct docker_api *api, const struct docker_crew *crew,
                      struct sw_observation *seen, json_t **facts, struct sw_error *err);
/* The first that failed: not one that ended because of another; of those the earliest. */
bool docker_failed_before(const struct docker_story *a, const struct docker_story *b);
/* What a report says, into the end. */
void docker_read_report(struct docker_story *story);
int docker_story_read(struct docker_api *api, const char *container, struct docker_story *out,
                      struct sw_error *err);

/* docker_record.c: the last report of a container's runner; owned, NULL: it left none. *kept: there is a
 * place for it. -1: it could not be read. */
int docker_record_of(struct docker_api *api, const json_t *container, json_t **report, bool *kept,
                     struct sw_error *err);
/* The same of a rank without a container, and all that can be known of such a one. */
int docker_record_gone(struct sw_connection *conn, struct docker_api *api, const struct sw_jobref *job,
                       int rank, json_t **report, struct sw_error *err);
int docker_story_gone(struct sw_connection *conn, struct docker_api *api, const struct sw_jobref *job,
                      int rank, struct docker_story *out, struct sw_error *err);
/* The folder of this machine that holds them, as its containers tell; borrowed; NULL: a volume, or none. */
const char *docker_bound_ends(const json_t *container);
/* docker_finalize.c: do its containers go when it is over? */
bool docker_removes_itself(const struct sw_jobref *job);
/* docker_hand.c: since when the engine is there; 0: it does not tell. */
int docker_up_since(struct docker_api *api, int64_t *since_ms, struct sw_error *err);
/* Find out whether a hand stopped it, or an engine that went down, where it matters. `container`: its
 * id; NULL: it is gone, and that is not known. -1: the engine cannot be asked, or is going down. */
int docker_find_hand(struct docker_api *api, const char *container, struct docker_story *story,
                     struct sw_error *err);
void docker_story_done(struct docker_story *story);
static inline void docker_story_auto(struct docker_story *story) { docker_story_done(story); }

#endif
