/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_keypath.c - places of a config by their path: read, made, and refused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "core/keypath.h"

static json_t *parse(const char *text)
{
    return sw_json_parse(text, strlen(text), "test", NULL);
}

static void a_path_leads_to_its_value(void **state)
{
    static const struct {
        const char *path, *value;       /* NULL: nothing there */
    } rows[] = {
        { "a.b", "1" }, { "a.list[1].x", "2" }, { "a.list[0]", "{}" }, { "a.list[9]", NULL },
        { "a.missing", NULL }, { "a.b.c", NULL }, { "odd[key", "3" }, { "a.list[x]", NULL },
        { "", NULL }, { "we-ird[0]", "4" },
    };
    sw_auto(json) json_t *document = parse("{\"a\":{\"b\":1,\"list\":[{},{\"x\":2}]},"
                                           "\"odd[key\":3,\"we-ird[0]\":4}");

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        json_t *found = sw_keypath_get(document, rows[i].path);
        sw_autofree char *text = found ? json_dumps(found, JSON_ENCODE_ANY) : NULL;

        if (!rows[i].value) {
            assert_null(found);
        } else {
            assert_non_null(text);
            assert_string_equal(text, rows[i].value);
        }
    }
}

static void writing_makes_the_way(void **state)
{
    static const struct {
        const char *path, *after;
    } rows[] = {
        { "a.b.c", "{\"a\":{\"b\":{\"c\":7}}}" },
        { "l[2]", "{\"l\":[{},{},7]}" },
        { "l[1].x", "{\"l\":[{},{\"x\":7}]}" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *document = json_object();
        sw_autofree char *text = NULL;

        assert_int_equal(sw_keypath_set(document, rows[i].path, json_integer(7), NULL), 0);
        text = sw_json_dump(document);
        assert_string_equal(text, rows[i].after);
    }
}

static void a_value_in_the_way_is_not_overwritten(void **state)
{
    sw_auto(json) json_t *document = parse("{\"a\":\"text\"}");
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(sw_keypath_set(document, "a.b", json_integer(1), &err), -1);
    assert_int_equal(err.code, SW_E_SPEC);
    assert_int_equal(sw_keypath_set(document, "l[99999999999]", json_integer(1), &err), -1);
}

static void only_a_well_formed_path_passes(void **state)
{
    static const char *const bad[] = { "", ".a", "a.", "a..b", "a[", "a[x]", "a[1]b", "a b" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(bad); i++)
        assert_int_equal(sw_keypath_check(bad[i], NULL), -1);
    assert_int_equal(sw_keypath_check("train.data_set[0].x-y", NULL), 0);
}

static void a_path_becomes_one_file_name(void **state)
{
    sw_autofree char *dots = sw_keypath_flat("train.output-dir", "");
    sw_autofree char *dashes = sw_keypath_flat("train.output-dir[2].x", "-");
    sw_autofree char *slashes = sw_keypath_flat("../../etc", "");

    (void)state;
    assert_string_equal(dots, "train_output-dir");
    assert_string_equal(dashes, "train_output_dir_2_x");
    assert_null(strchr(slashes, '/'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_leads_to_its_value),
        cmocka_unit_test(writing_makes_the_way),
        cmocka_unit_test(a_value_in_the_way_is_not_overwritten),
        cmocka_unit_test(only_a_well_formed_path_passes),
        cmocka_unit_test(a_path_becomes_one_file_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
