/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_end.c - how a run ended, in state, reason and words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/run_end.h"

static void ends_are_distinguished(void **state)
{
    static const struct {
        struct sw_run_end end;
        enum sw_state state;
        const char *reason, *message;
        int signal;
    } rows[] = {
#define END(...) { .rank = -1, .failed_peer = -1, __VA_ARGS__ }
        { END(.exit_code = 0), SW_COMPLETE, "exit", "exit code 0", 0 },
        { END(.exit_code = 3), SW_ERROR, "exit", "exited with code 3", 0 },
        { { .exit_code = 3, .rank = 1, .failed_peer = -1 }, SW_ERROR, "exit",
          "rank 1 exited with code 3", 0 },
        { END(.exit_code = SW_NO_EXIT_CODE), SW_ERROR, "exit", "ended, and its exit code is not known", 0 },
        { END(.exit_code = 137), SW_ERROR, "exit", "exited with code 137", 0 },
        { END(.exit_code = 137, .signal = 9), SW_ERROR, "signal", "ended by signal 9 (Killed)", 9 },
        { END(.exit_code = 139, .signal = 11), SW_ERROR, "signal", "ended by signal 11 (Segmentation "
                                                                   "fault)",
          11 },
        { END(.exit_code = 137, .signal = 9, .oom = true), SW_ERROR, "memory",
          "out of memory: the kernel killed a process of the job", 9 },
        { END(.exit_code = 1, .oom = true, .memory_limit_bytes = 64 << 20), SW_ERROR, "memory",
          "needed more memory than its limit of 64 MiB", 0 },
        { END(.exit_code = 0, .oom = true), SW_COMPLETE, "exit", "exit code 0", 0 },
        { END(.exit_code = 124, .timed_out = true, .stopped = true), SW_ERROR, "time",
          "it reached its time limit", 0 },
        { END(.exit_code = 124, .timed_out = true, .time_limit_ms = 90000), SW_ERROR, "time",
          "it reached its time limit of 1m30s", 0 },
        { END(.exit_code = 124), SW_ERROR, "exit", "exited with code 124", 0 },
        { END(.exit_code = 143, .signal = 15, .stopped = true, .host_ended = true), SW_ERROR, "restart",
          "its machine went down", 15 },
        { END(.exit_code = 255, .host_ended = true, .stopped_message = "gone"), SW_ERROR, "restart", "gone",
          0 },
        { END(.exit_code = 143, .signal = 15, .stopped = true), SW_ERROR, "stopped",
          "it was stopped from outside", 15 },
        { END(.exit_code = 0, .stopped = true), SW_ERROR, "stopped", "it was stopped from outside", 0 },
        { END(.exit_code = 143, .signal = 15), SW_ERROR, "signal", "ended by signal 15 (Terminated)", 15 },
        { { .exit_code = 143, .signal = 15, .stopped = true, .failed_peer = 2, .rank = 0 }, SW_ERROR,
          "signal", "rank 0 ended because rank 2 stopped", 15 },
        { END(.exit_code = 143, .stopped = true, .canceled = true), SW_CANCELED, "canceled", "canceled", 0 },
        { END(.exit_code = 143, .signal = 15, .stopped = true, .by_hand = true), SW_CANCELED, "canceled",
          "it was stopped by hand on the platform", 0 },
        /* stopped while its outputs were copied, and they did not all arrive */
        { END(.exit_code = 143, .stopped = true, .canceled = true, .failed = "outputs", .message = "late"),
          SW_CANCELED, "canceled", "canceled", 0 },
        { END(.exit_code = 128, .error = "no such device"), SW_ERROR, "start", "no such device", 0 },
        { END(.exit_code = 3, .error = ""), SW_ERROR, "exit", "exited with code 3", 0 },
        { END(.exit_code = 125), SW_ERROR, "start", "the platform could not start it (exit code 125)", 0 },
        { END(.exit_code = 126), SW_ERROR, "exit", "the command cannot be executed (exit code 126)", 0 },
        { END(.exit_code = 127), SW_ERROR, "exit", "the command was not found (exit code 127)", 0 },
        { END(.exit_code = 127, .message = "cannot start 'x'"), SW_ERROR, "exit", "cannot start 'x'", 0 },
        { END(.exit_code = 74, .message = "no such input"), SW_ERROR, "prepare", "no such input", 0 },
        { END(.exit_code = 74, .message = "no such place", .failed = "outputs"), SW_ERROR, "outputs",
          "no such place", 0 },
        { END(.exit_code = 3, .message = "no such place", .failed = "outputs"), SW_ERROR, "exit",
          "no such place", 0 },
        { END(.exit_code = 74), SW_ERROR, "exit", "exited with code 74", 0 },
        { END(.exit_code = 255, .reported = true), SW_ERROR, "exit", "exited with code 255", 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_observation seen = { .signal = 5 };

        assert_true(sw_run_end_judge(&rows[i].end, &seen));
        assert_int_equal(seen.state, rows[i].state);
        assert_string_equal(seen.reason, rows[i].reason);
        assert_string_equal(seen.message, rows[i].message);
        assert_int_equal(seen.signal, rows[i].signal);
        assert_int_equal(seen.exit_code, rows[i].end.exit_code);
    }
}

static void an_end_without_a_code_has_the_usual_one(void **state)
{
    static const struct {
        struct sw_run_end end;
        int exit_code;
    } rows[] = {
        { END(.exit_code = SW_NO_EXIT_CODE, .canceled = true), 130 },
        { END(.exit_code = SW_NO_EXIT_CODE, .timed_out = true), 124 },
        { END(.exit_code = SW_NO_EXIT_CODE, .oom = true), 137 },
        { END(.exit_code = SW_NO_EXIT_CODE, .signal = 6), 134 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_observation seen = { 0 };

        assert_true(sw_run_end_judge(&rows[i].end, &seen));
        assert_int_equal(seen.exit_code, rows[i].exit_code);
    }
}

static void an_unread_report_decides_nothing(void **state)
{
    const struct sw_run_end end = END(.exit_code = 255, .unread = true);
    struct sw_observation seen = { .state = SW_RUNNING, .exit_code = SW_NO_EXIT_CODE };

    (void)state;
    assert_false(sw_run_end_judge(&end, &seen));
    assert_int_equal(seen.state, SW_RUNNING);
    assert_int_equal(seen.exit_code, SW_NO_EXIT_CODE);
}

static void a_report_is_taken_over(void **state)
{
    sw_auto(json) json_t *report = json_loads(
        "{\"signal\": 9, \"stopped\": true, \"timed_out\": true, \"failed_peer\": 3, \"oom_kills\": 1,"
        " \"message\": \"m\", \"failed\": \"collect\"}", 0, NULL);
    struct sw_run_end end = SW_RUN_END_INIT;

    (void)state;
    sw_run_end_report(&end, report);
    assert_true(end.reported && end.stopped && end.timed_out && end.oom && !end.canceled);
    assert_int_equal(end.signal, 9);
    assert_int_equal(end.failed_peer, 3);
    assert_string_equal(end.message, "m");
    assert_string_equal(end.failed, "outputs");
}

static void without_a_report_the_code_names_the_signal(void **state)
{
    static const struct { int code, signal; } rows[] = { { 137, 9 }, { 128, 0 }, { 160, 0 }, { 3, 0 } };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_run_end end = SW_RUN_END_INIT;

        end.exit_code = rows[i].code;
        sw_run_end_report(&end, NULL);
        assert_int_equal(end.signal, rows[i].signal);
        assert_false(end.reported);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_distinguished),
        cmocka_unit_test(an_end_without_a_code_has_the_usual_one),
        cmocka_unit_test(an_unread_report_decides_nothing),
        cmocka_unit_test(a_report_is_taken_over),
        cmocka_unit_test(without_a_report_the_code_names_the_signal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
