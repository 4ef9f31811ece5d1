/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_transitions.c - states only move forward, a cancel stays asked for, and a poll that learns
 * nothing writes nothing.
 */
#include "store_test.h"

#include "core/state.h"

static const char ID[] = "job-aaaaaaaa";

/* ---- the table of the contract, 2.8.3, row by row ------------------------------------------- */

enum { CANCELING = 100 };

static const struct {
    int now;                         /* a state, or CANCELING: Running with a cancel asked for */
    const char *allowed;             /* which states may follow, by first letters */
} rows[] = {
    { SW_UNKNOWN,  "Pending Running Paused Complete Error Canceled" },
    { SW_PENDING,  "Running Paused Complete Error Canceled" },
    { SW_RUNNING,  "Pending Paused Complete Error Canceled" },
    { SW_PAUSED,   "Pending Running Complete Error Canceled" },
    { CANCELING,   "Complete Error Canceled" },
    { SW_COMPLETE, "" },
    { SW_ERROR,    "" },
    { SW_CANCELED, "" },
};

static const char *bring_to(struct store_fixture *here, int now, unsigned index)
{
    static char id[SW_ID_SIZE];

    snprintf(id, sizeof id, "job%u-aaaaaaaa", index);
    assert_ok(add_job(here->store, id, &here->err));
    if (now == SW_UNKNOWN)           /* nothing leads there; only an old row can be Unknown */
        assert_int_equal(sqlite3_exec(here->store->db, "UPDATE jobs SET state = 'Unknown' WHERE"
                                      " seq = (SELECT max(seq) FROM jobs)", NULL, NULL, NULL), 0);
    else
        saw(here, id, now == CANCELING ? SW_RUNNING : (enum sw_state)now);
    if (now == CANCELING)
        assert_ok(sw_store_cancel_intent(here->store, id, &here->err));
    return id;
}

static void each_state_is_followed_only_by_what_the_table_allows(void **state)
{
    struct store_fixture *here = *state;
    unsigned index = 0;

    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        for (int next = SW_UNKNOWN; next <= SW_CANCELED; next++) {
            const char *id = bring_to(here, rows[i].now, index++);
            enum sw_state before = state_of(here, id);
            const char *name = sw_state_name((enum sw_state)next);
            bool expected = strstr(rows[i].allowed, name) != NULL;
            bool changed = saw(here, id, (enum sw_state)next);
            enum sw_state after = state_of(here, id);

            if (changed != expected || after != (expected ? (enum sw_state)next : before))
                fail_msg("%s%s -> %s: now %s", sw_state_name(before),
                         rows[i].now == CANCELING ? " (canceling)" : "", name,
                         sw_state_name(after));
        }
    }
}

static void the_rule_inside_sql_is_the_rule_of_core(void **state)
{
    struct store_fixture *here = *state;

    for (int now = SW_UNKNOWN; now <= SW_CANCELED; now++) {
        for (int next = SW_UNKNOWN; next <= SW_CANCELED; next++) {
            for (int canceling = 0; canceling < 2; canceling++) {
                sw_autofree char *sql =
                    sw_format("SELECT may_follow('%s', %d, '%s')",
                              sw_state_name((enum sw_state)now), canceling,
                              sw_state_name((enum sw_state)next));

                assert_int_equal(number(here, sql),
                                 sw_state_may_follow((enum sw_state)now, canceling,
                                                     (enum sw_state)next));
            }
        }
    }
    assert_int_equal(number(here, "SELECT may_follow('Pending', 0, 'Exploded')"), 0);
    assert_int_equal(number(here, "SELECT may_follow(NULL, 0, 'Error')"), 0);
}

/* ---- observations ------------------------------------------------------------------------------ */

