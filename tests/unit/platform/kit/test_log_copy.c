/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_log_copy.c - a platform that throws the beginning of its log away: what it still has is in the copy
 * once, and a line says where something is missing.
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
#include "base/text.h"
#include "platform/kit/log.h"
#include "platform/kit/spool.h"

#define GAP "slipway: a part of the log may be missing here: the platform no longer has it\n"

static const int64_t SECOND = 1000000000, BEGAN = 1700000000;

struct sw_connection {
    struct sw_log_spools *spools;
    int from, until;                 /* messages that the platform has */
    int per_second;
    bool tells;                      /* that its answer is not the beginning */
};

static int64_t time_of(const struct sw_connection *conn, int i)
{
    return (BEGAN + i / conn->per_second) * SECOND + i % conn->per_second * 1000;
}

static int log_fetch(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                     struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    (void)job, (void)replica, (void)err;
    cursor->life = SW_LOG_GROWS;
    cursor->whole_seconds = true;
    cursor->misses = conn->tells && conn->from > 0;
    for (int i = conn->from; i < conn->until && !cursor->follow; i++) {
        sw_autofree char *line = sw_format("message %d\n", i);

        if (time_of(conn, i) >= cursor->since_ns / SECOND * SECOND &&
            sink->take(sink->context, &(struct sw_log_message){ time_of(conn, i), line, strlen(line) }))
            return -1;
    }
    return 0;
}

static struct sw_log_spools *log_spools(struct sw_connection *conn)
{
    return conn->spools;
}

static const struct sw_platform platform = { .name = "fake", .log_fetch = log_fetch,
                                             .log_spools = log_spools };
static const struct sw_jobref job = { .id = "job-abcdefgh", .attempt = 1 };

static int begin(void **state)
{
    char *folder = strdup("/tmp/slipway-copy-XXXXXX");

    *state = mkdtemp(folder);
    return *state ? 0 : -1;
}

static int end(void **state)
{
    sw_remove_tree(*state, NULL);
    free(*state);
    return 0;
}

/* What a reader has that comes when the platform has these messages. Owned. */
static char *read_with(const char *root, struct sw_connection *conn, int from, int until)
{
    const struct sw_log log = { &platform, conn, &job, 0 };
    sw_auto(sw_buf) struct sw_buf all = SW_BUF_INIT;
    struct sw_error err = { 0 };
    char bytes[4096];
    ssize_t n;

    conn->from = from;
    conn->until = until;
    conn->spools = sw_log_spools_open(root);
    assert_non_null(conn->spools);
    sw_log_read(&log, INT32_MAX, bytes, sizeof bytes, &err);      /* asks the platform */
    assert_int_equal(err.code, SW_OK);
    while ((n = sw_log_read(&log, (int64_t)all.length, bytes, sizeof bytes, &err)) > 0)
        sw_buf_add_bytes(&all, bytes, (size_t)n);
    assert_int_equal(n, 0);
    sw_log_spools_close(conn->spools);
    return sw_buf_steal(&all);
}

/* "0-100 gap 150-170": which messages, each once and in order, and where the line is. Owned. */
static char *summary(char *text)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    int next = -1;

    for (char *line = text, *newline; line && (newline = strchr(line, '\n')); line = newline + 1) {
        int number = sw_text_starts(line, "message ") ? atoi(line + 8) : -1;

        if (number < 0 || number != next) {
            if (next >= 0)
                sw_buf_addf(&out, "-%d ", next);
            if (number >= 0)
                sw_buf_addf(&out, "%d", number);
            else
                sw_buf_add(&out, strncmp(line, GAP, strlen(GAP)) == 0 ? "gap " : "what? ");
        }
        next = number < 0 ? -1 : number + 1;
    }
    if (next >= 0)
        sw_buf_addf(&out, "-%d ", next);
    return sw_buf_steal(&out);
}

struct step {
    int from, until;
    const char *wanted;
};

static void expect_steps(const char *root, struct sw_connection *conn, const struct step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sw_autofree char *text = read_with(root, conn, steps[i].from, steps[i].until), *is = summary(text);

        assert_string_equal(is ? is : "", steps[i].wanted);
    }
}

static void a_log_that_only_grows_has_no_such_line(void **state)
{
    static const int rates[] = { 1, 3, 40, 1000 };

    for (size_t r = 0; r < SW_COUNT(rates); r++) {
        sw_autofree char *root = sw_format("%s/%zu", (char *)*state, r);
        struct sw_connection conn = { .per_second = rates[r] };
        const struct step steps[] = {
            { 0, 0, "" }, { 0, 1, "0-1 " }, { 0, 7, "0-7 " }, { 0, 100, "0-100 " }, { 0, 500, "0-500 " },
        };

        expect_steps(root, &conn, steps, SW_COUNT(steps));
    }
}

static void what_was_thrown_away_before_it_was_read_is_missing_in_one_place(void **state)
{
    struct sw_connection conn = { .per_second = 10 };
    const struct step steps[] = {
        { 0, 100, "0-100 " },
        { 150, 170, "0-100 gap 150-170 " },
        { 150, 170, "0-100 gap 150-170 " },
        { 150, 300, "0-100 gap 150-300 " },
        { 400, 410, "0-100 gap 150-300 gap 400-410 " },
    };

    expect_steps(*state, &conn, steps, SW_COUNT(steps));
}

/* The first of the seconds that are asked for again may be thrown away in the middle. */
static void what_was_thrown_away_after_it_was_read_is_not_missing(void **state)
{
    for (int from = 1; from < 100; from += 7) {
        sw_autofree char *root = sw_format("%s/%d", (char *)*state, from);
        struct sw_connection conn = { .per_second = 10 };
        const struct step steps[] = {
            { 0, 100, "0-100 " }, { from, 103, "0-103 " }, { from, 150, "0-150 " },
            { from + 40, 160, "0-160 " },
        };

        expect_steps(root, &conn, steps, SW_COUNT(steps));
    }
}

static void a_log_whose_beginning_is_gone_begins_with_the_line(void **state)
{
    struct sw_connection conn = { .per_second = 10, .tells = true };
    const struct step steps[] = {
        { 50, 100, "gap 50-100 " }, { 50, 120, "gap 50-120 " }, { 90, 130, "gap 50-130 " },
    };

    expect_steps(*state, &conn, steps, SW_COUNT(steps));
}

static void a_copy_of_an_older_version_goes_on(void **state)
{
    sw_autofree char *note = sw_format("%s/%s/attempt-1/logs/0.state", (char *)*state, job.id);
    struct sw_connection conn = { .per_second = 10 };
    const struct step before[] = { { 0, 100, "0-100 " } };
    const struct step after[] = { { 0, 130, "0-130 " }, { 0, 200, "0-200 " },
                                  { 300, 310, "0-200 gap 300-310 " } };

    expect_steps(*state, &conn, before, SW_COUNT(before));
    assert_int_equal(truncate(note, offsetof(struct sw_spool_note, marks)), 0);
    expect_steps(*state, &conn, after, SW_COUNT(after));
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CLAIM(a_log_that_only_grows_has_no_such_line),
        CLAIM(what_was_thrown_away_before_it_was_read_is_missing_in_one_place),
        CLAIM(what_was_thrown_away_after_it_was_read_is_not_missing),
        CLAIM(a_log_whose_beginning_is_gone_begins_with_the_line),
        CLAIM(a_copy_of_an_older_version_goes_on),
    };

    return cmocka_run_group_tests_name("log_copy", tests, NULL, NULL);
}
