/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_events.h - what the engine tells by itself, for whoever stays.
 *
 * One connection is held open; a thread of its own hears on it when a container of ours starts, pauses,
 * runs out of memory, ends or is removed. A list stays the truth: the stream says when it is worth
 * asking for one, and how something ended, which the list does not.
 */
#ifndef SW_PLATFORM_DOCKER_EVENTS_H
#define SW_PLATFORM_DOCKER_EVENTS_H

#include "platform/docker/docker_job.h"

/* Nothing is asked before docker_wake_fd(). Closing waits for nobody. */
struct docker_events *docker_events_open(const struct docker_where *where);
void docker_events_close(struct docker_events *events);

enum docker_told {
    DOCKER_NOT_TOLD,                 /* nobody listens, or there was a gap: ask */
    DOCKER_TOLD_ALIVE,               /* somebody listens, and heard of no end */
    DOCKER_TOLD_OVER,
};
enum docker_told docker_events_say(struct docker_events *events, const char *name);

/* docker_list(), and what was heard put into it: one that ended a moment ago is over although the
 * engine's list still calls it running, and DOCKER_HEARD of it is how it ended. */
#define DOCKER_HEARD "slipway-heard" /* {"exit_code","oom","started_ms","ended_ms"} */
json_t *docker_list_now(struct sw_connection *conn, struct docker_api *api, const char *id,
                        struct sw_error *err);

/* Pure: one event, into what is known by name of container. true: it
 * may change what a job is. */
bool docker_event_note(json_t *known, const json_t *event);

#endif
