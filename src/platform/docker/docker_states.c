/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_states.c - what the engine says about a container, in our words. Pure.
 */
#include "platform/docker/docker_job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/state.h"

/* `exited` and `dead` are over; how, docker_judge_end() says. */
static const struct sw_state_word words[] = {
    { "created",    SW_PENDING,  "it is made and not started yet" },
    { "running",    SW_RUNNING,  NULL },
    { "restarting", SW_RUNNING,  "the engine is starting it again" },
    { "paused",     SW_PAUSED,   "somebody paused its container" },
    { "removing",   SW_UNKNOWN,  "somebody removes its container" },
    { "stopping",   SW_RUNNING,  "it was told to end" },
    { "stopped",    SW_COMPLETE, NULL },                     /* Podman's word for exited */
    { "exited",     SW_COMPLETE, NULL },
    { "dead",       SW_COMPLETE, "the engine could not remove its container" },
    { "configured", SW_PENDING,  "it is made and not started yet" },         /* Podman's */
    { "initialized", SW_PENDING, "it is being started" },                    /* Podman's */
};

enum sw_state docker_state(const char *said, const char **note)
{
    return sw_state_lookup(words, SW_COUNT(words), said ? said : "", note);
}

int docker_exit_code(const char *status)
{
    const char *open = status ? strchr(status, '(') : NULL;
    char *end;
    long code;

    if (!open || !sw_text_starts(status, "Exited"))
        return SW_NO_EXIT_CODE;
    code = strtol(open + 1, &end, 10);
    return end > open + 1 && *end == ')' && code >= 0 && code <= 255 ? (int)code : SW_NO_EXIT_CODE;
}

/* ---- how it ended ---------------------------------------------------------------------------- */

static void say(struct sw_observation *seen, enum sw_state state, const char *reason,
                const char *message)
{
    seen->state = state;
    snprintf(seen->reason, sizeof seen->reason, "%s", reason);
    snprintf(seen->message, sizeof seen->message, "%.255s", message);
}

static const struct {
    int code;
    const char *reason, *message;
} own_codes[] = {
    { 74,  "prepare", "its runner could not do its part" },
    { 125, "start",   "the engine could not start the container (exit code 125)" },
    { 126, "exit",    "the command cannot be executed (exit code 126)" },
    { 127, "exit",    "the command was not found (exit code 127)" },
};

static void judge_code(const struct docker_end *end, struct sw_observation *seen)
{
    char text[256];

    for (size_t i = 0; i < SW_COUNT(own_codes); i++)
        if (own_codes[i].code == end->exit_code) {
            /* Its own words say more; and 74 without a word of the runner is the command's. */
            if (end->exit_code == 74 && !end->message)
                break;
            say(seen, SW_ERROR, end->exit_code == 74 && end->failed ? end->failed : own_codes[i].reason,
                end->message ? end->message : own_codes[i].message);
            return;
        }
    snprintf(text, sizeof text, "exit code %d", end->exit_code);
    say(seen, SW_ERROR, "exit", end->message ? end->message : text);
}

/* A signal is certain when the runner said so. A container that ended with 137 and left no report
 * was killed whole. */
static void judge_signal(const struct docker_end *end, struct sw_observation *seen)
{
    char text[256];

    snprintf(text, sizeof text, "ended by signal %d", end->signal);
    seen->signal = end->signal;
    say(seen, SW_ERROR, "signal", text);
}

/* "its container ...", or which of several. */
static void say_of(struct sw_observation *seen, enum sw_state state, const char *reason,
                   const struct docker_end *end, const char *what)
{
    char text[256];

    if (end->rank >= 0)
        snprintf(text, sizeof text, "the container of rank %d %s", end->rank, what);
    else
        snprintf(text, sizeof text, "its container %s", what);
    say(seen, state, reason, text);
}

/* One that was never started was taken away by a client whose turn it was, or whose start was refused: it is
 * as if it had not been made. */
static void judge_gone(const struct docker_end *end, struct sw_observation *seen)
{
    if (end->never_began)
        seen->presence = SW_ABSENT;
    else if (end->by_hand)
        say_of(seen, SW_CANCELED, "canceled", end, "was removed by hand on the engine");
    else
        say_of(seen, SW_ERROR, "removed", end, "is gone, and the engine no longer knows who removed "
               "it; how far it came is not known");
}

/* Another rank failed, and this one was told to end: by its runner, or by us. */
static void judge_follower(const struct docker_end *end, struct sw_observation *seen)
{
    char text[256];

    snprintf(text, sizeof text, "it was told to end, because rank %d did not go on",
             end->failed_peer);
    seen->signal = end->signal;
    say(seen, SW_ERROR, "signal", text);
}

static void judge_stopped(const struct docker_end *end, struct sw_observation *seen)
{
    seen->signal = end->signal;
    if (end->engine == DOCKER_ENGINE_CAME_LATER)
        say(seen, SW_ERROR, "restart",
            "its container was stopped from outside: the engine went down");
    else
        say_of(seen, SW_ERROR, "stopped", end, "was stopped from outside; whether by hand or by an "
               "engine that went down is not known any more");
}

void docker_judge_end(const struct docker_end *end, struct sw_observation *seen)
{
    seen->exit_code = end->exit_code;
    seen->signal = 0;
    if (end->canceled) {
        say(seen, SW_CANCELED, "canceled", "canceled");
    } else if (end->gone) {
        judge_gone(end, seen);
    } else if (end->by_hand) {
        say(seen, SW_CANCELED, "canceled", "it was stopped by hand on the engine");
    } else if (end->error && *end->error && end->exit_code != 0) {
        say(seen, SW_ERROR, "start", end->error);
    } else if (end->timed_out) {
        say(seen, SW_ERROR, "time", "it reached its time limit");
    } else if (end->exit_code == 0 && !end->stopped) {
        say(seen, SW_COMPLETE, "exit", "exit code 0");
    } else if (end->oom) {
        seen->signal = end->signal;
        say(seen, SW_ERROR, "memory", "out of memory: the kernel ended a process of the container");
    } else if (end->stopped && end->failed_peer < 0) {
        judge_stopped(end, seen);
    } else if (end->stopped) {
        judge_follower(end, seen);
    } else if (end->exit_code == 255 && !end->reported &&
               end->engine == DOCKER_ENGINE_CAME_LATER) {
        say(seen, SW_ERROR, "restart", "the engine died under it and lost its container");
    } else if (end->signal) {
        judge_signal(end, seen);
    } else {
        judge_code(end, seen);
    }
}
