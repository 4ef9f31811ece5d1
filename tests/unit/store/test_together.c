/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_together.c - many changes are one transaction, a bad one is undone alone, and how many jobs stand is
 * one statement.
 */
#include "store_test.h"

#include "core/state.h"

enum { MANY = 50 };

static int commits, statements;

static int count_commit(void *context)
{
    (void)context;
    commits++;
    return 0;
}

static int count_statement(unsigned kind, void *context, void *statement, void *text)
{
    (void)kind;
    (void)context;
    (void)statement;
    statements += strstr(text, "FROM jobs") != NULL || strstr(text, "JOIN jobs") != NULL;
    return 0;
}

static void count_from_here(struct store_fixture *here)
{
    commits = statements = 0;
    sqlite3_commit_hook(here->store->db, count_commit, NULL);
    sqlite3_trace_v2(here->store->db, SQLITE_TRACE_STMT, count_statement, NULL);
}

static void id_of(char id[SW_ID_SIZE], int number)
{
    snprintf(id, SW_ID_SIZE, "job%d-aaaaaaaa", number);
}

static void add_many(struct store_fixture *here)
{
    char id[SW_ID_SIZE];

    for (int i = 0; i < MANY; i++) {
        id_of(id, i);
        assert_ok(add_job(here->store, id, &here->err));
    }
}

static int intend_all(void *context, struct sw_error *err)
{
    struct store_fixture *here = context;
    char id[SW_ID_SIZE];

    for (int i = 0; i < MANY; i++) {
        id_of(id, i);
        if (sw_store_cancel_intent(here->store, id, err) < 0)
            return -1;
    }
    return 0;
}

static int64_t canceling(struct store_fixture *here)
{
    sqlite3_stmt *row;
    int64_t count;

    assert_int_equal(sqlite3_prepare_v2(here->store->db, "SELECT count(*) FROM jobs WHERE canceling", -1,
                                        &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    count = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return count;
}

static void fifty_cancels_are_one_transaction(void **state)
{
    struct store_fixture *here = *state;

    add_many(here);
    count_from_here(here);
    assert_ok(sw_store_together(here->store, intend_all, here, &here->err));
    assert_int_equal(commits, 1);
    reopen(here);
    assert_int_equal(canceling(here), MANY);
}

static int remove_some(void *context, struct sw_error *err)
{
    struct store_fixture *here = context;
    struct sw_error why = { 0 };

    assert_int_equal(sw_store_cancel_intent(here->store, "job1-aaaaaaaa", err), 0);
    assert_int_equal(sw_store_remove(here->store, "job2-aaaaaaaa", &why), -1);      /* it is not over */
    assert_int_equal(why.code, SW_E_CONFLICT);
    assert_int_equal(sw_store_cancel_intent(here->store, "none-aaaaaaaa", &why), -1);
    return sw_store_cancel_intent(here->store, "job3-aaaaaaaa", err);
}

static void a_step_that_fails_is_undone_alone(void **state)
{
    struct store_fixture *here = *state;

    add_many(here);
    assert_ok(sw_store_together(here->store, remove_some, here, &here->err));
    assert_int_equal(canceling(here), 2);
    assert_int_equal(state_of(here, "job2-aaaaaaaa"), SW_PENDING);
}

static int intend_and_fail(void *context, struct sw_error *err)
{
    intend_all(context, err);
    return sw_fail(err, SW_E_INTERNAL, "no");
}

static void a_function_that_fails_leaves_nothing(void **state)
{
    struct store_fixture *here = *state;

    add_many(here);
    assert_refused(sw_store_together(here->store, intend_and_fail, here, &here->err), SW_E_INTERNAL);
    assert_int_equal(canceling(here), 0);
    assert_ok(sw_store_cancel_intent(here->store, "job1-aaaaaaaa", &here->err));    /* it is as before */
    assert_int_equal(canceling(here), 1);
}

static void how_many_jobs_stand_is_one_statement(void **state)
{
    struct store_fixture *here = *state;
    char text[MANY + 1][SW_ID_SIZE];
    const char *ids[MANY + 1];
    struct sw_ending endings[MANY + 1];

    add_many(here);
    for (int i = 0; i < MANY; i++) {
        id_of(text[i], MANY - 1 - i);                 /* another order than theirs */
        ids[i] = text[i];
    }
    ids[MANY] = "it's \"none\"";
    saw(here, "job7-aaaaaaaa", SW_COMPLETE);
    count_from_here(here);
    assert_ok(sw_store_endings(here->store, ids, MANY + 1, endings, &here->err));
    assert_int_equal(statements, 1);
    for (int i = 0; i < MANY; i++) {
        bool over = strcmp(ids[i], "job7-aaaaaaaa") == 0;

        assert_true(endings[i].there);
        assert_int_equal(endings[i].over, over);
        assert_int_equal(endings[i].state, over ? SW_COMPLETE : SW_PENDING);
        assert_int_equal(endings[i].attempt, 1);
    }
    assert_false(endings[MANY].there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(fifty_cancels_are_one_transaction),
        STORE_TEST(a_step_that_fails_is_undone_alone),
        STORE_TEST(a_function_that_fails_leaves_nothing),
        STORE_TEST(how_many_jobs_stand_is_one_statement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
