/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_stopped_by_user.c - did a user stop a container, or did the engine go down?
 *
 * Both look the same in it: TERM, a moment later KILL; the engine even tells the same events. What
 * differs is the engine: one that went down came back after the container's end. Its network "bridge" tells
 * since when it is there: it is made anew each time the engine starts, after what was left running is
 * stopped. Some engines run without it; then the events tell, which live in the engine's memory:
 *
 *   - one that remembers the container's start and its end was there all the time;
 *   - it keeps the last 256, so one that has fewer remembers all of its life, and if the container's end is
 *     not among them, that was before. An end without its start may be its own doing, when it began.
 *
 * Where none of them knows, the job is not run again for it. An engine that is still
 * going down answers on connections that it has, but takes no new one; so it is asked on a new one, and
 * no answer changes no job.
 *
 * A container that was killed whole may also be the kernel's work. Then only the engine's memory of a
 * `kill` makes it a user's; without that it stays a signal.
 */
#include "platform/docker/docker_observe.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

enum {
    EVENTS_KEPT = 256,               /* by the engine */
};

static int64_t machine_up_since_ms(void)
{
    struct timespec up;

    return clock_gettime(CLOCK_BOOTTIME, &up) == 0
               ? sw_now_ms() - (int64_t)up.tv_sec * 1000 - up.tv_nsec / 1000000 : 0;
}

int docker_up_since(struct docker_api *api, int64_t *since_ms, struct sw_error *err)
{
    sw_auto(json) json_t *bridge = NULL;
    struct sw_error why = { 0 };

    *since_ms = 0;
    if (!docker_api_version(api, err))
        return -1;
    if (api->podman) {
        *since_ms = api->endpoint.way == DOCKER_UNIX ? machine_up_since_ms() : 0;
        return 0;
    }
    if (docker_ask(api, &(struct sw_rest_call){ .path = "/networks/bridge" }, &bridge, &why) < 0 &&
        why.code != SW_E_NOT_FOUND) {
        return sw_pass(err, &why);
    }
    *since_ms = docker_time_ms(sw_json_str(bridge, "Created"));
    return 0;
}

/* ---- what the engine remembers --------------------------------------------------------------- */

static int find_out(struct docker_api *fresh, const char *container, int64_t ended_ms,
                    enum docker_engine *engine, bool *killed, struct sw_error *err)
{
    struct docker_past memory = { .container = container };
    int64_t since_ms;

    if (docker_up_since(fresh, &since_ms, err) < 0 ||
        docker_past_read(fresh, NULL, &memory, err) < 0)
        return -1;
    *killed = memory.killed;
    *engine = DOCKER_ENGINE_NOT_KNOWN;
    if (since_ms)
        *engine = since_ms > ended_ms ? DOCKER_ENGINE_CAME_LATER : DOCKER_ENGINE_STAYED;
    else if (fresh->podman)        /* its events come late or not at all */
        return 0;
    else if (memory.started && memory.died)
        *engine = DOCKER_ENGINE_STAYED;
    else if (!memory.died && memory.events < EVENTS_KEPT)
        *engine = DOCKER_ENGINE_CAME_LATER;
    return 0;
}

int docker_find_stopper(struct docker_api *api, const char *container, struct docker_ended *ended,
                     struct sw_error *err)
{
    sw_auto(docker_api) struct docker_api *fresh = NULL;
    struct sw_run_end *end = &ended->end;
    bool silent = !end->reported && !end->oom && ended->ended_ms;
    bool killed = silent && end->signal == SIGKILL, lost = silent && end->exit_code == DOCKER_LOST_TRACK;
    bool by_kill;

    if (end->canceled || end->by_hand || end->timed_out || end->failed_peer >= 0 || ended->gone ||
        !(end->stopped || killed || lost))
        return 0;
    fresh = docker_api_open(&api->endpoint, err);
    if (!fresh || find_out(fresh, container ? container : "", ended->ended_ms, &ended->engine, &by_kill,
                           err) < 0)
        return -1;
    end->by_hand = ended->engine == DOCKER_ENGINE_STAYED && (end->stopped || (killed && by_kill));
    return 0;
}
