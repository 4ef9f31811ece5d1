/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c - clocks and the two ways we write times.
 */
#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"

static int64_t (*pretended_now_ms)(void);

static int64_t read_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t sw_now_ms(void)
{
    return pretended_now_ms ? pretended_now_ms() : read_clock(CLOCK_REALTIME);
}

int64_t sw_monotonic_ms(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

void sw_clock_pretend(int64_t (*now_ms)(void))
{
    pretended_now_ms = now_ms;
}

void sw_sleep_ms(int64_t ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000 };

    if (ms > 0)
        nanosleep(&t, NULL);
}

char *sw_put_digits(char *out, unsigned number, int digits)
{
    for (int i = digits; i-- > 0; number /= 10)
        out[i] = (char)('0' + number % 10);
    return out + digits;
}

/* ... and what follows them. */
static char *put(char *out, unsigned number, int digits, char behind)
{
    out = sw_put_digits(out, number, digits);
    *out = behind;
    return out + 1;
}

/* Not with strftime and snprintf: a list of jobs has a thousand times in it. */
void sw_time_format(int64_t at_ms, char out[40])
{
    time_t seconds = (time_t)(at_ms / 1000);
    unsigned ms = (unsigned)(at_ms % 1000) % 1000u;
    struct tm parts = { 0 };

    gmtime_r(&seconds, &parts);
    out = put(out, (unsigned)parts.tm_year + 1900, 4, '-');
    out = put(out, (unsigned)parts.tm_mon + 1, 2, '-');
    out = put(out, (unsigned)parts.tm_mday, 2, 'T');
    out = put(out, (unsigned)parts.tm_hour, 2, ':');
    out = put(out, (unsigned)parts.tm_min, 2, ':');
    out = put(out, (unsigned)parts.tm_sec, 2, '.');
    out = ms ? put(out, ms * 1000, 6, '+') - 1 : out - 1;
    memcpy(out, "+00:00", sizeof "+00:00");
}

void sw_age_format(int64_t age_ms, char out[24])
{
    static const struct { int64_t ms; const char *letter; } units[] = {
        { 86400000, "d" }, { 3600000, "h" }, { 60000, "m" }, { 1000, "s" },
    };

    for (size_t i = 0; i < SW_COUNT(units); i++) {
        if (age_ms >= units[i].ms) {
            snprintf(out, 24, "%lld%s", (long long)(age_ms / units[i].ms), units[i].letter);
            return;
        }
    }
    snprintf(out, 24, "0s");
}
