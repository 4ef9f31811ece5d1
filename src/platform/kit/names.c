/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c - see names.h.
 */
#include "platform/kit/names.h"

#include <stdio.h>
#include <string.h>

void sw_attempt_name(const char *id, int attempt, size_t most, char *out, size_t size)
{
    const char *end = strrchr(id, '-');
    char suffix[16] = "";
    size_t room, front;

    if (attempt > 1)
        snprintf(suffix, sizeof suffix, "-a%d", attempt);
    room = most > strlen(suffix) ? most - strlen(suffix) : 0;
    if (!end || strlen(end) >= room)
        end = strlen(id) > room ? id + strlen(id) - room : id;
    front = (size_t)(end - id);
    if (strlen(id) > room)
        front = room - strlen(end);
    while (front > 0 && id[front - 1] == '-' && *end == '-')
        front--;
    snprintf(out, size, "%.*s%s%s", (int)front, id, end, suffix);
}
