/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_plain_text.c - any bytes become UTF-8 text with plain line ends, however they are cut.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runner/runner.h"

static char *plain(const char *bytes, size_t piece)
{
    struct runner_plain_text text = { .length = 0 };
    struct sw_buf out = SW_BUF_INIT;
    size_t length = strlen(bytes);

    for (size_t at = 0; at < length; at += piece)
        runner_plain_text(&text, bytes + at, length - at < piece ? length - at : piece, &out);
    runner_plain_text_end(&text, &out);
    return sw_buf_steal(&out);
}

static void bytes_become_text(void **state)
{
    static const struct { const char *bytes, *text; } rows[] = {
        { "abc\n", "abc\n" },
        { "a\r\nb\rc\r\r\nd", "a\nb\nc\n\nd" },
        { "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "\xffx", "\xef\xbf\xbdx" },
        { "\xc3(", "\xef\xbf\xbd(" },
        { "\xe2\x82", "\xef\xbf\xbd" },
        { "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        for (size_t piece = 1; piece < 12; piece++) {
            sw_autofree char *text = plain(rows[i].bytes, piece);

            assert_string_equal(text, rows[i].text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bytes_become_text) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
