/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runai_states.c - every phase, why a workload waits, and how it ended.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/reason.h"
#include "platform/runai/runai_internal.h"

static struct sw_observation read_text(const char *text, int nodes)
{
    struct sw_observation seen = { .job = { .id = "train-abcdefgh", .attempt = 1 } };
    sw_auto(json) json_t *workload = json_loads(text, 0, NULL), *plan = json_pack("{s:i}", "nodes", nodes);

    assert_non_null(workload);
    seen.job.plan = plan;
    runai_read(workload, &seen);
    json_decref(sw_take(seen.runner));
    seen.job.plan = NULL;
    return seen;
}

static void every_phase_has_its_state(void **state)
{
    static const struct { const char *phase; enum sw_state state; } rows[] = {
        { "Creating", SW_PENDING }, { "Initializing", SW_PENDING }, { "Pending", SW_PENDING },
        { "Resuming", SW_PENDING }, { "Running", SW_RUNNING }, { "Updating", SW_RUNNING },
        { "Degraded", SW_RUNNING }, { "Completed", SW_COMPLETE }, { "Failed", SW_ERROR },
        { "Stopping", SW_PAUSED }, { "Stopped", SW_PAUSED }, { "Deleting", SW_CANCELED },
        { "Terminating", SW_CANCELED }, { "Unknown", SW_UNKNOWN },
    };

    (void)state;
    assert_int_equal(SW_COUNT(rows), 14);
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        assert_int_equal(runai_state(rows[i].phase, NULL), rows[i].state);
}

static void a_phase_that_is_not_known_is_kept_as_text(void **state)
{
    struct sw_observation seen = read_text("{\"id\": \"u\", \"phase\": \"Hibernating\"}", 1);

    (void)state;
    assert_int_equal(seen.presence, SW_PRESENT);
    assert_int_equal(seen.state, SW_UNKNOWN);
    assert_string_equal(seen.message, "run:ai says 'Hibernating'");
    assert_string_equal(seen.remote_id, "u");
}

