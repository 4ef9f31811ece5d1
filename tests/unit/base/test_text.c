/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_text.c - small questions about texts.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void beginnings_ends_and_sameness(void **state)
{
    (void)state;
    assert_true(sw_text_starts("slurm", "sl"));
    assert_false(sw_text_starts("sl", "slurm"));
    assert_true(sw_text_ends("job.yaml", ".yaml"));
    assert_false(sw_text_ends("yaml", ".yaml"));
    assert_true(sw_text_same(NULL, NULL));
    assert_false(sw_text_same(NULL, ""));
    assert_true(sw_text_same_nocase("Yes", "yES"));
    assert_true(sw_text_empty(NULL) && sw_text_empty("") && !sw_text_empty(" "));
}

struct bytes {
    const char *from;
    size_t length;
    const char *to;
};

#define BYTES(text) text, sizeof(text) - 1

static void bad_utf8_is_replaced_and_good_is_kept(void **state)
{
    static const struct bytes cases[] = {
        { BYTES("plain"), "plain" },
        { BYTES("\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80"), "\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80" },
        { BYTES("a\xff" "b"), "a\xef\xbf\xbd" "b" },
        { BYTES("a\0b"), "a\xef\xbf\xbd" "b" },
        { BYTES("\xc3"), "\xef\xbf\xbd" },                               /* cut short */
        { BYTES("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd" },               /* too long a form */
        { BYTES("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },   /* half a pair */
        { BYTES("\xf4\x90\x80\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_autofree char *clean = sw_text_utf8(cases[i].from, cases[i].length);

        assert_string_equal(clean, cases[i].to);
    }
}

static void a_terminal_obeys_nothing_from_a_log(void **state)
{
    static const struct bytes cases[] = {
        { BYTES("a\tb\nc"), "a\tb\nc" },
        { BYTES("\x1b[31mred"), "^[[31mred" },
        { BYTES("\x07\x7f\0"), "^G^?^@" },
        { BYTES("\xc2\x9b" "2J"), "\\x9b2J" },
        { BYTES("\xff"), "\xef\xbf\xbd" },
        { BYTES("\xc3\xa9"), "\xc3\xa9" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_autofree char *shown = sw_text_printable(cases[i].from, cases[i].length);

        assert_string_equal(shown, cases[i].to);
    }
}

static void the_nearest_spelling_is_offered_and_nothing_far_away(void **state)
{
    static const char *const words[] = { "image", "inputs", "outputs", "env", "gpus", "nodes" };
    static const struct { const char *word, *nearest; } cases[] = {
        { "imgae", "image" }, { "input", "inputs" }, { "ouputs", "outputs" }, { "gpu", "gpus" },
        { "evn", "env" }, { "completely", NULL }, { "", NULL },
        { "averyveryverylongwordthatnobodyevermeanttowriteintoajobfileatallever", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        const char *nearest = sw_text_nearest(cases[i].word, words, SW_COUNT(words));

        if (!sw_text_same(nearest, cases[i].nearest))
            fail_msg("'%s' gave '%s'", cases[i].word, nearest ? nearest : "nothing");
    }
}

static void columns_count_characters(void **state)
{
    (void)state;
    assert_int_equal(sw_text_columns(""), 0);
    assert_int_equal(sw_text_columns("abc"), 3);
    assert_int_equal(sw_text_columns("\xc3\xa9t\xc3\xa9"), 3);
    assert_int_equal(sw_text_columns("\xe8\xa8\x93" "e\xcc\x81"), 3);
}

static void a_text_is_cut_to_columns_not_bytes(void **state)
{
    static const struct { const char *text; size_t width; const char *fits; } cases[] = {
        { "abc", 3, "abc" },
        { "abcd", 3, "ab\xe2\x80\xa6" },
        { "\xe8\xa8\x93\xe7\xb7\xb4", 4, "\xe8\xa8\x93\xe7\xb7\xb4" },
        { "\xe8\xa8\x93\xe7\xb7\xb4", 3, "\xe8\xa8\x93\xe2\x80\xa6" },
        { "\xe8\xa8\x93\xe7\xb7\xb4", 2, "\xe2\x80\xa6" },
        { "abc", 0, "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_autofree char *fits = sw_text_fit(cases[i].text, cases[i].width);

        assert_string_equal(fits, cases[i].fits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beginnings_ends_and_sameness),
        cmocka_unit_test(bad_utf8_is_replaced_and_good_is_kept),
        cmocka_unit_test(a_terminal_obeys_nothing_from_a_log),
        cmocka_unit_test(the_nearest_spelling_is_offered_and_nothing_far_away),
        cmocka_unit_test(columns_count_characters),
        cmocka_unit_test(a_text_is_cut_to_columns_not_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
