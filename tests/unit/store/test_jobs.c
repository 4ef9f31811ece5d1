/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_jobs.c - the life of a row: added once, confirmed, claimed by one, read back, removed whole.
 */
#include "store_test.h"

static const char ID[] = "job-aaaaaaaa";

static json_t *owner(int pid)
{
    return sw_json_object(SW_INT("pid", pid), SW_INT("start", 7), SW_STR("boot", "b"));
}

static void what_was_added_is_read_back(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *plan = sw_json_object(SW_STR("z", "1"), SW_STR("a", "2"));
    sw_auto(json) json_t *labels = sw_json_object(SW_STR("team", "vision"), SW_STR("empty", ""));
    sw_auto(json) json_t *me = owner(1);
    sw_auto(sw_job) struct sw_job job = { 0 };
    struct sw_job added = { .name = (char *)"tr\xc3\xa4in", .platform = (char *)"local",
                            .profile = (char *)"big", .results_dir = (char *)"/r",
                            .plan = plan, .labels = labels, .keep_ms = 5, .owner = me };
    sw_autofree char *text = NULL;

    memcpy(added.id, ID, sizeof ID);
    assert_ok(sw_store_add(here->store, &added, &here->err));
    reopen(here);
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err));
    assert_string_equal(job.id, ID);
    assert_string_equal(job.name, "tr\xc3\xa4in");
    assert_string_equal(job.profile, "big");
    assert_string_equal(job.results_dir, "/r");
    assert_int_equal(job.phase, SW_PHASE_SUBMITTING);
    assert_int_equal(job.state, SW_PENDING);
    assert_int_equal(job.attempt, 1);
    assert_int_equal(job.exit_code, SW_NO_EXIT_CODE);
    assert_int_equal(job.failed_replica, -1);
    assert_int_equal(job.keep_ms, 5);
    assert_true(job.created_ms > 0);
    assert_int_equal(job.submitted_ms, 0);
    assert_null(job.remote_id);
    assert_null(job.details);
    assert_true(json_equal(job.labels, labels));
    assert_true(json_equal(job.owner, me));
    text = sw_json_dump(job.plan);
    assert_string_equal(text, "{\"z\":\"1\",\"a\":\"2\"}");         /* in the order it was given */
}

static void an_id_is_given_only_once(void **state)
{
    struct store_fixture *here = *state;

    assert_ok(add_job(here->store, ID, &here->err));
    assert_refused(add_job(here->store, ID, &here->err), SW_E_CONFLICT);
    assert_int_equal(number(here, "SELECT count(*) FROM jobs"), 1);
    assert_int_equal(number(here, "SELECT count(*) FROM events"), 1);
}

static void an_id_that_is_none_is_refused(void **state)
{
    struct store_fixture *here = *state;

    assert_int_equal(add_job(here->store, "Not An Id", &here->err), -1);
    assert_int_equal(number(here, "SELECT count(*) FROM jobs"), 0);
}

static void a_confirmed_submit_is_remembered_and_does_not_touch_the_state(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *details = sw_json_object(SW_INT("pid", 4711));
    sw_auto(sw_job) struct sw_job job = { 0 };

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_submitted(here->store, ID, "remote", details, "/results", &here->err));
    assert_ok(sw_store_submitted(here->store, ID, "", NULL, NULL, &here->err));  /* no news */
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err));
    assert_int_equal(job.phase, SW_PHASE_ACTIVE);
    assert_int_equal(job.state, SW_PENDING);
    assert_string_equal(job.remote_id, "remote");
    assert_string_equal(job.results_dir, "/results");
    assert_true(json_equal(job.details, details));
    assert_true(job.submitted_ms > 0);
    assert_null(job.owner);
    assert_refused(sw_store_submitted(here->store, "missing", NULL, NULL, NULL, &here->err),
                   SW_E_NOT_FOUND);
}

static void a_job_that_ended_before_its_submit_was_confirmed_stays_ended(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_job) struct sw_job job = { 0 };

    assert_ok(add_job(here->store, ID, &here->err));
    saw(here, ID, SW_COMPLETE);
    assert_ok(sw_store_submitted(here->store, ID, "remote", NULL, NULL, &here->err));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    assert_int_equal(job.phase, SW_PHASE_OVER);
    assert_int_equal(job.state, SW_COMPLETE);
    assert_string_equal(job.remote_id, "remote");
}

