/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_time.c - minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]].
 */
#include "core/slurm_time.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { PARTS = 3, DIGITS_MAX = 6 };

static const char *read_number(const char *text, int64_t *out)
{
    const char *begin = text;

    for (*out = 0; isdigit((unsigned char)*text) && text - begin < DIGITS_MAX; text++)
        *out = *out * 10 + (*text - '0');
    return text == begin || isdigit((unsigned char)*text) ? NULL : text;
}

bool sw_slurm_time_parse(const char *text, int64_t *ms)
{
    int64_t days = 0, parts[PARTS] = { 0 };
    const char *dash = strchr(text, '-'), *at = text;
    size_t count = 0, first;

    if (dash && read_number(text, &days) != dash)
        return false;
    for (at = dash ? dash + 1 : text;; at++) {
        at = count < PARTS ? read_number(at, &parts[count++]) : NULL;
        if (!at)
            return false;
        if (*at != ':')
            break;
    }
    if (*at)
        return false;
    first = dash || count == PARTS ? 0 : 1;         /* of hours, minutes, seconds: what the first one is */
    *ms = days * 86400000;
    for (size_t i = 0; i < count; i++)
        *ms += parts[i] * (const int64_t[]){ 3600000, 60000, 1000 }[first + i];
    return true;
}
