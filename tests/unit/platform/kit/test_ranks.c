/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ranks.c - several replicas, one observation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "platform/kit/ranks.h"

#define MISSING  { .presence = SW_ABSENT }
#define PENDING  { .presence = SW_PRESENT, .state = SW_PENDING }
#define RUNS     { .presence = SW_PRESENT, .state = SW_RUNNING }
#define PAUSED   { .presence = SW_PRESENT, .state = SW_PAUSED }
#define DONE     { .presence = SW_PRESENT, .state = SW_COMPLETE }
#define FAILED   { .presence = SW_PRESENT, .state = SW_ERROR }

static void several_replicas_are_one_state(void **state)
{
    static const struct {
        struct sw_rank ranks[3];
        enum sw_ranks_phase phase;
        enum sw_state state;
        const char *reason;
        int failed;
    } rows[] = {
        { { RUNS, RUNS, RUNS },       SW_RANKS_RUNNING,    SW_RUNNING,  "",         -1 },
        { { RUNS, PENDING, RUNS },    SW_RANKS_STARTING,   SW_PENDING,  "starting", -1 },
        { { RUNS, PENDING, PAUSED },  SW_RANKS_PAUSED,     SW_PAUSED,   "paused",   -1 },
        { { DONE, RUNS, DONE },       SW_RANKS_RUNNING,    SW_RUNNING,  "",         -1 },
        { { RUNS, MISSING, RUNS },    SW_RANKS_INCOMPLETE, SW_RUNNING,  "ending",   -1 },
        { { RUNS, FAILED, MISSING },  SW_RANKS_FAILING,    SW_RUNNING,  "ending",   -1 },
        { { FAILED, PAUSED, RUNS },   SW_RANKS_FAILING,    SW_RUNNING,  "ending",   -1 },
        { { DONE, DONE, DONE },       SW_RANKS_OVER,       SW_COMPLETE, "exit",     -1 },
        { { DONE, DONE, FAILED },     SW_RANKS_OVER,       SW_ERROR,    "exit",     2 },
        { { DONE, MISSING, DONE },    SW_RANKS_OVER,       SW_ERROR,    "lost",     -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sw_observation seen = { 0 };
        struct sw_ranks all;

        sw_ranks_count(&all, rows[i].ranks, 3);
        sw_ranks_observe(&all, &seen);
        assert_int_equal(all.phase, rows[i].phase);
        assert_int_equal(seen.presence, SW_PRESENT);
        assert_int_equal(seen.state, rows[i].state);
        assert_string_equal(seen.reason, rows[i].reason);
        assert_int_equal(seen.failed_replica, rows[i].failed);
    }
}

static void a_job_without_replicas_is_not_there(void **state)
{
    struct sw_observation seen = { 0 };
    struct sw_ranks all;

    (void)state;
    sw_ranks_count(&all, NULL, 0);
    sw_ranks_observe(&all, &seen);
    assert_int_equal(seen.presence, SW_ABSENT);
}

static void the_first_failure_is_not_one_that_followed(void **state)
{
    static const struct sw_rank ranks[] = {
        { .presence = SW_PRESENT, .state = SW_ERROR, .follows = true, .ended_ms = 100 },
        { .presence = SW_PRESENT, .state = SW_ERROR, .ended_ms = 300 },
        { .presence = SW_PRESENT, .state = SW_COMPLETE, .ended_ms = 50 },
        { .presence = SW_PRESENT, .state = SW_ERROR, .ended_ms = 200 },
        { .presence = SW_PRESENT, .state = SW_ERROR },
    };

    (void)state;
    assert_int_equal(sw_ranks_first_failed(ranks, 5), 3);
    assert_int_equal(sw_ranks_first_failed(ranks, 3), 1);
    assert_int_equal(sw_ranks_first_failed(ranks, 1), 0);
    assert_int_equal(sw_ranks_first_failed(&ranks[2], 1), -1);
}

static void of_a_canceled_job_a_missing_rank_tells_nothing(void **state)
{
    static const struct sw_rank ranks[] = {
        { .presence = SW_ABSENT, .state = SW_ERROR, .ended_ms = 100 },
        { .presence = SW_PRESENT, .state = SW_CANCELED, .follows = true, .ended_ms = 300 },
    };

    (void)state;
    assert_int_equal(sw_ranks_first_failed(ranks, 2), 1);
}

static void only_those_that_go_on_are_ended(void **state)
{
    static const struct {
        struct sw_rank rank;
        bool goes_on;
    } rows[] = {
        { PENDING, true }, { RUNS, true },    { PAUSED, true },
        { DONE, false },   { FAILED, false }, { MISSING, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(sw_rank_goes_on(&rows[i].rank), rows[i].goes_on);
}

static void a_job_runs_from_its_first_start_to_its_last_end(void **state)
{
    static const struct sw_rank ranks[] = {
        { .presence = SW_PRESENT, .state = SW_COMPLETE, .started_ms = 20, .ended_ms = 90 },
        { .presence = SW_PRESENT, .state = SW_COMPLETE, .started_ms = 10, .ended_ms = 70 },
        { .presence = SW_PRESENT, .state = SW_COMPLETE },
    };
    struct sw_observation seen = { 0 };
    struct sw_ranks all;

    (void)state;
    sw_ranks_count(&all, ranks, 3);
    sw_ranks_observe(&all, &seen);
    assert_int_equal(seen.started_ms, 10);
    assert_int_equal(seen.ended_ms, 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_replicas_are_one_state),
        cmocka_unit_test(a_job_without_replicas_is_not_there),
        cmocka_unit_test(the_first_failure_is_not_one_that_followed),
        cmocka_unit_test(of_a_canceled_job_a_missing_rank_tells_nothing),
        cmocka_unit_test(only_those_that_go_on_are_ended),
        cmocka_unit_test(a_job_runs_from_its_first_start_to_its_last_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
