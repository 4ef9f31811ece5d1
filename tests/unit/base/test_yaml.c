/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_yaml.c - YAML as we read and write it. That others agree is tests/e2e/readback.py.
 */
#include "document_checks.h"

struct meaning {
    const char *text, *json;
};

static void plain_words_mean_what_yaml_1_2_says(void **state)
{
    static const struct meaning meanings[] = {
        { "~", "null" }, { "null", "null" }, { "", "null" }, { "NULL", "null" },
        { "true", "true" }, { "False", "false" },
        { "yes", "\"yes\"" }, { "no", "\"no\"" }, { "on", "\"on\"" }, { "off", "\"off\"" },
        { "y", "\"y\"" }, { "nUll", "\"nUll\"" },
        { "0", "0" }, { "-7", "-7" }, { "+7", "7" }, { "0x1F", "31" }, { "0o17", "15" },
        { "9223372036854775807", "9223372036854775807" },
        { "-9223372036854775808", "-9223372036854775808" },
        { "1.5", "1.5" }, { "1e3", "1000.0" }, { ".5", "0.5" }, { "5.", "5.0" },
        { "-1.5E-3", "-0.0015" },
        { "1_000", "\"1_000\"" }, { "12:30", "\"12:30\"" }, { "2024-01-01", "\"2024-01-01\"" },
        { "-0x1F", "\"-0x1F\"" }, { "1e", "\"1e\"" }, { ".", "\".\"" }, { "H100:8", "\"H100:8\"" },
        { "!!str 1", "\"1\"" }, { "!!float 1", "1.0" }, { "!!int '2'", "2" },
        { "'1'", "\"1\"" }, { "\"no\"", "\"no\"" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(meanings); i++)
        expect_reads_as(SW_YAML, meanings[i].text, meanings[i].json);
}

static void what_would_be_guesswork_is_refused_with_its_place(void **state)
{
    static const struct { const char *text, *part; } cases[] = {
        { "a: 0123", "test:1:4: YAML readers disagree about numbers with leading zeros" },
        { "a: .inf", "test:1:4: infinity" },
        { "a:\n  - 1\n  - -.INF", "test:3:5: infinity" },
        { "a: .nan", "test:1:4: infinity" },
        { "a: 9223372036854775808", "test:1:4: the number does not fit" },
        { "a: 0xFFFFFFFFFFFFFFFF", "test:1:4: the number does not fit" },
        { "a: 1e999", "test:1:4: the number is too large" },
        { "a: 1\nb: 2\na: 3", "test:3:1: duplicate key 'a' (first on line 1)" },
        { "a: 1\n---\nb: 2", "test:2:1: only one YAML document" },
        { "? [a]\n: b", "test:1:3: a key must be a plain string" },
        { "~: 1", "test:1:1: key expected" },
        { "a: !thing 1", "test:1:4: the value does not fit its tag" },
        { "a: !thing [1]", "test:1:4: this tag is not supported" },
        { "a: !!int x", "test:1:4: the value does not fit its tag" },
        { "a: \"\\0\"", "test:1:4: a string cannot contain a NUL" },
        { "a: *b", "test:1:4: unknown anchor" },
        { "a: &a [*a]", "test:1:8: unknown anchor" },
        { "<<: 1", "test:1:1: << takes a mapping" },
        { "a:\n\tb: 1", "test:2:1: tab in indentation" },
        { "\xc3\xa9\xc3\xa9: [\t1\n\t- \t", "test:2:" },
        { "a: [1, 2", "test:2:1: did not find expected ',' or ']'" },
        { "a: b: c", "test:1:5:" },
        { "a: \x01", "test:1:4: control characters" },
        { "ok: 1\nb: \xff", "test:2:4: not valid UTF-8" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++)
        expect_refused(SW_YAML, cases[i].text, cases[i].part);
}

static void keys_that_are_numbers_keep_their_spelling(void **state)
{
    (void)state;
    expect_reads_as(SW_YAML, "8: a\ntrue: b\n1.0: c\n'': d",
                    "{\"8\": \"a\", \"true\": \"b\", \"1.0\": \"c\", \"\": \"d\"}");
}

static void an_alias_is_a_copy(void **state)
{
    static const char text[] = "a: &a {x: 1}\nb: *a\n";
    sw_auto(sw_document) struct sw_document *document =
        sw_document_parse(text, strlen(text), SW_YAML, "test", NULL);
    json_t *value = sw_document_value(document);

    (void)state;
    json_object_set_new(json_object_get(value, "b"), "x", json_integer(2));
    assert_int_equal(sw_json_int(json_object_get(value, "a"), "x", 0), 1);
}

static void merge_keys_add_what_is_missing_and_the_first_wins(void **state)
{
    (void)state;
    expect_reads_as(SW_YAML,
                    "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], x: 9}\n"
                    "d:\n  z: 8\n  <<: *b\n",
                    "{\"a\": {\"x\": 1, \"y\": 1}, \"b\": {\"y\": 2, \"z\": 2},"
                    " \"c\": {\"x\": 9, \"y\": 1, \"z\": 2}, \"d\": {\"z\": 8, \"y\": 2}}");
}

static void aliases_cannot_blow_a_document_up(void **state)
{
    sw_auto(sw_buf) struct sw_buf many = SW_BUF_INIT, big = SW_BUF_INIT, deep = SW_BUF_INIT;

    (void)state;
    sw_buf_add(&many, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 12; i++) {
        sw_buf_addf(&many, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            sw_buf_addf(&many, "*a%d,", i - 1);
        sw_buf_add(&many, "]\n");
    }
    expect_refused(SW_YAML, sw_buf_text(&many), "aliases make this document too large");

    sw_buf_add(&big, "a: &a ");
    for (int i = 0; i < 100000; i++)
        sw_buf_add_char(&big, 'x');
    sw_buf_add(&big, "\nb: [");
    for (int i = 0; i < 1000; i++)
        sw_buf_add(&big, "*a,");
    sw_buf_add(&big, "]\n");
    expect_refused(SW_YAML, sw_buf_text(&big), "aliases make this document too large");

    sw_buf_add(&deep, "a0: &a0 [x]\n");
    for (int i = 1; i < 80; i++)
        sw_buf_addf(&deep, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    expect_refused(SW_YAML, sw_buf_text(&deep), "aliases make this document too large");
}

static void a_text_that_another_reader_could_misread_is_quoted(void **state)
{
    static const char *const words[] = {
        "no", "Yes", "ON", "y", "n", "null", "~", "", "1e3", "1_000", "0o7", "0123", "12:30",
        "2024-01-01", ".5", ".inf", "=", "<<", " a", "a ", "-", "? a", "a: b", "a #b", "#", "*a",
        "&a", "!a", "%a", "@a", "`a", "[a", "{a", "1", "-1", "true", "a:",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(words); i++) {
        sw_auto(json) json_t *value = sw_json_object(SW_STR("k", words[i]));
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

        assert_int_equal(sw_document_write(&out, value, SW_YAML, NULL), 0);
        if (strcspn(sw_buf_text(&out), "'\"") != 3)
            fail_msg("'%s' was written as: %s", words[i], sw_buf_text(&out));
    }
}

static void ordinary_texts_stay_readable(void **state)
{
    (void)state;
    expect_written(SW_YAML,
                   "{\"image\": \"nvcr.io/nvidia/tao:6.26.3-pyt\", \"gpus\": \"H100:8\","
                   " \"in\": \"s3://bucket/train.json\", \"code\": \"./src\", \"n\": 2,"
                   " \"lr\": 1e-05, \"half\": 0.5, \"say\": \"hello world\", \"list\": [1, {}]}",
                   "image: nvcr.io/nvidia/tao:6.26.3-pyt\n"
                   "gpus: H100:8\n"
                   "in: s3://bucket/train.json\n"
                   "code: ./src\n"
                   "'n': 2\n"
                   "lr: 1.0e-05\n"
                   "half: 0.5\n"
                   "say: hello world\n"
                   "list:\n"
                   "- 1\n"
                   "- {}\n");
    expect_written(SW_YAML, "{\"script\": \"#!/bin/sh\\necho 'hi'\\n\"}",
                   "script: |\n  #!/bin/sh\n  echo 'hi'\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_words_mean_what_yaml_1_2_says),
        cmocka_unit_test(what_would_be_guesswork_is_refused_with_its_place),
        cmocka_unit_test(keys_that_are_numbers_keep_their_spelling),
        cmocka_unit_test(an_alias_is_a_copy),
        cmocka_unit_test(merge_keys_add_what_is_missing_and_the_first_wins),
        cmocka_unit_test(aliases_cannot_blow_a_document_up),
        cmocka_unit_test(a_text_that_another_reader_could_misread_is_quoted),
        cmocka_unit_test(ordinary_texts_stay_readable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
