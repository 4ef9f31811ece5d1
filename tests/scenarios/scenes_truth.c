/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes_truth.c - exit codes and truth. The whole table is test_truth.c's.
 */
#include "scenes.h"

#include <stdlib.h>
#include <string.h>

static void run_wait_and_logs_end_with_the_jobs_own_code(void **state)
{
    struct trial *here = *state;

    assert_int_equal(slipway(here, NULL, "run", "--name", "ten", "--", "sh", "-c", "exit 37",
                             NULL), 37);
    assert_int_equal(slipway(here, NULL, "wait", "ten", NULL), 37);
    assert_int_equal(slipway(here, NULL, "logs", "-f", "ten", NULL), 37);
}

static void an_end_without_a_code_is_not_success(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "running 20ms, lost", "retry.max", "0", NULL);
    sw_auto(json) json_t *seen = NULL;

    assert_int_not_equal(wait_until_over(here, job), 0);
    seen = status(here, job);
    assert_string_equal(text_of(seen, "status"), "Error");
    assert_true(json_is_null(json_object_get(seen, "exit_code")));
}

static void a_failed_job_is_never_listed_as_complete(void **state)
{
    static const char *const codes[] = { "exit 1", "exit 3", "exit 137", "exit 139", "kill -9 $$",
                                         "kill -15 $$" };
    struct trial *here = *state;
    sw_auto(json) json_t *list = NULL;
    json_t *job;
    size_t i;

    for (i = 0; i < SW_COUNT(codes); i++)
        launch_shell(here, "%s", codes[i]);
    do {                                    /* at no moment */
        json_decref(list);
        list = list_all(here, SW_LOOK_REFRESH);
        json_array_foreach(json_object_get(list, "jobs"), i, job)
            assert_string_not_equal(text_of(job, "status"), "Complete");
        for (i = 0; i < SW_COUNT(codes); i++)
            if (strcmp(text_of(json_array_get(json_object_get(list, "jobs"), i), "status"),
                       "Error") != 0)
                break;
    } while (i < SW_COUNT(codes));
}

static void of_three_ranks_the_first_that_failed_is_named(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request_shell(
        here, "if [ $NODE_RANK = 1 ]; then echo \"FileNotFoundError: no /data\" >&2; sleep 0.2; exit 7; fi;"
              " sleep 60");
    const char *job;
    sw_auto(json) json_t *seen = NULL, *verdict = NULL, *parts = NULL;
    const json_t *ranks;
    sw_autofree char *evidence = NULL;

    set(made, "nodes", "3");
    job = send_request(here, made);
    assert_int_equal(wait_until_over(here, job), 7);
    seen = status(here, job);
    parts = answer(sw_replicas(here->session, job, NULL));
    ranks = json_object_get(parts, "replicas");
    assert_int_equal(number_of(seen, "failed_replica"), 1);
    assert_int_equal(number_of(json_array_get(ranks, 1), "exit_code"), 7);
    for (size_t other = 0; other < 3; other += 2)
        assert_string_equal(text_of(json_array_get(ranks, other), "status"), "Canceled");
    verdict = analysis(here, job);
    evidence = json_dumps(verdict, 0);
    expect_has(evidence, "FileNotFoundError");
}

static void a_preempted_job_that_runs_again_is_between_runs_not_failed(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "running 1s, preempted 1s, running 1s, exit 0", NULL);
    sw_auto(json) json_t *seen = NULL;

    wait_until(here, job, SW_RUNNING);
    time_passes(1200);
    seen = status(here, job);
    assert_string_equal(text_of(seen, "status"), "Pending");
    assert_string_equal(text_of(seen, "reason"), "preempted");
    time_passes(2000);
    assert_int_equal(wait_until_over(here, job), 0);
    expect_state(here, job, SW_COMPLETE);
}

struct scene scenes_truth[] = {
    SCENE("NeMo-Run#52 #289", run_wait_and_logs_end_with_the_jobs_own_code, local),
    SCENE("NeMo-Run#218", an_end_without_a_code_is_not_success, rehearsal),
    SCENE("skypilot#8928 #4599 #2122", a_failed_job_is_never_listed_as_complete,
          local),
    SCENE("skypilot#4232", of_three_ranks_the_first_that_failed_is_named, local),
    SCENE("submitit#1770",
          a_preempted_job_that_runs_again_is_between_runs_not_failed, rehearsal),
    { 0 }
};
