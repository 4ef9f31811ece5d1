/* SPDX-License-Identifier: Apache-2.0 */
/* test_dotenv.c - .env files: what is read, what is left out, and that the process is untouched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"

static void hear(void *context, const char *text)
{
    sw_buf_addf(context, "%s\n", text);
}

/* "A=1;B=2;" */
static char *parsed(const char *text, size_t length, struct sw_buf *heard)
{
    sw_auto(sw_environment) struct sw_environment *values = sw_environment_new();
    sw_auto(sw_buf) struct sw_buf seen = SW_BUF_INIT;
    const char *name, *value;

    sw_dotenv_parse(text, length, ".env", values, hear, heard);
    for (size_t i = 0; sw_environment_at(values, i, &name, &value); i++)
        sw_buf_addf(&seen, "%s=%s;", name, value);
    return sw_strdup(sw_buf_text(&seen));
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
        sw_auto(sw_buf) struct sw_buf heard = SW_BUF_INIT;
        sw_autofree char *seen = parsed(good[i].text, strlen(good[i].text), &heard);

        assert_string_equal(seen, good[i].read);
        assert_string_equal(sw_buf_text(&heard), "");
    }
}

#define OUT ": line ignored\n"

static const struct { const char *text, *warning, *read; } bad[] = {
    { "A\n", ".env:1: expected NAME=value" OUT, "" },
    { "X=1\n1A=hunter2\nY=2\n", ".env:2: expected NAME=value" OUT, "X=1;Y=2;" },
    { "A B=hunter2\n", ".env:1: expected NAME=value" OUT, "" },
    { "=hunter2\n", ".env:1: expected NAME=value" OUT, "" },
    { "A='it''s'\nB=1\n", ".env:1: text after the closing quote" OUT, "B=1;" },
    { "\n\nA='hunter2\nB=1\n", ".env:3: the quote is not closed" OUT, "B=1;" },
    { "A=\"hunter2\\\"\n", ".env:1: the quote is not closed" OUT, "" },
    { "A=\"a\nb\" hunter2\n", ".env:2: text after the closing quote" OUT, "" },
    { "hunter2\nB=2\nhunter3\n",
      ".env:1: expected NAME=value" OUT ".env:3: expected NAME=value" OUT, "B=2;" },
    { "hunter\nhunter\nhunter\nhunter\nhunter\nB=2\n",
      ".env:1: expected NAME=value" OUT ".env:2: expected NAME=value" OUT
      ".env:3: expected NAME=value" OUT ".env: 2 more lines ignored\n", "B=2;" },
};

static void a_strange_line_is_left_out_and_its_place_is_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(bad); i++) {
        sw_auto(sw_buf) struct sw_buf heard = SW_BUF_INIT;
        sw_autofree char *seen = parsed(bad[i].text, strlen(bad[i].text), &heard);

        assert_string_equal(sw_buf_text(&heard), bad[i].warning);
        assert_null(strstr(sw_buf_text(&heard), "hunter"));
        assert_string_equal(seen, bad[i].read);
    }
}

static void a_nul_is_refused(void **state)
{
    sw_auto(sw_buf) struct sw_buf heard = SW_BUF_INIT;
    sw_autofree char *seen = parsed("A=1\0B", 5, &heard);

    (void)state;
    assert_string_equal(seen, "");
    assert_string_equal(sw_buf_text(&heard), ".env: contains a NUL character: ignored\n");
}

static void so_many_names_that_it_would_take_minutes_are_left_out(void **state)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT, heard = SW_BUF_INIT;
    sw_autofree char *seen = NULL;

    (void)state;
    for (int i = 0; i < 20000; i++)
        sw_buf_addf(&text, "A%d=\n", i);
    seen = parsed(sw_buf_text(&text), text.length, &heard);
    assert_non_null(strstr(sw_buf_text(&heard), "more lines ignored"));
}

static void values_stay_out_of_the_process_and_behind_its_own(void **state)
{
    char folder[] = "/tmp/slipway-dotenv-XXXXXX";
    sw_auto(sw_buf) struct sw_buf heard = SW_BUF_INIT;
    sw_auto(sw_environment) struct sw_environment *values = sw_environment_new();
    sw_autofree char *path = NULL;
    static const char text[] = "SW_TEST_SET=new\nSW_TEST_FRESH=new\n";

    (void)state;
    assert_non_null(mkdtemp(folder));
    path = sw_path_join(folder, ".env");
    sw_dotenv_load(path, values, hear, &heard);                            /* missing is fine */
    setenv("SW_TEST_SET", "old", 1);
    unsetenv("SW_TEST_FRESH");
    assert_int_equal(sw_file_write(path, text, strlen(text), 0600, NULL), 0);
    sw_dotenv_load(path, values, hear, &heard);
    assert_string_equal(sw_buf_text(&heard), "");
    assert_string_equal(sw_environment_get(values, "SW_TEST_SET"), "old");
    assert_string_equal(sw_environment_get(values, "SW_TEST_FRESH"), "new");
    assert_null(getenv("SW_TEST_FRESH"));
    assert_int_equal(chmod(path, 0644), 0);
    sw_dotenv_load(path, values, hear, &heard);
    assert_non_null(strstr(sw_buf_text(&heard), "chmod 600 "));
    assert_non_null(strstr(sw_buf_text(&heard), path));
    assert_int_equal(sw_remove_tree(folder, NULL), 0);
}

/* None of these may wait or fill the memory. */
static void what_is_no_plain_file_of_a_fair_size_is_left_out(void **state)
{
    char folder[] = "/tmp/slipway-dotenv-XXXXXX";
    const char *const kinds[] = { "pipe", "folder", "device", "huge" };

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < SW_COUNT(kinds); i++) {
        sw_autofree char *path = sw_path_join(folder, kinds[i]);
        sw_auto(sw_buf) struct sw_buf heard = SW_BUF_INIT;
        sw_auto(sw_environment) struct sw_environment *values = sw_environment_new();

        if (i == 0)
            assert_int_equal(mkfifo(path, 0600), 0);
        else if (i == 1)
            assert_int_equal(mkdir(path, 0700), 0);
        else if (i == 2)
            assert_int_equal(symlink("/dev/zero", path), 0);
        else {
            assert_int_equal(sw_file_write(path, "A=1\n", 4, 0600, NULL), 0);
            assert_int_equal(truncate(path, (off_t)1 << 40), 0);
        }
        sw_dotenv_load(path, values, hear, &heard);
        assert_non_null(strstr(sw_buf_text(&heard), path));
        assert_non_null(strstr(sw_buf_text(&heard), "ignored"));
    }
    assert_int_equal(sw_remove_tree(folder, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_as_they_are_written),
        cmocka_unit_test(a_strange_line_is_left_out_and_its_place_is_reported),
        cmocka_unit_test(a_nul_is_refused),
        cmocka_unit_test(so_many_names_that_it_would_take_minutes_are_left_out),
        cmocka_unit_test(values_stay_out_of_the_process_and_behind_its_own),
        cmocka_unit_test(what_is_no_plain_file_of_a_fair_size_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
