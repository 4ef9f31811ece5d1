/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_flags.c - command lines are taken apart as people expect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/cli_flags.h"

struct options {
    bool detach, force;
    const char *file;
    int64_t tail, timeout_ms;
    int format;
};

static const struct cli_flag flags[] = {
    { "detach", 'd', NULL, "help", cli_apply_bool, offsetof(struct options, detach) },
    { "force", 'F', NULL, "help", cli_apply_bool, offsetof(struct options, force) },
    { "file", 'f', "FILE", "help", cli_apply_text, offsetof(struct options, file) },
    { "tail", 'n', "N", "help", cli_apply_int64, offsetof(struct options, tail) },
    { "timeout", 0, "DURATION", "help", cli_apply_duration,
      offsetof(struct options, timeout_ms) },
    { "format", 'o', "table|json|yaml", "help", cli_apply_choice,
      offsetof(struct options, format), .also = "output" },
    { "env", 0, "K=V", "help", .many = true },
    { 0 }
};

/* Parse words up to NULL. */
static int parse(const char *const *argv, bool first_word_ends, struct options *options,
                 struct cli_args *args, struct sw_error *err)
{
    const struct cli_flag_set sets[] = { { NULL, NULL }, { flags, options } };
    int argc = 0;

    while (argv[argc])
        argc++;
    return cli_flags_parse(sets, SW_COUNT(sets), argc, argv, first_word_ends, args, err);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void a_value_may_follow_in_every_usual_spelling(void **state)
{
    static const char *const lines[][4] = {
        { "--file", "job.yaml", "-d", NULL }, { "--file=job.yaml", "-d", NULL },
        { "-f", "job.yaml", "-d", NULL },     { "-fjob.yaml", "--detach", NULL },
        { "-df", "job.yaml", NULL },          { "-d", "-f=job.yaml", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(lines); i++) {
        sw_auto(cli_args) struct cli_args args = { 0 };
        struct options options = { 0 };

        assert_true(parse(lines[i], false, &options, &args, NULL) > 0);
        assert_string_equal(options.file, "job.yaml");
        assert_true(options.detach);
        assert_false(options.force);
    }
}

static void flags_and_arguments_may_be_mixed(void **state)
{
    sw_auto(cli_args) struct cli_args args = { 0 };
    struct options options = { 0 };

    (void)state;
    assert_int_equal(parse(WORDS("one", "-d", "two", "-n", "5", "-"), false, &options, &args, NULL),
                     6);
    assert_int_equal(args.word_count, 3);
    assert_string_equal(args.words[1], "two");
    assert_string_equal(args.words[2], "-");
    assert_int_equal(options.tail, 5);
    assert_null(args.rest);
}

static void two_dashes_end_the_flags(void **state)
{
    sw_auto(cli_args) struct cli_args args = { 0 };
    struct options options = { 0 };

    (void)state;
    assert_int_equal(parse(WORDS("-d", "--", "-f", "--no", "--"), false, &options, &args, NULL), 5);
    assert_int_equal(args.word_count, 0);
    assert_int_equal(args.rest_count, 3);
    assert_string_equal(args.rest[0], "-f");
    assert_null(options.file);
}

static void the_verb_ends_what_comes_before_it(void **state)
{
    sw_auto(cli_args) struct cli_args args = { 0 };
    struct options options = { 0 };

    (void)state;
    assert_int_equal(parse(WORDS("-d", "run", "-F"), true, &options, &args, NULL), 1);
    assert_true(options.detach);
    assert_false(options.force);
}

static void repeated_flags_are_all_kept_in_order(void **state)
{
    sw_auto(cli_args) struct cli_args args = { 0 };
    struct options options = { 0 };

    (void)state;
    assert_true(parse(WORDS("--env", "A=1", "--env=B=2=3"), false, &options, &args, NULL) > 0);
    assert_int_equal(args.given_count, 2);
    assert_string_equal(args.given[0].value, "A=1");
    assert_string_equal(args.given[1].value, "B=2=3");
    assert_string_equal(cli_given_value(&args, "env"), "B=2=3");
    assert_null(cli_given_value(&args, "file"));
}

static void values_are_read_by_their_kind(void **state)
{
    sw_auto(cli_args) struct cli_args args = { 0 };
    struct options options = { 0 };

    (void)state;
    assert_int_equal(parse(WORDS("--timeout=90s", "--output=yaml"), false, &options, &args, NULL),
                     2);
    assert_int_equal(options.timeout_ms, 90000);
    assert_int_equal(options.format, 2);
}

static void what_is_wrong_is_said_and_mended(void **state)
{
    static const struct { const char *argv[3], *message, *hint; } lines[] = {
        { { "--detatch" },       "unknown flag --detatch", "did you mean --detach?" },
        { { "--qqqqqqqqqq" },    "unknown flag --qqqqqqqqqq", "" },
        { { "-x" },              "unknown flag -x", "" },
        { { "--file" },          "--file needs a value: --file FILE", "" },
        { { "-f" },              "--file needs a value: --file FILE", "" },
        { { "--detach=yes" },    "--detach takes no value", "" },
        { { "-n1", "--tail=2" }, "--tail is given twice: '1' and '2'", "" },
        { { "--tail", "x" },     "--tail: 'x' is not a non-negative integer", "" },
        { { "--tail", "-1" },    "--tail: '-1' is not a non-negative integer", "" },
        { { "--tail=" },         "--tail: '' is not a non-negative integer", "" },
        { { "--tail", "99999999999999999999" },
          "--tail: '99999999999999999999' is not a non-negative integer", "" },
        { { "-o", "xml" },       "--format: 'xml' is not one of table|json|yaml", "" },
        { { "-o", "tab" },       "--format: 'tab' is not one of table|json|yaml", "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(lines); i++) {
        sw_auto(cli_args) struct cli_args args = { 0 };
        struct options options = { 0 };
        struct sw_error err = { 0 };

        assert_int_equal(parse(lines[i].argv, false, &options, &args, &err), -1);
        assert_int_equal(err.code, SW_E_USAGE);
        assert_string_equal(err.message, lines[i].message);
        assert_string_equal(err.hint, lines[i].hint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_may_follow_in_every_usual_spelling),
        cmocka_unit_test(flags_and_arguments_may_be_mixed),
        cmocka_unit_test(two_dashes_end_the_flags),
        cmocka_unit_test(the_verb_ends_what_comes_before_it),
        cmocka_unit_test(repeated_flags_are_all_kept_in_order),
        cmocka_unit_test(values_are_read_by_their_kind),
        cmocka_unit_test(what_is_wrong_is_said_and_mended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
