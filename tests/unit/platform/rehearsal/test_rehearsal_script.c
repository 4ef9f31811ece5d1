/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rehearsal_script.c - which scripts and faults are understood, and which are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "platform/rehearsal/rehearsal_internal.h"

static void every_step_of_the_manual_is_understood(void **state)
{
    static const struct { const char *text; enum rehearsal_kind kind; int64_t length, number; } rows[] = {
        { "pending 1s", REHEARSE_PENDING, 1000, 0 },
        { "running 200ms", REHEARSE_RUNNING, 200, 0 },
        { "running", REHEARSE_RUNNING, REHEARSAL_FOR_EVER, 0 },
        { "paused 1s", REHEARSE_PAUSED, 1000, 0 },
        { "epochs 10", REHEARSE_EPOCHS, 1000, 10 },
        { "epochs 3 every 50ms", REHEARSE_EPOCHS, 50, 3 },
        { "log hello", REHEARSE_LOG_TEXT, 0, 0 },
        { "log 100 lines", REHEARSE_LOG_LINES, 0, 100 },
        { "log 1 line", REHEARSE_LOG_LINES, 0, 1 },
        { "exit 3", REHEARSE_EXIT, 0, 3 },
        { "signal 9", REHEARSE_SIGNAL, 0, 9 },
        { "signal SIGSEGV", REHEARSE_SIGNAL, 0, 11 },
        { "signal kill", REHEARSE_SIGNAL, 0, 9 },
        { "oom", REHEARSE_MEMORY, 0, 0 },
        { "lost", REHEARSE_LOST, 0, 0 },
        { "node-lost", REHEARSE_NODE_LOST, 0, 0 },
        { "preempted", REHEARSE_PREEMPTED, 0, 0 },
        { "preempted 2s", REHEARSE_REQUEUED, 2000, 0 },
        { "image-error", REHEARSE_IMAGE, 0, 0 },
        { "vanished", REHEARSE_VANISHED, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(rehearsal_script) struct rehearsal_script script = { 0 };
        struct sw_error err = { 0 };

        if (rehearsal_script_parse(rows[i].text, 1, &script, &err) < 0)
            fail_msg("'%s': %s", rows[i].text, err.message);
        assert_int_equal(script.count, 1);
        assert_int_equal(script.steps[0].kind, rows[i].kind);
        assert_int_equal(script.steps[0].length_ms, rows[i].length);
        assert_int_equal(script.steps[0].number, rows[i].number);
    }
}

static void a_script_that_makes_no_sense_is_refused(void **state)
{
    static const char *const texts[] = {
        "exit", "exit 256", "exit -1", "exit 3 4", "signal 0", "signal FOO", "runing 1s",
        "running 1x", "exit 0, running 1s", "running, exit 0", "epochs", "epochs 0",
        "epochs 3 times", "oom now", "running 99999999d", "exit 1 on x", "log \"a\nb\"",
        "exit 0; exti 1",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(texts); i++) {
        struct sw_error err = { 0 };

        if (rehearsal_script_check(texts[i], 1, &err) == 0)
            fail_msg("'%s' was accepted", texts[i]);
        assert_int_equal(err.code, SW_E_SPEC);
    }
}

static void a_misspelled_step_is_reported_its_nearest_spelling(void **state)
{
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(rehearsal_script_check("runing 1s", 1, &err), -1);
    assert_non_null(strstr(err.hint, "running"));
}

static void quotes_keep_commas_and_blanks_in_a_log_line(void **state)
{
    sw_auto(rehearsal_script) struct rehearsal_script script = { 0 };

    (void)state;
    assert_int_equal(rehearsal_script_parse("log \" a, b; c \", exit 1", 1, &script, NULL), 0);
    assert_int_equal(script.count, 2);
    assert_string_equal(script.steps[0].text, " a, b; c ");
}

static void each_attempt_has_its_own_script_and_the_last_repeats(void **state)
{
    static const int64_t codes[] = { 1, 2, 0, 0, 0 };

    (void)state;
    for (int attempt = 1; attempt <= 5; attempt++) {
        sw_auto(rehearsal_script) struct rehearsal_script script = { 0 };

        assert_int_equal(rehearsal_script_parse("exit 1; exit 2; exit 0", attempt, &script, NULL), 0);
        assert_int_equal(script.steps[0].number, codes[attempt - 1]);
    }
}

static void a_rank_beyond_the_nodes_is_refused(void **state)
{
    (void)state;
    assert_int_equal(rehearsal_script_check("exit 3 on 1", 2, NULL), 0);
    assert_int_equal(rehearsal_script_check("exit 3 on 2", 2, NULL), -1);
    assert_int_equal(rehearsal_script_check("oom on 1", 2, NULL), 0);
}

static void a_script_without_bounds_is_refused(void **state)
{
    static char huge[REHEARSAL_SCRIPT_MAX + 2];
    static char many[(REHEARSAL_STEPS_MAX + 1) * 6 + 1];

    (void)state;
    memset(huge, ',', sizeof huge - 1);
    assert_int_equal(rehearsal_script_check(huge, 1, NULL), -1);
    for (int i = 0; i <= REHEARSAL_STEPS_MAX; i++)
        memcpy(many + i * 6, "log a,", 6);
    assert_int_equal(rehearsal_script_check(many, 1, NULL), -1);
}

static void faults_are_understood(void **state)
{
    struct rehearsal_faults faults;

    (void)state;
    assert_int_equal(rehearsal_faults_parse("slow 200ms, down 3 calls", &faults, NULL), 0);
    assert_int_equal(faults.slow_ms, 200);
    assert_int_equal(faults.down_calls, 3);
    assert_int_equal(rehearsal_faults_parse("down", &faults, NULL), 0);
    assert_int_equal(faults.down_calls, REHEARSAL_FOR_EVER);
    assert_int_equal(rehearsal_faults_parse("lose-answer", &faults, NULL), 0);
    assert_int_equal(faults.lost_answers, 1);
    assert_int_equal(rehearsal_faults_parse("empty-list 2 calls", &faults, NULL), 0);
    assert_int_equal(faults.unseen_calls, 2);
    assert_int_equal(rehearsal_faults_parse("not-found-then-found", &faults, NULL), 0);
    assert_int_equal(faults.unseen_calls, 1);
    assert_int_equal(rehearsal_faults_parse("rotate-log 4KiB, clock-back 1h", &faults, NULL), 0);
    assert_int_equal(faults.rotate_bytes, 4096);
    assert_int_equal(faults.clock_back_ms, 3600000);
    assert_int_equal(rehearsal_faults_parse("cut-every 3 calls", &faults, NULL), 0);
    assert_int_equal(faults.cut_every, 3);
    assert_int_equal(rehearsal_faults_parse("up", &faults, NULL), 0);
    assert_int_equal(faults.down_calls, 0);
}

static void unknown_faults_are_refused(void **state)
{
    static const char *const texts[] = {
        "donw", "slow", "slow 2h", "down 3", "down x calls", "up now", "rotate-log",
        "rotate-log 1", "clock-back", "clock-back soon",
    };
    struct rehearsal_faults faults;

    (void)state;
    for (size_t i = 0; i < SW_COUNT(texts); i++)
        if (rehearsal_faults_parse(texts[i], &faults, NULL) == 0)
            fail_msg("'%s' was accepted", texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_of_the_manual_is_understood),
        cmocka_unit_test(a_script_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_misspelled_step_is_reported_its_nearest_spelling),
        cmocka_unit_test(quotes_keep_commas_and_blanks_in_a_log_line),
        cmocka_unit_test(each_attempt_has_its_own_script_and_the_last_repeats),
        cmocka_unit_test(a_rank_beyond_the_nodes_is_refused),
        cmocka_unit_test(a_script_without_bounds_is_refused),
        cmocka_unit_test(faults_are_understood),
        cmocka_unit_test(unknown_faults_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