static void a_claim_is_won_by_the_first_and_only_from_the_owner_it_saw(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *dead = owner(1);
    sw_auto(json) json_t *dead_otherwise_written =
        sw_json_object(SW_STR("boot", "b"), SW_INT("start", 7), SW_INT("pid", 1));
    sw_auto(json) json_t *first = owner(2);
    sw_auto(json) json_t *second = owner(3);
    struct sw_job job = { .name = (char *)"n", .platform = (char *)"local", .owner = dead };
    bool won = false;

    memcpy(job.id, ID, sizeof ID);
    assert_ok(sw_store_add(here->store, &job, &here->err));
    assert_ok(sw_store_claim(here->store, ID, NULL, second, &won, &here->err));
    assert_false(won);
    assert_ok(sw_store_claim(here->store, ID, dead_otherwise_written, first, &won, &here->err));
    assert_true(won);
    assert_ok(sw_store_claim(here->store, ID, dead, second, &won, &here->err));
    assert_false(won);
    assert_ok(sw_store_submitted(here->store, ID, NULL, NULL, NULL, &here->err));
    assert_ok(sw_store_claim(here->store, ID, NULL, second, &won, &here->err));
    assert_false(won);                    /* it is no longer submitting */
}

static void a_row_without_owner_can_be_claimed(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *me = owner(2);
    bool won = false;

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_claim(here->store, ID, NULL, me, &won, &here->err));
    assert_true(won);
}

static void removing_a_job_leaves_nothing_of_it(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *labels = sw_json_object(SW_STR("team", "vision"));
    struct sw_job job = { .name = (char *)"n", .platform = (char *)"local", .labels = labels };

    memcpy(job.id, ID, sizeof ID);
    assert_ok(sw_store_add(here->store, &job, &here->err));
    assert_refused(sw_store_remove(here->store, ID, &here->err), SW_E_CONFLICT);
    saw(here, ID, SW_CANCELED);
    assert_ok(sw_store_remove(here->store, ID, &here->err));
    assert_int_equal(number(here, "SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM"
                                  " documents) + (SELECT count(*) FROM labels) + (SELECT count(*)"
                                  " FROM attempts) + (SELECT count(*) FROM events)"), 0);
    assert_refused(sw_store_remove(here->store, ID, &here->err), SW_E_NOT_FOUND);
}

static void a_damaged_document_is_reported_and_not_taken_for_none(void **state)
{
    struct store_fixture *here = *state;
    struct sw_job job = { 0 };

    assert_ok(add_job(here->store, ID, &here->err));
    assert_int_equal(sqlite3_exec(here->store->db, "UPDATE documents SET plan = '{\"half'", NULL,
                                  NULL, NULL), SQLITE_OK);
    assert_refused(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err), SW_E_STORE);
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    sw_job_done(&job);
}

static void many_are_read_at_once_and_those_that_are_gone_are_left_out(void **state)
{
    struct store_fixture *here = *state;
    static const char ids[][SW_ID_SIZE] = { "job-bbbbbbbb", "job-nothere2", "job-aaaaaaaa" };
    struct sw_job jobs[3] = { 0 };
    size_t found = 0;

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(add_job(here->store, "job-bbbbbbbb", &here->err));
    assert_ok(sw_store_get_many(here->store, ids, 3, NULL, jobs, &found, &here->err));
    assert_int_equal(found, 2);
    assert_string_equal(jobs[0].id, "job-bbbbbbbb");
    assert_string_equal(jobs[1].id, ID);
    sw_job_done(&jobs[0]);
    sw_job_done(&jobs[1]);
}

static json_t *details_now(struct store_fixture *here)
{
    static const char ids[][SW_ID_SIZE] = { "job-aaaaaaaa" };
    sw_auto(sw_job) struct sw_job job = { 0 };
    size_t found = 0;

    assert_ok(sw_store_get_many(here->store, ids, 1, NULL, &job, &found, &here->err));
    assert_int_equal(found, 1);
    return json_incref(job.details);
}

