/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_hand.c - was a container stopped by somebody, or did the engine go down?
 *
 * Both look the same in it: TERM, a moment later KILL; the engine even tells the same events. What
 * differs is the engine: one that went down came back after the container's end, and its network
 * "bridge" is made anew each time it starts. One that is still going down answers on connections that
 * it has, but takes no new one; so it is asked on a new one, and no answer changes no job.
 *
 * A container that was killed whole may also be the kernel's work. Then only the engine's memory of a
 * `kill` (its last 256 events) makes it somebody's; without that it stays a signal.
 */
#include "platform/docker/docker_watch.h"

#include <signal.h>
#include <time.h>

#include "base/clock.h"

enum { KILL_NOTED_MS = 1000 };

static int64_t machine_up_since_ms(void)
{
    struct timespec up;

    return clock_gettime(CLOCK_BOOTTIME, &up) == 0
               ? sw_now_ms() - (int64_t)up.tv_sec * 1000 - up.tv_nsec / 1000000 : 0;
}

/* 0: nobody knows. Podman has no engine that could go down, only the machine. */
static int up_since(struct docker_api *fresh, int64_t *since_ms, struct sw_error *err)
{
    sw_auto(json) json_t *bridge = NULL;
    struct sw_error why = { 0 };

    *since_ms = 0;
    if (!docker_api_version(fresh, err))
        return -1;
    if (docker_api_is_podman(fresh)) {
        *since_ms = docker_api_is_local(fresh) ? machine_up_since_ms() : 0;
        return 0;
    }
    if (docker_ask(fresh, &(struct docker_call){ .path = "/networks/bridge" }, &bridge, &why) < 0 &&
        why.code != SW_E_NOT_FOUND) {
        if (err)
            *err = why;
        return -1;
    }
    *since_ms = docker_time_ms(sw_json_str(bridge, "Created"));
    return 0;
}

static int count_event(void *context, json_t *event)
{
    (void)event;
    ++*(int *)context;
    return 0;
}

/* Does the engine remember that somebody had it killed? It notes the kill after it is done. */
static bool was_killed(struct docker_api *api, const char *container, int64_t ended_ms)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    int64_t until_ms = ended_ms + KILL_NOTED_MS;
    int kills = 0;
    struct docker_lines lines = { .take = count_event, .context = &kills };

    sw_buf_addf(&path, "/events?since=1&until=%lld.%03lld", (long long)(until_ms / 1000),
                (long long)(until_ms % 1000));
    docker_query_json(&path, "filters", json_pack("{s:[s],s:[s]}", "container", container, "event",
                                                  "kill"));
    docker_ask(api, &(struct docker_call){ .path = sw_buf_text(&path), .sink = docker_lines_sink,
                                           .sink_context = &lines }, NULL, NULL);
    docker_lines_done(&lines);
    return kills > 0;
}

int docker_find_hand(struct docker_api *api, const char *container, struct docker_story *story,
                     struct sw_error *err)
{
    sw_auto(docker_api) struct docker_api *fresh = NULL;
    struct docker_end *end = &story->end;
    bool killed = !end->reported && !end->oom && end->signal == SIGKILL;
    int64_t since_ms;

    if (end->canceled || end->timed_out || end->failed_peer >= 0 || !(end->stopped || killed))
        return 0;
    fresh = docker_api_open(docker_api_where(api), err);
    if (!fresh || up_since(fresh, &since_ms, err) < 0)
        return -1;
    end->by_hand = since_ms && since_ms <= story->ended_ms &&
                   (end->stopped || was_killed(fresh, container, story->ended_ms));
    return 0;
}
