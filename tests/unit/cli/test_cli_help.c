/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_help.c - every verb explains itself, at 80 columns, with an example. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "cli/cli.h"
#include "spec/spec.h"

static void assert_fits(const char *what, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        sw_autofree char *line = sw_strndup(text, length);

        if (sw_text_columns(line) > 80)
            fail_msg("%s: wider than 80 columns: %s", what, line);
        if (length && line[length - 1] == ' ')
            fail_msg("%s: ends with a space: '%s'", what, line);
        text += length + (text[length] == '\n');
    }
}

static void the_help_of_every_verb_fits_80_columns(void **state)
{
    (void)state;
    for (const struct command *const *c = cli_commands; *c; c++) {
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

        cli_help_command(*c, &out);
        assert_fits((*c)->name, sw_buf_text(&out));
    }
}

static void every_verb_is_described_and_has_a_real_example(void **state)
{
    (void)state;
    for (const struct command *const *c = cli_commands; *c; c++) {
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
        sw_autofree char *call = sw_format("slipway %s", (*c)->name);

        cli_help_command(*c, &out);
        assert_true(sw_text_starts(sw_buf_text(&out), call));
        assert_non_null(strstr((*c)->example, call));
        assert_non_null(strstr(sw_buf_text(&out), "\nExample:\n"));
        assert_false(sw_text_empty((*c)->description));
    }
}

static void topics_and_overview_fit_80_columns(void **state)
{
    static const char *const topics[] = { "exit-codes", "selectors", "columns", "config", "environment" };
    sw_auto(sw_buf) struct sw_buf overview = SW_BUF_INIT;

    (void)state;
    cli_help_overview(&overview);
    assert_fits("overview", sw_buf_text(&overview));
    for (size_t i = 0; i < SW_COUNT(topics); i++) {
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

        assert_int_equal(cli_help_topic(topics[i], &out, NULL), 0);
        assert_fits(topics[i], sw_buf_text(&out));
    }
}

/* A message about a key names its flag, so that flag has to exist. */
static void every_flag_that_the_keys_name_is_one_of_run(void **state)
{
    (void)state;
    for (const struct sw_option *key = sw_spec_keys; key->name; key++) {
        const struct cli_flag *flag = cli_job_flags;

        if (!key->flag || !*key->flag)             /* only --set, or what follows "--" */
            continue;
        while (flag->name && strcmp(flag->name, key->flag) != 0)
            flag++;
        if (!flag->name)
            fail_msg("the key '%s' names --%s, and there is no such flag", key->name, key->flag);
    }
}

static void the_keys_of_the_users_defaults_are_documented(void **state)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    cli_help_topic("config", &out, NULL);
    for (const struct sw_option *key = sw_user_keys; key->name; key++) {
        sw_autofree char *row = sw_format("\n  %-10s %-18s ", key->name, key->env);

        assert_non_null(strstr(sw_buf_text(&out), row));
    }
}

static void every_exit_status_of_ours_is_documented(void **state)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    cli_help_topic("exit-codes", &out, NULL);
    for (int code = SW_E_USAGE; code <= SW_E_UNTRUSTED; code++) {
        sw_autofree char *row = sw_format("\n  %d  ", sw_code_exit_status(code));

        assert_in_range(sw_code_exit_status(code), 64, 78);
        assert_non_null(strstr(sw_buf_text(&out), row));
    }
}

/* A second row with the same spelling would never be reached. */
static void no_verb_has_two_flags_of_one_spelling(void **state)
{
    (void)state;
    for (const struct command *const *c = cli_commands; *c; c++) {
        const struct cli_flag *tables[] = { (*c)->flags, (*c)->shared[0], (*c)->shared[1],
                                            cli_global_flags };
        const struct cli_flag *seen[128];
        size_t count = 0;

        for (size_t t = 0; t < SW_COUNT(tables); t++)
            for (const struct cli_flag *f = tables[t]; f && f->name; f++) {
                for (size_t i = 0; i < count; i++)
                    if (strcmp(seen[i]->name, f->name) == 0 ||
                        (f->letter && seen[i]->letter == f->letter))
                        fail_msg("%s: --%s and --%s clash", (*c)->name, seen[i]->name, f->name);
                assert_true(count < SW_COUNT(seen));
                seen[count++] = f;
            }
    }
}

static void the_tables_come_as_json_too(void **state)
{
    sw_auto(json) json_t *tables = cli_help_json();
    const json_t *run = json_array_get(json_object_get(tables, "commands"), 0);
    const json_t *flag = json_array_get(json_object_get(run, "flags"), 0);

    (void)state;
    assert_string_equal(sw_json_str(run, "name"), "run");
    assert_string_equal(sw_json_str(flag, "long"), "detach");
    assert_string_equal(sw_json_str(flag, "short"), "d");
    assert_true(json_is_null(json_object_get(flag, "arg")));
    assert_true(json_array_size(json_object_get(tables, "flags")) > 0);
}

static void folding_keeps_lists_and_breaks_only_at_spaces(void **state)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    cli_wrap(&out, "one two three four\n\n  a  list   kept as it is\nend", 1, 10);
    assert_string_equal(sw_buf_text(&out),
                        " one two\n three\n four\n\n   a  list   kept as it is\n end\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_help_of_every_verb_fits_80_columns),
        cmocka_unit_test(every_verb_is_described_and_has_a_real_example),
        cmocka_unit_test(topics_and_overview_fit_80_columns),
        cmocka_unit_test(every_flag_that_the_keys_name_is_one_of_run),
        cmocka_unit_test(the_keys_of_the_users_defaults_are_documented),
        cmocka_unit_test(every_exit_status_of_ours_is_documented),
        cmocka_unit_test(no_verb_has_two_flags_of_one_spelling),
        cmocka_unit_test(the_tables_come_as_json_too),
        cmocka_unit_test(folding_keeps_lists_and_breaks_only_at_spaces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
