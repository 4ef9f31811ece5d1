/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_observation.c - all that was answered about one job, as one observation.
 *
 * Three witnesses, in this order: squeue says what is going on, sacct how parts ended (its step rows
 * too: a batch script that ends with 0 hides a step that failed), and the record that the job's own
 * script left says how and why, exactly, also where accounting is switched off. As long as squeue
 * shows any part of the job at work the job is not over, whatever the record says.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/run_end.h"
#include "core/state.h"

enum { PATIENCE_MS = 15000 };

/* Array tasks and parts of a heterogeneous job, counted. They end independently, so kit/ranks.h, where one
 * failure ends the others, does not fit (docs/decisions/0056). */
struct slurm_tally {
    size_t count[SW_CANCELED + 1];   /* parts by state */
    const char *said;                /* the word of the part that decides */
    const char *note, *why;
    int64_t start_ms, end_ms, expected_ms;
    const char *nodes;
    int code, signal;                /* of the first part that failed */
    int failed_task;                 /* -1: none */
    int64_t job;
    bool accounted;                  /* sacct knows an end */
};

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

static bool has_mark(const char *comment, const char *mark)
{
    size_t length = strlen(mark);

    return strncmp(comment, mark, length) == 0 &&
           (comment[length] == '\0' || comment[length] == ' ');
}

/* Either is enough: sites write comments of their own, and a user may rename a job. */
bool slurm_is_ours(const struct slurm_mark *mark, const char *name, const char *comment)
{
    return sw_text_same(mark->name, name) || has_mark(comment, mark->comment);
}

static int by_number(const void *a, const void *b)
{
    const struct slurm_row *x = a, *y = b;

    if (x->id.job != y->id.job)
        return x->id.job > y->id.job ? 1 : -1;
    return (x->state > y->state) - (x->state < y->state);      /* the same line order as before */
}

void slurm_rows_sort(struct slurm_rows *rows)
{
    if (rows->count)
        qsort(rows->items, rows->count, sizeof *rows->items, by_number);
}

static const struct slurm_row *find_live(const struct slurm_rows *rows, int64_t job)
{
    size_t low = 0, high = rows->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (rows->items[middle].id.job < job)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rows->count && rows->items[low].id.job == job ? &rows->items[low] : NULL;
}

/* The row after this one, if it is of the same job. */
static const struct slurm_row *next_row(const struct slurm_rows *rows, const struct slurm_row *row)
{
    return row + 1 < rows->items + rows->count && row[1].id.job == row->id.job ? row + 1 : NULL;
}

/* The newest Slurm job that is this attempt: a successor has a higher number. */
static int64_t number_of(const struct slurm_rows *live, const struct slurm_known *known)
{
    int64_t number = known->number;

    for (size_t i = 0; known->search && i < live->count; i++)
        if (has_mark(live->items[i].comment, known->mark.comment) && live->items[i].id.job > number)
            number = live->items[i].id.job;
    return number;
}

static bool decides(enum sw_state a, enum sw_state b)
{
    static const int weight[] = {
        [SW_UNKNOWN] = 0, [SW_COMPLETE] = 1, [SW_CANCELED] = 2, [SW_ERROR] = 3,
        [SW_PENDING] = 4, [SW_PAUSED] = 5, [SW_RUNNING] = 6,
    };

    return weight[a] > weight[b];
}

static enum sw_state overall(const struct slurm_tally *tally)
{
    enum sw_state state = SW_UNKNOWN;

    for (int s = SW_UNKNOWN; s <= SW_CANCELED; s++)
        if (tally->count[s] && decides((enum sw_state)s, state))
            state = (enum sw_state)s;
    return state;
}

/* One part of the job; the one whose state weighs most decides what is said. */
static void add_part(struct slurm_tally *tally, const struct slurm_row *row)
{
    const char *note;
    enum sw_state state = slurm_state(row->state, &note);

    if (!tally->said || decides(state, slurm_state(tally->said, NULL))) {
        tally->said = row->state;
        tally->note = note;
        tally->why = row->why;
        tally->nodes = row->nodes;
    }
    tally->count[state]++;
    if (state == SW_PENDING) {
        if (row->start_ms && (!tally->expected_ms || row->start_ms < tally->expected_ms))
            tally->expected_ms = row->start_ms;
        return;
    }
    if (row->start_ms && (!tally->start_ms || row->start_ms < tally->start_ms))
        tally->start_ms = row->start_ms;
    if (sw_state_is_final(state) && row->end_ms > tally->end_ms)
        tally->end_ms = row->end_ms;
}

