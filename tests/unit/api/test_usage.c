/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_usage.c - the arithmetic of usage: attempts, jobs that run or wait, jobs without GPUs, days, prices.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "api/usage.h"
#include "base/auto.h"

#define MINUTE (INT64_C(60) * 1000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define BEGIN (20000 * DAY)              /* 2024-10-04, midnight */

static json_t *brief(int gpus, int nodes, const char *type, const char *user)
{
    return sw_json_object(SW_INT("gpus", gpus), SW_INT("nodes", nodes), SW_STR("gpu_type", type),
        SW_STR("user", user));
}

/* An attempt that ended; times are minutes after BEGIN. */
static struct sw_used ended(int64_t job, json_t *what, int64_t queued, int64_t started, int64_t over)
{
    return (struct sw_used){ .job = job, .first = true, .current = true, .platform = (char *)"local",
        .brief = what,
                             .gpu_percent = -1, .state = SW_COMPLETE, .queued_ms = BEGIN + queued * MINUTE,
                             .started_ms = started < 0 ? 0 : BEGIN + started * MINUTE,
                             .ended_ms = over < 0 ? 0 : BEGIN + over * MINUTE };
}

static void expect(const json_t *row, const char *key, double value)
{
    double is = json_number_value(json_object_get(row, key));

    if (!json_is_number(json_object_get(row, key)) || fabs(is - value) > 1e-9)
        fail_msg("%s is %g and not %g", key, is, value);
}

static void expect_null(const json_t *row, const char *key)
{
    assert_true(json_is_null(json_object_get(row, key)));
}

static void the_attempts_of_a_job_are_one_job(void **state)
{
    sw_auto(api_usage) struct api_usage usage = { 0 };
    sw_auto(json) json_t *what = brief(4, 2, "H100", "ann"), *total = NULL, *rows = NULL;
    struct sw_used first = ended(1, what, 0, 10, 40), second = ended(1, what, 40, 45, 105);

    (void)state;
    first.current = false;
    first.state = SW_ERROR;
    second.first = false;
    api_usage_init(&usage, API_USAGE_TOTAL, 0, BEGIN + DAY, NULL);
    api_usage_add(&usage, &first);
    api_usage_add(&usage, &second);
    total = api_usage_total(&usage);
    expect(total, "jobs", 1);
    expect(total, "retries", 1);
    expect(total, "gpu_hours", 8 * 1.5);
    expect(total, "waiting_ms", 15 * MINUTE);
    expect(total, "running_ms", 90 * MINUTE);
    expect(total, "unpriced_gpu_hours", 12);
    expect_null(total, "gpu_idle_share");
    expect_null(total, "cost");
    rows = api_usage_rows(&usage);
    assert_int_equal(json_array_size(rows), 0);
}

