/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rehearsal_timeline.c - what is seen of a script at which moment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/observation.h"
#include "platform/rehearsal/rehearsal_internal.h"

#define BEGIN 1000000

static struct sw_observation observe(const char *text, struct rehearsal_run run)
{
    sw_auto(rehearsal_script) struct rehearsal_script script = { 0 };
    struct sw_observation out = { 0 };

    run.submitted_ms = BEGIN;
    run.now_ms += BEGIN;
    if (run.canceled_ms)
        run.canceled_ms += BEGIN;
    assert_int_equal(rehearsal_script_parse(text, 1, &script, NULL), 0);
    rehearsal_observe_at(&script, &run, &out);
    return out;
}

#define AT(ms)             ((struct rehearsal_run){ .now_ms = (ms) })
#define CANCELED(when, ms) ((struct rehearsal_run){ .canceled_ms = (when), .now_ms = (ms) })

static void states_follow_the_script(void **state)
{
    static const struct { int64_t at; enum sw_state state; } rows[] = {
        { 0, SW_PENDING }, { 999, SW_PENDING }, { 1000, SW_RUNNING }, { 2999, SW_RUNNING },
        { 3000, SW_PAUSED }, { 3999, SW_PAUSED }, { 4000, SW_ERROR }, { 999999, SW_ERROR },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        assert_int_equal(observe("pending 1s, running 2s, paused 1s, exit 3", AT(rows[i].at)).state,
                         rows[i].state);
}

static void endings_say_what_happened(void **state)
{
    static const struct {
        const char *text; enum sw_state state; const char *reason; int code, signal;
    } rows[] = {
        { "exit 0", SW_COMPLETE, "exit", 0, 0 },
        { "", SW_COMPLETE, "exit", 0, 0 },
        { "exit 3", SW_ERROR, "exit", 3, 0 },
        { "signal 11", SW_ERROR, "signal", 139, 11 },
        { "oom", SW_ERROR, "memory", 137, 9 },
        { "lost", SW_ERROR, "lost", SW_NO_EXIT_CODE, 0 },
        { "node-lost", SW_ERROR, "node-lost", SW_NO_EXIT_CODE, 0 },
        { "preempted", SW_ERROR, "preempted", SW_NO_EXIT_CODE, 0 },
        { "image-error", SW_ERROR, "image-error", SW_NO_EXIT_CODE, 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_observation seen = observe(rows[i].text, AT(0));

        assert_int_equal(seen.state, rows[i].state);
        assert_string_equal(seen.reason, rows[i].reason);
        assert_int_equal(seen.exit_code, rows[i].code);
        assert_int_equal(seen.signal, rows[i].signal);
        assert_int_equal(seen.ended_ms, BEGIN);
    }
}

static void a_preempted_job_that_comes_back_is_pending_between_runs(void **state)
{
    struct sw_observation seen = observe("running 1s, preempted 2s, running 1s", AT(1500));

    (void)state;
    assert_int_equal(seen.state, SW_PENDING);
    assert_string_equal(seen.reason, "preempted");
    assert_int_equal(observe("running 1s, preempted 2s, running 1s", AT(3500)).state, SW_RUNNING);
}

static void times_are_known_only_once_they_have_come(void **state)
{
    struct sw_observation early = observe("pending 1s, running 1s, exit 0", AT(500));
    struct sw_observation late = observe("pending 1s, running 1s, exit 0", AT(5000));

    (void)state;
    assert_int_equal(early.started_ms, 0);
    assert_int_equal(early.ended_ms, 0);
    assert_int_equal(late.started_ms, BEGIN + 1000);
    assert_int_equal(late.ended_ms, BEGIN + 2000);
}

static void a_job_canceled_while_pending_never_started(void **state)
{
    struct sw_observation seen = observe("pending 1s, running 1s", CANCELED(500, 5000));

    (void)state;
    assert_int_equal(seen.state, SW_CANCELED);
    assert_int_equal(seen.started_ms, 0);
    assert_int_equal(seen.ended_ms, BEGIN + 500);
}

static void a_cancel_after_the_end_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(observe("running 1s, exit 3", CANCELED(1000, 5000)).state, SW_ERROR);
    assert_int_equal(observe("running 1s, exit 3", CANCELED(999, 5000)).state, SW_CANCELED);
}

static void a_cancel_that_overtook_the_submit_still_holds(void **state)
{
    struct sw_observation seen = observe("running", CANCELED(-500, 0));

    (void)state;
    assert_int_equal(seen.state, SW_CANCELED);
    assert_int_equal(seen.started_ms, 0);
    assert_int_equal(seen.ended_ms, BEGIN);
}

static void the_time_limit_counts_from_the_start_and_gives_124(void **state)
{
    struct rehearsal_run run = { .limit_ms = 500, .now_ms = 1400 };
    struct sw_observation seen;

    (void)state;
    assert_int_equal(observe("pending 1s, running", run).state, SW_RUNNING);
    run.now_ms = 1500;
    seen = observe("pending 1s, running", run);
    assert_int_equal(seen.state, SW_ERROR);
    assert_string_equal(seen.reason, "time");
    assert_int_equal(seen.exit_code, 124);
    assert_int_equal(observe("pending 1s, running 500ms, exit 0", run).state, SW_COMPLETE);
}

static void the_first_rank_to_fail_is_named(void **state)
{
    (void)state;
    assert_int_equal(observe("exit 3 on 1", AT(0)).failed_replica, 1);
    assert_int_equal(observe("exit 0", AT(0)).failed_replica, -1);
    assert_int_equal(observe("oom", AT(0)).failed_replica, 0);
}

static void a_vanished_job_is_gone_without_a_word(void **state)
{
    (void)state;
    assert_int_equal(observe("running 1s, vanished", AT(999)).presence, SW_PRESENT);
    assert_int_equal(observe("running 1s, vanished", AT(1000)).presence, SW_ABSENT);
}

/* ---- logs ------------------------------------------------------------------------------------- */

static char *whole_log(const char *text, struct rehearsal_run run, size_t piece, size_t *length)
{
    sw_auto(rehearsal_script) struct rehearsal_script script = { 0 };
    int64_t size;
    char *bytes;
    size_t done = 0;

    run.submitted_ms = BEGIN;
    run.now_ms += BEGIN;
    assert_int_equal(rehearsal_script_parse(text, 1, &script, NULL), 0);
    size = rehearsal_log_size(&script, &run);
    bytes = calloc(1, (size_t)size + 1);
    assert_non_null(bytes);
    for (size_t n; (n = rehearsal_log_read(&script, &run, (int64_t)done, bytes + done, piece));) {
        done += n;
        if ((int64_t)(done + piece) > size)
            piece = (size_t)size - done;
    }
    assert_int_equal(done, size);
    *length = done;
    return bytes;
}

static void a_log_is_the_same_bytes_whatever_the_pieces(void **state)
{
    static const char text[] = "log first, running 1s, log 5 lines, epochs 12 every 100ms, log last";
    size_t length, other_length;
    sw_autofree char *whole = whole_log(text, AT(99999), 4096, &length);

    (void)state;
    for (size_t piece = 1; piece < 200; piece += 7) {
        sw_autofree char *pieces = whole_log(text, AT(99999), piece, &other_length);

        assert_int_equal(length, other_length);
        assert_memory_equal(whole, pieces, length);
    }
    assert_memory_equal(whole, "first\nrehearsal line 000000000001 ", 33);
    assert_non_null(strstr(whole, "\nepoch 12/12 loss 0.33333\nlast\n"));
    assert_null(strchr(whole + length, '\n'));
}

static void a_log_grows_with_the_clock_and_never_changes(void **state)
{
    static const char text[] = "log a, epochs 10 every 100ms, log z";
    size_t length, before = 0;

    (void)state;
    for (int64_t at = 0; at <= 1100; at += 50) {
        sw_autofree char *bytes = whole_log(text, AT(at), 64, &length);

        assert_int_equal(strlen(bytes), length);
        assert_true(length >= before);
        before = length;
    }
    assert_int_equal(before, 2 + 10 * strlen("epoch 10/10 loss 0.00000\n") + 2);
}

static void a_canceled_job_writes_no_more(void **state)
{
    size_t length;
    struct rehearsal_run run = { .canceled_ms = BEGIN + 250, .now_ms = 5000 };
    sw_autofree char *bytes = whole_log("epochs 10 every 100ms", run, 64, &length);

    (void)state;
    assert_int_equal(strlen(bytes), length);
    assert_int_equal(length, 2 * strlen("epoch 10/10 loss 0.00000\n"));
}

static void any_byte_of_a_huge_log_is_found_at_once(void **state)
{
    sw_auto(rehearsal_script) struct rehearsal_script script = { 0 };
    struct rehearsal_run run = { .submitted_ms = BEGIN, .now_ms = BEGIN };
    char bytes[64];

    (void)state;
    assert_int_equal(rehearsal_script_parse("log 1000000000 lines", 1, &script, NULL), 0);
    assert_int_equal(rehearsal_log_size(&script, &run), 64000000000LL);
    assert_int_equal(rehearsal_log_read(&script, &run, 63999999936LL, bytes, sizeof bytes), 64);
    assert_memory_equal(bytes, "rehearsal line 001000000000 ", 28);
    assert_int_equal(bytes[63], '\n');
    assert_int_equal(rehearsal_log_read(&script, &run, 64000000000LL, bytes, sizeof bytes), 0);
}

static void the_times_of_a_log_fit_its_pieces_and_its_since(void **state)
{
    sw_auto(rehearsal_script) struct rehearsal_script script = { 0 };
    struct rehearsal_run run = { .submitted_ms = BEGIN, .now_ms = BEGIN + 60000 };
    int64_t offset = 0, before = 0, size;

    (void)state;
    assert_int_equal(rehearsal_script_parse("log 3 lines, running 2s, epochs 5 every 700ms, log end, "
                                            "running 1s, exit 0", 1, &script, NULL), 0);
    size = rehearsal_log_size(&script, &run);
    while (offset < size) {
        int64_t at_ms = 0, until = 0;

        rehearsal_log_time(&script, &run, offset, &at_ms, &until);
        assert_true(until > offset && until <= size && at_ms >= before);
        assert_true(rehearsal_log_since(&script, &run, at_ms) <= offset);
        assert_true(rehearsal_log_since(&script, &run, at_ms + 1) >= until);
        before = at_ms;
        offset = until;
    }
    assert_int_equal(offset, size);
    assert_int_equal(rehearsal_log_since(&script, &run, 0), 0);
    assert_int_equal(rehearsal_log_since(&script, &run, run.now_ms + 1), size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_follow_the_script),
        cmocka_unit_test(endings_say_what_happened),
        cmocka_unit_test(a_preempted_job_that_comes_back_is_pending_between_runs),
        cmocka_unit_test(times_are_known_only_once_they_have_come),
        cmocka_unit_test(a_job_canceled_while_pending_never_started),
        cmocka_unit_test(a_cancel_after_the_end_changes_nothing),
        cmocka_unit_test(a_cancel_that_overtook_the_submit_still_holds),
        cmocka_unit_test(the_time_limit_counts_from_the_start_and_gives_124),
        cmocka_unit_test(the_first_rank_to_fail_is_named),
        cmocka_unit_test(a_vanished_job_is_gone_without_a_word),
        cmocka_unit_test(a_log_is_the_same_bytes_whatever_the_pieces),
        cmocka_unit_test(a_log_grows_with_the_clock_and_never_changes),
        cmocka_unit_test(a_canceled_job_writes_no_more),
        cmocka_unit_test(any_byte_of_a_huge_log_is_found_at_once),
        cmocka_unit_test(the_times_of_a_log_fit_its_pieces_and_its_since),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
