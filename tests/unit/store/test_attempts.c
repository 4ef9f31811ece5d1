/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_attempts.c - attempts are numbered, each keeps its own end, and only one caller begins one.
 */
#include "store_test.h"

static const char ID[] = "job-aaaaaaaa";

static void fail_with(struct store_fixture *here, int attempt, int exit_code)
{
    struct sw_observation seen = observation(ID, SW_ERROR);

    seen.job.attempt = attempt;
    seen.exit_code = exit_code;
    assert_ok(sw_store_saw(here->store, &seen, NULL, sw_now_ms(), NULL, &here->err));
}

static void each_attempt_keeps_its_own_end(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *details = sw_json_object(SW_INT("pid", 1));
    sw_auto(json) json_t *attempts = NULL;
    sw_auto(sw_job) struct sw_job job = { 0 };
    int attempt = 0;

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_submitted(here->store, ID, "first", details, NULL, &here->err));
    fail_with(here, 1, 3);
    assert_ok(sw_store_next_attempt(here->store, ID, 1, "the node died", &attempt, &here->err));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err));
    assert_int_equal(job.phase, SW_PHASE_SUBMITTING);       /* the platform must be asked again */
    assert_int_equal(job.state, SW_PENDING);
    assert_int_equal(job.attempt, 2);
    assert_int_equal(job.exit_code, SW_NO_EXIT_CODE);
    assert_int_equal(job.ended_ms, 0);
    assert_string_equal(job.message, "the node died");
    assert_null(job.remote_id);
    assert_null(job.details);
    fail_with(here, 2, 4);
    attempts = sw_store_attempts(here->store, ID, &here->err);
    assert_int_equal(json_array_size(attempts), 2);
    assert_int_equal(sw_json_int(json_array_get(attempts, 0), "exit_code", 0), 3);
    assert_string_equal(sw_json_str(json_array_get(attempts, 0), "remote_id"), "first");
    assert_int_equal(sw_json_int(json_array_get(attempts, 1), "number", 0), 2);
    assert_int_equal(sw_json_int(json_array_get(attempts, 1), "exit_code", 0), 4);
}

static void a_platform_that_tries_again_by_itself_keeps_its_name_for_the_job(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *attempts = NULL;
    sw_auto(sw_job) struct sw_job job = { 0 };
    int attempt = 0;

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_submitted(here->store, ID, "4711", NULL, NULL, &here->err));
    saw(here, ID, SW_RUNNING);
    assert_ok(sw_store_next_attempt(here->store, ID, 1, "requeued", &attempt, &here->err));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err));
    assert_int_equal(job.phase, SW_PHASE_ACTIVE);
    assert_string_equal(job.remote_id, "4711");
    attempts = sw_store_attempts(here->store, ID, &here->err);
    assert_string_equal(sw_json_str(json_array_get(attempts, 0), "state"), "Error");
    assert_string_equal(sw_json_str(json_array_get(attempts, 0), "reason"), "retried");
    assert_true(sw_json_int(json_array_get(attempts, 0), "ended_ms", 0) > 0);
}

static void only_one_caller_begins_the_next_attempt(void **state)
{
    struct store_fixture *here = *state;
    int attempt = 0;

    assert_ok(add_job(here->store, ID, &here->err));
    fail_with(here, 1, 1);
    assert_ok(sw_store_next_attempt(here->store, ID, 1, "again", &attempt, &here->err));
    assert_refused(sw_store_next_attempt(here->store, ID, 1, "again", &attempt, &here->err),
                   SW_E_CONFLICT);
    assert_int_equal(number(here, "SELECT count(*) FROM attempts"), 2);
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE kind = 'attempt'"), 1);
}

static void a_job_being_canceled_is_not_tried_again_until_it_is_over(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_job) struct sw_job job = { 0 };
    int attempt = 0;

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_cancel_intent(here->store, ID, &here->err));
    assert_refused(sw_store_next_attempt(here->store, ID, 1, "again", &attempt, &here->err),
                   SW_E_CONFLICT);
    assert_true(saw(here, ID, SW_CANCELED));
    assert_ok(sw_store_next_attempt(here->store, ID, 1, "again", &attempt, &here->err));
    assert_int_equal(attempt, 2);
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    assert_false(job.canceling);
    assert_int_equal(number(here, "SELECT count(*) FROM attempts WHERE reason = 'retried'"), 0);
}