static void a_waiting_job_says_why(void **state)
{
    static const struct { const char *workload, *reason, *words; } rows[] = {
        { "{\"phase\":\"Pending\",\"phaseReason\":\"NonPreemptibleOverQuota\","
          "\"phaseMessage\":\"over quota\"}",
          SW_REASON_QUOTA, "over quota" },
        { "{\"phase\":\"Pending\",\"phaseReason\":\"OverLimit\"}", SW_REASON_LIMIT, "OverLimit" },
        { "{\"phase\":\"Pending\",\"phaseReason\":\"Weather\",\"phaseMessage\":\"rain\"}", SW_REASON_QUEUE,
          "rain" },
        { "{\"phase\":\"Pending\"}", SW_REASON_QUEUE, "it is waiting for resources" },
        { "{\"phase\":\"Creating\"}", SW_REASON_STARTING, "run:ai is creating the workload" },
        { "{\"phase\":\"Initializing\",\"events\":["
          "{\"reason\":\"FailedScheduling\",\"message\":\"0/1 nodes\","
          "\"createdAt\":\"2026-01-01T00:00:01Z\"},"
          "{\"reason\":\"ErrImagePull\",\"message\":\"no such image\","
          "\"createdAt\":\"2026-01-01T00:00:02Z\"},"
          "{\"reason\":\"Pulling\",\"message\":\"again\",\"createdAt\":\"2026-01-01T00:00:03Z\"}]}",
          SW_REASON_IMAGE_ERROR, "no such image" },
        { "{\"phase\":\"Pending\",\"conditions\":[{\"reason\":\"Unschedulable\","
          "\"message\":\"no node fits\"}]}",
          SW_REASON_RESOURCES, "no node fits" },
        { "{\"phase\":\"Initializing\",\"events\":[{\"reason\":\"FailedMount\",\"message\":\"no claim\"}]}",
          SW_REASON_MOUNT, "no claim" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_observation seen = read_text(rows[i].workload, 1);

        assert_int_equal(seen.state, SW_PENDING);
        assert_string_equal(seen.reason, rows[i].reason);
        assert_string_equal(seen.message, rows[i].words);
    }
}

#define REPORT(rank, more) "slipway: report {\\\"job_id\\\":\\\"train-abcdefgh\\\",\\\"rank\\\":" rank   \
                           ",\\\"phase\\\":\\\"over\\\"," more "}\\n"

static void the_exit_code_is_the_runners(void **state)
{
    struct sw_observation seen = read_text(
        "{\"phase\":\"Failed\",\"phaseMessage\":\"pod x failed\","
        "\"completedAt\":\"2026-01-01T00:00:02.500Z\","
        "\"pods\":[{\"name\":\"x-0-0\",\"k8sPhase\":\"Failed\",\"nodeName\":\"n1\","
        "\"containers\":[{\"startedAt\":\"2026-01-01T00:00:01Z\"}]}],"
        "\"tails\":{\"0\":\"no newline" REPORT("0", "\\\"exit_code\\\":3") "\"}}", 1);

    (void)state;
    assert_int_equal(seen.state, SW_ERROR);
    assert_int_equal(seen.exit_code, 3);
    assert_string_equal(seen.reason, SW_REASON_EXIT);
    assert_string_equal(seen.node, "n1");
    assert_int_equal(seen.ended_ms - seen.started_ms, 1500);
}

static void without_a_log_a_failure_has_no_exit_code(void **state)
{
    struct sw_observation seen = read_text(
        "{\"phase\":\"Failed\",\"phaseMessage\":\"BackoffLimitExceeded\"}", 1);

    (void)state;
    assert_int_equal(seen.state, SW_ERROR);
    assert_int_equal(seen.exit_code, SW_NO_EXIT_CODE);
    assert_string_equal(seen.message, "BackoffLimitExceeded");
    assert_int_equal(read_text("{\"phase\":\"Completed\"}", 1).exit_code, 0);
}

static void of_several_ranks_the_first_that_failed_explains_it(void **state)
{
    struct sw_observation seen = read_text(
        "{\"phase\":\"Failed\",\"pods\":["
        "{\"name\":\"x-worker-0\",\"k8sPhase\":\"Failed\",\"completedAt\":\"2026-01-01T00:00:09Z\"},"
        "{\"name\":\"x-worker-1\",\"k8sPhase\":\"Failed\",\"completedAt\":\"2026-01-01T00:00:05Z\"}],"
        "\"tails\":{\"0\":\"" REPORT("0", "\\\"exit_code\\\":143") "\",\"1\":\"" REPORT("1",
            "\\\"exit_code\\\":7")
        "\"}}", 2);

    (void)state;
    assert_int_equal(seen.failed_replica, 1);
    assert_int_equal(seen.exit_code, 7);
}

static void a_suspended_workload_is_paused_or_canceled(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\"phase\":\"Stopped\"}", 1).state, SW_PAUSED);
    assert_int_equal(read_text("{\"phase\":\"Stopped\",\"canceled\":true}", 1).state, SW_CANCELED);
    assert_int_equal(read_text("{\"phase\":\"Stopping\",\"canceled\":true}", 1).state, SW_RUNNING);
}

static void a_deleted_workload_may_have_ended_before(void **state)
{
    struct sw_observation seen = read_text("{\"phase\":\"Running\",\"deletedAt\":\"2026-01-01T00:00:02Z\"}",
                                           1);

    (void)state;
    assert_true(seen.by_absence);
    assert_int_equal(seen.state, SW_ERROR);
    assert_string_equal(seen.reason, SW_REASON_REMOVED);
    assert_int_equal(read_text("{\"phase\":\"Completed\",\"deletedAt\":\"2026-01-01T00:00:02Z\"}", 1).state,
                     SW_COMPLETE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_phase_has_its_state),
        cmocka_unit_test(a_phase_that_is_not_known_is_kept_as_text),
        cmocka_unit_test(a_waiting_job_says_why),
        cmocka_unit_test(the_exit_code_is_the_runners),
        cmocka_unit_test(without_a_log_a_failure_has_no_exit_code),
        cmocka_unit_test(of_several_ranks_the_first_that_failed_explains_it),
        cmocka_unit_test(a_suspended_workload_is_paused_or_canceled),
        cmocka_unit_test(a_deleted_workload_may_have_ended_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
