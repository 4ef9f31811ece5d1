/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_labels.c - which texts are labels, how others become such, and lists of {"name","value"}.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "platform/kit/labels.h"

#define X63 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static void a_label_is_short_and_ends_without_a_dot(void **state)
{
    static const struct { const char *text; bool is; const char *made; } rows[] = {
        { "", true, "" }, { "a", true, "a" }, { "ann.b_c-1", true, "ann.b_c-1" },
        { "ann@laptop", false, "ann.laptop" }, { "end-", false, "end" }, { "a b/", false, "a.b" },
        { X63, true, X63 }, { X63 "x", false, X63 }, { "@", false, "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *made = sw_label_text(rows[i].text);

        assert_int_equal(sw_is_label(rows[i].text), rows[i].is);
        assert_string_equal(made, rows[i].made);
    }
}

static void a_value_is_found_by_its_name(void **state)
{
    sw_auto(json) json_t *list = json_array(), *more = json_pack("{s:s, s:s}", "A", "1", "B", "2");

    (void)state;
    sw_named_add(list, "left out", NULL);
    sw_named_add_all(list, more);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(sw_named(list, "B"), "2");
    assert_null(sw_named(list, "left out"));
    assert_null(sw_named(NULL, "A"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_label_is_short_and_ends_without_a_dot),
        cmocka_unit_test(a_value_is_found_by_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
