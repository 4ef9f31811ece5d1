/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - tables fit where they are shown, and say as much as fits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/table.h"
#include "base/text.h"

static const struct sw_column columns[] = {
    { "ID", .least = 14 },
    { "STATUS" },
    { "AGE", .right = true, .drop = 1 },
    { "MESSAGE", .least = 8, .drop = 2 },
};

static char *show(size_t width, bool color)
{
    static const char *const cells[] = {
        "hello-k3v9q2xa", "Running", "5m", "",
        "detection-transformer-2-k3v9q2xa", "Error", "12h",
        "the program ended with exit code 3: \xc3\xb6\xc3\x9f is not a number",
    };
    sw_auto(sw_table) struct sw_table *table = sw_table_new(columns, SW_COUNT(columns));
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    for (size_t i = 0; i < SW_COUNT(cells); i++)
        sw_table_cell(table, cells[i], i % 4 == 1 ? "31" : NULL);
    sw_table_write(table, width, color, &out);
    return sw_buf_steal(&out);
}

static size_t widest_line(const char *text)
{
    size_t widest = 0;

    while (*text) {
        size_t length = strcspn(text, "\n");
        sw_autofree char *line = sw_strndup(text, length);

        if (sw_text_columns(line) > widest)
            widest = sw_text_columns(line);
        text += length + (text[length] == '\n');
    }
    return widest;
}

static void without_a_width_nothing_is_cut(void **state)
{
    sw_autofree char *text = show(0, false);

    (void)state;
    assert_string_equal(text,
        "ID                                STATUS   AGE  MESSAGE\n"
        "hello-k3v9q2xa                    Running   5m\n"
        "detection-transformer-2-k3v9q2xa  Error    12h  the program ended with exit code 3: "
        "\xc3\xb6\xc3\x9f is not a number\n");
}

static void at_80_columns_the_message_is_cut_and_ids_stay_whole(void **state)
{
    sw_autofree char *text = show(80, false);

    (void)state;
    assert_int_equal(widest_line(text), 80);
    assert_non_null(strstr(text, "detection-transformer-2-k3v9q2xa  Error"));
    assert_non_null(strstr(text, "\xe2\x80\xa6\n"));
}

static void at_40_columns_the_least_needed_columns_are_left_out(void **state)
{
    sw_autofree char *text = show(40, false);

    (void)state;
    assert_int_equal(widest_line(text), 40);
    assert_null(strstr(text, "MESSAGE"));
    assert_null(strstr(text, "AGE"));
    assert_non_null(strstr(text, "STATUS"));
    assert_non_null(strstr(text, "detection-transformer-2-k3v9q2\xe2\x80\xa6"));
}

static void every_width_down_to_25_is_kept(void **state)
{
    (void)state;
    for (size_t width = 25; width < 120; width++) {
        sw_autofree char *text = show(width, false);

        assert_true(widest_line(text) <= width);
    }
}

static void colour_changes_no_position(void **state)
{
    sw_autofree char *text = show(0, true);

    (void)state;
    assert_non_null(strstr(text, "\033[31mRunning\033[0m   5m"));
    assert_non_null(strstr(text, "\033[31mError\033[0m    12h"));
}

static void cells_cannot_command_the_terminal_or_break_the_line(void **state)
{
    static const struct sw_column one[] = { { "X" } };
    sw_auto(sw_table) struct sw_table *table = sw_table_new(one, 1);
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    sw_table_cell(table, "a\nb\tc\033[2J", NULL);
    sw_table_cell(table, NULL, NULL);
    sw_table_write(table, 0, false, &out);
    assert_string_equal(sw_buf_text(&out), "X\na b c^[[2J\n\n");
}

static void wide_characters_count_two_columns(void **state)
{
    static const struct sw_column two[] = { { "A", .least = 4 }, { "B" } };
    sw_auto(sw_table) struct sw_table *table = sw_table_new(two, 2);
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    sw_table_cell(table, "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", NULL);
    sw_table_cell(table, "x", NULL);
    sw_table_write(table, 8, false, &out);
    assert_string_equal(sw_buf_text(&out),
                        "A      B\n\xe6\xbc\xa2\xe5\xad\x97\xe2\x80\xa6  x\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_width_nothing_is_cut),
        cmocka_unit_test(at_80_columns_the_message_is_cut_and_ids_stay_whole),
        cmocka_unit_test(at_40_columns_the_least_needed_columns_are_left_out),
        cmocka_unit_test(every_width_down_to_25_is_kept),
        cmocka_unit_test(colour_changes_no_position),
        cmocka_unit_test(cells_cannot_command_the_terminal_or_break_the_line),
        cmocka_unit_test(wide_characters_count_two_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
