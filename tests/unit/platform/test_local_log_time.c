/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_log_time.c - logs by time: whatever the index looks like, the pieces of a log are the
 * log, and "since" misses nothing.
 */
#include "local_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "platform/kit/log_index.h"
#include "platform/local/local_internal.h"

enum { MOMENTS_MAX = 400 };

struct made {                         /* a log and its index as a supervisor leaves them */
    struct sw_jobref job;
    int64_t offsets[MOMENTS_MAX], times[MOMENTS_MAX];
    int count;
    int64_t size;
};

static void put(struct fixture *here, const char *name, const char *text, size_t length)
{
    sw_autofree char *path = fixture_file(here, "made-job00001", name);

    assert_int_equal(sw_file_write(path, text, length, 0600, NULL), 0);
}

static void make(struct fixture *here, struct made *made, unsigned int seed, const char *torn)
{
    sw_autofree char *logs = fixture_file(here, "made-job00001", "attempt-1/logs");
    sw_auto(sw_buf) struct sw_buf index = SW_BUF_INIT, log = SW_BUF_INIT;
    int64_t at = 1700000000000;

    srand(seed);
    *made = (struct made){ .job = fixture_ref("made-job00001"), .count = 1 + rand() % MOMENTS_MAX };
    for (int i = 0; i < made->count; i++) {
        int bytes = rand() % 50;              /* none at all: the redactor kept them back */

        made->offsets[i] = (int64_t)log.length;
        made->times[i] = at;
        sw_buf_addf(&index, "%lld %lld\n", (long long)log.length, (long long)at);
        for (int b = 0; b < bytes; b++)
            sw_buf_add_char(&log, (char)('a' + rand() % 26));
        at += SW_LOG_INDEX_EVERY_MS + (rand() % 3 ? rand() % 50 : rand() % 100000);
    }
    sw_buf_add(&index, torn);
    made->size = (int64_t)log.length;
    assert_int_equal(sw_mkdirs(logs, 0700, NULL), 0);
    put(here, "attempt-1/logs/0.log", sw_buf_text(&log), log.length);
    put(here, "attempt-1/logs/0.idx", sw_buf_text(&index), index.length);
}

/* The last moment that begins at or before this byte. */
static int moment_of(const struct made *made, int64_t offset)
{
    int last = 0;

    for (int i = 0; i < made->count; i++)
        if (made->offsets[i] <= offset)
            last = i;
    return last;
}

static void check_pieces(struct fixture *here, const struct made *made)
{
    int64_t offset = 0;

    while (offset < made->size) {
        int64_t at_ms = -1, until = -1;
        int moment = moment_of(made, offset);

        assert_int_equal(sw_platform_local.log_time(here->conn, &made->job, 0, offset, &at_ms,
                                                    &until, NULL), 0);
        assert_int_equal(at_ms, made->times[moment]);
        assert_int_equal(until, moment + 1 < made->count ? made->offsets[moment + 1] : made->size);
        assert_true(until > offset);
        offset = until;
    }
    assert_int_equal(offset, made->size);
}

static void check_since(struct fixture *here, const struct made *made, int64_t at_ms)
{
    int64_t offset = -1;
    int first = 0;

    while (first < made->count && made->times[first] + SW_LOG_INDEX_EVERY_MS <= at_ms)
        first++;
    assert_int_equal(sw_platform_local.log_since(here->conn, &made->job, 0, at_ms, &offset, NULL),
                     0);
    if (first < made->count)
        assert_int_equal(offset, made->offsets[first]);
}

static void the_pieces_of_a_log_are_the_log(void **state)
{
    static const char *const torn[] = { "",     "7", "99999 17", "99999 1700000000000",
                                        "\n\n", "x y\n" };
    struct fixture *here = *state;

    for (unsigned int seed = 1; seed <= 60; seed++) {
        struct made made;

        make(here, &made, seed, torn[seed % SW_COUNT(torn)]);
        check_pieces(here, &made);
        for (int i = 0; i < made.count; i++)
            for (int64_t by = -1; by <= 1; by++)
                check_since(here, &made, made.times[i] + by);
    }
}

