/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearsal_timeline.c - what an observer sees of a script at a given moment.
 *
 * State and log are functions of (script, submitted, canceled, now) and of nothing else: no process runs.
 * So ten thousand rehearsals cost nothing between two observations, a test may set the clock, and two
 * observers always see the same.
 *
 * Log lines of one step all have the same width; that is why byte N of a log of gigabytes is found
 * without making the bytes before it.
 *
 * Pure: no I/O, no clock, no allocation.
 */
#include "platform/rehearsal/rehearsal_internal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/reason.h"
#include "core/run_end.h"

#define LINE_WIDTH 64

/* What a run does not end with by itself; core/run_end.h has the other words. */
static const struct {
    enum sw_state state;
    const char *reason, *message;
} words[] = {
    [REHEARSE_PENDING]   = { SW_PENDING, SW_REASON_QUEUED, "waiting (scripted)" },
    [REHEARSE_RUNNING]   = { SW_RUNNING, "", "" },
    [REHEARSE_PAUSED]    = { SW_PAUSED, SW_REASON_PAUSED, "paused (scripted)" },
    [REHEARSE_REQUEUED]  = { SW_PENDING, SW_REASON_PREEMPTED, "preempted; the platform will start it "
                                                              "again" },
    [REHEARSE_UNSCHEDULABLE] = { SW_PENDING, SW_REASON_UNSCHEDULABLE, "no node has what it asks for" },
    [REHEARSE_EPOCHS]    = { SW_RUNNING, "", "" },
    [REHEARSE_LOST]      = { SW_ERROR, SW_REASON_LOST, "the job is gone and left no exit code" },
    [REHEARSE_NODE_LOST] = { SW_ERROR, SW_REASON_NODE_LOST, "its node failed" },
    [REHEARSE_PREEMPTED] = { SW_ERROR, SW_REASON_PREEMPTED, "preempted by a job of higher priority" },
    [REHEARSE_IMAGE]     = { SW_ERROR, SW_REASON_IMAGE_ERROR, "the image cannot be pulled" },
    [REHEARSE_VANISHED]  = { SW_UNKNOWN, SW_REASON_LOST, "the platform no longer knows the job" },
};

enum cause { BY_ITSELF, BY_LIMIT, BY_CANCEL };

struct course {                    /* the whole script, whatever time it is now */
    int64_t started_ms;            /* REHEARSAL_FOR_EVER: never */
    int64_t over_ms;               /* REHEARSAL_FOR_EVER: never */
    enum cause cause;
    const struct rehearsal_step *ending;    /* NULL: the script just stops, that is exit 0 */
};

static bool means_started(enum rehearsal_kind kind)
{
    return kind == REHEARSE_RUNNING || kind == REHEARSE_EPOCHS || kind == REHEARSE_EXIT ||
           kind == REHEARSE_SIGNAL || kind == REHEARSE_MEMORY;
}

static struct course plot(const struct rehearsal_script *script, const struct rehearsal_run *run)
{
    const struct rehearsal_step *last = script->count ? &script->steps[script->count - 1] : NULL;
    struct course course = { .ending = last && rehearsal_is_ending(last->kind) ? last : NULL };

    course.over_ms = rehearsal_later(run->submitted_ms, last ? last->ends_ms : 0);
    /* Without an ending there is an exit 0 at the end, as of every script. */
    course.started_ms = course.ending ? REHEARSAL_FOR_EVER : course.over_ms;
    for (size_t i = script->count; i-- > 0;)
        if (means_started(script->steps[i].kind))
            course.started_ms = rehearsal_later(run->submitted_ms, script->steps[i].at_ms);
    if (run->limit_ms > 0 && rehearsal_later(course.started_ms, run->limit_ms) < course.over_ms) {
        course.over_ms = rehearsal_later(course.started_ms, run->limit_ms);
        course.cause = BY_LIMIT;
    }
    if (run->canceled_ms > 0 && run->canceled_ms < course.over_ms) {
        course.over_ms = run->canceled_ms > run->submitted_ms ? run->canceled_ms
                                                              : run->submitted_ms;
        course.cause = BY_CANCEL;
    }
    return course;
}

static void say(struct sw_observation *out, enum sw_state state, const char *reason, const char *message)
{
    out->state = state;
    snprintf(out->reason, sizeof out->reason, "%s", reason);
    snprintf(out->message, sizeof out->message, "%s", message);
}

