/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_retry.c - a failure that is retried is never seen as an end; one of many watchers retries.
 */
#include "store_test.h"

#include <sys/wait.h>

static const char ID[] = "job-aaaaaaaa";
enum { PROCESSES = 16 };

static struct sw_observation node_lost(int attempt)
{
    struct sw_observation seen = observation(ID, SW_ERROR);

    seen.job.attempt = attempt;
    seen.ended_ms = 5000;
    snprintf(seen.reason, sizeof seen.reason, "node-lost");
    snprintf(seen.node, sizeof seen.node, "node-7");
    return seen;
}

static bool retry(struct store_fixture *here, int attempt, const json_t *avoid)
{
    struct sw_observation seen = node_lost(attempt);
    sw_auto(json) json_t *verdict = sw_json_object(SW_STR("err_class", "ERR_INFRA"),
                                                   SW_STR("cause", "node"));
    bool won = false;

    assert_ok(sw_store_retry(here->store, &seen, verdict, 9000, false, avoid, "the node died", 6000, &won,
                             &here->err));
    return won;
}

static void begin(struct store_fixture *here)
{
    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_submitted(here->store, ID, "remote-1", NULL, NULL, &here->err));
    saw(here, ID, SW_RUNNING);
}

static void a_retried_failure_is_not_an_end(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *avoid = json_pack("[s]", "node-7");
    sw_auto(json) json_t *attempts = NULL;
    sw_auto(sw_job) struct sw_job job = { 0 };

    begin(here);
    assert_true(retry(here, 1, avoid));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err));
    assert_int_equal(job.state, SW_PENDING);
    assert_int_equal(job.phase, SW_PHASE_SUBMITTING);
    assert_int_equal(job.attempt, 2);
    assert_int_equal(job.not_before_ms, 9000);
    assert_null(job.owner);
    assert_null(job.remote_id);
    assert_string_equal(json_string_value(json_array_get(job.avoid, 0)), "node-7");
    attempts = sw_store_attempts(here->store, ID, &here->err);
    assert_int_equal(json_array_size(attempts), 2);
    assert_string_equal(sw_json_str(json_array_get(attempts, 0), "state"), "Error");
    assert_string_equal(sw_json_str(json_array_get(attempts, 0), "cause"), "node");
    assert_string_equal(sw_json_str(json_array_get(attempts, 0), "node"), "node-7");
    assert_int_equal(sw_json_int(json_array_get(attempts, 0), "ended_ms", 0), 5000);
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE data LIKE '%\"Error\"%'"), 0);
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE kind = 'attempt'"), 1);
}

static void the_second_retry_of_one_attempt_does_nothing(void **state)
{
    struct store_fixture *here = *state;

    begin(here);
    assert_true(retry(here, 1, NULL));
    assert_false(retry(here, 1, NULL));
    assert_int_equal(number(here, "SELECT attempt FROM jobs"), 2);
}

static void a_job_that_was_canceled_or_is_over_is_not_retried(void **state)
{
    struct store_fixture *here = *state;

    begin(here);
    assert_ok(sw_store_cancel_intent(here->store, ID, &here->err));
    assert_false(retry(here, 1, NULL));
    saw(here, ID, SW_CANCELED);
    assert_false(retry(here, 1, NULL));
    assert_int_equal(number(here, "SELECT attempt FROM jobs"), 1);
}

static void of_sixteen_watchers_one_retries(void **state)
{
    struct store_fixture *here = *state;
    pid_t children[PROCESSES];
    int winners = 0;

    begin(here);
    sw_store_close(sw_take(here->store));
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            here->store = sw_store_open(here->dir, false, NULL);
            _exit(here->store && retry(here, 1, NULL) ? 1 : 0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;

        waitpid(children[i], &status, 0);
        winners += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
    }
    here->store = sw_store_open(here->dir, false, &here->err);
    assert_int_equal(winners, 1);
    assert_int_equal(number(here, "SELECT count(*) FROM attempts"), 2);
}

/* ---- progress and guards -------------------------------------------------------------------- */

static void a_milestone_is_reported_once_also_by_two_watchers(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *far = sw_json_object(SW_INT("epoch", 20), SW_INT("epochs", 50),
                                               SW_INT("offset", 900));
    sw_auto(json) json_t *near = sw_json_object(SW_INT("epoch", 10), SW_INT("offset", 500));
    sw_auto(json) json_t *two = json_pack("[i,i]", 10, 20);
    sw_auto(json) json_t *one = json_pack("[i]", 10);
    sw_auto(sw_job) struct sw_job job = { 0 };

    begin(here);
    assert_ok(sw_store_progress(here->store, ID, 1, far, two, &here->err));
    assert_ok(sw_store_progress(here->store, ID, 1, far, two, &here->err));
    assert_ok(sw_store_progress(here->store, ID, 1, near, one, &here->err));
    assert_ok(sw_store_progress(here->store, ID, 2, far, two, &here->err));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    assert_int_equal(sw_json_int(job.progress, "epoch", 0), 20);
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE kind = 'epoch'"), 2);
}

static void a_guard_barks_once_for_each_silence(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *data = sw_json_object(SW_STR("what", "no_output"));
    bool won = false;

    begin(here);
    assert_ok(sw_store_guard(here->store, ID, 1, 1000, data, &won, &here->err));
    assert_true(won);
    assert_ok(sw_store_guard(here->store, ID, 1, 1000, data, &won, &here->err));
    assert_false(won);
    assert_ok(sw_store_guard(here->store, ID, 1, 2000, data, &won, &here->err));
    assert_true(won);
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE kind = 'guard'"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_retried_failure_is_not_an_end),
        STORE_TEST(the_second_retry_of_one_attempt_does_nothing),
        STORE_TEST(a_job_that_was_canceled_or_is_over_is_not_retried),
        STORE_TEST(of_sixteen_watchers_one_retries),
        STORE_TEST(a_milestone_is_reported_once_also_by_two_watchers),
        STORE_TEST(a_guard_barks_once_for_each_silence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
