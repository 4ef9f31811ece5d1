/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture.c - behaviours as shell text, in words that busybox knows, too.
 */
#include "fixture.h"

#include <stdio.h>

#define NUMBERED "awk 'BEGIN { for (i = 1; i <= %lld; i++) " \
                 "printf \"rehearsal line %%012d ...................................\\n\", i }'"

static void write_command(char *out, size_t room, const struct fixture *fixture, enum behaviour wanted,
                          long long n)
{
    switch (wanted) {
    case EXITS:
        snprintf(out, room, "exit %lld", n);
        break;
    case SLEEPS:
        snprintf(out, room, "sleep %lld.%03lld", n / 1000, n % 1000);
        break;
    case DIES:
        snprintf(out, room, "kill -%lld $$", n);
        break;
    case EATS_MEMORY:
        snprintf(out, room, "%s", fixture->eats_memory);
        break;
    case PRINTS:
        snprintf(out, room, NUMBERED, n);
        break;
    case PRINTS_SLOWLY:
        snprintf(out, room, NUMBERED " | while read -r l; do echo \"$l\"; sleep 0.003; done", n);
        break;
    case HOLDS_THE_QUEUE:
    case WAITS_IN_QUEUE:
        snprintf(out, room, "sleep 60");
        break;
    }
}

static int set_queue(const struct fixture *fixture, struct sw_request *request, struct sw_error *err)
{
    for (size_t i = 0; i < sizeof fixture->queue / sizeof *fixture->queue && fixture->queue[i].key; i++)
        if (sw_request_set(request, fixture->queue[i].key, fixture->queue[i].value, err) < 0)
            return -1;
    return 0;
}

int fixture_ask(const struct fixture *fixture, struct sw_request *request, enum behaviour wanted,
                int64_t number, struct sw_error *err)
{
    char command[384];

    if (fixture->ask)
        return fixture->ask(request, wanted, number, err);
    if (wanted == EATS_MEMORY && sw_request_set(request, "memory", "64MiB", err) < 0)
        return -1;
    if ((wanted == HOLDS_THE_QUEUE || wanted == WAITS_IN_QUEUE) && set_queue(fixture, request, err) < 0)
        return -1;
    write_command(command, sizeof command, fixture, wanted, (long long)number);
    return sw_request_set(request, "command", command, err);
}