static void say_step(struct sw_observation *out, enum rehearsal_kind kind)
{
    say(out, words[kind].state, words[kind].reason, words[kind].message);
}

static void end_by_itself(const struct rehearsal_step *ending, struct sw_observation *out)
{
    enum rehearsal_kind kind = ending ? ending->kind : REHEARSE_EXIT;
    struct sw_run_end end = SW_RUN_END_INIT;

    if (kind > REHEARSE_MEMORY) {
        say_step(out, kind);
        if (kind == REHEARSE_VANISHED)
            out->presence = SW_ABSENT;
        if (kind == REHEARSE_NODE_LOST)
            snprintf(out->message, sizeof out->message, "node rehearsal-%d went away", ending->rank);
    } else {
        end.oom = kind == REHEARSE_MEMORY;
        end.signal = end.oom ? SIGKILL : kind == REHEARSE_SIGNAL ? (int)ending->number : 0;
        if (kind == REHEARSE_EXIT)
            end.exit_code = ending ? (int)ending->number : 0;
        sw_run_end_judge(&end, out);
    }
    if (out->state != SW_COMPLETE)
        out->failed_replica = ending->rank;
}

static void observe_end(const struct course *course, const struct rehearsal_run *run,
                        struct sw_observation *out)
{
    struct sw_run_end late = SW_RUN_END_INIT;

    out->ended_ms = course->over_ms;
    if (course->cause == BY_ITSELF) {
        end_by_itself(course->ending, out);
    } else if (course->cause == BY_LIMIT) {
        late.timed_out = true;
        late.time_limit_ms = run->limit_ms;
        sw_run_end_judge(&late, out);
        out->failed_replica = 0;
    } else {
        say(out, SW_CANCELED, SW_REASON_CANCELED, "canceled by its user");
        out->exit_code = 130;
    }
}

static void observe_middle(const struct rehearsal_script *script, const struct rehearsal_run *run,
                           struct sw_observation *out)
{
    say_step(out, REHEARSE_PENDING);
    for (size_t i = 0; i < script->count; i++) {
        const struct rehearsal_step *step = &script->steps[i];
        int64_t ends_ms = rehearsal_later(run->submitted_ms, step->ends_ms);

        if (step->ends_ms == step->at_ms || ends_ms <= run->now_ms)
            continue;
        say_step(out, step->kind);
        out->until_ms = out->state == SW_PENDING && ends_ms < REHEARSAL_FOR_EVER ? ends_ms : 0;
        return;
    }
}

void rehearsal_observe_at(const struct rehearsal_script *script, const struct rehearsal_run *run,
                          struct sw_observation *out)
{
    struct course course = plot(script, run);

    out->presence = SW_PRESENT;
    out->exit_code = SW_NO_EXIT_CODE;
    out->failed_replica = -1;
    out->started_ms = out->ended_ms = out->until_ms = 0;
    if (course.started_ms <= run->now_ms &&
        (course.started_ms < course.over_ms || course.cause == BY_ITSELF))
        out->started_ms = course.started_ms;
    if (course.over_ms <= run->now_ms)
        observe_end(&course, run, out);
    else
        observe_middle(script, run, out);
}

/* ---- the log -------------------------------------------------------------------------------- */

struct passage {                   /* the lines one step has written so far, all of one width */
    const struct rehearsal_step *step;
    size_t next;                   /* the step after it */
    int64_t last_ms;               /* now, or when the job was over */
    int64_t at_ms;                 /* when the step began */
    int64_t lines, width;
    int64_t begins, ends;          /* in the log */
};

static int digits(int64_t number)
{
    return snprintf(NULL, 0, "%lld", (long long)number);
}

static void measure(struct passage *passage)
{
    const struct rehearsal_step *step = passage->step;
    bool epochs = step->kind == REHEARSE_EPOCHS, text = step->kind == REHEARSE_LOG_TEXT;
    int64_t most = text ? 1 : step->number;
    int64_t written = epochs && step->length_ms > 0
                          ? (passage->last_ms - passage->at_ms) / step->length_ms : most;

    passage->lines = written < most ? written : most;
    passage->width = text                                 ? (int64_t)strlen(step->text) + 1
                     : step->kind == REHEARSE_LOG_LINES ? LINE_WIDTH
                     : epochs ? (int64_t)strlen("epoch / loss 0.00000\n") + 2 * digits(step->number)
                              : 0;
}

