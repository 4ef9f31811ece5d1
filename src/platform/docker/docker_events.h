/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_events.h - the engine's stream of events, and what it told about our containers.
 *
 * The watch (platform/kit/watch.h) holds one stream open and hears when a container of ours starts, pauses,
 * runs out of memory, ends or is removed. The list of containers stays the truth: the stream says when it is
 * worth asking for one, and how a container ended, which the list does not.
 */
#ifndef SW_PLATFORM_DOCKER_EVENTS_H
#define SW_PLATFORM_DOCKER_EVENTS_H

#include "platform/docker/docker_job.h"
#include "platform/kit/watch.h"

/* Nothing is asked before docker_wake_fd(). */
struct sw_watch *docker_events_open(const struct docker_endpoint *endpoint);

enum docker_told {
    DOCKER_NOT_TOLD,                 /* no stream is open, or there was a gap: ask */
    DOCKER_TOLD_ALIVE,               /* a stream is open, and told of no end */
    DOCKER_TOLD_OVER,
};
enum docker_told docker_events_say(struct sw_watch *events, const char *name);

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
