/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_zone.c - times are shown and read in the user's zone, and TZ stays as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "cli/cli_zone.h"

#define SUMMER_MS INT64_C(1779403854123)       /* 2026-05-21T22:50:54.123Z */
#define WINTER_MS INT64_C(1768435200000)       /* 2026-01-15T00:00:00Z */
#define BERLIN    "Europe/Berlin"

static int64_t pretended(void)
{
    return SUMMER_MS;
}

static int set_up(void **state)
{
    (void)state;
    sw_clock_pretend(pretended);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sw_clock_pretend(NULL);
    return cli_zone_use("UTC", NULL);
}

static void without_a_zone_times_are_utc(void **state)
{
    char text[CLI_TIME_SIZE], line[CLI_TIME_SIZE];

    (void)state;
    cli_time_text(SUMMER_MS, text);
    cli_time_line(SUMMER_MS, 3, line);
    assert_string_equal(text, "2026-05-21 22:50:54 UTC");
    assert_string_equal(line, "2026-05-21T22:50:54.123Z");
    cli_time_shown("2026-05-21T22:50:54.123456+00:00", text);
    assert_string_equal(text, "2026-05-21 22:50:54 UTC");
    cli_time_shown("soon", text);
    assert_string_equal(text, "");
}

static void a_zone_knows_summer_and_winter_and_reads_what_it_shows(void **state)
{
    char text[CLI_TIME_SIZE], line[CLI_TIME_SIZE];
    int64_t at_ms = 0;

    (void)state;
    if (access("/usr/share/zoneinfo/" BERLIN, R_OK) != 0)
        skip();
    setenv("TZ", "Asia/Tokyo", 1);
    assert_int_equal(cli_zone_use(BERLIN, NULL), 0);
    assert_string_equal(getenv("TZ"), "Asia/Tokyo");
    unsetenv("TZ");
    cli_time_text(SUMMER_MS, text);
    cli_time_line(SUMMER_MS, 0, line);
    assert_string_equal(text, "2026-05-22 00:50:54 CEST");
    assert_string_equal(line, "2026-05-22T00:50:54+02:00");
    assert_true(cli_time_read(line, &at_ms) && at_ms == SUMMER_MS / 1000 * 1000);
    assert_true(cli_time_read("2026-05-22 00:50:54", &at_ms) && at_ms == SUMMER_MS / 1000 * 1000);
    cli_time_text(WINTER_MS, text);
    assert_string_equal(text, "2026-01-15 01:00:00 CET");
    cli_time_text(INT64_C(1774745999000), text);       /* the second before the clocks change */
    assert_string_equal(text, "2026-03-29 01:59:59 CET");
    cli_time_text(INT64_C(1774746000000), text);
    assert_string_equal(text, "2026-03-29 03:00:00 CEST");
}

static void what_is_not_a_zone_is_refused(void **state)
{
    static const char *const names[] = { "", "Europe/Berln", "../../etc/passwd", "/etc/localtime", "Mars" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(names); i++) {
        struct sw_error err = { 0 };

        assert_int_equal(cli_zone_use(names[i], &err), -1);
        assert_int_equal(err.code, SW_E_SPEC);
    }
    assert_int_equal(cli_zone_use("local", NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_zone_times_are_utc),
        cmocka_unit_test(a_zone_knows_summer_and_winter_and_reads_what_it_shows),
        cmocka_unit_test(what_is_not_a_zone_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
