/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_zone.c - the user's time zone.
 *
 * libc knows zones only by the variable TZ, which belongs to the user and to the jobs that we start. So TZ is
 * changed for a moment, before there are threads, and the zone's changes of the years that matter are noted;
 * then it is put back. Afterwards everything is a look into that table.
 */
#include "cli/cli_zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/text.h"

#define ZONES     "/usr/share/zoneinfo"
#define DAY_S     86400
#define STEP_S    (20 * DAY_S)      /* no zone changes twice within it */
#define YEARS     365 * DAY_S *
#define BACK_S    (YEARS 10LL)
#define AHEAD_S   (YEARS 2LL)
#define PERIODS   128               /* two changes a year, and room for odd ones */

/* From then on, until the next one. */
struct zone_period {
    int64_t from_s;
    int64_t offset_s;
    char name[16];
};

static struct zone_period periods[PERIODS] = { { INT64_MIN, 0, "UTC" } };
static size_t period_count = 1;

static struct zone_period period_at(int64_t at_s)
{
    struct zone_period period = { .from_s = at_s };
    time_t when = (time_t)at_s;
    struct tm parts = { 0 };

    localtime_r(&when, &parts);
    period.offset_s = parts.tm_gmtoff;
    snprintf(period.name, sizeof period.name, "%s", parts.tm_zone ? parts.tm_zone : "");
    return period;
}

static bool is_same(const struct zone_period *a, const struct zone_period *b)
{
    return a->offset_s == b->offset_s && strcmp(a->name, b->name) == 0;
}

/* The first second of what holds at `late` and not at `early`. */
static struct zone_period find_change(int64_t early, int64_t late)
{
    struct zone_period before = period_at(early);

    while (late - early > 1) {
        int64_t middle = early + (late - early) / 2;
        struct zone_period there = period_at(middle);

        if (is_same(&before, &there))
            early = middle;
        else
            late = middle;
    }
    return period_at(late);
}

static void note_periods(void)
{
    int64_t now_s = sw_now_ms() / 1000, at_s = now_s - BACK_S;

    periods[0] = period_at(at_s);
    periods[0].from_s = INT64_MIN;
    period_count = 1;
    for (; at_s < now_s + AHEAD_S && period_count < PERIODS; at_s += STEP_S) {
        struct zone_period there = period_at(at_s + STEP_S);

        if (!is_same(&periods[period_count - 1], &there))
            periods[period_count++] = find_change(at_s, at_s + STEP_S);
    }
}

static bool is_known(const char *name)
{
    sw_autofree char *path = sw_format("%s/%s", ZONES, name);

    return *name && *name != '/' && *name != '.' && !strstr(name, "..") && access(path, R_OK) == 0;
}

int cli_zone_use(const char *name, struct sw_error *err)
{
    sw_autofree char *before = sw_strdup(getenv("TZ"));
    bool local = strcmp(name, "local") == 0;

    if (strcmp(name, "UTC") == 0) {
        periods[0] = (struct zone_period){ INT64_MIN, 0, "UTC" };
        period_count = 1;
        return 0;
    }
    if (!local && !is_known(name)) {
        sw_fail(err, SW_E_SPEC, "unknown time zone '%s'", name);
        return sw_hint(err, "write UTC, local, or a file below " ZONES " such as Europe/Berlin");
    }
    if (!local)
        setenv("TZ", name, 1);
    tzset();
    note_periods();
    if (!local && before)
        setenv("TZ", before, 1);
    else if (!local)
        unsetenv("TZ");
    tzset();
    return 0;
}

static const struct zone_period *find_period(int64_t at_ms)
{
    size_t i = period_count - 1;

    while (i > 0 && periods[i].from_s > at_ms / 1000)
        i--;
    return &periods[i];
}

static struct tm parts_of(int64_t at_ms, const struct zone_period *period)
{
    time_t seconds = (time_t)(at_ms / 1000 + period->offset_s);
    struct tm parts = { 0 };

    gmtime_r(&seconds, &parts);
    return parts;
}

void cli_time_text(int64_t at_ms, char out[CLI_TIME_SIZE])
{
    const struct zone_period *period = find_period(at_ms);
    struct tm parts = parts_of(at_ms, period);
    size_t length = strftime(out, CLI_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &parts);

    snprintf(out + length, CLI_TIME_SIZE - length, " %s", period->name);
}

void cli_time_line(int64_t at_ms, int digits, char out[CLI_TIME_SIZE])
{
    const struct zone_period *period = find_period(at_ms);
    struct tm parts = parts_of(at_ms, period);
    int minutes = abs((int)(period->offset_s / 60));
    size_t length = strftime(out, CLI_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);

    if (digits)
        length += (size_t)snprintf(out + length, CLI_TIME_SIZE - length, ".%03d", (int)(at_ms % 1000));
    if (strcmp(period->name, "UTC") == 0)
        snprintf(out + length, CLI_TIME_SIZE - length, "Z");
    else
        snprintf(out + length, CLI_TIME_SIZE - length, "%c%02d:%02d", period->offset_s < 0 ? '-' : '+',
                 minutes / 60, minutes % 60);
}

void cli_time_shown(const char *time, char out[CLI_TIME_SIZE])
{
    int64_t at_ms;

    out[0] = '\0';
    if (time && cli_time_read(time, &at_ms))
        cli_time_text(at_ms, out);
}

int64_t cli_zone_to_utc(int64_t shown_ms)
{
    int64_t near = shown_ms - find_period(shown_ms)->offset_s * 1000;

    return shown_ms - find_period(near)->offset_s * 1000;
}