static bool squeue_has(const struct slurm_rows *live, const struct slurm_mark *mark,
                       const struct slurm_id *id)
{
    for (const struct slurm_row *row = find_live(live, id->job); row; row = next_row(live, row))
        if (slurm_is_ours(mark, row->name, row->comment) &&
            (row->id.many || (row->id.task == id->task && row->id.part == id->part)))
            return true;
    return false;
}

/* Does accounting speak of our job under this number? Its steps have names of their own. It may not know
 * the job's name yet ("allocation"): then squeue's word for the number counts, which it has for one job. */
static bool past_is_ours(const struct slurm_answers *answers, const struct slurm_mark *mark, int64_t job)
{
    const struct slurm_row *live = find_live(&answers->live, job);

    if (live)
        return slurm_is_ours(mark, live->name, live->comment);
    for (size_t i = 0; i < answers->past.count; i++) {
        const struct slurm_row *row = &answers->past.items[i];

        if (row->id.job == job && !row->id.step[0] && slurm_is_ours(mark, row->name, row->comment))
            return true;
    }
    return false;
}

static void add_failure(struct slurm_tally *tally, const struct slurm_row *row)
{
    int code = row->code ? row->code : row->derived_code;

    if (tally->code || tally->signal)
        return;
    tally->code = code > 0 ? code : 0;
    tally->signal = row->signal;
    tally->failed_task = row->id.task;
}

/* A row of sacct; what squeue has is the present. A step may have failed although the job says that it
 * completed. */
static void add_past(struct slurm_tally *tally, const struct slurm_rows *live, const struct slurm_mark *mark,
                     const struct slurm_row *row)
{
    enum sw_state state = slurm_state(row->state, NULL);

    if (row->id.step[0] && (state != SW_ERROR || !strcmp(row->id.step, "extern")))
        return;
    if (state == SW_ERROR)
        add_failure(tally, row);
    if (!row->id.step[0]) {
        tally->accounted |= sw_state_is_final(state);
        if (!squeue_has(live, mark, &row->id))
            add_part(tally, row);
    } else if (overall(tally) == SW_COMPLETE) {
        tally->count[SW_ERROR]++;
        tally->said = row->state;
        tally->note = "a step of it failed";
    }
}

static bool gather(const struct slurm_answers *answers, const struct slurm_known *known,
                   struct slurm_tally *tally)
{
    bool any = false, accounted;

    tally->failed_task = -1;
    tally->job = number_of(&answers->live, known);
    accounted = tally->job && past_is_ours(answers, &known->mark, tally->job);
    for (const struct slurm_row *row = find_live(&answers->live, tally->job); row;
         row = next_row(&answers->live, row))
        if (slurm_is_ours(&known->mark, row->name, row->comment)) {
            add_part(tally, row);
            any = true;
        }
    for (int steps = 0; accounted && steps < 2; steps++)
        for (size_t i = 0; i < answers->past.count; i++) {
            const struct slurm_row *row = &answers->past.items[i];

            if (row->id.job != tally->job || (row->id.step[0] != '\0') != (steps == 1))
                continue;
            any = true;
            add_past(tally, &answers->live, &known->mark, row);
        }
    return any;
}

/* ---- what is said about it --------------------------------------------------------------------- */

char *slurm_waits_for(const char *dependency)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *at = dependency ? dependency : "";

    while (*at) {
        size_t length = strcspn(at, ":,?+");
        bool named = at > dependency && at[-1] == ':' && length > 0;

        if (named)
            sw_buf_addf(&out, "%s%s%.*s", out.length ? ", " : "",
                        isdigit((unsigned char)*at) ? "Slurm job " : "", (int)length, at);
        at += length + (at[length] != '\0');
    }
    return out.length ? sw_buf_steal(&out) : NULL;
}

/* "the nodes it needs are busy (Resources)" */
static void say_waiting(struct sw_observation *out, const struct slurm_tally *tally, const char *dependency,
                        int64_t now_ms)
{
    const char *said = tally->why ? tally->why : "None";
    const char *reason, *sentence;
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_autofree char *others = NULL;

    slurm_waiting(said, &reason, &sentence);
    others = strcmp(reason, SW_REASON_DEPENDENCY) == 0 ? slurm_waits_for(dependency) : NULL;
    if (tally->note)
        sentence = tally->note;
    if (others)
        sw_buf_addf(&text, "it is waiting for %.100s", others);
    else
        sw_buf_add(&text, sentence ? sentence : "it is in the queue");
    if (strcmp(said, "None") != 0)
        sw_buf_addf(&text, " (%.60s)", said);
    out->until_ms = tally->expected_ms > now_ms ? tally->expected_ms : 0;
    copy(out->reason, sizeof out->reason, reason);
    copy(out->message, sizeof out->message, sw_buf_text(&text));
}

