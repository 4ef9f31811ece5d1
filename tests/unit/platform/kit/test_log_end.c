/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_log_end.c - the end of a log that was kept joins what is known of it: nothing twice, and a line
 * where something is missing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "platform/kit/spool.h"

static const int64_t SECOND = 1000000000, BEGAN = 1700000000;

static int begin(void **state)
{
    char *folder = strdup("/tmp/slipway-keep-XXXXXX");

    *state = mkdtemp(folder);
    return *state ? 0 : -1;
}

static int end(void **state)
{
    sw_remove_tree(*state, NULL);
    free(*state);
    return 0;
}

/* Messages 0 to `known` - 1 are in the spool, one a second; the file of the end has `first` to `last` - 1. */
static char *log_after(const char *folder, int known, int first, int last)
{
    sw_auto(sw_buf) struct sw_buf tail = SW_BUF_INIT;
    sw_autofree char *path = sw_format("%s/0.tail", folder), *log = sw_format("%s/0.log", folder);
    struct sw_spool spool;
    char *text;

    for (int i = first; i < last; i++) {
        sw_autofree char *line = sw_format("message %d\n", i);

        sw_buf_addf(&tail, "%lld %zu\n%s", (long long)((BEGAN + i) * SECOND), strlen(line), line);
    }
    assert_int_equal(sw_file_write(path, sw_buf_text(&tail), tail.length, 0600, NULL), 0);
    assert_int_equal(sw_spool_open(&spool, folder, 0, NULL), 0);
    assert_int_equal(sw_spool_lock(&spool, NULL), 0);
    for (int i = 0; i < known; i++) {
        sw_autofree char *line = sw_format("message %d\n", i);

        sw_spool_add(&spool, i, &(struct sw_log_message){
            .at_ns = (BEGAN + i) * SECOND, .bytes = line, .length = strlen(line) });
    }
    assert_int_equal(sw_spool_unlock(&spool, NULL), 0);
    assert_int_equal(sw_spool_join_end(&spool, folder, 0, NULL), 1);
    assert_int_equal(spool.note.done, 1);
    assert_int_equal(sw_spool_join_end(&spool, folder, 0, NULL), 1);      /* and not once more */
    sw_spool_close(&spool);
    text = sw_file_read(log, 1 << 20, NULL, NULL);
    assert_non_null(text);
    return text;
}

static void expect_from(const char *text, int first, int last)
{
    sw_auto(sw_buf) struct sw_buf wanted = SW_BUF_INIT;

    for (int i = first; i < last; i++)
        sw_buf_addf(&wanted, "message %d\n", i);
    assert_string_equal(text, sw_buf_text(&wanted));
}

static void an_end_that_reaches_back_joins_without_a_seam(void **state)
{
    sw_autofree char *text = log_after(*state, 50, 30, 100);

    expect_from(text, 0, 100);
}

static void where_something_is_missing_a_line_says_so(void **state)
{
    sw_autofree char *text = log_after(*state, 10, 60, 100);
    char *gap = strstr(text, "slipway: the log before this line is gone with its container\n");

    assert_non_null(gap);
    expect_from(strchr(gap, '\n') + 1, 60, 100);
    *gap = '\0';
    expect_from(text, 0, 10);
}

static void an_end_alone_begins_with_that_line(void **state)
{
    sw_autofree char *text = log_after(*state, 0, 5, 10);

    assert_memory_equal(text, "slipway: the log before", 23);
    expect_from(strchr(text, '\n') + 1, 5, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_end_that_reaches_back_joins_without_a_seam, begin, end),
        cmocka_unit_test_setup_teardown(where_something_is_missing_a_line_says_so, begin, end),
        cmocka_unit_test_setup_teardown(an_end_alone_begins_with_that_line, begin, end),
    };

    return cmocka_run_group_tests_name("log_end", tests, NULL, NULL);
}