static void a_final_observation_leaves_the_whole_story(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *verdict = sw_json_object(SW_STR("err_class", "ERR_INFRA"),
                                                   SW_STR("cause", "node"),
                                                   SW_STR("suggestion", "try another node"));
    sw_auto(sw_job) struct sw_job job = { 0 };
    struct sw_observation seen = observation(ID, SW_ERROR);
    bool changed = false;

    seen.exit_code = 3;
    seen.signal = 9;
    seen.failed_replica = 0;
    seen.started_ms = 1000;
    seen.ended_ms = 2000;
    snprintf(seen.reason, sizeof seen.reason, "exit");
    snprintf(seen.message, sizeof seen.message, "the command ended with 3");
    snprintf(seen.remote_id, sizeof seen.remote_id, "4711");
    snprintf(seen.node, sizeof seen.node, "gpu-7");
    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_saw(here->store, &seen, verdict, 5000, &changed, &here->err));
    assert_true(changed);
    reopen(here);
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    assert_int_equal(job.phase, SW_PHASE_OVER);
    assert_int_equal(job.state, SW_ERROR);
    assert_int_equal(job.exit_code, 3);
    assert_int_equal(job.signal, 9);
    assert_int_equal(job.failed_replica, 0);
    assert_int_equal(job.started_ms, 1000);
    assert_int_equal(job.ended_ms, 2000);
    assert_int_equal(job.updated_ms, 5000);
    assert_string_equal(job.reason, "exit");
    assert_string_equal(job.message, "the command ended with 3");
    assert_string_equal(job.remote_id, "4711");
    assert_string_equal(job.node, "gpu-7");
    assert_string_equal(job.err_class, "ERR_INFRA");
    assert_string_equal(job.cause, "node");
    assert_string_equal(job.suggestion, "try another node");
}

static void the_end_is_now_when_the_platform_does_not_say(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_job) struct sw_job job = { 0 };
    struct sw_observation running = observation(ID, SW_RUNNING), done = observation(ID, SW_COMPLETE);

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_saw(here->store, &running, NULL, 7000, NULL, &here->err));
    assert_ok(sw_store_saw(here->store, &done, NULL, 9000, NULL, &here->err));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    assert_int_equal(job.started_ms, 7000);
    assert_int_equal(job.ended_ms, 9000);
}

static void the_same_end_seen_again_fills_gaps_and_replaces_nothing(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *verdict = sw_json_object(SW_STR("err_class", "ERR_PROGRAM"));
    sw_auto(sw_job) struct sw_job job = { 0 };
    struct sw_observation first = observation(ID, SW_ERROR), again = observation(ID, SW_ERROR);

    assert_ok(add_job(here->store, ID, &here->err));
    snprintf(first.message, sizeof first.message, "first");
    first.exit_code = 3;
    assert_ok(sw_store_saw(here->store, &first, NULL, 5000, NULL, &here->err));
    snprintf(again.message, sizeof again.message, "second");
    snprintf(again.node, sizeof again.node, "gpu-1");
    again.exit_code = 4;
    again.ended_ms = 1;
    assert_ok(sw_store_saw(here->store, &again, verdict, 6000, NULL, &here->err));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    assert_string_equal(job.message, "first");
    assert_int_equal(job.exit_code, 3);
    assert_int_equal(job.ended_ms, 5000);
    assert_string_equal(job.node, "gpu-1");
    assert_string_equal(job.err_class, "ERR_PROGRAM");
}

static void a_job_no_client_could_see_is_not_changed(void **state)
{
    struct store_fixture *here = *state;
    struct sw_observation seen = observation(ID, SW_ERROR);
    int before;

    assert_ok(add_job(here->store, ID, &here->err));
    saw(here, ID, SW_RUNNING);
    before = sqlite3_total_changes(here->store->db);
    seen.presence = SW_UNSEEN;
    assert_ok(sw_store_saw(here->store, &seen, NULL, sw_now_ms() + 60000, NULL, &here->err));
    assert_int_equal(state_of(here, ID), SW_RUNNING);
    assert_int_equal(sqlite3_total_changes(here->store->db), before);
}

static void an_observation_of_an_older_attempt_is_ignored(void **state)
{
    struct store_fixture *here = *state;
    int attempt = 0;

    assert_ok(add_job(here->store, ID, &here->err));
    saw(here, ID, SW_ERROR);
    assert_ok(sw_store_next_attempt(here->store, ID, 1, "the node died", &attempt, &here->err));
    assert_int_equal(attempt, 2);
    assert_false(saw(here, ID, SW_COMPLETE));         /* news of attempt 1 */
    assert_int_equal(state_of(here, ID), SW_PENDING);
}

