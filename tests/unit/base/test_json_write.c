/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_write.c - documents are written character for character as jansson writes them, floats apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/text.h"

static const char *const documents[] = {
    "{}", "[]", "null", "true", "false", "0", "-9223372036854775808", "9223372036854775807", "\"\"",
    "{\"a\":{},\"b\":[],\"c\":[[],{}],\"d\":null}",
    "[1,[2,[3,[4,{\"five\":[6]}]]],\"seven\"]",
    "{\"quote\\\"\":\"back\\\\slash/\",\"control\":\"\\b\\t\\n\\u000b\\f\\r\\u0001\\u001f\\u007f\"}",
    "\"\\u00e4\\u20ac\\ud83d\\ude00 mixed \\n with text\"",
    "\"a zero \\u0000 inside\"",
    "[1.5,-0.25,123456789.0]",
};

static void documents_are_written_as_jansson_writes_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(documents); i++) {
        sw_auto(json) json_t *document = json_loads(documents[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        sw_autofree char *compact = json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY);
        sw_autofree char *plain = json_dumps(document, JSON_INDENT(2) | JSON_ENCODE_ANY);
        sw_autofree char *ours = sw_json_dump(document), *pretty = sw_json_dump_pretty(document);
        sw_autofree char *line = sw_format("%s\n", plain);

        assert_non_null(document);
        assert_string_equal(ours, compact);
        assert_string_equal(pretty, line);
    }
}

static void a_float_has_the_digits_that_it_needs(void **state)
{
    sw_auto(json) json_t *document = json_pack("[f,f,f,f]", 0.1, 1.0 / 3, 2.0, 1e22);
    sw_autofree char *text = sw_json_dump(document);

    (void)state;
    assert_string_equal(text, "[0.1,0.3333333333333333,2.0,1e22]");
}

static void a_key_may_hold_a_zero(void **state)
{
    sw_auto(json) json_t *document = json_object();
    sw_autofree char *text = NULL;

    (void)state;
    json_object_setn_new(document, "\0a", 2, json_true());
    text = sw_json_dump(document);
    assert_string_equal(text, "{\"\\u0000a\":true}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_written_as_jansson_writes_them),
        cmocka_unit_test(a_key_may_hold_a_zero),
        cmocka_unit_test(a_float_has_the_digits_that_it_needs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