/* ---- how it ended ------------------------------------------------------------------------------- */

static void judge(struct sw_observation *out, struct sw_run_end *end)
{
    if (slurm_replicas_of(&out->job) > 1 && !slurm_is_array(&out->job))
        end->rank = out->failed_replica;
    end->time_limit_ms = sw_json_int(out->job.plan, "time_ms", 0);
    end->memory_limit_bytes = sw_json_int(out->job.plan, "memory_bytes", 0);
    sw_run_end_judge(end, out);
}

/* Slurm's own words for what it did to the job (a node, a preemption); of an exit code it knows no more. */
static void judge_tally(struct sw_observation *out, const struct slurm_tally *tally)
{
    struct sw_run_end end = SW_RUN_END_INIT;
    const char *reason = slurm_end_reason(tally->said);

    out->failed_replica = tally->failed_task >= 0 ? tally->failed_task : out->failed_replica;
    end.exit_code = tally->code ? tally->code : SW_NO_EXIT_CODE;
    end.signal = tally->signal < NSIG ? tally->signal : 0;      /* 125: out of memory */
    end.timed_out = sw_text_starts(tally->said, "TIMEOUT");
    end.oom = !strcmp(reason, SW_REASON_MEMORY);
    judge(out, &end);
    if (!tally->note || end.timed_out || end.oom)
        return;
    copy(out->message, sizeof out->message, tally->note);
    if (strcmp(reason, SW_REASON_EXIT) != 0)
        copy(out->reason, sizeof out->reason, reason);
}

/* Marks of our script that are an end of their own. */
static const struct {
    const char *mark, *reason, *message;
} marks[] = {
    { "image-error",  SW_REASON_IMAGE_ERROR, "the image could not be fetched" },
    { "node-lost",    SW_REASON_NODE_LOST,   "no retries left" },
    { "status",       SW_REASON_STATUS,      "its own status.json reports FAILURE" },
    { "no-runner",    SW_REASON_EXIT,        "no runner for its processors" },
    { "other-runner", SW_REASON_EXIT,        "its runner was changed" },
    { "no-mounts",    SW_REASON_EXIT,        "the list of mounts is gone" },
    { "preempted",    SW_REASON_PREEMPTED,   "another job took its nodes" },
    { "node",         SW_REASON_NODE_LOST,   "one of its nodes failed" },
};

/* Our script's own last word; it knows signal and rank exactly. */
static void judge_record(struct sw_observation *out, const struct slurm_exit *exit)
{
    const char *mark = sw_json_str(exit->record, "mark");
    int64_t started = sw_json_int(exit->record, "started", 0), ended = sw_json_int(exit->record, "ended", 0);
    struct sw_run_end end = SW_RUN_END_INIT;

    out->presence = SW_PRESENT;
    out->failed_replica = (int)sw_json_int(exit->record, "failed_replica", -1);
    out->started_ms = out->started_ms ? out->started_ms : started * 1000;
    out->ended_ms = ended ? ended * 1000 : out->ended_ms;
    end.exit_code = (int)sw_json_int(exit->record, "exit_code", SW_NO_EXIT_CODE);
    if (end.exit_code != 0) {
        sw_run_end_report(&end, exit->report);
        end.timed_out |= sw_text_same(mark, "time");
        end.by_hand = sw_text_same(mark, "canceled");
    }
    judge(out, &end);
    for (size_t i = 0; i < SW_COUNT(marks) && end.exit_code != 0; i++)
        if (sw_text_same(marks[i].mark, mark)) {
            copy(out->reason, sizeof out->reason, marks[i].reason);
            copy(out->message, sizeof out->message, marks[i].message);
        }
}

static void set_canceled(struct sw_observation *out)
{
    out->state = SW_CANCELED;
    out->exit_code = SW_NO_EXIT_CODE;
    out->signal = 0;
    out->failed_replica = -1;
    copy(out->reason, sizeof out->reason, SW_REASON_CANCELED);
    out->message[0] = '\0';
}