static void a_torn_line_in_the_middle_is_passed_over(void **state)
{
    struct fixture *here = *state;
    struct made made;
    int64_t at_ms = 0, until = 0, offset = 0;
    static const char index[] = "0 1700000000000\n5 17000\n\n10 1700000002000\n";

    make(here, &made, 1, "");
    put(here, "attempt-1/logs/0.log", "0123456789abcdef", 16);
    put(here, "attempt-1/logs/0.idx", index, strlen(index));
    while (offset < 16) {
        assert_int_equal(sw_platform_local.log_time(here->conn, &made.job, 0, offset, &at_ms,
                                                    &until, NULL), 0);
        assert_true(until > offset);
        offset = until;
    }
    assert_int_equal(offset, 16);
    assert_int_equal(at_ms, 1700000002000);
}

static void without_an_index_times_are_unknown_and_nothing_is_lost(void **state)
{
    struct fixture *here = *state;
    struct made made;
    sw_autofree char *index = fixture_file(here, "made-job00001", "attempt-1/logs/0.idx");
    int64_t at_ms = -1, until = -1, offset = -1;

    make(here, &made, 3, "");
    assert_int_equal(unlink(index), 0);
    assert_int_equal(sw_platform_local.log_time(here->conn, &made.job, 0, 1, &at_ms, &until, NULL),
                     0);
    assert_int_equal(at_ms, 0);
    assert_int_equal(until, made.size);
    assert_int_equal(sw_platform_local.log_since(here->conn, &made.job, 0, 1700000000000, &offset,
                                                 NULL), 0);
    assert_int_equal(offset, 0);
    assert_int_equal(sw_platform_local.log_since(here->conn, &made.job, 0, sw_now_ms() + 60000,
                                                 &offset, NULL), 0);
    assert_int_equal(offset, made.size);
}

static void a_log_that_is_not_there_yet_is_empty(void **state)
{
    struct fixture *here = *state;
    struct sw_jobref job = fixture_ref("no-such00001");
    int64_t at_ms = -1, until = -1, offset = -1;

    assert_int_equal(sw_platform_local.log_time(here->conn, &job, 0, 0, &at_ms, &until, NULL), 0);
    assert_int_equal(until, 0);
    assert_int_equal(sw_platform_local.log_since(here->conn, &job, 0, 1, &offset, NULL), 0);
    assert_int_equal(offset, 0);
}

static void lines_of_a_real_job_have_the_time_they_were_written(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "echo one; sleep 1.2; echo two");
    struct sw_jobref job = fixture_ref(id);
    int64_t first = 0, second = 0, until = 0, offset = 0, begun = sw_now_ms();

    fixture_wait_over(here, id);
    assert_in_range(here->seen.last_output_ms, begun, sw_now_ms());
    assert_int_equal(sw_platform_local.log_time(here->conn, &job, 0, 0, &first, &until, NULL), 0);
    assert_int_equal(until, 4);
    assert_int_equal(sw_platform_local.log_time(here->conn, &job, 0, 4, &second, &until, NULL), 0);
    assert_int_equal(until, 8);
    assert_true(second - first >= 1000);
    assert_int_equal(sw_platform_local.log_since(here->conn, &job, 0, second, &offset, NULL), 0);
    assert_int_equal(offset, 4);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(the_pieces_of_a_log_are_the_log),
        CLAIM(a_torn_line_in_the_middle_is_passed_over),
        CLAIM(without_an_index_times_are_unknown_and_nothing_is_lost),
        CLAIM(a_log_that_is_not_there_yet_is_empty),
        CLAIM(lines_of_a_real_job_have_the_time_they_were_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