static void what_runs_or_waits_counts_until_now(void **state)
{
    static const struct {
        enum sw_state state;
        int64_t started, over;
        bool current;
        double hours, waited_minutes;
    } rows[] = {
        { SW_RUNNING, 30, -1, true, 1.5, 30 },     { SW_PENDING, -1, -1, true, 0, 120 },
        { SW_PENDING, 30, -1, true, 0, 120 },      /* put back: it waits again */
        { SW_ERROR, -1, 60, true, 0, 60 },         /* it ended without having started */
        { SW_RUNNING, 30, -1, false, 0, 30 },      /* an earlier attempt whose end was never seen */
        { SW_COMPLETE, 30, 60, true, 0.5, 30 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(api_usage) struct api_usage usage = { 0 };
        sw_auto(json) json_t *what = brief(1, 1, NULL, NULL), *total = NULL;
        struct sw_used used = ended(1, what, 0, rows[i].started, rows[i].over);

        used.state = rows[i].state;
        used.current = rows[i].current;
        api_usage_init(&usage, API_USAGE_TOTAL, 0, BEGIN + 2 * HOUR, NULL);
        api_usage_add(&usage, &used);
        total = api_usage_total(&usage);
        expect(total, "gpu_hours", rows[i].hours);
        expect(total, "waiting_ms", rows[i].waited_minutes * (double)MINUTE);
    }
}

static void a_job_without_gpus_has_no_gpu_hours_and_no_price(void **state)
{
    sw_auto(api_usage) struct api_usage usage = { 0 };
    sw_auto(json) json_t *what = brief(0, 4, NULL, "ann"), *prices = json_pack("{s:f}", "H100", 2.5),
        *total = NULL;
    struct sw_used used = ended(1, what, 0, 0, 60), unknown = ended(2, NULL, 0, 0, 60);

    (void)state;
    api_usage_init(&usage, API_USAGE_TOTAL, 0, BEGIN + DAY, prices);
    api_usage_add(&usage, &used);
    api_usage_add(&usage, &unknown);
    total = api_usage_total(&usage);
    expect(total, "jobs", 2);
    expect(total, "gpu_hours", 0);
    expect(total, "running_ms", 120 * MINUTE);
    expect(total, "unpriced_gpu_hours", 0);
    expect_null(total, "cost");
}

static void prices_are_those_of_the_type_and_idle_gpus_those_that_were_measured(void **state)
{
    sw_auto(api_usage) struct api_usage usage = { 0 };
    sw_auto(json) json_t *big = brief(8, 1, "h100", NULL), *other = brief(2, 1, "A10", NULL), *total = NULL;
    sw_auto(json) json_t *prices = json_pack("{s:f, s:i}", "H100", 2.5, "L4", 1);
    struct sw_used one = ended(1, big, 0, 0, 60), two = ended(2, other, 0, 0, 120);

    (void)state;
    one.gpu_percent = 75;
    api_usage_init(&usage, API_USAGE_TOTAL, 0, BEGIN + DAY, prices);
    api_usage_add(&usage, &one);
    api_usage_add(&usage, &two);
    total = api_usage_total(&usage);
    expect(total, "gpu_hours", 12);
    expect(total, "cost", 20);
    expect(total, "unpriced_gpu_hours", 4);
    expect(total, "gpu_idle_share", 0.25);
}

static void a_job_over_midnight_is_split_between_its_days(void **state)
{
    sw_auto(api_usage) struct api_usage usage = { 0 };
    sw_auto(json) json_t *what = brief(2, 1, NULL, NULL), *rows = NULL, *total = NULL;
    /* until 01:00, two days later */
    struct sw_used used = ended(1, what, 23 * 60, 23 * 60 + 30, 2 * 24 * 60 + 60);

    (void)state;
    api_usage_init(&usage, API_USAGE_DAY, 0, BEGIN + 10 * DAY, NULL);
    api_usage_add(&usage, &used);
    rows = api_usage_rows(&usage);
    assert_int_equal(json_array_size(rows), 3);
    assert_string_equal(sw_json_str(json_array_get(rows, 0), "group"), "2024-10-04");
    assert_string_equal(sw_json_str(json_array_get(rows, 2), "group"), "2024-10-06");
    expect(json_array_get(rows, 0), "gpu_hours", 1);
    expect(json_array_get(rows, 0), "waiting_ms", 30 * MINUTE);
    expect(json_array_get(rows, 1), "gpu_hours", 48);
    expect(json_array_get(rows, 2), "gpu_hours", 2);
    for (size_t i = 0; i < 3; i++)
        expect(json_array_get(rows, i), "jobs", 1);
    total = api_usage_total(&usage);
    expect(total, "jobs", 1);
    expect(total, "gpu_hours", 51);
}

static void what_was_before_the_period_is_left_out(void **state)
{
    sw_auto(api_usage) struct api_usage usage = { 0 };
    sw_auto(json) json_t *what = brief(1, 1, NULL, NULL), *total = NULL;
    struct sw_used over = ended(1, what, 0, 0, 60), across = ended(2, what, 0, 60, 180);
    struct sw_used again = ended(3, what, 30, 60, 150);

    (void)state;
    again.first = false;                     /* its retry was before, too */
    api_usage_init(&usage, API_USAGE_TOTAL, BEGIN + 2 * HOUR, BEGIN + DAY, NULL);
    api_usage_add(&usage, &over);
    api_usage_add(&usage, &across);
    api_usage_add(&usage, &again);
    total = api_usage_total(&usage);
    expect(total, "jobs", 2);
    expect(total, "gpu_hours", 1.5);
    expect(total, "waiting_ms", 0);
    expect(total, "retries", 0);
}

static void groups_are_platforms_users_or_values_of_a_label_most_hours_first(void **state)
{
    static const struct { enum api_usage_by by; const char *first, *second; } rows[] = {
        { API_USAGE_PLATFORM, "slurm", "local" }, { API_USAGE_USER, "bob", "ann" }, { API_USAGE_LABEL,
            NULL, "vision" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(api_usage) struct api_usage usage = { 0 };
        sw_auto(json) json_t *ann = brief(1, 1, NULL, "ann"), *bob = brief(2, 1, NULL, "bob"), *list = NULL;
        struct sw_used one = ended(1, ann, 0, 0, 60), two = ended(2, bob, 0, 0, 60);

        one.label = (char *)"vision";
        two.platform = (char *)"slurm";
        api_usage_init(&usage, rows[i].by, 0, BEGIN + DAY, NULL);
        api_usage_add(&usage, &one);
        api_usage_add(&usage, &two);
        list = api_usage_rows(&usage);
        assert_int_equal(json_array_size(list), 2);
        if (rows[i].first)
            assert_string_equal(sw_json_str(json_array_get(list, 0), "group"), rows[i].first);
        else
            expect_null(json_array_get(list, 0), "group");
        assert_string_equal(sw_json_str(json_array_get(list, 1), "group"), rows[i].second);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_attempts_of_a_job_are_one_job),
        cmocka_unit_test(what_runs_or_waits_counts_until_now),
        cmocka_unit_test(a_job_without_gpus_has_no_gpu_hours_and_no_price),
        cmocka_unit_test(prices_are_those_of_the_type_and_idle_gpus_those_that_were_measured),
        cmocka_unit_test(a_job_over_midnight_is_split_between_its_days),
        cmocka_unit_test(what_was_before_the_period_is_left_out),
        cmocka_unit_test(groups_are_platforms_users_or_values_of_a_label_most_hours_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
