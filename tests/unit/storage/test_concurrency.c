/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_concurrency.c - how many requests at once, on a clock of the test's own.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage/concurrency.h"

static void it_grows_while_the_rate_grows(void **state)
{
    struct concurrency concurrency;
    int64_t now = 1000;

    (void)state;
    concurrency_init(&concurrency, 64, now);
    for (int i = 1; i <= 40; i++) {
        now += 250;
        concurrency_count(&concurrency, 0, (int64_t)concurrency.size * 1000000);
        concurrency_adjust(&concurrency, now);
    }
    assert_int_equal(concurrency.size, 64);
}

static void it_stays_when_more_does_not_help(void **state)
{
    struct concurrency concurrency;
    int64_t now = 1000;

    (void)state;
    concurrency_init(&concurrency, 64, now);
    for (int i = 1; i <= 8; i++) {
        now += 250;
        concurrency_count(&concurrency, 0, 50000000);
        concurrency_adjust(&concurrency, now);
    }
    assert_in_range(concurrency.size, 32, 48);
}

static void a_complaint_halves_it_once_and_calms_it(void **state)
{
    struct concurrency concurrency;

    (void)state;
    concurrency_init(&concurrency, 64, 0);
    concurrency_slow_down(&concurrency, 10000);
    concurrency_slow_down(&concurrency, 10001);
    assert_int_equal(concurrency.size, 16);
    concurrency_count(&concurrency, 1000, 0);
    concurrency_adjust(&concurrency, 10500);
    assert_int_equal(concurrency.size, 16);
    for (int i = 0; i < 20; i++)
        concurrency_slow_down(&concurrency, 20000 + i * 5000);
    assert_int_equal(concurrency.size, 1);
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
