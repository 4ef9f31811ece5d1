/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_uri.c - URIs are cut and not decoded; names from outside stay inside; patterns.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "storage/uri.h"

static void every_kind_of_uri_is_cut_in_three(void **state)
{
    static const char *const cases[][4] = {
        { "s3://bucket/a/b%2Fc d", "s3", "bucket", "a/b%2Fc d" },
        { "s3://bucket", "s3", "bucket", "" },
        { "S3://bucket//x", "s3", "bucket", "/x" },
        { "https://host:8/a?b=c", "https", "host:8", "a?b=c" },
        { "hf_model://org/name@rev", "hf_model", "org", "name@rev" },
        { "ngc://org/team/model:1.0", "ngc", "org", "team/model:1.0" },
        { "lustre:///base/results/x", "lustre", "", "/base/results/x" },
        { "slurm://base/x", "slurm", "", "/base/x" },
        { "file:///a b", "file", "", "/a b" },
        { "./rel/path", "file", "", "./rel/path" },
        { "/abs:1", "file", "", "/abs:1" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(sw_uri) struct sw_uri uri = { 0 };
        sw_auto(sw_uri) struct sw_uri again = { 0 };
        sw_autofree char *text = NULL;

        assert_int_equal(sw_uri_parse(cases[i][0], &uri, NULL), 0);
        assert_string_equal(uri.scheme, cases[i][1]);
        assert_string_equal(uri.host, cases[i][2]);
        assert_string_equal(uri.path, cases[i][3]);
        text = sw_uri_text(&uri);
        assert_int_equal(sw_uri_parse(text, &again, NULL), 0);
        assert_string_equal(again.path, uri.path);
    }
}

static void passwords_and_nonsense_are_refused(void **state)
{
    static const char *const cases[] = { "", "s3://", "s3:///key", "https://user:pw@host/x",
                                         "://x", "a b://x", "file://" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(sw_uri) struct sw_uri uri = { 0 };
        struct sw_error err = { 0 };

        assert_int_equal(sw_uri_parse(cases[i], &uri, &err), -1);
        assert_int_equal(err.code, SW_E_USAGE);
        assert_null(strstr(err.message, "pw"));
    }
}

static void names_that_leave_their_folder_are_refused(void **state)
{
    static const char *const bad[] = { "", "/etc/passwd", "..", "../x", "a/../b", "a/..", "a//b",
                                       "./a", "a/." };
    static const char *const good[] = { "a", "a/b", "..a/b..", "a/", ".hidden", "a b+%2F" };
    char longest[300];

    (void)state;
    for (size_t i = 0; i < SW_COUNT(bad); i++)
        assert_int_equal(sw_name_check(bad[i], NULL), -1);
    for (size_t i = 0; i < SW_COUNT(good); i++)
        assert_int_equal(sw_name_check(good[i], NULL), 0);
    memset(longest, 'x', sizeof longest);
    longest[256] = '\0';
    assert_int_equal(sw_name_check(longest, NULL), -1);
    longest[255] = '\0';
    assert_int_equal(sw_name_check(longest, NULL), 0);
}

static void patterns_match_as_people_mean_them(void **state)
{
    static const struct { const char *pattern, *name; bool matches; } cases[] = {
        { "*.tmp", "a.tmp", true },        { "*.tmp", "deep/er/a.tmp", true },
        { "*.tmp", "a.tmp.x", false },     { "logs/*", "logs/a/b", true },
        { "logs/*", "x/logs/a", false },   { "cache/", "cache/a", true },
        { "cache/", "x/cache/a/b", true }, { "cache/", "cache", false },
        { "cache/", "mycache/a", false },  { "a?c", "abc", true },
        { "[a-c]x", "bx", true },          { "[!a-c]x", "bx", false },
        { "[", "[", true },                { "a/b/", "a/b/c", true },
        { "a/b/", "x/a/b/c", false },      { "*", "any/thing", true },
        { "", "x", false },                { "\\*", "*", true },
        { "\\*", "x", false },             { "./a", "a", true },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++)
        assert_int_equal(sw_name_matches(cases[i].pattern, cases[i].name), cases[i].matches);
}

static void a_pattern_of_many_stars_ends_soon(void **state)
{
    char pattern[200], name[4000];

    (void)state;
    for (size_t i = 0; i < 198; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[198] = 'b';
    pattern[199] = '\0';
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_false(sw_name_matches(pattern, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_uri_is_cut_in_three),
        cmocka_unit_test(passwords_and_nonsense_are_refused),
        cmocka_unit_test(names_that_leave_their_folder_are_refused),
        cmocka_unit_test(patterns_match_as_people_mean_them),
        cmocka_unit_test(a_pattern_of_many_stars_ends_soon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
