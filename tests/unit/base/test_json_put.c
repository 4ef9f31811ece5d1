/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_json_put.c - JSON that is written at once is what jansson writes of the same document.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_put.h"

static void a_text_is_escaped_as_jansson_escapes_it(void **state)
{
    static const char *const texts[] = {
        "", "plain", "\"quoted\" and \\", "a\nb\tc\rd\be\ff", "\x01\x1f\x7f", "/slash", "Zürich 東京 🚢",
        "ü", "ends in a quote\"",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(texts); i++) {
        sw_auto(json) json_t *tree = sw_json_object(SW_STR("text", texts[i]));
        sw_autofree char *dumped = sw_json_dump(tree);
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

        sw_json_put_object(&out, SW_PUT_STR("text", texts[i]));
        assert_string_equal(sw_buf_text(&out), dumped);
    }
}

static void every_single_byte_is_written_as_the_tree_writes_it(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++) {
        const char text[] = { 'a', (char)c, 'b', '\0' };
        sw_auto(json) json_t *tree = sw_json_object(SW_STR("text", text));
        sw_autofree char *dumped = sw_json_dump(tree);
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

        sw_json_put_object(&out, SW_PUT_STR("text", text));
        assert_string_equal(sw_buf_text(&out), dumped);
    }
}

static void bytes_that_are_no_utf8_are_replaced(void **state)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    sw_json_put_object(&out, SW_PUT_STR("a", "x\xff\xc3"), SW_PUT_STR("b", "\xed\xa0\x80"));
    assert_string_equal(sw_buf_text(&out), "{\"a\":\"x\xef\xbf\xbd\xef\xbf\xbd\","
                                           "\"b\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}");
}

static void numbers_of_any_size_are_whole(void **state)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    sw_json_put_object(&out, SW_PUT_INT("zero", 0), SW_PUT_INT("most", INT64_MAX),
                       SW_PUT_INT("least", INT64_MIN), SW_PUT_INT_BUT("none", -1, -1),
                       SW_PUT_INT_BUT("some", 7, -1));
    assert_string_equal(sw_buf_text(&out), "{\"zero\":0,\"most\":9223372036854775807,"
                                           "\"least\":-9223372036854775808,\"none\":null,\"some\":7}");
}

static void what_is_not_there_is_null_or_left_out(void **state)
{
    sw_auto(json) json_t *list = json_pack("[i,f]", 1, 0.1);
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    sw_json_put_object(&out, SW_PUT_SUB("first", NULL), SW_PUT_INT(NULL, 5), SW_PUT_STR("text", NULL),
                       SW_PUT_TIME("never", 0), SW_PUT_TIME("then", 1779403854123), SW_PUT_SUB("list", list),
                       SW_PUT_BOOL("yes", true), SW_PUT_WORD("empty", "{}"));
    assert_string_equal(sw_buf_text(&out), "{\"text\":null,\"never\":null,"
                                           "\"then\":\"2026-05-21T22:50:54.123000+00:00\","
                                           "\"list\":[1,0.1],\"yes\":true,\"empty\":{}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_escaped_as_jansson_escapes_it),
        cmocka_unit_test(every_single_byte_is_written_as_the_tree_writes_it),
        cmocka_unit_test(bytes_that_are_no_utf8_are_replaced),
        cmocka_unit_test(numbers_of_any_size_are_whole),
        cmocka_unit_test(what_is_not_there_is_null_or_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