static void attempts_that_no_client_saw_are_reported_once(void **state)
{
    struct store_fixture *here = *state;
    struct sw_observation seen = observation(ID, SW_RUNNING);
    sw_auto(json) json_t *before =
        json_loads("[{\"number\":1,\"state\":\"Error\",\"exit_code\":1,\"cause\":\"gpu\",\"node\":\"n1\"},"
                   "{\"number\":2,\"state\":\"Error\",\"exit_code\":null,\"remote_id\":\"8\"}]", 0, NULL);
    sw_auto(json) json_t *attempts = NULL;
    sw_auto(sw_job) struct sw_job job = { 0 };

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_submitted(here->store, ID, "7", NULL, NULL, &here->err));
    saw(here, ID, SW_RUNNING);
    assert_ok(sw_store_cancel_intent(here->store, ID, &here->err));    /* changes nothing about it */
    seen.attempt = 3;
    seen.before = before;
    for (int i = 0; i < 2; i++)
        assert_ok(sw_store_caught_up(here->store, &seen, false, sw_now_ms(), &here->err));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    assert_int_equal(job.attempt, 3);
    assert_int_equal(job.phase, SW_PHASE_ACTIVE);
    assert_true(job.canceling);
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE kind = 'attempt'"), 2);
    attempts = sw_store_attempts(here->store, ID, &here->err);
    assert_int_equal(json_array_size(attempts), 3);
    assert_string_equal(sw_json_str(json_array_get(attempts, 0), "cause"), "gpu");
    assert_true(json_is_null(json_object_get(json_array_get(attempts, 1), "exit_code")));
    assert_string_equal(sw_json_str(json_array_get(attempts, 1), "remote_id"), "8");
}

/* The job is at attempt 2, which its platform announced for a time. */
static void announce(struct store_fixture *here, int64_t not_before_ms, bool new_log)
{
    struct sw_observation seen = observation(ID, SW_PENDING);
    sw_auto(json) json_t *before = json_pack("[{s:i, s:s, s:s, s:I, s:b}]", "number", 1, "state", "Error",
                                             "why", "attempt 1 failed; retry 1 of 3", "not_before_ms",
                                             (json_int_t)not_before_ms, "only_collect", 1);

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_submitted(here->store, ID, "7", NULL, NULL, &here->err));
    saw(here, ID, SW_RUNNING);
    assert_ok(sw_store_progress(here->store, ID, 1, before, NULL, &here->err));
    seen.attempt = 2;
    seen.before = before;
    assert_ok(sw_store_caught_up(here->store, &seen, new_log, sw_now_ms(), &here->err));
}

static void an_announced_attempt_has_its_time_and_begins_its_own_log(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_job) struct sw_job job = { 0 };

    announce(here, 4711000, true);
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err));
    assert_int_equal(job.attempt, 2);
    assert_int_equal(job.not_before_ms, 4711000);
    assert_string_equal(job.message, "attempt 1 failed; retry 1 of 3");
    assert_null(job.progress);
    assert_true(job.only_collect);
}

static void where_all_attempts_have_one_log_progress_stays(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_job) struct sw_job job = { 0 };

    announce(here, 0, false);
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err));
    assert_non_null(job.progress);
}

static void an_announced_attempt_that_never_begins_is_sent_by_us(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_job) struct sw_job job = { 0 };

    announce(here, 4711000, true);
    for (int i = 0; i < 2; i++)
        assert_ok(sw_store_hand_back(here->store, ID, 2, "its supervisor was killed", &here->err));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    assert_int_equal(job.phase, SW_PHASE_SUBMITTING);
    assert_int_equal(job.attempt, 2);
    assert_int_equal(job.not_before_ms, 4711000);
    assert_null(job.owner);
    assert_int_equal(number(here, "SELECT duties & 1 FROM jobs"), 1);
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE kind = 'handed-back'"), 1);
}

static void an_attempt_that_was_seen_is_not_handed_back(void **state)
{
    struct store_fixture *here = *state;
    struct sw_observation seen = observation(ID, SW_RUNNING);

    announce(here, 0, true);
    seen.job.attempt = 2;
    assert_ok(sw_store_saw(here->store, &seen, NULL, sw_now_ms(), NULL, &here->err));
    assert_ok(sw_store_hand_back(here->store, ID, 2, "too late", &here->err));
    assert_int_equal(number(here, "SELECT count(*) FROM jobs WHERE phase = 'active'"), 1);
}

static void attempts_of_no_job_are_not_found(void **state)
{
    struct store_fixture *here = *state;

    assert_null(sw_store_attempts(here->store, "missing", &here->err));
    assert_int_equal(here->err.code, SW_E_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(each_attempt_keeps_its_own_end),
        STORE_TEST(a_platform_that_tries_again_by_itself_keeps_its_name_for_the_job),
        STORE_TEST(only_one_caller_begins_the_next_attempt),
        STORE_TEST(a_job_being_canceled_is_not_tried_again_until_it_is_over),
        STORE_TEST(attempts_that_no_client_saw_are_reported_once),
        STORE_TEST(an_announced_attempt_has_its_time_and_begins_its_own_log),
        STORE_TEST(where_all_attempts_have_one_log_progress_stays),
        STORE_TEST(an_announced_attempt_that_never_begins_is_sent_by_us),
        STORE_TEST(an_attempt_that_was_seen_is_not_handed_back),
        STORE_TEST(attempts_of_no_job_are_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
