/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ray_states.c - answers of the Jobs API as observations, row by row.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/reason.h"
#include "platform/ray/ray_internal.h"

#define REPORT "slipway: report {\"version\":1,\"job_id\":\"j-1\",\"rank\":0,\"phase\":\"over\"," \
               "\"exit_code\":137,\"signal\":9}\n"
#define DIED   "JOB_SUPERVISOR_ACTOR_DIED"
#define LATE   "JOB_SUPERVISOR_ACTOR_START_TIMEOUT"
#define SETUP  "RUNTIME_ENV_SETUP_FAILURE"

static const struct row {
    const char *status, *type, *message, *more;      /* more: a key that detail() adds */
    int code;                                        /* driver_exit_code; -1: none */
    enum sw_state state;
    const char *reason;
    int exit_code;
} rows[] = {
    { "PENDING", NULL, "may be waiting for resources (CPUs", NULL, -1, SW_PENDING, SW_REASON_RESOURCES, -1 },
    { "PENDING", NULL, "Job has not started yet.", NULL, -1, SW_PENDING, SW_REASON_STARTING, -1 },
    { "PENDING", NULL, NULL, "stuck", -1, SW_ERROR, SW_REASON_LOST, -1 },
    { "RUNNING", NULL, NULL, NULL, -1, SW_RUNNING, "", -1 },
    { "RUNNING", NULL, NULL, "wants_secrets", -1, SW_RUNNING, SW_REASON_STARTING, -1 },
    { "STOPPED", NULL, NULL, NULL, -1, SW_CANCELED, SW_REASON_CANCELED, 130 },
    { "SUCCEEDED", NULL, NULL, NULL, 0, SW_COMPLETE, SW_REASON_EXIT, 0 },
    { "FAILED", "JOB_ENTRYPOINT_COMMAND_ERROR", NULL, NULL, 3, SW_ERROR, SW_REASON_EXIT, 3 },
    { "FAILED", DIED, "died", NULL, -1, SW_ERROR, SW_REASON_NODE_LOST, -1 },
    { "FAILED", DIED, "died: it was killed by `ray.kill`", NULL, -1, SW_CANCELED, SW_REASON_CANCELED, 130 },
    { "FAILED", LATE, "x", NULL, -1, SW_ERROR, SW_REASON_LOST, -1 },
    { "FAILED", LATE, "entrypoint's specified resources (", NULL, -1, SW_ERROR, SW_REASON_NOT_STARTED, -1 },
    { "FAILED", SETUP, "gcs://_ray_pkg_1.zip", NULL, -1, SW_ERROR, SW_REASON_LOST, -1 },
    { "FAILED", SETUP, "pip", NULL, -1, SW_ERROR, SW_REASON_PREPARE, -1 },
    { "FAILED", NULL, "Job supervisor actor died: node", NULL, -1, SW_ERROR, SW_REASON_NODE_LOST, -1 },
    { "DREAMING", NULL, NULL, NULL, -1, SW_UNKNOWN, "", -1 },
};

static json_t *job_of(const struct row *row)
{
    json_t *job = sw_json_object(
        SW_STR("submission_id", "j-1"), SW_STR("status", row->status), SW_STR_OPT("error_type", row->type),
        SW_STR_OPT("message", row->message),
        SW_SUB("driver_exit_code", row->code < 0 ? NULL : json_integer(row->code)));

    if (row->more)
        json_object_set_new(job, row->more, json_true());
    return job;
}

static void every_word_has_its_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *job = job_of(&rows[i]);
        struct sw_observation seen = { .job = { .id = "j-1", .attempt = 1 } };

        ray_read(job, &seen);
        if (seen.state != rows[i].state || strcmp(seen.reason, rows[i].reason) != 0 ||
            seen.exit_code != rows[i].exit_code)
            fail_msg("row %zu: %d %s %d", i, (int)seen.state, seen.reason, seen.exit_code);
        sw_observation_done(&seen);
    }
}

static void a_failed_job_has_its_runners_report_in_its_message(void **state)
{
    sw_auto(json) json_t *job = job_of(&(struct row){ "FAILED", "JOB_ENTRYPOINT_COMMAND_ERROR",
                                                      "last lines:\n" REPORT, NULL, 137, SW_ERROR, "", 0 });
    struct sw_observation seen = { .job = { .id = "j-1", .attempt = 1 } };

    (void)state;
    ray_read(job, &seen);
    assert_int_equal(seen.signal, 9);
    assert_non_null(seen.runner);
    sw_observation_done(&seen);
}

static void only_a_job_without_driver_is_stuck_and_only_after_the_limit(void **state)
{
    sw_auto(json) json_t *job = json_pack("{s:s,s:I}", "status", "PENDING", "start_time", (json_int_t)1000);

    (void)state;
    assert_false(ray_is_stuck(job, 60000, 61000));
    assert_true(ray_is_stuck(job, 60000, 61001 + RAY_STUCK_SLACK_MS));
    json_object_set_new(job, "driver_agent_http_address", json_string("http://10.0.0.1:1"));
    assert_false(ray_is_stuck(job, 60000, 61001 + RAY_STUCK_SLACK_MS));
}

static void what_is_missing_is_named_with_what_there_is(void **state)
{
    sw_auto(json) json_t *usage = json_pack("{s:[f,f],s:[f,f]}", "GPU", 1.0, 2.0, "CPU", 0.0, 4.0);
    sw_auto(json) json_t *demand = json_pack("{s:f,s:f,s:f}", "GPU", 2.0, "CPU", 4.0, "tpu", 1.0);
    sw_autofree char *missing = ray_missing(demand, usage);

    (void)state;
    assert_string_equal(missing, "GPU 2 (the cluster has 2, in use), tpu 1 (the cluster has 0)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_has_its_meaning),
        cmocka_unit_test(a_failed_job_has_its_runners_report_in_its_message),
        cmocka_unit_test(only_a_job_without_driver_is_stuck_and_only_after_the_limit),
        cmocka_unit_test(what_is_missing_is_named_with_what_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
