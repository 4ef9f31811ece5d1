/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_buf.c - the growing text, and shell words that a real shell reads back.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

static void an_empty_buffer_is_an_empty_text(void **state)
{
    struct sw_buf buf = SW_BUF_INIT;
    sw_autofree char *stolen = NULL;

    (void)state;
    assert_string_equal(sw_buf_text(&buf), "");
    sw_buf_clear(&buf);
    stolen = sw_buf_steal(&buf);
    assert_string_equal(stolen, "");
}

static void it_grows_and_stays_terminated(void **state)
{
    sw_auto(sw_buf) struct sw_buf buf = SW_BUF_INIT;

    (void)state;
    for (int i = 0; i < 10000; i++)
        sw_buf_addf(&buf, "%d,", i % 10);
    assert_int_equal(buf.length, 20000);
    assert_int_equal(strlen(sw_buf_text(&buf)), 20000);
    sw_buf_clear(&buf);
    sw_buf_add_char(&buf, 'x');
    sw_buf_add_bytes(&buf, "\0y", 2);
    assert_int_equal(buf.length, 3);
    assert_memory_equal(buf.data, "x\0y", 4);
    sw_buf_addf(&buf, "%s", "");
    assert_int_equal(buf.length, 3);
}

static void stealing_leaves_it_empty_and_usable(void **state)
{
    sw_auto(sw_buf) struct sw_buf buf = SW_BUF_INIT;
    sw_autofree char *stolen = NULL;

    (void)state;
    sw_buf_add(&buf, "first");
    stolen = sw_buf_steal(&buf);
    sw_buf_add(&buf, "second");
    assert_string_equal(stolen, "first");
    assert_string_equal(sw_buf_text(&buf), "second");
}

static void harmless_words_stay_bare(void **state)
{
    sw_auto(sw_buf) struct sw_buf buf = SW_BUF_INIT;

    (void)state;
    sw_buf_add_quoted(&buf, "s3://bucket/a-b_c@1%+=:,.");
    assert_string_equal(sw_buf_text(&buf), "s3://bucket/a-b_c@1%+=:,.");
}

static void a_shell_reads_back_every_quoted_word(void **state)
{
    static const char *const words[] = {
        "", "a b", "it's", "$HOME", "`id`", "$(id)", "\"x\"", "\\", "a\nb", "*", "~", "!x", "#",
        "; exit 3", "''", "\xc3\xa9", "-n", "a\tb", "{a,b}", "<x>", "|&",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(words); i++) {
        sw_auto(sw_buf) struct sw_buf command = SW_BUF_INIT;
        char answer[64] = "";
        FILE *shell;
        size_t n;

        sw_buf_add(&command, "printf %s ");
        sw_buf_add_quoted(&command, words[i]);
        shell = popen(sw_buf_text(&command), "r");
        assert_non_null(shell);
        n = fread(answer, 1, sizeof answer - 1, shell);
        answer[n] = '\0';
        assert_int_equal(pclose(shell), 0);
        assert_string_equal(answer, words[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_is_an_empty_text),
        cmocka_unit_test(it_grows_and_stays_terminated),
        cmocka_unit_test(stealing_leaves_it_empty_and_usable),
        cmocka_unit_test(harmless_words_stay_bare),
        cmocka_unit_test(a_shell_reads_back_every_quoted_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