/* On to the next step that has begun; false: there is none. Starts from a passage of zeros. */
static bool next_passage(const struct rehearsal_script *script, const struct rehearsal_run *run,
                         struct passage *passage)
{
    int64_t over_ms = passage->next == 0 ? plot(script, run).over_ms : passage->last_ms;

    passage->last_ms = run->now_ms < over_ms ? run->now_ms : over_ms;
    passage->begins = passage->ends;
    if (passage->next == script->count)
        return false;
    passage->step = &script->steps[passage->next++];
    passage->at_ms = rehearsal_later(run->submitted_ms, passage->step->at_ms);
    if (passage->at_ms > passage->last_ms)
        return false;
    measure(passage);
    passage->ends += passage->lines * passage->width;
    return true;
}

/* Copies line `index` of a passage from column `from`; at most `size` bytes. */
static size_t copy_line(const struct passage *passage, int64_t index, int64_t from, char *bytes,
                        size_t size)
{
    const struct rehearsal_step *step = passage->step;
    char made[128] = "";
    const char *line = made;
    size_t rest = (size_t)(passage->width - from), n = rest < size ? rest : size;

    if (step->kind == REHEARSE_LOG_TEXT)
        line = step->text;
    else if (step->kind == REHEARSE_LOG_LINES)
        snprintf(made, sizeof made, "rehearsal line %012lld ...................................",
                 (long long)index + 1);
    else
        snprintf(made, sizeof made, "epoch %*lld/%lld loss %7.5f", digits(step->number),
                 (long long)index + 1, (long long)step->number, 4.0 / (double)(index + 1));
    memcpy(bytes, line + from, n);
    if (n == rest)
        bytes[n - 1] = '\n';                 /* in the terminator's place */
    return n;
}

size_t rehearsal_log_read(const struct rehearsal_script *script, const struct rehearsal_run *run,
                          int64_t offset, char *bytes, size_t size)
{
    struct passage passage = { 0 };
    size_t done = 0;

    while (offset >= 0 && done < size && next_passage(script, run, &passage))
        while (offset < passage.ends && done < size) {
            int64_t inside = offset - passage.begins, line = inside / passage.width;
            size_t n = copy_line(&passage, line, inside - line * passage.width, bytes + done,
                                 size - done);

            done += n;
            offset += (int64_t)n;
        }
    return done;
}

int64_t rehearsal_log_size(const struct rehearsal_script *script, const struct rehearsal_run *run)
{
    struct passage passage = { 0 };

    while (next_passage(script, run, &passage))
        ;
    return passage.ends;
}

int64_t rehearsal_log_since(const struct rehearsal_script *script,
                            const struct rehearsal_run *run, int64_t at_ms)
{
    struct rehearsal_run before = *run;

    /* What was there a moment earlier is exactly what was not written since. */
    if (at_ms <= run->now_ms)
        before.now_ms = at_ms - 1;
    return before.now_ms < run->submitted_ms ? 0 : rehearsal_log_size(script, &before);
}

void rehearsal_log_time(const struct rehearsal_script *script, const struct rehearsal_run *run,
                        int64_t offset, int64_t *at_ms, int64_t *until)
{
    struct passage passage = { 0 };

    *at_ms = 0;
    *until = offset;
    while (next_passage(script, run, &passage))
        if (offset >= passage.begins && offset < passage.ends) {
            const struct rehearsal_step *step = passage.step;
            int64_t lines = (offset - passage.begins) / passage.width + 1;
            bool line_by_line = step->kind == REHEARSE_EPOCHS && step->length_ms > 0;

            *at_ms = passage.at_ms + (line_by_line ? lines * step->length_ms : 0);
            *until = line_by_line ? passage.begins + lines * passage.width : passage.ends;
            return;
        }
}

int64_t rehearsal_last_output(const struct rehearsal_script *script,
                              const struct rehearsal_run *run)
{
    struct course course = plot(script, run);
    int64_t size = rehearsal_log_size(script, run), at_ms = 0, until = 0;

    if (size > 0)
        rehearsal_log_time(script, run, size - 1, &at_ms, &until);
    return at_ms > 0 ? at_ms : course.started_ms <= run->now_ms ? course.started_ms : 0;
}
