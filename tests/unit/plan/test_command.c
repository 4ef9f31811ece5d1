/* SPDX-License-Identifier: Apache-2.0 */
/* test_command.c - placeholders are filled in, every other brace is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/plan.h"

static const struct {
    const char *command, *filled;
} cases[] = {
    { "train -e {config_path}", "train -e /w/spec.yaml" },
    { "train -e '{config_path}' \"{results_dir}\"", "train -e '/w/spec.yaml' \"/r dir\"" },
    { "ls {results_dir}", "ls '/r dir'" },
    { "echo {job_id}", "echo j-1" },
    { "awk '{print $1}'", "awk '{print $1}'" },
    { "f() { echo {a,b}; }; f", "f() { echo {a,b}; }; f" },
    { "echo '{\"a\": {}}' {unknown}", "echo '{\"a\": {}}' {unknown}" },
    { "echo it\\'s {job_id}", "echo it\\'s j-1" },
    { "{config_path", "{config_path" },
    { "", "" },
};

static void only_our_own_placeholders_are_replaced(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_autofree char *filled = sw_command_fill(cases[i].command, "/w/spec.yaml", "/r dir",
                                                   "j-1");

        assert_string_equal(filled, cases[i].filled);
    }
}

static void without_a_config_the_placeholder_stays_visible(void **state)
{
    sw_autofree char *filled = sw_command_fill("train {config_path}", NULL, "/r", "j");

    (void)state;
    assert_string_equal(filled, "train {config_path}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_our_own_placeholders_are_replaced),
        cmocka_unit_test(without_a_config_the_placeholder_stays_visible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
