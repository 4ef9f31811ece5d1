/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_clean.c - colours of a log reach a terminal, and nothing else of it is obeyed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/cli_clean.h"

#define RED "\033[31m"
#define RESET "\033[0m"

struct sample {
    const char *from, *shown, *plain;          /* plain: where colours are off */
};

static const struct sample samples[] = {
    { "no colours\n", "no colours\n", "no colours\n" },
    { RED "INFO\033[0m x\n", RED "INFO" RESET " x\n", "INFO x\n" },
    { RED "INFO\033[m x\n", RED "INFO" RESET " x\n", "INFO x\n" },
    { "\033[38;5;196ma\033[1mb\n", "\033[38;5;196ma\033[1mb" RESET "\n", "ab\n" },
    { "\033[38:2::1:2:3ma", "\033[38:2::1:2:3ma" RESET, "a" },
    /* A colour ends with its line and begins again with the next one's text. */
    { RED "a\nb\n" RESET "c\n", RED "a" RESET "\n" RED "b" RESET "\nc\n", "a\nb\nc\n" },
    { RED "a\033[0;1mb\nc", RED "a\033[0;1mb" RESET "\n\033[0;1mc" RESET, "ab\nc" },
    { RED "\n\n", "\n\n", "\n\n" },
    /* Cursor moves and erasing are dropped. */
    { "a\033[2J\033[1;1Hb\033[K\033[?25lc\033[A\n", "abc\n", "abc\n" },
    { "\033[>4;2mx", "x", "x" },                /* ends in m, and is no colour */
    /* Titles, other escapes, bells and what never ends are shown. */
    { "\033]0;title\a x", "^[]0;title^G x", "^[]0;title^G x" },
    { "\033(0x\033c", "^[(0x^[c", "^[(0x^[c" },
    { "\033[31\nm", "^[[31\nm", "^[[31\nm" },
    { "end\033[3", "end^[[3", "end^[[3" },
    { "end\033", "end^[", "end^[" },
    { "\033\033[31mx", "^[" RED "x" RESET, "^[x" },
    /* Other bytes are as harmless as ever. */
    { "5 \xe2\x82\xac \xff \x9b""31m\n", "5 \xe2\x82\xac \xef\xbf\xbd \xef\xbf\xbd""31m\n",
      "5 \xe2\x82\xac \xef\xbf\xbd \xef\xbf\xbd""31m\n" },
    { RED "\xe2\x82\xac" RESET "\n", RED "\xe2\x82\xac" RESET "\n", "\xe2\x82\xac\n" },
};

/* The stream in two pieces, cut at `cut`. */
static void expect_cut(const struct sample *sample, bool colors, size_t cut)
{
    struct cli_clean clean = { .colors = colors };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    size_t length = strlen(sample->from);

    cli_clean_add(&clean, sample->from, cut, &out);
    cli_clean_add(&clean, sample->from + cut, length - cut, &out);
    cli_clean_end(&clean, &out);
    assert_string_equal(sw_buf_text(&out), colors ? sample->shown : sample->plain);
}

static void colours_pass_and_other_sequences_do_not_wherever_the_stream_is_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(samples); i++)
        for (size_t cut = 0; cut <= strlen(samples[i].from); cut++) {
            expect_cut(&samples[i], true, cut);
            expect_cut(&samples[i], false, cut);
        }
}

static void one_byte_at_a_time_gives_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(samples); i++) {
        struct cli_clean clean = { .colors = true };
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

        for (const char *at = samples[i].from; *at; at++)
            cli_clean_add(&clean, at, 1, &out);
        cli_clean_end(&clean, &out);
        assert_string_equal(sw_buf_text(&out), samples[i].shown);
    }
}

static void a_sequence_that_is_too_long_is_shown(void **state)
{
    struct cli_clean clean = { .colors = true };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    char longest[200];

    (void)state;
    memset(longest, '1', sizeof longest);
    memcpy(longest, "\033[", 2);
    longest[sizeof longest - 1] = 'm';
    for (size_t i = 0; i < sizeof longest; i++)
        cli_clean_add(&clean, longest + i, 1, &out);
    cli_clean_end(&clean, &out);
    assert_int_equal(out.length, sizeof longest + 1);           /* ESC takes two */
    assert_memory_equal(out.data, "^[[111", 6);
}

static void colours_that_are_never_reset_take_no_more_room(void **state)
{
    struct cli_clean clean = { .colors = true };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    for (int i = 0; i < 1000; i++)
        cli_clean_add(&clean, "\033[38;5;196mx\n", 13, &out);
    assert_true(clean.active_length <= sizeof clean.active);
    cli_clean_end(&clean, &out);
    assert_int_equal(clean.active_length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_pass_and_other_sequences_do_not_wherever_the_stream_is_cut),
        cmocka_unit_test(one_byte_at_a_time_gives_the_same),
        cmocka_unit_test(a_sequence_that_is_too_long_is_shown),
        cmocka_unit_test(colours_that_are_never_reset_take_no_more_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
