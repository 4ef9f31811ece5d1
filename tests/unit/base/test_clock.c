/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_clock.c - times as we write them, and a clock that tests can set.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/clock.h"

static int64_t noon(void)
{
    return 1779403854123;
}

static void a_time_is_written_as_the_contract_says(void **state)
{
    static const struct { int64_t ms; const char *text; } cases[] = {
        { 1779403854123, "2026-05-21T22:50:54.123000+00:00" },
        { 1779403854000, "2026-05-21T22:50:54+00:00" },
        { 1779403854007, "2026-05-21T22:50:54.007000+00:00" },
        { 1709164800000, "2024-02-29T00:00:00+00:00" },
        { 0, "1970-01-01T00:00:00+00:00" },
    };
    char text[40];

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_time_format(cases[i].ms, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void an_age_is_said_as_people_say_it(void **state)
{
    static const struct { int64_t ms; const char *text; } cases[] = {
        { 0, "0s" }, { 999, "0s" }, { 5000, "5s" }, { 59999, "59s" }, { 180000, "3m" },
        { 7200000, "2h" }, { 345600000, "4d" }, { -5, "0s" },
    };
    char text[24];

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_age_format(cases[i].ms, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void tests_may_set_the_wall_clock(void **state)
{
    (void)state;
    sw_clock_pretend(noon);
    assert_int_equal(sw_now_ms(), 1779403854123);
    sw_clock_pretend(NULL);
    assert_true(sw_now_ms() > 1600000000000);
}

static void the_monotonic_clock_passes_while_we_sleep(void **state)
{
    int64_t before = sw_monotonic_ms();

    (void)state;
    sw_sleep_ms(5);
    assert_true(sw_monotonic_ms() - before >= 4);
    sw_sleep_ms(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_written_as_the_contract_says),
        cmocka_unit_test(an_age_is_said_as_people_say_it),
        cmocka_unit_test(tests_may_set_the_wall_clock),
        cmocka_unit_test(the_monotonic_clock_passes_while_we_sleep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