/* Also when another process wrote them. */
static void details_that_changed_are_read_anew_and_others_are_shared(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *one = sw_json_object(SW_INT("pid", 1)), *two = sw_json_object(SW_INT("pid", 2));
    sw_auto(sw_store) struct sw_store *other = sw_store_open(here->dir, false, &here->err);
    sw_auto(json) json_t *none = NULL, *first = NULL, *again = NULL, *changed = NULL;

    assert_ok(add_job(here->store, ID, &here->err));
    none = details_now(here);
    assert_null(none);
    assert_ok(sw_store_submitted(here->store, ID, "r", one, NULL, &here->err));
    first = details_now(here);
    again = details_now(here);
    assert_ptr_equal(first, again);
    assert_true(json_equal(first, one));
    assert_ok(sw_store_submitted(other, ID, "r", two, NULL, &here->err));
    changed = details_now(here);
    assert_true(json_equal(changed, two));
}

/* ---- what ran ----------------------------------------------------------------------------------- */

static void add_with_diff(struct store_fixture *here, const char *id, const char *diff)
{
    sw_auto(json) json_t *origin = sw_json_object(SW_STR("user", "ann"));
    sw_auto(json) json_t *request = sw_json_object(SW_STR("base_dir", "/w"));
    struct sw_job job = { .name = (char *)"train", .platform = (char *)"local", .origin = origin,
                          .request = request, .diff = diff };

    snprintf(job.id, sizeof job.id, "%s", id);
    assert_ok(sw_store_add(here->store, &job, &here->err));
}

static void expect_diff(struct store_fixture *here, const char *id, const char *expected)
{
    sw_autofree char *diff = sw_store_diff(here->store, id, &here->err);

    assert_non_null(diff);
    assert_string_equal(diff, expected);
}

static void origin_and_request_are_read_back(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_job) struct sw_job job = { 0 };

    add_with_diff(here, ID, NULL);
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err));
    assert_string_equal(sw_json_str(job.origin, "user"), "ann");
    assert_string_equal(sw_json_str(job.request, "base_dir"), "/w");
    expect_diff(here, ID, "");
    assert_null(sw_store_diff(here->store, "none-aaaaaaaa", &here->err));
    assert_int_equal(here->err.code, SW_E_NOT_FOUND);
}

static void a_diff_is_kept_once_and_goes_with_its_last_job(void **state)
{
    struct store_fixture *here = *state;

    add_with_diff(here, "one-aaaaaaaa", "+2\n");
    add_with_diff(here, "two-aaaaaaaa", "+2\n");
    add_with_diff(here, "three-aaaaaaaa", "+3\n");
    assert_int_equal(number(here, "SELECT count(*) FROM diffs"), 2);
    expect_diff(here, "two-aaaaaaaa", "+2\n");
    assert_ok(sw_store_forget(here->store, "one-aaaaaaaa", &here->err));
    expect_diff(here, "two-aaaaaaaa", "+2\n");
    assert_ok(sw_store_forget(here->store, "two-aaaaaaaa", &here->err));
    assert_int_equal(number(here, "SELECT count(*) FROM diffs"), 1);
    assert_ok(sw_store_forget(here->store, "three-aaaaaaaa", &here->err));
    assert_int_equal(number(here, "SELECT count(*) FROM diffs"), 0);
}

static void a_diff_that_cannot_be_read_is_no_empty_one(void **state)
{
    struct store_fixture *here = *state;

    add_with_diff(here, ID, "+2\n");
    assert_int_equal(sqlite3_exec(here->store->db, "ALTER TABLE diffs RENAME TO gone", NULL, NULL, NULL),
        SQLITE_OK);
    assert_null(sw_store_diff(here->store, ID, &here->err));
    assert_int_equal(here->err.code, SW_E_STORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(what_was_added_is_read_back),
        STORE_TEST(an_id_is_given_only_once),
        STORE_TEST(an_id_that_is_none_is_refused),
        STORE_TEST(a_confirmed_submit_is_remembered_and_does_not_touch_the_state),
        STORE_TEST(a_job_that_ended_before_its_submit_was_confirmed_stays_ended),
        STORE_TEST(a_claim_is_won_by_the_first_and_only_from_the_owner_it_saw),
        STORE_TEST(a_row_without_owner_can_be_claimed),
        STORE_TEST(removing_a_job_leaves_nothing_of_it),
        STORE_TEST(a_damaged_document_is_reported_and_not_taken_for_none),
        STORE_TEST(many_are_read_at_once_and_those_that_are_gone_are_left_out),
        STORE_TEST(details_that_changed_are_read_anew_and_others_are_shared),
        STORE_TEST(origin_and_request_are_read_back),
        STORE_TEST(a_diff_is_kept_once_and_goes_with_its_last_job),
        STORE_TEST(a_diff_that_cannot_be_read_is_no_empty_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
