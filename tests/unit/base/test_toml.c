/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_toml.c - what toml-test does not ask: messages, places, and how our files look.
 */
#include "document_checks.h"

#include <stdio.h>

static void a_profile_reads_as_expected(void **state)
{
    (void)state;
    expect_reads_as(SW_TOML,
                    "# profiles\n[lepton]\nnodes = [ 1, # one\n 2, ]\nwhen = 2024-01-01 10:00:00z\n"
                    "[lepton.sub]\na.b = \"\"\"\none\\\n   two\"\"\"\n"
                    "[[jobs]]\nn = 0x1F\n[[jobs]]\n",
                    "{\"lepton\": {\"nodes\": [1, 2], \"when\": \"2024-01-01T10:00:00Z\","
                    " \"sub\": {\"a\": {\"b\": \"onetwo\"}}}, \"jobs\": [{\"n\": 31}, {}]}");
}

static void mistakes_are_named_with_their_place(void **state)
{
    static const struct { const char *text, *part; } cases[] = {
        { "a = 1\na = 2", "test:2:1: duplicate key 'a' (first on line 1)" },
        { "[a]\n[b]\n[a]", "test:3:2: duplicate key 'a' (first on line 1)" },
        { "a = {b = 1}\n[a.c]", "test:2:2: duplicate key 'a' (first on line 1)" },
        { "a = word", "test:1:5: 'word' is not a value; strings need quotes" },
        { "a = ", "test:1:5: value expected" },
        { "a = 1 b = 2", "test:1:7: expected a new line" },
        { "a 1", "test:1:3: expected '=' after the key" },
        { "= 1", "test:1:1: key expected" },
        { "a = \"x\nb = 1", "test:1:5: the string that begins here is not closed" },
        { "a = \"\\q\"", "test:1:6: unknown escape" },
        { "a = \"\\u0000\"", "test:1:6: a string cannot contain a NUL" },
        { "a = \"\\ud800\"", "test:1:6: the escape is not a Unicode character" },
        { "a = [1\n 2]", "test:2:2: expected ',' or ']' in the array that starts on line 1" },
        { "a = {b = 1\n}", "test:1:11: expected ',' or '}' on the same line" },
        { "a = 99999999999999999999", "test:1:5: the number does not fit" },
        { "a = inf", "test:1:5: infinity" },
        { "a = 1e999", "test:1:5: the number is too large" },
        { "a = 2023-02-29", "test:1:5: '2023-02-29' is not a value" },
        { "[a", "test:1:3: expected ']' to close" },
        { "# \x01", "test:1:3: control character in a comment" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++)
        expect_refused(SW_TOML, cases[i].text, cases[i].part);
}

static void nesting_is_bounded_however_it_is_written(void **state)
{
    sw_auto(sw_buf) struct sw_buf dotted = SW_BUF_INIT, lists = SW_BUF_INIT, headers = SW_BUF_INIT;

    (void)state;
    sw_buf_add(&lists, "a = ");
    for (int i = 0; i < 70; i++) {
        sw_buf_add(&dotted, i ? ".a" : "a");
        sw_buf_add_char(&lists, '[');
    }
    sw_buf_addf(&headers, "[%s]\n", sw_buf_text(&dotted));
    sw_buf_add(&dotted, " = 1");
    expect_refused(SW_TOML, sw_buf_text(&dotted), "nested deeper");
    expect_refused(SW_TOML, sw_buf_text(&lists), "nested deeper");
    expect_refused(SW_TOML, sw_buf_text(&headers), "nested deeper");
    /* Each element of a list of tables is two levels, so 40 steps are 80. */
    sw_buf_clear(&headers);
    sw_buf_clear(&dotted);
    for (int i = 0; i < 40; i++) {
        sw_buf_add(&dotted, i ? ".a" : "a");
        sw_buf_addf(&headers, "[[%s]]\n", sw_buf_text(&dotted));
    }
    expect_refused(SW_TOML, sw_buf_text(&headers), "nested deeper");
}

static void a_reopened_table_keeps_the_place_of_its_beginning(void **state)
{
    static const char text[] = "[a.b]\nx = 1\n[a]\ny = 2\n";
    sw_auto(sw_document) struct sw_document *document =
        sw_document_parse(text, strlen(text), SW_TOML, "test", NULL);

    (void)state;
    assert_int_equal(sw_document_place(document, "a").line, 1);
    assert_int_equal(sw_document_place(document, "a.y").line, 4);
}

static void tables_are_written_after_plain_values(void **state)
{
    (void)state;
    expect_written(SW_TOML,
                   "{\"t\": {\"x\": 1, \"only\": {\"deep\": {\"z\": true}}}, \"name\": \"a b\\n\","
                   " \"jobs\": [{\"n\": 1}, {\"m\": {}}], \"mixed\": [1, {\"a\": 2}], \"e\": [],"
                   " \"odd key\": 0.5}",
                   "name = \"a b\\n\"\n"
                   "mixed = [1, { a = 2 }]\n"
                   "e = []\n"
                   "\"odd key\" = 0.5\n"
                   "\n[t]\nx = 1\n"
                   "\n[t.only.deep]\nz = true\n"
                   "\n[[jobs]]\nn = 1\n"
                   "\n[[jobs]]\n"
                   "\n[jobs.m]\n");
}

static void null_cannot_be_written_and_the_message_says_where(void **state)
{
    struct sw_error err = { 0 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_auto(json) json_t *value = json_pack("{s:[i,{s:n}]}", "a", 1, "b.c");

    (void)state;
    assert_int_equal(sw_document_write(&out, value, SW_TOML, &err), -1);
    assert_string_equal(err.message, "'a[1][\"b.c\"]' cannot be written as TOML: TOML has no null");
    assert_int_equal(out.length, 0);
}

static void a_huge_key_over_many_tables_is_refused_before_it_fills_the_memory(void **state)
{
    struct sw_error err = { 0 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT, key = SW_BUF_INIT;
    sw_auto(json) json_t *value = json_object();
    json_t *tables = json_object();

    (void)state;
    while (key.length < 1000000)
        sw_buf_add(&key, "0123456789");
    for (int i = 0; i < 1000; i++) {
        char name[16];

        snprintf(name, sizeof name, "t%d", i);
        json_object_set_new(tables, name, json_object());
    }
    json_object_set_new(value, sw_buf_text(&key), tables);
    assert_int_equal(sw_document_write(&out, value, SW_TOML, &err), -1);
    assert_int_equal(err.code, SW_E_SPEC);
}

static void only_a_table_can_be_a_toml_document(void **state)
{
    struct sw_error err = { 0 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_auto(json) json_t *value = json_array();

    (void)state;
    assert_int_equal(sw_document_write(&out, value, SW_TOML, &err), -1);
    assert_int_equal(err.code, SW_E_SPEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_reads_as_expected),
        cmocka_unit_test(mistakes_are_named_with_their_place),
        cmocka_unit_test(nesting_is_bounded_however_it_is_written),
        cmocka_unit_test(a_reopened_table_keeps_the_place_of_its_beginning),
        cmocka_unit_test(tables_are_written_after_plain_values),
        cmocka_unit_test(null_cannot_be_written_and_the_message_says_where),
        cmocka_unit_test(a_huge_key_over_many_tables_is_refused_before_it_fills_the_memory),
        cmocka_unit_test(only_a_table_can_be_a_toml_document),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
