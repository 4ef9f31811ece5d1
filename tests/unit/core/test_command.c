/* SPDX-License-Identifier: Apache-2.0 */
/* test_command.c - placeholders are filled in, every other brace is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/command.h"

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
        sw_autofree char *filled = sw_fill_command(cases[i].command, &(struct sw_fill){
            .config_path = "/w/spec.yaml", .results_dir = "/r dir", .job_id = "j-1" });

        assert_string_equal(filled, cases[i].filled);
    }
}

static void without_a_config_the_placeholder_stays_visible(void **state)
{
    sw_autofree char *filled = sw_fill_command("train {config_path}", &(struct sw_fill){
        .results_dir = "/r", .job_id = "j" });

    (void)state;
    assert_string_equal(filled, "train {config_path}");
}

static void values_cannot_leave_their_quotes(void **state)
{
    const struct sw_fill fill = { .results_dir = "/r'$x\"`", .rank = "3" };
    sw_autofree char *single = sw_fill_command("a '{results_dir}'", &fill);
    sw_autofree char *twice = sw_fill_command("a \"{results_dir}\" {rank}", &fill);
    sw_autofree char *word = sw_fill_word("--out={results_dir}/{rank}", &fill);

    (void)state;
    assert_string_equal(single, "a '/r'\\''$x\"`'");
    assert_string_equal(twice, "a \"/r'\\$x\\\"\\`\" 3");
    assert_string_equal(word, "--out=/r'$x\"`/3");
}

static void arguments_are_words_whatever_they_hold(void **state)
{
    sw_auto(json) json_t *args = json_pack("{s:s, s:s, s:b, s:n, s:f, s:[i,s], s:{s:b}}",
                                           "output-dir", "/m/j/output_dir", "name", "it's $HOME",
                                           "flag", 1, "none", "lr", 0.1, "list", 1, "a'b",
                                           "map", "x", 0);
    sw_auto(json) json_t *flags = json_pack("[s, s]", "fast", "--dry");
    sw_autofree char *text = sw_command_with_args("tool run\n", args, flags);

    (void)state;
    assert_string_equal(text, "tool run --output-dir '/m/j/output_dir' --name 'it'\"'\"'s $HOME'"
                              " --flag 'True' --none 'None' --lr '0.1'"
                              " --list '[1, \"a'\"'\"'b\"]' --map '{'\"'\"'x'\"'\"': False}'"
                              " --fast --dry");
}

static void arguments_follow_a_command_in_words(void **state)
{
    sw_auto(json) json_t *argv = json_pack("[s, s]", "python", "train.py");
    sw_auto(json) json_t *args = json_pack("{s:s, s:i, s:b}", "name", "it's $HOME", "epochs", 3,
                                           "amp", 1);
    sw_auto(json) json_t *flags = json_pack("[s, s]", "fast", "-v");
    sw_auto(json) json_t *words = sw_words_with_args(argv, args, flags);
    sw_autofree char *text = json_dumps(words, JSON_COMPACT);

    (void)state;
    assert_string_equal(text, "[\"python\",\"train.py\",\"--name\",\"it's $HOME\",\"--epochs\","
                              "\"3\",\"--amp\",\"True\",\"--fast\",\"-v\"]");
    assert_int_equal(json_array_size(argv), 2);
}

static void a_placeholder_that_is_none_of_ours_is_named(void **state)
{
    static const struct sw_fill known = { .results_dir = "/r", .job_id = "j" };
    static const struct { const char *word, *unknown; } words[] = {
        { "--out={results_dir}", NULL }, { "{job_id}{nam}", "{nam}" }, { "{config_path}", "{config_path}" },
        { "{1}", NULL }, { "{ a}", NULL }, { "{a", NULL }, { "{{a_1}}", "{a_1}" }, { "", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(words); i++) {
        sw_autofree char *unknown = sw_fill_unknown(words[i].word, &known);

        if (words[i].unknown)
            assert_string_equal(unknown, words[i].unknown);
        else
            assert_null(unknown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_placeholder_that_is_none_of_ours_is_named),
        cmocka_unit_test(only_our_own_placeholders_are_replaced),
        cmocka_unit_test(values_cannot_leave_their_quotes),
        cmocka_unit_test(arguments_are_words_whatever_they_hold),
        cmocka_unit_test(arguments_follow_a_command_in_words),
        cmocka_unit_test(without_a_config_the_placeholder_stays_visible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