/* Slurm ends a job whose dependency can never come true and calls that a cancel; one by a person has a "by"
 * in accounting and another reason in the queue. */
static bool dependency_failed(const struct slurm_tally *tally, const struct slurm_known *known)
{
    if (!known->dependency || known->canceled || overall(tally) != SW_CANCELED)
        return false;
    return tally->why ? sw_text_starts(tally->why, "DependencyNeverSatisfied")
                      : strcmp(tally->said, "CANCELLED") == 0 &&
                            (!tally->nodes || !*tally->nodes || sw_text_starts(tally->nodes, "None"));
}

static void say_dependency_failed(struct sw_observation *out, const char *dependency)
{
    sw_autofree char *others = slurm_waits_for(dependency);

    out->state = SW_ERROR;
    out->started_ms = 0;
    out->exit_code = SW_NO_EXIT_CODE;
    copy(out->reason, sizeof out->reason, SW_REASON_DEPENDENCY_FAILED);
    snprintf(out->message, sizeof out->message, "%.120s did not finish as required (%.80s): it never "
                                                "started",
             others ? others : "the job it depends on", dependency);
}

static void from_tally(struct sw_observation *out, const struct slurm_tally *tally,
                       const struct slurm_known *known)
{
    int64_t now_ms = known->now_ms;

    out->presence = SW_PRESENT;
    out->state = overall(tally);
    out->started_ms = tally->start_ms;
    snprintf(out->remote_id, sizeof out->remote_id, "%lld", (long long)tally->job);
    if (tally->nodes)
        slurm_first_node(tally->nodes, out->node);
    if (sw_state_is_final(out->state))
        out->ended_ms = tally->end_ms ? tally->end_ms : now_ms;
    if (out->state == SW_PENDING)
        say_waiting(out, tally, known->dependency, now_ms);
    else if (out->state == SW_ERROR)
        judge_tally(out, tally);
    else if (out->state == SW_COMPLETE)
        judge(out, &(struct sw_run_end){ .rank = -1, .failed_peer = -1 });
    else if (out->state == SW_CANCELED)
        set_canceled(out);
    else
        copy(out->message, sizeof out->message, tally->note);
    if (out->state == SW_UNKNOWN && tally->said)
        snprintf(out->message, sizeof out->message, "Slurm says '%.100s'", tally->said);
}

/* Accounting comes some seconds later, and would know how it failed. */
static bool is_too_early(const struct slurm_tally *tally, const struct slurm_known *known,
                         const struct sw_observation *out)
{
    return out->state == SW_ERROR && known->accounting && !tally->accounted && !known->exit.record &&
           !known->task_exit.record && tally->end_ms && known->now_ms - tally->end_ms < PATIENCE_MS;
}

/* Of an array: the record of the first task that failed. */
static void judge_task(struct sw_observation *out, const struct slurm_known *known)
{
    int64_t started = out->started_ms, ended = out->ended_ms;

    judge_record(out, &known->task_exit);
    out->started_ms = started;
    out->ended_ms = ended;
    out->failed_replica = known->task;
}

bool slurm_observation(const struct slurm_answers *answers, const struct slurm_known *known,
                       struct sw_observation *out)
{
    struct slurm_tally tally = { 0 };
    bool any = gather(answers, known, &tally);

    if (!any && !known->exit.record)
        return false;
    if (any)
        from_tally(out, &tally, known);
    /* What Slurm itself did to the job (time, memory, a node, a cancel) it alone knows. */
    if (known->exit.record && (!any || out->state == SW_COMPLETE ||
                        (out->state == SW_ERROR && (sw_text_starts(tally.said, "FAILED") ||
                                                           sw_text_starts(tally.said, "COMPLETED")))))
        judge_record(out, &known->exit);
    else if (any && is_too_early(&tally, known, out)) {
        out->state = SW_RUNNING;
        out->exit_code = SW_NO_EXIT_CODE;
        out->ended_ms = 0;
        copy(out->reason, sizeof out->reason, "");
        copy(out->message, sizeof out->message, "its end is being recorded");
    } else if (out->state == SW_ERROR && known->task_exit.record) {
        judge_task(out, known);
    }
    if (any && dependency_failed(&tally, known))
        say_dependency_failed(out, known->dependency);
    if (known->canceled && sw_state_is_final(out->state) && out->state != SW_COMPLETE)
        set_canceled(out);
    if (!any && !out->remote_id[0] && known->number)
        snprintf(out->remote_id, sizeof out->remote_id, "%lld", (long long)known->number);
    return true;
}
