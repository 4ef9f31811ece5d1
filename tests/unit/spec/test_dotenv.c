/* SPDX-License-Identifier: Apache-2.0 */
/* test_dotenv.c - .env files: what is read, what is refused, and that nothing is overridden. */
#include "fixture.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"

static void collect(void *context, const char *key, const char *value)
{
    sw_buf_addf(context, "%s=%s;", key, value);
}

static const struct { const char *text, *read; } good[] = {
    { "", "" },
    { "A=1", "A=1;" },
    { "A=1\n", "A=1;" },
    { "A=1\r\nB=2\r\n", "A=1;B=2;" },
    { "\xef\xbb\xbf" "A=1\n", "A=1;" },
    { "export A=1\nexport\tB=2\n", "A=1;B=2;" },
    { "export=1\n", "export=1;" },
    { "exported=1\n", "exported=1;" },
    { "# comment\n\n   \n  # another\nA=1\n", "A=1;" },
    { "A=\nB=2\n", "A=;B=2;" },
    { "A=#x\n", "A=;" },
    { "A=1 # comment\n", "A=1;" },
    { "A=1#2\n", "A=1#2;" },
    { "A = 1 \n", "A=1;" },
    { "A=two words\n", "A=two words;" },
    { "A='x # y'\n", "A=x # y;" },
    { "A='it''s'\n", NULL },
    { "A=\"a\\nb\\t\\\"\\\\\\$\"\n", "A=a\nb\t\"\\$;" },
    { "A=\"C:\\dir\"\n", "A=C:\\dir;" },
    { "A='a\\nb'\n", "A=a\\nb;" },
    { "A=\"one\ntwo\"\nB=3\n", "A=one\ntwo;B=3;" },
    { "A=\"x\" # comment\n", "A=x;" },
    { "A=$HOME ${B} `c`\n", "A=$HOME ${B} `c`;" },
    { "_a1=x\n", "_a1=x;" },
    { "A=a=b\n", "A=a=b;" },
};

static void lines_are_read_as_they_are_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(good); i++) {
        sw_auto(sw_buf) struct sw_buf seen = SW_BUF_INIT;
        struct sw_error err = { 0 };
        int result = sw_dotenv_parse(good[i].text, strlen(good[i].text), ".env", collect, &seen,
                                     &err);

        if (!good[i].read) {
            assert_int_equal(result, -1);
            continue;
        }
        if (result < 0)
            fail_msg("%s: %s", good[i].text, err.message);
        assert_string_equal(sw_buf_text(&seen), good[i].read);
    }
}

static const struct { const char *text, *message; } bad[] = {
    { "A\n", ".env:1: expected NAME=value" },
    { "X=1\n1A=hunter2\n", ".env:2: expected NAME=value" },
    { "A B=hunter2\n", ".env:1: expected NAME=value" },
    { "=hunter2\n", ".env:1: expected NAME=value" },
    { "\n\nA='hunter2\nB=1\n", ".env:3: the quote is not closed" },
    { "A=\"hunter2\\\"\n", ".env:1: the quote is not closed" },
    { "A=\"a\nb\" hunter2\n", ".env:2: there is text after the closing quote" },
    { "hunter2\nB=2\nhunter3\n", ".env:1: expected NAME=value\n.env:3: expected NAME=value" },
};

static void bad_lines_are_named_without_their_content(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(bad); i++) {
        sw_auto(sw_buf) struct sw_buf seen = SW_BUF_INIT;
        struct sw_error err = { 0 };

        assert_int_equal(sw_dotenv_parse(bad[i].text, strlen(bad[i].text), ".env", collect, &seen,
                                         &err), -1);
        assert_int_equal(err.code, SW_E_SPEC);
        assert_string_equal(err.message, bad[i].message);
        assert_null(strstr(err.message, "hunter"));
        assert_string_equal(sw_buf_text(&seen), "");       /* half a file is not loaded */
    }
}

static void a_nul_is_refused(void **state)
{
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(sw_dotenv_parse("A=1\0B", 5, ".env", NULL, NULL, &err), -1);
    assert_string_equal(err.message, ".env: holds a NUL character");
}

static void hear(void *context, const char *text)
{
    sw_buf_add(context, text);
}

static void what_is_set_stays_and_open_files_earn_a_warning(void **state)
{
    char folder[] = "/tmp/slipway-dotenv-XXXXXX";
    sw_auto(sw_buf) struct sw_buf heard = SW_BUF_INIT;
    sw_autofree char *path = NULL;
    static const char text[] = "SW_TEST_SET=new\nSW_TEST_FRESH=new\n";

    (void)state;
    assert_non_null(mkdtemp(folder));
    path = sw_path_join(folder, ".env");
    assert_int_equal(sw_dotenv_load(path, hear, &heard, NULL), 0);          /* missing is fine */
    setenv("SW_TEST_SET", "old", 1);
    unsetenv("SW_TEST_FRESH");
    assert_int_equal(sw_file_write(path, text, strlen(text), 0600, NULL), 0);
    assert_int_equal(sw_dotenv_load(path, hear, &heard, NULL), 0);
    assert_string_equal(sw_buf_text(&heard), "");
    assert_string_equal(getenv("SW_TEST_SET"), "old");
    assert_string_equal(getenv("SW_TEST_FRESH"), "new");
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(sw_dotenv_load(path, hear, &heard, NULL), 0);
    assert_non_null(strstr(sw_buf_text(&heard), "chmod 600 "));
    assert_non_null(strstr(sw_buf_text(&heard), path));
    assert_int_equal(sw_remove_tree(folder, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_as_they_are_written),
        cmocka_unit_test(bad_lines_are_named_without_their_content),
        cmocka_unit_test(a_nul_is_refused),
        cmocka_unit_test(what_is_set_stays_and_open_files_earn_a_warning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
