/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_window.c - how many requests at once, on a clock of the test's own.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage/window.h"

static void it_grows_while_the_rate_grows(void **state)
{
    struct window window;
    int64_t now = 1000;

    (void)state;
    window_init(&window, 64, now);
    for (int i = 1; i <= 40; i++) {
        now += 250;
        window_did(&window, 0, (int64_t)window.size * 1000000);
        window_look(&window, now);
    }
    assert_int_equal(window.size, 64);
}

static void it_stays_when_more_does_not_help(void **state)
{
    struct window window;
    int64_t now = 1000;

    (void)state;
    window_init(&window, 64, now);
    for (int i = 1; i <= 8; i++) {
        now += 250;
        window_did(&window, 0, 50000000);
        window_look(&window, now);
    }
    assert_in_range(window.size, 32, 48);
}

static void a_complaint_halves_it_once_and_calms_it(void **state)
{
    struct window window;

    (void)state;
    window_init(&window, 64, 0);
    window_slow_down(&window, 10000);
    window_slow_down(&window, 10001);
    assert_int_equal(window.size, 16);
    window_did(&window, 1000, 0);
    window_look(&window, 10500);
    assert_int_equal(window.size, 16);
    for (int i = 0; i < 20; i++)
        window_slow_down(&window, 20000 + i * 5000);
    assert_int_equal(window.size, 1);
}

static void the_rate_is_that_of_the_last_seconds(void **state)
{
    struct rate rate = { .count = 0 };
    int64_t bytes = 0;

    (void)state;
    for (int64_t now = 0; now <= 10000; now += 200) {
        bytes += now < 5000 ? 1000000 : 100;
        rate_add(&rate, now, bytes);
    }
    assert_in_range(rate_per_second(&rate, 10000, bytes), 400, 700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_grows_while_the_rate_grows),
        cmocka_unit_test(it_stays_when_more_does_not_help),
        cmocka_unit_test(a_complaint_halves_it_once_and_calms_it),
        cmocka_unit_test(the_rate_is_that_of_the_last_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
