/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.c - names of states and the one rule about how they may follow each other.
 *
 * Pure: no I/O, no allocation. From a final state only the same state follows; while a
 * cancel is asked for, only an ending follows.
 */
#include "core/state.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"

static const struct {
    const char *name;
    bool final;
} states[] = {
    [SW_UNKNOWN]  = { "Unknown", false },
    [SW_PENDING]  = { SW_NAME_PENDING, false },
    [SW_RUNNING]  = { "Running", false },
    [SW_PAUSED]   = { "Paused", false },
    [SW_COMPLETE] = { "Complete", true },
    [SW_ERROR]    = { SW_NAME_ERROR, true },
    [SW_CANCELED] = { "Canceled", true },
};

const char *sw_state_name(enum sw_state state)
{
    return (size_t)state < SW_COUNT(states) ? states[state].name : states[SW_UNKNOWN].name;
}

bool sw_state_is_final(enum sw_state state)
{
    return (size_t)state < SW_COUNT(states) && states[state].final;
}

int sw_state_parse(const char *name, enum sw_state *state)
{
    for (size_t i = 0; i < SW_COUNT(states); i++) {
        if (strcasecmp(name, states[i].name) == 0) {
            *state = (enum sw_state)i;
            return 0;
        }
    }
    return -1;
}

enum sw_state sw_state_lookup(const struct sw_state_word *words, size_t count, const char *said,
                              const char **note)
{
    for (size_t i = 0; said && i < count; i++) {
        size_t length = strlen(words[i].said);

        if (strncasecmp(said, words[i].said, length) == 0 &&
            !isalnum((unsigned char)said[length]) && said[length] != '_') {
            if (note)
                *note = words[i].note;
            return words[i].state;
        }
    }
    if (note)
        *note = NULL;
    return SW_UNKNOWN;
}

bool sw_state_may_follow(enum sw_state now, bool canceling, enum sw_state next)
{
    if (sw_state_is_final(now))
        return next == now;
    if (next == SW_UNKNOWN)
        return now == SW_UNKNOWN;          /* losing sight of a job is not news about it */
    return !canceling || sw_state_is_final(next) || next == now;
}
