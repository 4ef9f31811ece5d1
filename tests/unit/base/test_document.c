/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_document.c - places, paths, formats by ending, JSON, and bounds that hold for all formats.
 */
#include "document_checks.h"

#include <fcntl.h>
#include <locale.h>
#include <stdio.h>

#include "base/document_internal.h"
#include "base/file.h"

static const struct {
    enum sw_format format;
    const char *text;
} three_spellings[] = {
    { SW_YAML, "name: x\nenv:\n  A: 1\n  b.c: 2\nplatform:\n  - slurm\n  - [k8s]\n" },
    { SW_JSON, "{\"name\": \"x\",\n\"env\": {\n  \"A\": 1,\n  \"b.c\": 2}, "
               "\"platform\": [\n\n    \"slurm\",\n    [\"k8s\"]]}" },
    { SW_TOML, "name = 'x'\n[env]\n  A = 1\n  \"b.c\" = 2\n" },
};

static void expect_place(const struct sw_document *document, const char *path, int line, int column)
{
    struct sw_position place = sw_document_place(document, path);

    if (place.line != line || place.column != column)
        fail_msg("'%s' stands at %d:%d, not %d:%d", path, place.line, place.column, line, column);
}

static void every_format_knows_where_its_keys_stand(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(three_spellings); i++) {
        sw_auto(sw_document) struct sw_document *document =
            sw_document_parse(three_spellings[i].text, strlen(three_spellings[i].text),
                              three_spellings[i].format, "test", NULL);

        expect_place(document, "env.A", 3, 3);
        expect_place(document, "env[\"b.c\"]", 4, 3);
        expect_place(document, "env", 2, three_spellings[i].format == SW_TOML ? 2 : 1);
    }
}

static void list_elements_have_places_too(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        sw_auto(sw_document) struct sw_document *document =
            sw_document_parse(three_spellings[i].text, strlen(three_spellings[i].text),
                              three_spellings[i].format, "test", NULL);

        expect_place(document, "platform[0]", 6, 5);
        expect_place(document, "platform[1]", 7, 5);
        expect_place(document, "platform[1][0]", 7, 6);
    }
}

static void an_unknown_path_has_the_place_of_its_nearest_ancestor(void **state)
{
    static const char text[] = "a:\n  b:\n    - c: 1\n";
    sw_auto(sw_document) struct sw_document *document =
        sw_document_parse(text, strlen(text), SW_YAML, "test", NULL);

    (void)state;
    expect_place(document, "a.b[0].missing.deeper", 3, 7);
    expect_place(document, "a.b[7]", 2, 3);
    expect_place(document, "a.x", 1, 1);
    expect_place(document, "", 1, 1);
    expect_place(document, "[\"", 1, 1);
    expect_place(document, "[[[", 1, 1);
}

static void columns_count_characters_not_bytes(void **state)
{
    static const char *const texts[] = {
        [SW_YAML] = "{\xc3\xa9\xc3\xa9: 1, b: 2}", [SW_JSON] = "{\"\xc3\xa9\": 1,  \"b\": 2}",
        [SW_TOML] = "t = {\"\xc3\xa9\" = 1, b = 2}",
    };
    static const int columns[] = { [SW_YAML] = 9, [SW_JSON] = 11, [SW_TOML] = 15 };

    (void)state;
    for (int i = SW_YAML; i <= SW_TOML; i++) {
        sw_auto(sw_document) struct sw_document *document =
            sw_document_parse(texts[i], strlen(texts[i]), (enum sw_format)i, "test", NULL);

        assert_non_null(document);
        expect_place(document, i == SW_TOML ? "t.b" : "b", 1, columns[i]);
    }
}

