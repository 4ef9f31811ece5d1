/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_logs.c - every byte once, in order, in bounded memory; the end of the job ends a follow.
 */
#include <string.h>

#include "base/auto.h"
#include "cases.h"

static void a_log_is_whole_after_the_end(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, PRINTS, 1000);
    struct log log;

    wait_until_over(here, job);
    log = read_log(here, job, -1, false);
    expect_lines(&log, 1, 1000);
    log_done(&log);
}

static void a_tail_is_the_last_lines(void **state)
{
    static const int64_t tails[] = { 0, 1, 10, 999, 1000, 5000 };
    struct trial *here = *state;
    const char *job = launch(here, PRINTS, 1000);

    wait_until_over(here, job);
    for (size_t i = 0; i < SW_COUNT(tails); i++) {
        struct log log = read_log(here, job, tails[i], false);

        expect_lines(&log, tails[i] > 1000 ? 1 : 1001 - tails[i], 1000);
        log_done(&log);
    }
}

static void following_gives_every_line_once_and_ends_with_the_job(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, PRINTS_SLOWLY, 50);
    struct log log = read_log(here, job, -1, true);

    expect_lines(&log, 1, 50);
    expect_state(here, job, SW_COMPLETE);
    log_done(&log);
}

static void following_a_job_that_is_over_gives_its_log_and_ends(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, PRINTS, 100);
    struct log log;

    wait_until_over(here, job);
    log = read_log(here, job, -1, true);
    expect_lines(&log, 1, 100);
    log_done(&log);
}

static void following_a_silent_job_waits_for_its_end(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, SLEEPS, 300);
    struct log log = read_log(here, job, -1, true);

    assert_int_equal(log.length, 0);
    expect_state(here, job, SW_COMPLETE);
    log_done(&log);
}

static int stop_at_once(void *context, int replica, int64_t at_ms, const char *bytes,
                        size_t length)
{
    (void)context, (void)replica, (void)at_ms, (void)bytes, (void)length;
    return 1;
}

static void a_reader_may_stop_following(void **state)
{
    struct trial *here = *state;
    struct sw_log_options options = { .size = sizeof options, .tail_lines = -1, .follow = true };
    struct sw_error err = { 0 };
    const char *job = launch(here, PRINTS, 100);

    assert_int_equal(sw_logs(here->session, job, &options, stop_at_once, NULL, &err), -1);
    assert_int_equal(err.code, SW_E_INTERRUPTED);
    assert_int_equal(wait_until_over(here, job), 0);
}

static void a_last_line_without_an_end_is_not_lost(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "printf 'a\\nb'");
    struct log log = read_log(here, job, -1, true);

    assert_int_equal(log.length, 3);
    assert_memory_equal(log.bytes, "a\nb", 3);
    log_done(&log);
}

static void bytes_that_are_no_text_arrive_unchanged(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "printf 'a\\000b\\377\\033[31m\\rc\\n'");
    struct log log = read_log(here, job, -1, true);

    assert_int_equal(log.length, 12);
    assert_memory_equal(log.bytes, "a\0b\377\033[31m\rc\n", 12);
    log_done(&log);
}

static void a_carriage_return_before_the_end_of_a_line_stays(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "printf 'a\\r\\n'");
    struct log log = read_log(here, job, -1, true);

    assert_int_equal(log.length, 3);
    assert_memory_equal(log.bytes, "a\r\n", 3);
    log_done(&log);
}

static void standard_error_is_part_of_the_log(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "echo out; echo err >&2");
    struct log log = read_log(here, job, -1, true);

    assert_non_null(strstr(log.bytes, "out\n"));
    assert_non_null(strstr(log.bytes, "err\n"));
    log_done(&log);
}

/* The address sanitizer keeps freed memory aside, up to 256 MiB of it. */
#if defined(__SANITIZE_ADDRESS__)
enum { LOG_ROOM_KIB = 320 * 1024 };
#else
enum { LOG_ROOM_KIB = 16 * 1024 };
#endif

/* Compares a stream with the lines it must have, without keeping it. */
struct audit {
    int64_t offset;
    bool wrong;
};

static int compare(void *context, int replica, int64_t at_ms, const char *bytes, size_t length)
{
    struct audit *audit = context;
    char line[LOG_LINE + 1];

    (void)replica, (void)at_ms;
    while (length > 0) {
        size_t column = (size_t)(audit->offset % LOG_LINE);
        size_t n = LOG_LINE - column < length ? LOG_LINE - column : length;

        log_line(audit->offset / LOG_LINE + 1, line);
        audit->wrong = audit->wrong || memcmp(line + column, bytes, n) != 0;
        audit->offset += (int64_t)n;
        bytes += n;
        length -= n;
    }
    return audit->wrong;
}

