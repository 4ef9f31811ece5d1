/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth_local.c - this machine: wishes become shell text.
 */
#include <stdio.h>

#include "berth.h"

#define NUMBERED "'rehearsal line %%012.0f ...................................'"

static int ask(struct sw_request *request, enum wish wish, int64_t number, struct sw_error *err)
{
    long long n = (long long)number;
    char command[256];

    switch (wish) {
    case EXITS:
        snprintf(command, sizeof command, "exit %lld", n);
        break;
    case SLEEPS:
        snprintf(command, sizeof command, "sleep %lld.%03lld", n / 1000, n % 1000);
        break;
    case DIES:
        snprintf(command, sizeof command, "kill -%lld $$", n);
        break;
    case EATS_MEMORY:      /* tail keeps a line without end in memory, and nobody takes it */
        snprintf(command, sizeof command, "head -c 400M /dev/zero | tail | sleep 30");
        if (sw_request_set(request, "memory", "64MiB", err) < 0)
            return -1;
        break;
    case PRINTS:
        snprintf(command, sizeof command, "seq -f " NUMBERED " 1 %lld", n);
        break;
    case PRINTS_SLOWLY:
        snprintf(command, sizeof command,
                 "seq -f " NUMBERED " 1 %lld | while read -r l; do echo \"$l\"; sleep 0.003; done",
                 n);
        break;
    case WAITS_IN_QUEUE:
        snprintf(command, sizeof command, "sleep 60");
        if (sw_request_set(request, "gpus", "1", err) < 0)
            return -1;
        break;
    }
    return sw_request_set(request, "command", command, err);
}

const struct berth berth_local = {
    .name = "local",
    .ask = ask,
    .command_key = "command",
    .lacks = {
        [1] = "local jobs wait for GPUs only; tests/unit/platform/local covers the line",
        [3] = "there is no network between us and this machine that could be cut",
    },
};
