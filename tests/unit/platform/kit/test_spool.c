/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spool.c - a log that is taken up again anywhere has every byte once.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "platform/kit/spool.h"

enum { MESSAGES = 400 };

static int begin(void **state)
{
    char *folder = strdup("/tmp/slipway-spool-XXXXXX");

    *state = mkdtemp(folder);
    return *state ? 0 : -1;
}

static int end(void **state)
{
    sw_remove_tree(*state, NULL);
    free(*state);
    return 0;
}

/* A log of the platform: message i at a time that mostly grows, some in another order. */
static int64_t time_of(int i)
{
    static const int shuffle[] = { 0, 3, 1, 2, 0, 0, 1, 0 };

    return 1700000000000000000 + (int64_t)(i / 5) * 700000000 - shuffle[i % 8] * 200000000;
}

static void give(struct sw_spool *spool, int64_t number, int i)
{
    sw_autofree char *text = sw_format("message %d\n", i);
    const struct sw_log_message message = { .at_ns = time_of(i), .bytes = text,
                                            .length = strlen(text) };

    sw_spool_add(spool, number, &message);
}

/* As the platform answers: everything at or after `since`, up to message `until`. */
static void fetch(const char *folder, int until)
{
    struct sw_spool spool;
    int64_t since = 0, number;

    assert_int_equal(sw_spool_open(&spool, folder, 0, NULL), 0);
    assert_int_equal(sw_spool_lock(&spool, NULL), 0);
    number = sw_spool_resume(&spool, &since);
    for (int i = 0; i < until; i++)
        if (time_of(i) >= since * 1000000000)
            give(&spool, number++, i);
    assert_int_equal(sw_spool_unlock(&spool, NULL), 0);
    sw_spool_close(&spool);
}

static void expect_whole(const char *folder, int count)
{
    sw_autofree char *path = sw_format("%s/0.log", folder), *text = NULL;
    sw_auto(sw_buf) struct sw_buf wanted = SW_BUF_INIT;

    for (int i = 0; i < count; i++)
        sw_buf_addf(&wanted, "message %d\n", i);
    text = sw_file_read(path, 1 << 20, NULL, NULL);
    assert_non_null(text);
    assert_string_equal(text, sw_buf_text(&wanted));
}

static void a_log_taken_up_anywhere_has_every_byte_once(void **state)
{
    srand(7);
    for (int until = 1; until < MESSAGES; until += 1 + rand() % 30)
        fetch(*state, until);
    fetch(*state, MESSAGES);
    fetch(*state, MESSAGES);
    expect_whole(*state, MESSAGES);
}

static void what_a_dead_process_left_beyond_its_note_is_cut_off(void **state)
{
    sw_autofree char *path = sw_format("%s/0.log", (char *)*state);
    FILE *log;

    fetch(*state, 100);
    log = fopen(path, "a");
    assert_non_null(log);
    fputs("half a mess", log);
    fclose(log);
    fetch(*state, 150);
    expect_whole(*state, 150);
}

static void a_damaged_note_or_a_lost_log_begins_anew(void **state)
{
    sw_autofree char *log = sw_format("%s/0.log", (char *)*state);
    sw_autofree char *note = sw_format("%s/0.state", (char *)*state);

    fetch(*state, 100);
    assert_int_equal(truncate(note, 20), 0);
    fetch(*state, 120);
    expect_whole(*state, 120);
    assert_int_equal(truncate(log, 10), 0);
    fetch(*state, 130);
    expect_whole(*state, 130);
}

static void two_that_fetch_at_once_write_each_message_once(void **state)
{
    struct sw_spool a, b;
    int64_t since;

    assert_int_equal(sw_spool_open(&a, *state, 0, NULL), 0);
    assert_int_equal(sw_spool_open(&b, *state, 0, NULL), 0);
    for (int i = 0; i < 50; i++)
        for (int who = 0; who < 2; who++) {
            struct sw_spool *spool = (i + who) % 2 ? &a : &b;

            assert_int_equal(sw_spool_lock(spool, NULL), 0);
            give(spool, i, i);
            assert_int_equal(sw_spool_unlock(spool, NULL), 0);
        }
    assert_int_equal(sw_spool_lock(&a, NULL), 0);
    sw_spool_resume(&a, &since);
    assert_int_equal(a.note.messages, 50);
    assert_int_equal(sw_spool_unlock(&a, NULL), 0);
    sw_spool_close(&a);
    sw_spool_close(&b);
    expect_whole(*state, 50);
}