static void a_job_that_was_removed_meanwhile_is_no_error(void **state)
{
    struct store_fixture *here = *state;

    assert_false(saw(here, "gone-aaaaaaaa", SW_RUNNING));
}

static void where_it_runs_is_learnt_even_while_canceling(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_job) struct sw_job job = { 0 };
    struct sw_observation seen = observation(ID, SW_RUNNING);

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_cancel_intent(here->store, ID, &here->err));
    snprintf(seen.remote_id, sizeof seen.remote_id, "4711");
    assert_ok(sw_store_saw(here->store, &seen, NULL, sw_now_ms(), NULL, &here->err));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    assert_int_equal(job.state, SW_PENDING);
    assert_string_equal(job.remote_id, "4711");
}

static void the_image_is_remembered_beside_what_the_submit_said(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *details = sw_json_object(SW_STR("engine", "job"));
    sw_auto(sw_job) struct sw_job job = { 0 };
    struct sw_observation seen = observation(ID, SW_RUNNING);

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_submitted(here->store, ID, "r", details, NULL, &here->err));
    snprintf(seen.image_digest, sizeof seen.image_digest, "sha256:1");
    assert_ok(sw_store_saw(here->store, &seen, NULL, sw_now_ms(), NULL, &here->err));
    saw(here, ID, SW_COMPLETE);                      /* an observation without it takes nothing away */
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err));
    assert_string_equal(sw_json_str(job.details, "engine"), "job");
    assert_string_equal(sw_json_str(job.details, "image_digest"), "sha256:1");
}

static void whether_an_observation_is_news_needs_no_store(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_job) struct sw_job job = { 0 };
    struct sw_observation seen = observation(ID, SW_RUNNING);
    int64_t now_ms = sw_now_ms();

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_saw(here->store, &seen, NULL, now_ms, NULL, &here->err));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    assert_false(sw_store_is_news(&job, &seen, NULL, now_ms + 500));
    assert_true(sw_store_is_news(&job, &seen, NULL, now_ms + 5000));         /* that it was seen */
    snprintf(seen.node, sizeof seen.node, "n1");
    assert_true(sw_store_is_news(&job, &seen, NULL, now_ms + 500));
    seen.presence = SW_UNSEEN;
    assert_false(sw_store_is_news(&job, &seen, NULL, now_ms + 5000));
    seen = observation(ID, SW_COMPLETE);
    assert_true(sw_store_is_news(&job, &seen, NULL, now_ms + 500));
}

/* ---- cost ----------------------------------------------------------------------------------- */

enum { POLLED = 1000 };

static char polled_ids[POLLED][SW_ID_SIZE];
static struct sw_observation polled[POLLED];

static int commits;

static int count_commit(void *context)
{
    (void)context;
    commits++;
    return 0;
}

static void poll_all(struct store_fixture *here, enum sw_state state, int64_t now_ms)
{
    commits = 0;
    for (size_t i = 0; i < POLLED; i++)
        polled[i] = observation(polled_ids[i], state);
    assert_ok(sw_store_saw_many(here->store, polled, POLLED, NULL, now_ms, NULL, &here->err));
}

static void add_polled(struct store_fixture *here)         /* in one transaction: a flush each is slow */
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;

    assert_ok(store_begin(&work, here->store, STORE_DURABLE, &here->err));
    for (unsigned i = 0; i < POLLED; i++) {
        struct sw_job job = { .name = (char *)"train", .platform = (char *)"local" };

        snprintf(job.id, sizeof job.id, "job%u-aaaaaaaa", i);
        memcpy(polled_ids[i], job.id, sizeof job.id);
        assert_ok(store_job_insert(here->store, &job, sw_now_ms(), &here->err));
    }
    assert_ok(store_commit(&work, &here->err));
}

