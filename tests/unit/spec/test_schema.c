/* SPDX-License-Identifier: Apache-2.0 */
/* test_schema.c - the schema and the manual know every key that the tables know. */
#include "fixture.h"

#include <regex.h>

#include "base/file.h"

static json_t *schema(void)
{
    return sw_spec_schema(test_platforms, SW_COUNT(test_platforms));
}

static const json_t *property(const json_t *object, const char *name)
{
    return json_object_get(json_object_get(object, "properties"), name);
}

static void expect_rows(const json_t *object, const struct sw_option *rows)
{
    assert_true(json_is_false(json_object_get(object, "additionalProperties")));
    for (const struct sw_option *row = rows; row->name; row++) {
        const json_t *found = property(object, row->name);

        if (!found)
            fail_msg("the schema lacks '%s'", row->name);
        assert_non_null(sw_json_str(found, "description"));
        if (row->type == SW_GROUP)
            expect_rows(found, row->fields);
    }
}

static void every_row_of_every_table_is_in_the_schema(void **state)
{
    sw_auto(json) json_t *whole = schema();

    (void)state;
    assert_string_equal(sw_json_str(whole, "$schema"),
                        "https://json-schema.org/draft/2020-12/schema");
    expect_rows(whole, sw_spec_keys);
    for (size_t i = 0; i < SW_COUNT(test_platforms); i++)
        expect_rows(property(whole, test_platforms[i].name), test_platforms[i].options);
}

static void the_schema_is_json_that_reads_back(void **state)
{
    sw_auto(json) json_t *whole = schema();
    sw_autofree char *text = sw_json_dump_pretty(whole);
    sw_auto(json) json_t *again = sw_json_parse(text, strlen(text), "schema", NULL);

    (void)state;
    assert_true(json_equal(whole, again));
}

static void choices_bounds_defaults_and_platforms_are_reported(void **state)
{
    sw_auto(json) json_t *whole = schema();
    const json_t *nodes = property(whole, "nodes");

    (void)state;
    expect_json(json_object_get(property(whole, "launcher"), "enum"),
                "[\"none\",\"torchrun\",\"mpi\",\"ray\"]");
    assert_int_equal(sw_json_int(nodes, "minimum", 0), 1);
    assert_int_equal(sw_json_int(nodes, "maximum", 0), 4096);
    assert_int_equal(sw_json_int(nodes, "default", 0), 1);
    expect_json(json_object_get(property(whole, "platform"), "anyOf"),
                "[{\"enum\":[\"local\",\"slurm\",\"lepton\"]},{\"type\":\"array\",\"items\":"
                "{\"enum\":[\"local\",\"slurm\",\"lepton\"]}}]");
    assert_non_null(strstr(sw_json_str(property(property(whole, "slurm"), "partition"),
                                       "description"), "SLURM_PARTITION"));
}

/* A pattern of the schema and the parser must agree on these. JSON Schema writes \s, POSIX
 * does not know it: the test says [[:space:]] instead. */
static bool matches(const char *pattern, const char *text)
{
    sw_auto(sw_buf) struct sw_buf posix = SW_BUF_INIT;
    regex_t regex;
    bool found;

    for (; *pattern; pattern++) {
        if (strncmp(pattern, "\\s", 2) == 0) {
            sw_buf_add(&posix, "[[:space:]]");
            pattern++;
        } else {
            sw_buf_add_char(&posix, *pattern);
        }
    }
    assert_int_equal(regcomp(&regex, sw_buf_text(&posix), REG_EXTENDED | REG_NOSUB), 0);
    found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static void patterns_and_parsers_agree(void **state)
{
    static const struct { const char *key, *text; bool good; } cases[] = {
        { "time", "90s", true },     { "time", "1h30m", true },  { "time", "2d", true },
        { "time", "1.5h", true },    { "time", "90", true },     { "time", "1500ms", true },
        { "time", "soon", false },   { "time", "", false },      { "time", "5 cows", false },
        { "memory", "512GiB", true }, { "memory", "8GB", true }, { "memory", "1048576", true },
        { "memory", "1.5Gi", true }, { "memory", "big", false }, { "memory", "1 2", false },
        { "gpus", "8", true },       { "gpus", "H100:8", true }, { "gpus", "H100", false },
        { "gpus", "", false },
    };
    sw_auto(json) json_t *whole = schema();

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        const char *pattern = sw_json_str(property(whole, cases[i].key), "pattern");
        sw_auto(json) json_t *flags = json_object();
        int set = sw_spec_set_text(flags, test_platforms, SW_COUNT(test_platforms), cases[i].key,
                                   cases[i].text, NULL);

        assert_int_equal(matches(pattern, cases[i].text), cases[i].good);
        assert_int_equal(set == 0, cases[i].good);
    }
}

static void expect_documented(const char *manual, const struct sw_option *rows)
{
    for (const struct sw_option *row = rows; row->name; row++) {
        sw_autofree char *quoted = sw_format("`%s`", row->name);

        if (!strstr(manual, quoted))
            fail_msg("docs/use/job-file.md lacks %s", quoted);
        if (row->fields)
            expect_documented(manual, row->fields);
    }
}

static void the_manual_names_every_key(void **state)
{
    const char *path = getenv("JOB_FILE_MANUAL");
    sw_autofree char *manual = NULL;

    (void)state;
    if (!path)
        skip();
    manual = sw_file_read(path, SW_DOCUMENT_MAX, NULL, NULL);
    assert_non_null(manual);
    expect_documented(manual, sw_spec_keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_every_table_is_in_the_schema),
        cmocka_unit_test(the_schema_is_json_that_reads_back),
        cmocka_unit_test(choices_bounds_defaults_and_platforms_are_reported),
        cmocka_unit_test(patterns_and_parsers_agree),
        cmocka_unit_test(the_manual_names_every_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