static void a_clock_that_was_set_back_means_to_read_it_all(void **state)
{
    struct sw_spool spool;
    int64_t since = -1;

    assert_int_equal(sw_spool_open(&spool, *state, 0, NULL), 0);
    assert_int_equal(sw_spool_lock(&spool, NULL), 0);
    give(&spool, 0, 390);
    give(&spool, 1, 0);
    assert_int_equal(sw_spool_resume(&spool, &since), 0);
    assert_int_equal(since, 0);
    assert_int_equal(sw_spool_unlock(&spool, NULL), 0);
    sw_spool_close(&spool);
}

/* Messages of times that are given, as the platform sends them after a gap. */
static void fetch_times(const char *folder, const int64_t *times_s, int count, int64_t server_s,
                        int64_t machine_s, uint64_t boot)
{
    for (bool again = true; again;) {
        struct sw_spool spool;
        int64_t since = 0, number;
        bool told = false;

        assert_int_equal(sw_spool_open(&spool, folder, 0, NULL), 0);
        assert_int_equal(sw_spool_lock(&spool, NULL), 0);
        number = sw_spool_resume(&spool, &since);
        again = sw_spool_clock(&spool, server_s * 1000, machine_s * 1000, boot);
        for (int i = 0; i < count && !again; i++)
            if (times_s[i] >= since) {
                sw_autofree char *text = sw_format("message %d\n", i);

                told = true;
                sw_spool_add(&spool, number++, &(struct sw_log_message){
                    .at_ns = times_s[i] * 1000000000, .bytes = text,
                    .length = strlen(text) });
            }
        assert_true(told || again);
        assert_int_equal(sw_spool_unlock(&spool, NULL), 0);
        sw_spool_close(&spool);
    }
}

/* Five messages are fetched; then the clock is set back by so many seconds, five are written, and it runs
 * on for a while before a client comes back. */
static void a_clock_set_back_while_no_client_looked_loses_nothing(void **state)
{
    static const struct { int64_t back_s, later_s; uint64_t boot; } rows[] = {
        { 0, 5, 1 }, { 1, 5, 1 }, { 3, 5, 1 }, { 4, 5, 1 }, { 5, 5, 1 }, { 6, 5, 1 }, { 8, 5, 1 },
        { 60, 5, 1 }, { 60, 500, 1 }, { 4, 500, 1 }, { 7, 500, 1 }, { 100000, 5, 1 }, { 60, 500, 2 },
    };

    for (size_t r = 0; r < SW_COUNT(rows); r++) {
        sw_autofree char *folder = sw_format("%s/%zu", (char *)*state, r);
        const int64_t now_s = 1700000000, machine_s = 5000;
        int64_t times_s[10];

        for (int i = 0; i < 5; i++) {
            times_s[i] = now_s - 4 + i;
            times_s[5 + i] = now_s - rows[r].back_s + i;
        }
        fetch_times(folder, times_s, 5, now_s, machine_s, 1);
        fetch_times(folder, times_s, 10, now_s - rows[r].back_s + rows[r].later_s,
                    machine_s + rows[r].later_s, rows[r].boot);
        expect_whole(folder, 10);
    }
}

static void a_clock_set_back_while_another_client_listens_is_seen_by_its_times(void **state)
{
    const int64_t times_s[] = { 1000, 1001, 1002, 996, 997, 998, 999 };

    fetch_times(*state, times_s, 4, 996, 50, 1);
    fetch_times(*state, times_s, 7, 999, 53, 1);
    expect_whole(*state, 7);
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CLAIM(a_log_taken_up_anywhere_has_every_byte_once),
        CLAIM(what_a_dead_process_left_beyond_its_note_is_cut_off),
        CLAIM(a_damaged_note_or_a_lost_log_begins_anew),
        CLAIM(two_that_fetch_at_once_write_each_message_once),
        CLAIM(a_clock_that_was_set_back_means_to_read_it_all),
        CLAIM(a_clock_set_back_while_no_client_looked_loses_nothing),
        CLAIM(a_clock_set_back_while_another_client_listens_is_seen_by_its_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
