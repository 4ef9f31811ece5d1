/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage_sum.c - sums over attempts.
 *
 * An attempt waits from the moment it was queued (the job's creation, or the end of the attempt before)
 * until it starts, and uses its GPUs until it ends; one that still waits or runs does so until now. Both
 * spans are cut at the beginning of the period, and at midnight (UTC) where days are summed. Only
 * whole-number milliseconds are added up: the order of jobs changes no sum.
 */
#include "api/usage.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "core/state.h"

enum { DAY_MS = 24 * 60 * 60 * 1000, HOUR_MS = 60 * 60 * 1000, DATE = 10 };

int api_usage_by(const char *word, enum api_usage_by *by, struct sw_error *err)
{
    static const char *const words[] = { [API_USAGE_PLATFORM] = "platform", [API_USAGE_USER] = "user",
                                         [API_USAGE_DAY] = "day", [API_USAGE_LABEL] = "label" };

    *by = API_USAGE_TOTAL;
    for (size_t i = 1; word && i < SW_COUNT(words); i++)
        if (strcmp(word, words[i]) == 0)
            *by = (enum api_usage_by)i;
    if (!word || *by != API_USAGE_TOTAL)
        return 0;
    sw_fail(err, SW_E_USAGE, "usage cannot be grouped by '%s'", word);
    return sw_hint(err, "use platform, user, day, or label with the key of a label");
}

void api_usage_init(struct api_usage *usage, enum api_usage_by by, int64_t since_ms, int64_t now_ms,
                    const json_t *prices)
{
    *usage = (struct api_usage){ .by = by, .since_ms = since_ms, .now_ms = now_ms, .prices = prices,
                                 .groups = json_object(), .total = json_object() };
}

void api_usage_done(struct api_usage *usage)
{
    json_decref(usage->groups);
    json_decref(usage->total);
}

/* ---- adding up ---------------------------------------------------------------------------------- */

static void add_number(json_t *sums, const char *key, int64_t more)
{
    json_object_set_new(sums, key, json_integer(sw_json_int(sums, key, 0) + more));
}

static void add_real(json_t *sums, const char *key, double more)
{
    json_object_set_new(sums, key, json_real(json_number_value(json_object_get(sums, key)) + more));
}

/* Price of an hour of one such GPU; -1: none is given. Types are compared as people write them. */
static double price_of(const json_t *prices, const char *type)
{
    const char *name;
    json_t *price;

    json_object_foreach((json_t *)prices, name, price)
        if (type && sw_text_same_nocase(name, type))
            return json_number_value(price);
    return -1;
}

struct span {
    int64_t from_ms, to_ms;
};

static int64_t length_of(struct span span)
{
    return span.to_ms > span.from_ms ? span.to_ms - span.from_ms : 0;
}

static struct span within(struct span span, struct span frame)
{
    return (struct span){ span.from_ms > frame.from_ms ? span.from_ms : frame.from_ms,
                          span.to_ms < frame.to_ms ? span.to_ms : frame.to_ms };
}

static void add_gpus(const struct api_usage *usage, json_t *sums, const struct sw_used *used, int64_t ran_ms)
{
    int64_t gpu_ms = sw_json_int(used->brief, "gpus", 0) * sw_json_int(used->brief, "nodes", 1) * ran_ms;
    double price = price_of(usage->prices, sw_json_str(used->brief, "gpu_type"));

    add_number(sums, "gpu_ms", gpu_ms);
    if (used->gpu_percent >= 0) {
        add_number(sums, "known_ms", gpu_ms);
        add_real(sums, "idle_ms", (double)gpu_ms * (1 - used->gpu_percent / 100));
    }
    if (price >= 0) {
        add_number(sums, "priced_ms", gpu_ms);
        add_real(sums, "cost", (double)gpu_ms / HOUR_MS * price);
    }
}

static void add_to(const struct api_usage *usage, json_t *sums, const struct sw_used *used, int64_t waited_ms,
                   int64_t ran_ms)
{
    if (sw_json_int(sums, "last_job", 0) != used->job)
        add_number(sums, "jobs", 1);
    json_object_set_new(sums, "last_job", json_integer(used->job));
    add_number(sums, "waiting_ms", waited_ms);
    add_number(sums, "running_ms", ran_ms);
    add_gpus(usage, sums, used, ran_ms);
}

static json_t *group_called(const struct api_usage *usage, const char *name)
{
    json_t *group = json_object_get(usage->groups, name ? name : "");

    if (!group) {
        group = json_object();
        json_object_set_new_nocheck(usage->groups, name ? name : "", group);
    }
    return group;
}

/* The part of both spans that is inside `frame`, to the total and to a group. */
static void add_part(const struct api_usage *usage, const char *name, const struct sw_used *used,
    struct span waits,
                     struct span runs, struct span frame, bool begins)
{
    json_t *const both[] = { usage->total, usage->by == API_USAGE_TOTAL ? NULL : group_called(usage, name) };

    for (size_t i = 0; i < SW_COUNT(both); i++) {
        if (!both[i])
            continue;
        add_to(usage, both[i], used, length_of(within(waits, frame)), length_of(within(runs, frame)));
        add_number(both[i], "retries", begins && !used->first);
    }
}

static void add_days(const struct api_usage *usage, const struct sw_used *used, struct span waits,
    struct span runs,
                     struct span all)
{
    for (int64_t day = all.from_ms / DAY_MS; day * DAY_MS < all.to_ms || day == all.from_ms / DAY_MS; day++) {
        struct span frame = within((struct span){ day * DAY_MS, (day + 1) * DAY_MS }, all);
        char date[40];

        sw_time_format(day * DAY_MS, date);
        date[DATE] = '\0';
        add_part(usage, date, used, waits, runs, frame,
                 day == all.from_ms / DAY_MS && used->queued_ms >= usage->since_ms);
    }
}

void api_usage_add(void *context, const struct sw_used *used)
{
    const struct api_usage *usage = context;
    struct span period = { usage->since_ms, usage->now_ms };
    bool open = used->current && !sw_state_is_final(used->state);
    /* One that was put back waits again, whatever it began before. */
    int64_t started = open && used->state == SW_PENDING ? 0 : used->started_ms;
    int64_t ended = used->ended_ms ? used->ended_ms : open ? usage->now_ms : started;
    struct span waits = { used->queued_ms, started ? started : ended };
    struct span runs = { started ? started : ended, ended };
    struct span all = within((struct span){ waits.from_ms,
        runs.to_ms > waits.to_ms ? runs.to_ms : waits.to_ms }, period);
    const char *name = usage->by == API_USAGE_PLATFORM ? used->platform
                       : usage->by == API_USAGE_USER ? sw_json_str(used->brief, "user") : used->label;

    if (all.to_ms < all.from_ms)
        return;                                  /* before the period, or a clock that was set back */
    if (usage->by == API_USAGE_DAY)
        add_days(usage, used, waits, runs, all);
    else
        add_part(usage, name, used, waits, runs, all, used->queued_ms >= usage->since_ms);
}

/* ---- the answer --------------------------------------------------------------------------------- */

static double hours(const json_t *sums, const char *key)
{
    return json_number_value(json_object_get(sums, key)) / HOUR_MS;
}

static json_t *row_of(const json_t *sums)
{
    int64_t gpu_ms = sw_json_int(sums, "gpu_ms", 0), priced_ms = sw_json_int(sums, "priced_ms", 0);
    int64_t known_ms = sw_json_int(sums, "known_ms", 0);

    return sw_json_object(
        SW_INT("jobs", sw_json_int(sums, "jobs", 0)), SW_INT("retries", sw_json_int(sums, "retries", 0)),
        SW_INT("running_ms", sw_json_int(sums, "running_ms", 0)),
        SW_INT("waiting_ms", sw_json_int(sums, "waiting_ms", 0)),
        SW_SUB("gpu_hours", json_real(hours(sums, "gpu_ms"))),
        SW_SUB("gpu_idle_share", known_ms > 0 ? json_real(hours(sums, "idle_ms") / hours(sums, "known_ms"))
                                              : json_null()),
        SW_SUB("cost", priced_ms > 0 ? json_real(json_number_value(json_object_get(sums, "cost")))
                                     : json_null()),
        SW_SUB("unpriced_gpu_hours", json_real((double)(gpu_ms - priced_ms) / HOUR_MS)));
}

json_t *api_usage_total(const struct api_usage *usage)
{
    return row_of(usage->total);
}

static double gpu_hours_of(const json_t *row)
{
    return json_number_value(json_object_get(row, "gpu_hours"));
}

static int by_name(const void *a, const void *b)
{
    const char *one = sw_json_str(*(json_t *const *)a, "group");
    const char *other = sw_json_str(*(json_t *const *)b, "group");

    return strcmp(one ? one : "", other ? other : "");
}

static int by_gpu_hours(const void *a, const void *b)
{
    double one = gpu_hours_of(*(json_t *const *)a), other = gpu_hours_of(*(json_t *const *)b);

    return one != other ? (one < other) - (one > other) : by_name(a, b);
}

json_t *api_usage_rows(const struct api_usage *usage)
{
    size_t count = json_object_size(usage->groups), used = 0;
    sw_autofree json_t **rows = sw_alloc((count ? count : 1) * sizeof(json_t *));
    json_t *list = json_array(), *sums;
    const char *name;

    json_object_foreach(usage->groups, name, sums) {
        rows[used] = sw_json_object(SW_STR("group", *name ? name : NULL));
        sw_auto(json) json_t *row = row_of(sums);

        json_object_update(rows[used++], row);
    }
    qsort(rows, count, sizeof *rows, usage->by == API_USAGE_DAY ? by_name : by_gpu_hours);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, rows[i]);
    return list;
}
