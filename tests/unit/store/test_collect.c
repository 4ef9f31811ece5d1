/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_collect.c - an attempt that only brings outputs is remembered as such, until a whole one is asked for.
 */
#include "store_test.h"

static const char ID[] = "job-aaaaaaaa";

static void fails(struct store_fixture *here, int attempt)
{
    struct sw_observation seen = observation(ID, SW_ERROR);

    seen.job.attempt = attempt;
    seen.exit_code = 74;
    assert_ok(sw_store_saw(here->store, &seen, NULL, sw_now_ms(), NULL, &here->err));
}

static void retry(struct store_fixture *here, int attempt, bool only_collect)
{
    struct sw_observation seen = observation(ID, SW_ERROR);
    bool won = false;

    seen.job.attempt = attempt;
    assert_ok(sw_store_retry(here->store, &seen, NULL, 9000, only_collect, NULL, "again", 6000, &won,
                             &here->err));
    assert_true(won);
}

static void expect(struct store_fixture *here, bool only_collect, int command_exit)
{
    sw_auto(sw_job) struct sw_job one = { 0 }, many = { 0 };
    const char ids[1][SW_ID_SIZE] = { "job-aaaaaaaa" };
    size_t found = 0;

    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &one, &here->err));
    assert_ok(sw_store_get_many(here->store, ids, 1, NULL, &many, &found, &here->err));
    assert_int_equal(one.only_collect, only_collect);
    assert_int_equal(many.only_collect, only_collect);
    assert_int_equal(one.command_exit, command_exit);
    assert_int_equal(many.command_exit, command_exit);
}

static void by_hand_it_is_said_each_time(void **state)
{
    struct store_fixture *here = *state;
    int attempt = 0;

    assert_ok(add_job(here->store, ID, &here->err));
    expect(here, false, 0);
    fails(here, 1);
    assert_ok(sw_store_collect_again(here->store, ID, 1, 3, "by hand", &attempt, &here->err));
    assert_int_equal(attempt, 2);
    expect(here, true, 3);
    fails(here, 2);
    assert_ok(sw_store_next_attempt(here->store, ID, 2, "by hand", &attempt, &here->err));
    expect(here, false, 0);
}

/* Whatever ends an attempt that only collects: the command is not run again. */
static void a_retry_keeps_what_was_said(void **state)
{
    struct store_fixture *here = *state;

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(sw_store_submitted(here->store, ID, "first", NULL, NULL, &here->err));
    retry(here, 1, true);
    expect(here, true, 0);
    assert_ok(sw_store_submitted(here->store, ID, "second", NULL, NULL, &here->err));
    retry(here, 2, false);
    expect(here, true, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(by_hand_it_is_said_each_time),
        STORE_TEST(a_retry_keeps_what_was_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
