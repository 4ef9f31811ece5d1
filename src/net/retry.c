/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry.c - how long to wait before trying again. Pure: chance and clock are parameters.
 */
#include "net/retry.h"

#include <stdlib.h>

#include "base/auto.h"
#include "net/http.h"

const struct sw_retry_rule sw_retry_usual = { .tries = 8, .first_ms = 100, .longest_ms = 20000 };

int64_t sw_retry_pause(const struct sw_retry_rule *rule, int tried, uint32_t random,
                       int64_t asked_ms)
{
    int64_t bound = rule->first_ms, pause;

    if (tried >= rule->tries)
        return -1;
    for (int i = 1; i < tried && bound < rule->longest_ms; i++)
        bound *= 2;
    bound = bound < rule->longest_ms ? bound : rule->longest_ms;
    pause = bound / 2 + (int64_t)(random % (uint64_t)(bound / 2 + 1));
    if (asked_ms > rule->longest_ms * 10)
        asked_ms = rule->longest_ms * 10;
    return pause > asked_ms ? pause : asked_ms;
}

int64_t sw_retry_after(const char *value, int64_t now_ms)
{
    char *end;
    int64_t seconds, at_ms;

    if (!value)
        return -1;
    seconds = strtoll(value, &end, 10);
    if (end != value && *end == '\0')
        return seconds < 0 || seconds > 86400 ? -1 : seconds * 1000;
    at_ms = sw_http_date(value);
    if (at_ms < 0)
        return -1;
    return at_ms > now_ms ? at_ms - now_ms : 0;
}

bool sw_retry_status(int status)
{
    static const int passing[] = { 408, 425, 429, 500, 502, 503, 504 };

    for (size_t i = 0; i < SW_COUNT(passing); i++)
        if (passing[i] == status)
            return true;
    return false;
}
