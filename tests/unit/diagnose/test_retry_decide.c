/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_retry_decide.c - which failures are tried again, how often, and after how long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "diagnose/retry.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND };

static struct sw_retry decide(const char *retry, int usual_most, int attempt,
                              const char *err_class, const char *cause, unsigned jitter)
{
    sw_auto(json) json_t *rules = retry ? json_loads(retry, 0, NULL) : NULL;
    sw_auto(json) json_t *plan = json_object();
    sw_auto(json) json_t *verdict = sw_json_object(SW_STR("err_class", err_class),
                                                   SW_STR("cause", cause));
    struct sw_observation failed = { .job.attempt = attempt, .state = SW_ERROR };
    struct sw_retry out;

    if (rules)
        json_object_set(plan, "retry", rules);
    sw_retry_decide(plan, usual_most, &failed, verdict, jitter, &out);
    return out;
}

static const struct row {
    const char *retry;
    int usual_most, attempt;
    const char *err_class, *cause;
    bool again;
    int64_t wait_ms;
} rows[] = {
    /* by default: infrastructure, three times, ten on Slurm */
    { NULL, 3, 1, "ERR_INFRA", "node", true, 30 * SECOND },
    { NULL, 3, 2, "ERR_INFRA", "network", true, 60 * SECOND },
    { NULL, 3, 3, "ERR_INFRA", "gpu", true, 2 * MINUTE },
    { NULL, 3, 4, "ERR_INFRA", "gpu", false, 0 },
    { NULL, 10, 10, "ERR_INFRA", "preempted", true, 10 * MINUTE },
    { NULL, 10, 11, "ERR_INFRA", "preempted", false, 0 },
    { NULL, 3, 1, "ERR_PROGRAM", "image", false, 0 },       /* a misspelt image */
    { NULL, 3, 1, "ERR_INFRA", "storage", false, 0 },
    { NULL, 3, 1, "ERR_PROGRAM", "memory", false, 0 },
    { NULL, 3, 1, "ERR_PROGRAM", "time", false, 0 },
    { NULL, 3, 1, "ERR_PROGRAM", "user", false, 0 },
    { NULL, 3, 1, "ERR_PROGRAM", "unknown", false, 0 },
    /* as the job file says */
    { "{\"max\": 0}", 3, 1, "ERR_INFRA", "node", false, 0 },
    { "{\"max\": 1}", 10, 2, "ERR_INFRA", "node", false, 0 },
    { "{\"on\": [\"memory\"]}", 3, 1, "ERR_PROGRAM", "memory", true, 30 * SECOND },
    { "{\"on\": [\"memory\"]}", 3, 1, "ERR_INFRA", "node", false, 0 },
    { "{\"on\": [\"unknown\", \"user\"]}", 3, 1, "ERR_PROGRAM", "unknown", true, 30 * SECOND },
    { "{\"on\": []}", 3, 1, "ERR_INFRA", "node", false, 0 },
    { "{\"wait\": \"5s\"}", 3, 1, "ERR_INFRA", "node", true, 5 * SECOND },
    { "{\"wait\": \"5s\"}", 3, 3, "ERR_INFRA", "node", true, 5 * SECOND },
    { "{\"wait\": \"0s\"}", 3, 1, "ERR_INFRA", "node", true, 0 },
    { "{\"wait\": \"10s..25s\"}", 3, 2, "ERR_INFRA", "node", true, 20 * SECOND },
    { "{\"wait\": \"10s..25s\"}", 3, 3, "ERR_INFRA", "node", true, 25 * SECOND },
    { "{\"wait\": \"10s..25s\", \"max\": 1000}", 3, 900, "ERR_INFRA", "node", true,
      25 * SECOND },
};

static void each_failure_is_retried_or_not_as_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        const struct row *row = &rows[i];
        struct sw_retry out = decide(row->retry, row->usual_most, row->attempt, row->err_class,
                                     row->cause, 0);

        if (out.again != row->again || out.wait_ms != row->wait_ms)
            fail_msg("row %zu: %s after %lld ms: %s", i, out.again ? "again" : "not again",
                     (long long)out.wait_ms, out.why);
        assert_true(strlen(out.why) > 0);
    }
}

static void jitter_adds_a_quarter_at_most_and_never_passes_the_high_end(void **state)
{
    (void)state;
    for (unsigned jitter = 0; jitter < 1000; jitter += 37) {
        int64_t first = decide(NULL, 3, 1, "ERR_INFRA", "node", jitter).wait_ms;
        int64_t last = decide("{\"max\": 99}", 3, 90, "ERR_INFRA", "node", jitter).wait_ms;

        assert_in_range(first, 30 * SECOND, 37500);
        assert_int_equal(last, 10 * MINUTE);
    }
    assert_int_equal(sw_retry_jitter("job-aaaaaaaa", 2), sw_retry_jitter("job-aaaaaaaa", 2));
    assert_int_not_equal(sw_retry_jitter("job-aaaaaaaa", 2), sw_retry_jitter("job-aaaaaaab", 2));
}

static void the_bad_node_is_avoided_when_asked(void **state)
{
    (void)state;
    assert_true(decide("{\"avoid_bad_nodes\": true}", 3, 1, "ERR_INFRA", "node", 0).avoid_node);
    assert_false(decide(NULL, 3, 1, "ERR_INFRA", "node", 0).avoid_node);
}

static void the_reason_of_a_failure_is_reported_to_its_end(void **state)
{
    struct sw_observation failed = { .job = { .attempt = 1 }, .state = SW_ERROR };
    sw_auto(json) json_t *verdict = sw_json_object(SW_STR("err_class", "ERR_INFRA"), SW_STR("cause", "node"));
    struct sw_retry out;

    (void)state;
    memset(failed.message, 'x', sizeof failed.message - 1);
    memcpy(failed.message + sizeof failed.message - 9, "the host", 9);
    sw_retry_decide(NULL, 3, &failed, verdict, 0, &out);
    assert_non_null(strstr(out.why, "the host; retry 1 of 3"));
}

/* The command ended well: another attempt only brings what it left, from wherever. */
static void outputs_that_did_not_arrive_are_no_reason_to_run_the_command(void **state)
{
    sw_auto(json) json_t *plan = json_loads("{\"retry\": {\"avoid_bad_nodes\": true}}", 0, NULL);
    sw_auto(json) json_t *verdict = sw_json_object(SW_STR("err_class", "ERR_INFRA"),
                                                   SW_STR("cause", "network"));
    struct sw_observation failed = { .job.attempt = 1, .state = SW_ERROR, .reason = "outputs" };
    struct sw_retry out;

    (void)state;
    sw_retry_decide(plan, 3, &failed, verdict, 0, &out);
    assert_true(out.again && out.only_collect && !out.avoid_node);
    strcpy(failed.reason, "prepare");
    sw_retry_decide(plan, 3, &failed, verdict, 0, &out);
    assert_true(out.again && !out.only_collect && out.avoid_node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_is_retried_or_not_as_the_table_says),
        cmocka_unit_test(jitter_adds_a_quarter_at_most_and_never_passes_the_high_end),
        cmocka_unit_test(the_bad_node_is_avoided_when_asked),
        cmocka_unit_test(the_reason_of_a_failure_is_reported_to_its_end),
        cmocka_unit_test(outputs_that_did_not_arrive_are_no_reason_to_run_the_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