static void odd_keys_are_bracketed_and_found_again(void **state)
{
    static const char *const keys[] = { "a.b", "a[0]", "say \"hi\"", "back\\slash", "", "new\nline",
                                        "]", "\\n", "plain", "with space" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(keys); i++) {
        sw_auto(json) json_t *value = json_pack("{s:i, s:{s:i}}", "first", 1, "env", keys[i], 2);
        sw_autofree char *text = json_dumps(value, JSON_INDENT(2));
        sw_auto(sw_document) struct sw_document *document =
            sw_document_parse(text, strlen(text), SW_JSON, "test", NULL);
        sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;

        sw_path_add_key(&path, "env");
        sw_path_add_key(&path, keys[i]);
        expect_place(document, sw_buf_text(&path), 4, 5);
    }
}

static void paths_are_spelled_as_people_would(void **state)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;

    (void)state;
    sw_path_add_key(&path, "a");
    sw_path_add_index(&path, 2);
    sw_path_add_key(&path, "b");
    sw_path_add_key(&path, "c.d");
    assert_string_equal(sw_buf_text(&path), "a[2].b[\"c.d\"]");
}

static void the_ending_decides_the_format(void **state)
{
    static const struct { const char *path; int format; } cases[] = {
        { "job.yaml", SW_YAML }, { "a/b.YML", SW_YAML }, { "x.json", SW_JSON },
        { "env.toml", SW_TOML }, { "-", SW_YAML }, { "/dev/fd/63", SW_YAML },
        { "dir.json/job", SW_YAML }, { ".hidden", SW_YAML }, { "job.txt", -1 }, { "job.", -1 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        struct sw_error err = { 0 };
        enum sw_format format = SW_YAML;
        int result = sw_format_of_path(cases[i].path, &format, &err);

        assert_int_equal(result, cases[i].format < 0 ? -1 : 0);
        if (result == 0)
            assert_int_equal(format, cases[i].format);
        else
            assert_string_not_equal(err.hint, "");
    }
}

static void nothing_nests_too_deeply_or_grows_too_large(void **state)
{
    sw_auto(sw_buf) struct sw_buf deep = SW_BUF_INIT, wide = SW_BUF_INIT;

    (void)state;
    for (int i = 0; i < SW_DOCUMENT_DEPTH + 2; i++)
        sw_buf_add_char(&deep, '[');
    sw_buf_add_char(&deep, '1');
    for (int i = 0; i < SW_DOCUMENT_DEPTH + 2; i++)
        sw_buf_add_char(&deep, ']');
    expect_refused(SW_YAML, sw_buf_text(&deep), "nested deeper");
    expect_refused(SW_JSON, sw_buf_text(&deep), "nested deeper");

    sw_buf_add_char(&wide, '[');
    for (int i = 0; i < SW_DOCUMENT_NODES; i++)
        sw_buf_add(&wide, "1,");
    sw_buf_add(&wide, "1]");
    expect_refused(SW_YAML, sw_buf_text(&wide), "more than 200000 values");
    expect_refused(SW_JSON, sw_buf_text(&wide), "more than 200000 values");

    while (wide.length <= SW_DOCUMENT_MAX)
        sw_buf_add(&wide, "          ");
    expect_refused(SW_TOML, sw_buf_text(&wide), "larger than 4 MiB");
}

static void a_nul_byte_is_not_a_text(void **state)
{
    struct sw_error err = { 0 };

    (void)state;
    assert_null(sw_document_parse("a: 1\0", 5, SW_YAML, "test", &err));
    assert_string_equal(err.message, "test:1:5: a NUL byte: not valid text");
}

static void a_byte_order_mark_is_stepped_over(void **state)
{
    (void)state;
    expect_reads_as(SW_YAML, "\xef\xbb\xbf" "a: 1", "{\"a\": 1}");
    expect_reads_as(SW_JSON, "\xef\xbb\xbf{\"a\": 1}", "{\"a\": 1}");
    expect_reads_as(SW_TOML, "\xef\xbb\xbf" "a = 1", "{\"a\": 1}");
}

static void json_is_written_with_no_more_digits_than_it_needs(void **state)
{
    (void)state;
    expect_written(SW_JSON, "{\"lr\": 0.1, \"b\": [1, 2.0], \"a\": null}",
                   "{\n  \"lr\": 0.1,\n  \"b\": [\n    1,\n    2.0\n  ],\n  \"a\": null\n}\n");
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    char text[40];
    double value = 0;

    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8"))
        setlocale(LC_ALL, "C.UTF-8");      /* none with a comma here: the rest still holds */
    sw_real_format(0.5, text);
    assert_string_equal(text, "0.5");
    sw_real_format(1e-5, text);
    assert_string_equal(text, "1.0e-05");
    sw_real_format(-0.0, text);
    assert_string_equal(text, "-0.0");
    sw_real_format(1.7976931348623157e308, text);
    assert_int_equal(sw_real_parse(text, &value), 0);
    assert_true(value == 1.7976931348623157e308);
    assert_int_equal(sw_real_parse("1,5", &value), -1);
    setlocale(LC_ALL, "C");
}

static void a_file_is_read_by_its_ending_and_named_in_messages(void **state)
{
    char folder[] = "/tmp/slipway-document-XXXXXX";
    struct sw_error err = { 0 };
    sw_autofree char *path = NULL;
    sw_auto(sw_document) struct sw_document *document = NULL;

    (void)state;
    assert_non_null(mkdtemp(folder));
    path = sw_path_join(folder, "x.toml");
    assert_int_equal(sw_file_write(path, "a = 1\n", 6, 0600, &err), 0);
    document = sw_document_read(path, &err);
    assert_non_null(document);
    assert_string_equal(sw_document_name(document), path);
    assert_int_equal(sw_file_write(path, "a = \n", 5, 0600, &err), 0);
    assert_null(sw_document_read(path, &err));
    assert_memory_equal(err.message, path, strlen(path));
    assert_int_equal(sw_remove_tree(folder, &err), 0);
    assert_null(sw_document_read(path, &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
}

static void a_document_made_from_json_has_no_places(void **state)
{
    sw_auto(sw_document) struct sw_document *document =
        sw_document_from_json(json_object(), "flags");

    (void)state;
    assert_string_equal(sw_document_name(document), "flags");
    expect_place(document, "a.b", 0, 0);
}

static void a_value_that_is_too_deep_is_not_written(void **state)
{
    struct sw_error err = { 0 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_auto(json) json_t *value = json_integer(1);

    (void)state;
    for (int i = 0; i < SW_DOCUMENT_DEPTH + 1; i++) {
        json_t *outer = json_array();

        json_array_append_new(outer, value);
        value = outer;
    }
    assert_int_equal(sw_document_write(&out, value, SW_YAML, &err), -1);
    assert_int_equal(err.code, SW_E_SPEC);
    assert_int_equal(out.length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_knows_where_its_keys_stand),
        cmocka_unit_test(list_elements_have_places_too),
        cmocka_unit_test(an_unknown_path_has_the_place_of_its_nearest_ancestor),
        cmocka_unit_test(columns_count_characters_not_bytes),
        cmocka_unit_test(odd_keys_are_bracketed_and_found_again),
        cmocka_unit_test(paths_are_spelled_as_people_would),
        cmocka_unit_test(the_ending_decides_the_format),
        cmocka_unit_test(nothing_nests_too_deeply_or_grows_too_large),
        cmocka_unit_test(a_nul_byte_is_not_a_text),
        cmocka_unit_test(a_byte_order_mark_is_stepped_over),
        cmocka_unit_test(json_is_written_with_no_more_digits_than_it_needs),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
        cmocka_unit_test(a_file_is_read_by_its_ending_and_named_in_messages),
        cmocka_unit_test(a_document_made_from_json_has_no_places),
        cmocka_unit_test(a_value_that_is_too_deep_is_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
