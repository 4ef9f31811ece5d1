/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_parallel.c - each of many is done once, and no more of them at a time than was said.
 */
#include "base/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/clock.h"

enum { MANY = 200, MOST = 4 };

struct tally {
    atomic_int done[MANY];
    atomic_int now, peak;
};

static void count_one(void *context, size_t index)
{
    struct tally *tally = context;
    int now = atomic_fetch_add(&tally->now, 1) + 1, peak = atomic_load(&tally->peak);

    while (now > peak && !atomic_compare_exchange_weak(&tally->peak, &peak, now))
        ;
    atomic_fetch_add(&tally->done[index], 1);
    if (index < 20)
        sw_sleep_ms(1);                               /* others have time to be too many */
    atomic_fetch_sub(&tally->now, 1);
}

static void each_is_done_once_and_not_too_many_at_a_time(void **state)
{
    struct tally tally = { 0 };

    (void)state;
    sw_parallel(MANY, MOST, count_one, &tally);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(tally.done[i], 1);
    assert_true(tally.peak <= MOST);
    assert_int_equal(tally.now, 0);
}

static void none_and_one_need_no_thread(void **state)
{
    struct tally tally = { 0 };

    (void)state;
    sw_parallel(0, MOST, count_one, &tally);
    assert_int_equal(tally.peak, 0);
    sw_parallel(1, MOST, count_one, &tally);
    assert_int_equal(tally.done[0], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_done_once_and_not_too_many_at_a_time),
        cmocka_unit_test(none_and_one_need_no_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
