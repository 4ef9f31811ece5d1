/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_rehearsal.c - the pretend platform: behaviours become a script, and nothing runs.
 */
#include <stdio.h>

#include "fixture.h"

static int ask(struct sw_request *request, enum behaviour wanted, int64_t number, struct sw_error *err)
{
    long long n = (long long)number;
    char script[160];

    switch (wanted) {
    case EXITS:          snprintf(script, sizeof script, "running 20ms, exit %lld", n); break;
    case SLEEPS:         snprintf(script, sizeof script, "running %lldms, exit 0", n); break;
    case DIES:           snprintf(script, sizeof script, "running 20ms, signal %lld", n); break;
    case EATS_MEMORY:    snprintf(script, sizeof script, "running 20ms, oom"); break;
    case PRINTS:         snprintf(script, sizeof script, "running 20ms, log %lld lines", n); break;
    case PRINTS_SLOWLY:
        /* Half of them must still be to come when a reader begins to follow. */
        snprintf(script, sizeof script, "running 50ms, log %lld lines, running 200ms", n);
        break;
    case HOLDS_THE_QUEUE: snprintf(script, sizeof script, "running"); break;
    case WAITS_IN_QUEUE: snprintf(script, sizeof script, "pending"); break;
    }
    if (sw_request_set(request, "command", "true", err) < 0)
        return -1;
    return sw_request_set(request, "rehearsal.script", script, err);
}

const struct fixture fixture_rehearsal = {
    .name = "rehearsal",
    .ask = ask,
    .lacks = { [0] = "a rehearsal never runs the command, so there is nothing to see of it" },
};
