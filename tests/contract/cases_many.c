/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_many.c - several jobs in one call: each has an outcome of its own, in the order given.
 */
#include <stdio.h>
#include <string.h>

#include "cases.h"

enum { MANY = 4 };

struct told {
    char ids[MANY + 1][SW_ID_SIZE];
    enum sw_code codes[MANY + 1];
    enum sw_state states[MANY + 1];
    int attempts[MANY + 1], statuses[MANY + 1];
    size_t indexes[MANY + 1], count;
};

static void take(void *context, const struct sw_outcome *outcome)
{
    struct told *told = context;
    size_t i = told->count++;

    assert_true(i <= MANY);
    snprintf(told->ids[i], SW_ID_SIZE, "%s", outcome->id);
    told->codes[i] = outcome->err ? outcome->err->code : SW_OK;
    told->states[i] = outcome->state;
    told->attempts[i] = outcome->attempt;
    told->statuses[i] = outcome->exit_status;
    told->indexes[i] = outcome->index;
}

struct several {
    char text[MANY][SW_ID_SIZE];
    const char *ids[MANY + 1];
};

static void launch_several(struct trial *here, enum behaviour wanted, int64_t number, struct several *out)
{
    for (int i = 0; i < MANY; i++) {
        memcpy(out->text[i], launch(here, wanted, number), SW_ID_SIZE);
        out->ids[i] = out->text[i];
    }
    out->ids[MANY] = "never-aaaaaaaa";
}

static void expect_told(const struct told *told, const struct several *jobs, size_t count)
{
    assert_int_equal(told->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(told->ids[i], jobs->ids[i]);
        assert_int_equal(told->indexes[i], i);
    }
}

/* The last of them is no job at all: that is reported, and the others are stopped all the same. */
static void several_jobs_are_canceled_in_one_call_and_a_bad_one_stops_none(void **state)
{
    struct trial *here = *state;
    struct several jobs;
    struct told told = { 0 };
    struct sw_error err = { 0 };

    launch_several(here, SLEEPS, 60000, &jobs);
    for (int i = 0; i < MANY; i++)
        wait_until(here, jobs.ids[i], SW_RUNNING);
    assert_int_equal(sw_cancel_many(here->session, jobs.ids, MANY + 1, take, &told, &err), -1);
    assert_int_equal(err.code, SW_E_NOT_FOUND);
    expect_told(&told, &jobs, MANY + 1);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(told.codes[i], SW_OK);
        assert_int_equal(told.states[i], SW_CANCELED);
        expect_state(here, jobs.ids[i], SW_CANCELED);
        expect_none_left(here, jobs.ids[i]);
    }
    assert_int_equal(told.codes[MANY], SW_E_NOT_FOUND);
}

static void several_jobs_are_waited_for_tried_again_and_removed_in_one_call_each(void **state)
{
    struct trial *here = *state;
    struct several jobs;
    struct told waited = { 0 }, again = { 0 }, removed = { 0 };
    struct sw_error err = { 0 };

    launch_several(here, EXITS, 3, &jobs);
    expect_ok(sw_wait_many(here->session, jobs.ids, MANY, PATIENCE_MS, NULL, take, &waited, &err), &err,
              "wait");
    assert_int_equal(waited.count, MANY);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(waited.statuses[i], 3);
    expect_ok(sw_retry_many(here->session, jobs.ids, MANY, false, take, &again, &err), &err, "retry");
    expect_told(&again, &jobs, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(again.attempts[i], 2);
        assert_int_equal(wait_until_over(here, jobs.ids[i]), 3);
    }
    expect_ok(sw_remove_many(here->session, jobs.ids, MANY, false, take, &removed, &err), &err, "remove");
    expect_told(&removed, &jobs, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_null(sw_status(here->session, jobs.ids[i], SW_LOOK_STORED, &err));
        assert_int_equal(err.code, SW_E_NOT_FOUND);
    }
}

/* A group: each split has its number, wherever it runs; one that failed has it again. */
static void splits_find_their_number_also_when_one_is_tried_again(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request_shell(here,
        "echo \"$SPLIT_ID {split_id} of $SPLIT_COUNT\"; test $SPLIT_ID != 1 || test $SLIPWAY_ATTEMPT = 2");
    struct told told = { 0 };
    struct sw_error err = { 0 };
    char group[SW_ID_SIZE];
    int attempt = 0;

    set(made, "splits", "3");
    set(made, "retry.max", "0");
    expect_ok(sw_submit_many(here->session, made, group, take, &told, &err), &err, "submit");
    sw_request_free(made);
    assert_int_equal(told.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(wait_until_over(here, told.ids[i]), i == 1);
    expect_ok(sw_retry(here->session, told.ids[1], false, &attempt, &err), &err, "retry");
    assert_int_equal(wait_until_over(here, told.ids[1]), 0);
    for (size_t i = 0; i < 3; i++) {
        struct log log = read_log(here, told.ids[i], -1, false);
        char line[32];

        snprintf(line, sizeof line, "%zu %zu of 3\n", i, i);
        if (!strstr(log.bytes, line))
            fail_msg("the log of '%s' is: %s", told.ids[i], log.bytes);
        log_done(&log);
    }
}

const struct contract_case cases_many[] = {
    CLAIM(several_jobs_are_canceled_in_one_call_and_a_bad_one_stops_none, 0),
    CLAIM(several_jobs_are_waited_for_tried_again_and_removed_in_one_call_each, 0),
    CLAIM(splits_find_their_number_also_when_one_is_tried_again, COMMANDS),
    { 0 }
};
