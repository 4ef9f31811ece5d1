/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_retry.c - pauses grow, spread and end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "net/retry.h"

static void pauses_double_and_stay_in_the_upper_half(void **state)
{
    static const int64_t bounds[] = { 100, 200, 400, 800, 1600, 3200, 6400 };

    (void)state;
    for (int tried = 1; tried <= 7; tried++)
        for (uint32_t chance = 0; chance < 5000; chance += 7) {
            int64_t pause = sw_retry_pause(&sw_retry_usual, tried, chance, -1);

            assert_true(pause >= bounds[tried - 1] / 2 && pause <= bounds[tried - 1]);
        }
}

static void the_last_try_is_the_last(void **state)
{
    (void)state;
    assert_int_equal(sw_retry_pause(&sw_retry_usual, 8, 0, -1), -1);
    assert_int_equal(sw_retry_pause(&sw_retry_usual, 8, 0, 5000), -1);
}

static void retry_after_counts_up_to_a_limit(void **state)
{
    (void)state;
    assert_int_equal(sw_retry_pause(&sw_retry_usual, 1, 0, 7000), 7000);
    assert_int_equal(sw_retry_pause(&sw_retry_usual, 1, 0, 86400000), 200000);
}

static void retry_after_is_seconds_or_a_date(void **state)
{
    (void)state;
    assert_int_equal(sw_retry_after("3", 0), 3000);
    assert_int_equal(sw_retry_after(NULL, 0), -1);
    assert_int_equal(sw_retry_after("soon", 0), -1);
    assert_int_equal(sw_retry_after("-3", 0), -1);
    assert_int_equal(sw_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111776000), 1000);
    assert_int_equal(sw_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111799000), 0);
}

static void only_statuses_that_may_pass_are_tried_again(void **state)
{
    (void)state;
    assert_true(sw_retry_status(503) && sw_retry_status(500) && sw_retry_status(429));
    assert_false(sw_retry_status(400) || sw_retry_status(403) || sw_retry_status(404) ||
                 sw_retry_status(412) || sw_retry_status(501));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_double_and_stay_in_the_upper_half),
        cmocka_unit_test(the_last_try_is_the_last),
        cmocka_unit_test(retry_after_counts_up_to_a_limit),
        cmocka_unit_test(retry_after_is_seconds_or_a_date),
        cmocka_unit_test(only_statuses_that_may_pass_are_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