static void a_log_of_100_mb_is_read_in_bounded_memory(void **state)
{
    enum { LINES = 1600000 };
    struct trial *here = *state;
    struct sw_log_options options = { .size = sizeof options, .tail_lines = -1, .follow = true };
    struct sw_error err = { 0 };
    struct audit audit = { 0 };
    long before;
    const char *job = launch(here, PRINTS, LINES);

    before = peak_memory_kib();
    expect_ok(sw_logs(here->session, job, &options, compare, &audit, &err), &err, "logs");
    assert_false(audit.wrong);
    assert_int_equal(audit.offset, (int64_t)LINES * LOG_LINE);
    assert_true(peak_memory_kib() - before < LOG_ROOM_KIB);
}

static void the_log_of_each_rank_can_be_read(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request(here, PRINTS, 20);
    struct sw_log_options options = { .size = sizeof options, .one_replica = true, .replica = 1 };
    struct sw_error err = { 0 };
    struct audit audit = { 0 };
    const char *job;

    set(made, "nodes", "2");
    job = send_request(here, made);
    wait_until_over(here, job);
    expect_ok(sw_logs(here->session, job, &options, compare, &audit, &err), &err, "logs");
    assert_int_equal(audit.offset, 20 * LOG_LINE);
    options.replica = 2;
    assert_int_equal(sw_logs(here->session, job, &options, compare, &audit, &err), -1);
}

struct mixture {
    struct audit ranks[3];
    bool torn;
};

static int compare_rank(void *context, int replica, int64_t at_ms, const char *bytes,
                        size_t length)
{
    struct mixture *mixture = context;

    mixture->torn = mixture->torn || bytes[length - 1] != '\n';
    return compare(&mixture->ranks[replica], replica, at_ms, bytes, length);
}

static void the_logs_of_all_ranks_together_keep_lines_whole(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request(here, PRINTS, 3000);
    struct sw_log_options options = { .size = sizeof options, .tail_lines = -1, .replica = -1,
                                      .follow = true };
    struct sw_error err = { 0 };
    struct mixture mixture = { 0 };
    const char *job;

    set(made, "nodes", "3");
    job = send_request(here, made);
    expect_ok(sw_logs(here->session, job, &options, compare_rank, &mixture, &err), &err, "logs");
    for (int rank = 0; rank < 3; rank++)
        assert_int_equal(mixture.ranks[rank].offset, 3000 * LOG_LINE);
    assert_false(mixture.torn);
}

static void count_attempt(void *context, int attempt)
{
    (void)context;
    assert_int_equal(attempt, 2);
}

static int gather(void *context, int replica, int64_t at_ms, const char *bytes, size_t length)
{
    (void)replica, (void)at_ms;
    strncat(context, bytes, length);
    return 0;
}

static void a_follow_goes_on_with_the_next_attempt(void **state)
{
    struct trial *here = *state;
    struct sw_request *made =
        request_shell(here, "echo \"try $SLIPWAY_ATTEMPT\"; test \"$SLIPWAY_ATTEMPT\" = 2");
    const struct sw_log_options options = { .size = sizeof options, .replica = -1,
                                            .tail_lines = -1, .follow = true,
                                            .attempt_began = count_attempt };
    struct sw_error err = { 0 };
    char all[65536] = "";
    const char *job, *first, *second;

    set(made, "retry.on", "unknown");
    set(made, "retry.wait", "1s");
    job = send_request(here, made);
    expect_ok(sw_logs(here->session, job, &options, gather, all, &err), &err, "logs");
    first = strstr(all, "try 1\n");
    second = first ? strstr(first, "try 2\n") : NULL;
    assert_non_null(second);
    assert_null(strstr(first + 1, "try 1\n"));
    assert_null(strstr(second + 1, "try 2\n"));
    expect_state(here, job, SW_COMPLETE);
}

const struct contract_case cases_logs[] = {
    CLAIM(a_log_is_whole_after_the_end, 0),
    CLAIM(a_tail_is_the_last_lines, 0),
    CLAIM(following_gives_every_line_once_and_ends_with_the_job, 0),
    CLAIM(following_a_job_that_is_over_gives_its_log_and_ends, 0),
    CLAIM(following_a_silent_job_waits_for_its_end, 0),
    CLAIM(a_reader_may_stop_following, 0),
    CLAIM(a_last_line_without_an_end_is_not_lost, COMMANDS | RAW_LOG),
    CLAIM(bytes_that_are_no_text_arrive_unchanged, COMMANDS | RAW_LOG),
    CLAIM(a_carriage_return_before_the_end_of_a_line_stays, COMMANDS | LINE_ENDS),
    CLAIM(standard_error_is_part_of_the_log, COMMANDS),
    CLAIM(a_log_of_100_mb_is_read_in_bounded_memory, 0),
    CLAIM(a_follow_goes_on_with_the_next_attempt, COMMANDS),
    CLAIM(the_log_of_each_rank_can_be_read, RANKS),
    CLAIM(the_logs_of_all_ranks_together_keep_lines_whole, RANKS),
    { 0 }
};
