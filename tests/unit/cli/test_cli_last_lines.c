/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_last_lines.c - the last lines of many, oldest first, and no more memory than allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cli/cli_last_lines.h"

static void add_numbers(struct cli_last_lines *last, int count)
{
    for (int i = 0; i < count; i++) {
        char line[16];

        cli_last_lines_add(last, line, (size_t)snprintf(line, sizeof line, "%d\n", i));
    }
}

static void only_the_last_are_kept_in_their_order(void **state)
{
    static const struct { size_t wanted; int lines; const char *kept; } cases[] = {
        { 3, 0, "" }, { 3, 2, "0\n1\n" }, { 3, 3, "0\n1\n2\n" }, { 3, 1000, "997\n998\n999\n" },
        { 1, 7, "6\n" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        struct cli_last_lines last = { .wanted = cases[i].wanted };
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

        add_numbers(&last, cases[i].lines);
        cli_last_lines_take(&last, &out);
        assert_string_equal(sw_buf_text(&out), cases[i].kept);
        assert_int_equal(last.wanted, 0);
    }
}

static void a_ring_that_grows_loses_nothing(void **state)
{
    struct cli_last_lines last = { .wanted = 200 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    add_numbers(&last, 200);
    cli_last_lines_take(&last, &out);
    assert_int_equal(out.length, 10 * 2 + 90 * 3 + 100 * 4);
    assert_memory_equal(out.data, "0\n1\n2\n", 6);
}

static void the_oldest_give_way_to_long_lines(void **state)
{
    struct cli_last_lines last = { .wanted = 1000000 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    size_t length = 1 << 20;
    sw_autofree char *line = sw_alloc(length);

    (void)state;
    memset(line, 'x', length);
    for (int i = 0; i < 40; i++)
        cli_last_lines_add(&last, line, length);
    assert_true(last.bytes <= CLI_LAST_LINES_BYTES);
    cli_last_lines_take(&last, &out);
    assert_int_equal(out.length, CLI_LAST_LINES_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_last_are_kept_in_their_order),
        cmocka_unit_test(a_ring_that_grows_loses_nothing),
        cmocka_unit_test(the_oldest_give_way_to_long_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
