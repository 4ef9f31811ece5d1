/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_end.c - the judgement of run_end.h.
 *
 * The order matters. A stop that was asked for explains any exit code, so it comes first; memory explains a
 * signal; and a rank that another one ended is not the failure. Exit code 74 is the runner's own only when
 * the runner said so: a command may end with it, too.
 */
#include "core/run_end.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "core/reason.h"
#include "core/report.h"

enum { EXIT_CANCELED = 130, EXIT_TIME = 124, EXIT_SIGNAL = 128, SIGNALS = 32, EXIT_RUNNER = 74 };

void sw_run_end_report(struct sw_run_end *end, const json_t *report)
{
    end->reported = report != NULL;
    if (!report) {
        if (end->exit_code > EXIT_SIGNAL && end->exit_code < EXIT_SIGNAL + SIGNALS)
            end->signal = end->exit_code - EXIT_SIGNAL;
        return;
    }
    end->signal = (int)sw_json_int(report, "signal", 0);
    end->stopped = sw_json_bool(report, "stopped", false);
    end->canceled = sw_json_bool(report, "canceled", false);
    end->timed_out = sw_json_bool(report, "timed_out", false);
    end->failed_peer = (int)sw_json_int(report, "failed_peer", -1);
    end->oom |= sw_json_int(report, "oom_kills", 0) > 0;
    end->message = sw_json_str(report, "message");
    end->failed = sw_report_reason(report);
}

/* ---- words ------------------------------------------------------------------------------------- */

static void say(const struct sw_run_end *end, struct sw_observation *seen, enum sw_state state,
                const char *reason, const char *fmt, ...) SW_PRINTF(5, 6);

/* "rank 1 exited with code 3", "exited with code 3" */
static void say(const struct sw_run_end *end, struct sw_observation *seen, enum sw_state state,
                const char *reason, const char *fmt, ...)
{
    int length = 0;
    va_list args;

    seen->state = state;
    snprintf(seen->reason, sizeof seen->reason, "%s", reason);
    if (end->rank >= 0)
        length = snprintf(seen->message, sizeof seen->message, "rank %d ", end->rank);
    va_start(args, fmt);
    vsnprintf(seen->message + length, sizeof seen->message - (size_t)length, fmt, args);
    va_end(args);
}

/* What concerns every rank. */
static void say_of_all(struct sw_observation *seen, enum sw_state state, const char *reason,
                       const char *message)
{
    say(&(struct sw_run_end){ .rank = -1 }, seen, state, reason, "%s", message);
}

static void say_stop(const struct sw_run_end *end, struct sw_observation *seen, enum sw_state state,
                     const char *reason, const char *ours)
{
    say_of_all(seen, state, reason, end->stopped_message ? end->stopped_message : ours);
}

static void say_time(const struct sw_run_end *end, struct sw_observation *seen)
{
    char text[80] = "it reached its time limit", limit[32];

    if (end->time_limit_ms > 0) {
        sw_duration_format(end->time_limit_ms, limit);
        snprintf(text, sizeof text, "it reached its time limit of %s", limit);
    }
    say_of_all(seen, SW_ERROR, SW_REASON_TIME, text);
}

static void say_memory(const struct sw_run_end *end, struct sw_observation *seen)
{
    char limit[32];

    if (end->memory_limit_bytes == 0) {
        say(end, seen, SW_ERROR, SW_REASON_MEMORY, "out of memory: the kernel killed a process of the job");
        return;
    }
    sw_size_format(end->memory_limit_bytes, limit);
    say(end, seen, SW_ERROR, SW_REASON_MEMORY, "needed more memory than its limit of %s", limit);
}

static void say_code(const struct sw_run_end *end, struct sw_observation *seen)
{
    static const struct {
        int code;
        const char *reason, *message;
    } known[] = {
        { 125, SW_REASON_START, "the platform could not start it (exit code 125)" },
        { 126, SW_REASON_EXIT,  "the command cannot be executed (exit code 126)" },
        { 127, SW_REASON_EXIT,  "the command was not found (exit code 127)" },
    };
    const char *reason = SW_REASON_EXIT, *message = end->message;

    if (end->exit_code == EXIT_RUNNER && message)
        reason = end->failed ? end->failed : SW_REASON_PREPARE;
    for (size_t i = 0; i < SW_COUNT(known); i++)
        if (known[i].code == end->exit_code) {
            reason = known[i].reason;
            message = message ? message : known[i].message;
        }
    if (message)
        say(end, seen, SW_ERROR, reason, "%s", message);
    else if (end->exit_code == SW_NO_EXIT_CODE)
        say(end, seen, SW_ERROR, reason, "ended, and its exit code is not known");
    else
        say(end, seen, SW_ERROR, reason, "exited with code %d", end->exit_code);
}

/* ---- the judgement ------------------------------------------------------------------------------- */

/* It was ended before it was done. */
static void judge_stop(const struct sw_run_end *end, struct sw_observation *seen)
{
    if (end->stopped && end->failed_peer >= 0)
        say(end, seen, SW_ERROR, SW_REASON_SIGNAL, "ended because rank %d stopped", end->failed_peer);
    else if (end->host_ended)
        say_stop(end, seen, SW_ERROR, SW_REASON_RESTART, "its machine went down");
    else
        say_stop(end, seen, SW_ERROR, SW_REASON_STOPPED, "it was stopped from outside");
}

static void judge_failure(const struct sw_run_end *end, struct sw_observation *seen)
{
    if (end->oom)
        say_memory(end, seen);
    else if (end->stopped || end->host_ended)
        judge_stop(end, seen);
    else if (end->signal)
        say(end, seen, SW_ERROR, SW_REASON_SIGNAL, "ended by signal %d (%s)", end->signal,
            strsignal(end->signal));
    else
        say_code(end, seen);
}

/* The code that a shell would show for such an end. */
static int usual_code(const struct sw_run_end *end)
{
    return end->exit_code != SW_NO_EXIT_CODE     ? end->exit_code
           : end->canceled || end->by_hand       ? EXIT_CANCELED
           : end->timed_out                      ? EXIT_TIME
           : end->oom && !end->signal  ? EXIT_SIGNAL + SIGKILL
           : end->signal                         ? EXIT_SIGNAL + end->signal
                                                 : SW_NO_EXIT_CODE;
}

bool sw_run_end_judge(const struct sw_run_end *end, struct sw_observation *seen)
{
    assert(seen);
    if (end->unread)
        return false;
    seen->exit_code = usual_code(end);
    seen->signal = 0;
    if (end->canceled) {
        say_of_all(seen, SW_CANCELED, SW_REASON_CANCELED, "canceled");
    } else if (end->by_hand) {
        say_stop(end, seen, SW_CANCELED, SW_REASON_CANCELED, "it was stopped by hand on the platform");
    } else if (!sw_text_empty(end->error) && end->exit_code != 0) {
        say(end, seen, SW_ERROR, SW_REASON_START, "%s", end->error);
    } else if (end->timed_out) {
        say_time(end, seen);
    } else if (end->exit_code == 0 && !end->stopped) {
        say(end, seen, SW_COMPLETE, SW_REASON_EXIT, "exit code 0");
    } else {
        seen->signal = end->signal;
        judge_failure(end, seen);
    }
    return true;
}
