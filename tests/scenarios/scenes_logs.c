/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes_logs.c - logs. That follows are exact byte by byte is test_follow.c's.
 */
#include "scenes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static void the_end_of_the_stream_is_not_the_end_of_the_job(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "log 10 lines, running 300ms, log 10 lines, running 300ms, "
                               "exit 0", NULL);
    struct log log;

    connect_with(here, "cut-every 3 calls");
    log = read_log(here, job, -1, true);
    assert_int_equal(log.length, 20 * LOG_LINE);
    log_done(&log);
    connect_with(here, NULL);
    expect_state(here, job, SW_COMPLETE);
}

static void a_broken_log_stream_says_nothing_about_the_job(void **state)
{
    struct trial *here = *state;
    struct sw_log_options options = { .size = sizeof options, .tail_lines = -1 };
    struct sw_error err = { 0 };
    const char *job = rehearse(here, "log 5 lines, running", NULL);

    wait_until(here, job, SW_RUNNING);
    connect_with(here, "down");
    assert_int_equal(sw_logs(here->session, job, &options, NULL, NULL, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    expect_state(here, job, SW_RUNNING);
    connect_with(here, NULL);
    expect_state(here, job, SW_RUNNING);
}

static void a_log_that_is_rotated_is_followed_to_its_end(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "log 100 lines, running 200ms, log 100 lines, exit 0",
                               "rehearsal.api", "rotate-log 640", NULL);
    struct log log = read_log(here, job, -1, true);

    assert_int_equal(log.length, 200 * LOG_LINE);
    log_done(&log);
    log = read_log(here, job, 150, false);            /* a tail across fifteen files */
    assert_int_equal(log.length, 150 * LOG_LINE);
    log_done(&log);
}

static void following_a_pending_job_waits_for_it(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "pending 400ms, log 3 lines, running 50ms, exit 0", NULL);
    struct log log = read_log(here, job, -1, true);

    expect_lines(&log, 1, 3);
    log_done(&log);
}

static void the_log_of_a_job_that_was_killed_is_whole_and_stays(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "seq -f 'rehearsal line %%012.0f "
                                   "...................................' 1 20000; kill -9 $$");
    struct log log;

    assert_int_equal(wait_until_over(here, job), 137);
    log = read_log(here, job, -1, false);
    expect_lines(&log, 1, 20000);
    log_done(&log);
}

/* Bytes this process has read so far, by the kernel's account. */
static int64_t bytes_read(void)
{
    sw_autofree char *text = sw_file_read("/proc/self/io", 4096, NULL, NULL);

    return text ? atoll(text + strlen("rchar:")) : -1;
}

static int count_bytes(void *context, int replica, int64_t at_ms, const char *bytes, size_t length)
{
    (void)replica, (void)at_ms, (void)bytes;
    *(int64_t *)context += (int64_t)length;
    return 0;
}

static void following_reads_each_byte_once(void **state)
{
    struct trial *here = *state;
    struct sw_log_options options = { .size = sizeof options, .tail_lines = -1, .follow = true };
    const char *job = launch_shell(here, "for i in 1 2 3 4 5 6 7 8 9 10; do "
                                   "head -c 4M /dev/zero | tr '\\0' x; sleep 0.1; done");
    struct sw_error err = { 0 };
    int64_t before = bytes_read(), got = 0;

    expect_ok(sw_logs(here->session, job, &options, count_bytes, &got, &err), &err, "logs");
    assert_int_equal(got, 40 << 20);
    /* The canary's thread reads a little, too; ten copies of the file would be 220 MiB. */
    if (before >= 0)
        assert_true(bytes_read() - before < 2 * got);
}

static int stop_when_full(void *context, int replica, int64_t at_ms, const char *bytes,
                          size_t length)
{
    (void)replica, (void)at_ms, (void)bytes;
    return (*(int64_t *)context += (int64_t)length) > (64 << 20);
}

static void a_chatty_job_takes_no_memory_and_freezes_no_reader(void **state)
{
    struct trial *here = *state;
    struct sw_log_options options = { .size = sizeof options, .tail_lines = -1 };
    char chatty[SW_ID_SIZE];
    int64_t got = 0, begun;
    long before;

    memcpy(chatty, rehearse(here, "log 100000000 lines, running", NULL), SW_ID_SIZE);  /* 6.4 GB */
    before = peak_memory_kib();
    assert_int_equal(sw_logs(here->session, chatty, &options, stop_when_full, &got, NULL), -1);
    assert_true(peak_memory_kib() - before < 16 * 1024);
    begun = sw_monotonic_ms();
    options.tail_lines = 10;
    got = 0;
    assert_int_equal(sw_logs(here->session, chatty, &options, count_bytes, &got, NULL), 0);
    assert_int_equal(got, 10 * LOG_LINE);
    assert_int_equal(wait_until_over(here, rehearse(here, "exit 0", NULL)), 0);
    expect_quick(begun, 1000, "a tail of six gigabytes, and another job");
}

struct scene scenes_logs[] = {
    SCENE("ray#57002 #51601 #60665",
          the_end_of_the_stream_is_not_the_end_of_the_job, rehearsal),
    SCENE("kuberay#4921 #3257", a_broken_log_stream_says_nothing_about_the_job,
          rehearsal),
    SCENE("kubernetes#28369 #115701 #126564",
          a_log_that_is_rotated_is_followed_to_its_end, rehearsal),
    SCENE("kubeflow/sdk#182", following_a_pending_job_waits_for_it, rehearsal),
    SCENE("skypilot#2329 #2766",
          the_log_of_a_job_that_was_killed_is_whole_and_stays, local),
    SCENE("NeMo-Run#58", following_reads_each_byte_once, local),
    SCENE("dstack#2789", a_chatty_job_takes_no_memory_and_freezes_no_reader,
          rehearsal),
    { 0 }
};