static void refreshing_a_thousand_jobs_is_one_transaction_or_none(void **state)
{
    struct store_fixture *here = *state;
    int64_t now_ms = sw_now_ms();
    int before;

    add_polled(here);
    sqlite3_commit_hook(here->store->db, count_commit, NULL);
    poll_all(here, SW_RUNNING, now_ms);                /* news */
    assert_int_equal(commits, 1);
    assert_false(here->store->relaxed);
    before = sqlite3_total_changes(here->store->db);
    poll_all(here, SW_RUNNING, now_ms + 500);          /* no news, seen just now */
    assert_int_equal(commits, 0);
    assert_int_equal(sqlite3_total_changes(here->store->db), before);
    poll_all(here, SW_RUNNING, now_ms + 5000);         /* no news but that it was seen */
    assert_int_equal(commits, 1);
    assert_true(here->store->relaxed);
    assert_int_equal(number(here, "PRAGMA synchronous"), 1);
    assert_int_equal(sqlite3_total_changes(here->store->db) - before, POLLED);
    poll_all(here, SW_COMPLETE, now_ms + 6000);
    assert_false(here->store->relaxed);
    assert_int_equal(number(here, "PRAGMA synchronous"), 2);
}

static void a_batch_is_written_whole_or_not_at_all(void **state)
{
    struct store_fixture *here = *state;
    struct sw_observation seen[2] = { observation("one-aaaaaaaa", SW_RUNNING),
                                   observation("two-aaaaaaaa", SW_RUNNING) };
    bool changed[2] = { false, false };

    assert_ok(add_job(here->store, "one-aaaaaaaa", &here->err));
    assert_ok(add_job(here->store, "two-aaaaaaaa", &here->err));
    assert_int_equal(sqlite3_exec(here->store->db,
                                  "CREATE TRIGGER refuse BEFORE UPDATE ON jobs WHEN OLD.id LIKE"
                                  " 'two%' BEGIN SELECT RAISE(ABORT, 'no'); END",
                                  NULL, NULL, NULL), SQLITE_OK);
    assert_refused(sw_store_saw_many(here->store, seen, 2, NULL, sw_now_ms(), changed, &here->err),
                   SW_E_STORE);
    assert_false(changed[0]);
    assert_int_equal(state_of(here, "one-aaaaaaaa"), SW_PENDING);
}

/* ---- cancel --------------------------------------------------------------------------------- */

static void a_cancel_once_asked_for_stays_asked_for(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_job) struct sw_job job = { 0 };

    assert_ok(add_job(here->store, ID, &here->err));
    saw(here, ID, SW_RUNNING);
    assert_ok(sw_store_cancel_intent(here->store, ID, &here->err));
    assert_ok(sw_store_cancel_intent(here->store, ID, &here->err));
    reopen(here);
    saw(here, ID, SW_PENDING);
    assert_ok(sw_store_submitted(here->store, ID, "r", NULL, NULL, &here->err));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    assert_true(job.canceling);
    assert_int_equal(job.state, SW_RUNNING);
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE kind = 'canceling'"), 1);
}

static void a_finished_job_is_not_canceled(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_job) struct sw_job job = { 0 };

    assert_ok(add_job(here->store, ID, &here->err));
    saw(here, ID, SW_COMPLETE);
    assert_ok(sw_store_cancel_intent(here->store, ID, &here->err));
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_LIST, &job, &here->err));
    assert_false(job.canceling);
    assert_refused(sw_store_cancel_intent(here->store, "no-such-job", &here->err),
                   SW_E_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(each_state_is_followed_only_by_what_the_table_allows),
        STORE_TEST(the_rule_inside_sql_is_the_rule_of_core),
        STORE_TEST(a_final_observation_leaves_the_whole_story),
        STORE_TEST(the_end_is_now_when_the_platform_does_not_say),
        STORE_TEST(the_same_end_seen_again_fills_gaps_and_replaces_nothing),
        STORE_TEST(a_job_no_client_could_see_is_not_changed),
        STORE_TEST(an_observation_of_an_older_attempt_is_ignored),
        STORE_TEST(a_job_that_was_removed_meanwhile_is_no_error),
        STORE_TEST(where_it_runs_is_learnt_even_while_canceling),
        STORE_TEST(the_image_is_remembered_beside_what_the_submit_said),
        STORE_TEST(whether_an_observation_is_news_needs_no_store),
        STORE_TEST(refreshing_a_thousand_jobs_is_one_transaction_or_none),
        STORE_TEST(a_batch_is_written_whole_or_not_at_all),
        STORE_TEST(a_cancel_once_asked_for_stays_asked_for),
        STORE_TEST(a_finished_job_is_not_canceled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
