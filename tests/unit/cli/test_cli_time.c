/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_time.c - points in time as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "cli/cli_flags.h"

#define NOW_MS INT64_C(1779403854000)       /* 2026-05-21T22:50:54Z */

static const struct cli_flag since = { .name = "since", .arg = "DURATION|TIME" };

static int64_t pretended(void)
{
    return NOW_MS;
}

static void a_duration_counts_back_and_a_time_is_utc_unless_it_says_its_zone(void **state)
{
    static const struct { const char *text; int64_t at_ms; } cases[] = {
        { "10m", NOW_MS - 600000 },
        { "90", NOW_MS - 90000 },
        { "2026-05-21T22:50:54", NOW_MS },
        { "2026-05-21T22:50:54Z", NOW_MS },
        { "2026-05-21 22:50:54.123456", NOW_MS + 123 },
        { "2026-05-22T00:50:54+02:00", NOW_MS },
        { "2026-05-21T22:50", NOW_MS - 54000 },
        { "2026-05-21", INT64_C(1779321600000) },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        int64_t at_ms = 0;

        assert_int_equal(cli_apply_since(&at_ms, &since, cases[i].text, NULL), 0);
        assert_true(at_ms == cases[i].at_ms);
    }
}

static void what_is_neither_is_refused(void **state)
{
    static const char *const texts[] = {
        "", "yesterday", "2026-05", "2026-13-01", "2026-05-21T22:50:54+2", "2026-05-21T", "10 q",
        "1900-01-01",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(texts); i++) {
        struct sw_error err = { 0 };
        int64_t at_ms = 0;

        assert_int_equal(cli_apply_since(&at_ms, &since, texts[i], &err), -1);
        assert_int_equal(err.code, SW_E_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_duration_counts_back_and_a_time_is_utc_unless_it_says_its_zone),
        cmocka_unit_test(what_is_neither_is_refused),
    };

    sw_clock_pretend(pretended);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
