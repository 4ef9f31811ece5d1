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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"

enum { PATIENCE_MS = 15000 };

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
    const struct slurm_live *x = a, *y = b;

    if (x->id.job != y->id.job)
        return x->id.job > y->id.job ? 1 : -1;
    return (x->state > y->state) - (x->state < y->state);      /* the same line order as before */
}

void slurm_live_sort(struct slurm_live *rows, size_t count)
{
    size_t i = 1;

    while (i < count && rows[i - 1].id.job <= rows[i].id.job)
        i++;
    if (i < count)                         /* mostly squeue has done it */
        qsort(rows, count, sizeof *rows, by_number);
}

static const struct slurm_live *find_live(const struct slurm_live *rows, size_t count, int64_t job)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (rows[middle].id.job < job)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && rows[low].id.job == job ? &rows[low] : NULL;
}

/* The row after this one, if it is of the same job. */
static const struct slurm_live *next_row(const struct slurm_answers *answers, const struct slurm_live *row)
{
    return row + 1 < answers->live + answers->live_count && row[1].id.job == row->id.job ? row + 1 : NULL;
}

/* The newest Slurm job that is this attempt: a successor has a higher number. */
static int64_t number_of(const struct slurm_answers *answers, const struct slurm_known *known)
{
    int64_t number = known->slurm_id;

    for (size_t i = 0; known->search && i < answers->live_count; i++)
        if (has_mark(answers->live[i].comment, known->mark.comment) && answers->live[i].id.job > number)
            number = answers->live[i].id.job;
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

static void note_time(struct slurm_tally *tally, int64_t start_ms, int64_t end_ms)
{
    if (start_ms && (!tally->start_ms || start_ms < tally->start_ms))
        tally->start_ms = start_ms;
    if (end_ms > tally->end_ms)
        tally->end_ms = end_ms;
}

static void add_live(struct slurm_tally *tally, const struct slurm_live *row)
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
    if (state == SW_PENDING && row->start_ms &&
        (!tally->expected_ms || row->start_ms < tally->expected_ms))
        tally->expected_ms = row->start_ms;
    else if (state != SW_PENDING)
        note_time(tally, row->start_ms, sw_state_is_final(state) ? row->end_ms : 0);
}

static bool squeue_has(const struct slurm_answers *answers, const struct slurm_mark *mark,
                       const struct slurm_id *id)
{
    for (const struct slurm_live *row = find_live(answers->live, answers->live_count, id->job); row;
         row = next_row(answers, row))
        if (slurm_is_ours(mark, row->name, row->comment) &&
            (row->id.many || (row->id.task == id->task && row->id.part == id->part)))
            return true;
    return false;
}

/* Does accounting speak of our job under this number? Its steps have names of their own. It may not know
 * the job's name yet ("allocation"): then squeue's word for the number counts, which it has for one job. */
static bool past_is_ours(const struct slurm_answers *answers, const struct slurm_mark *mark, int64_t job)
{
    const struct slurm_live *live = find_live(answers->live, answers->live_count, job);

    if (live)
        return slurm_is_ours(mark, live->name, live->comment);
    for (size_t i = 0; i < answers->past_count; i++) {
        const struct slurm_past *row = &answers->past[i];

        if (row->id.job == job && !row->id.step[0] && slurm_is_ours(mark, row->name, row->comment))
            return true;
    }
    return false;
}

static void add_failure(struct slurm_tally *tally, const struct slurm_past *row)
{
    int code = row->code ? row->code : row->derived_code;

    if (tally->code || tally->signal)
        return;
    tally->code = code > 0 ? code : 0;
    tally->signal = row->signal;
    tally->failed_task = row->id.task;
}

static void add_past(struct slurm_tally *tally, const struct slurm_answers *answers,
                     const struct slurm_mark *mark, const struct slurm_past *row)
{
    const char *note;
    enum sw_state state = slurm_state(row->state, &note);

    tally->accounted |= sw_state_is_final(state);
    if (state == SW_ERROR)
        add_failure(tally, row);
    if (squeue_has(answers, mark, &row->id))        /* it knows the present */
        return;
    if (!tally->said || decides(state, slurm_state(tally->said, NULL))) {
        tally->said = row->state;
        tally->note = note;
        tally->nodes = row->nodes;
    }
    tally->count[state]++;
    note_time(tally, row->start_ms, sw_state_is_final(state) ? row->end_ms : 0);
}

/* A step that failed although the job says that it completed. */
static void add_step(struct slurm_tally *tally, const struct slurm_past *row)
{
    if (slurm_state(row->state, NULL) != SW_ERROR || !strcmp(row->id.step, "extern"))
        return;
    add_failure(tally, row);
    if (overall(tally) == SW_COMPLETE) {
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
    tally->job = number_of(answers, known);
    accounted = tally->job && past_is_ours(answers, &known->mark, tally->job);
    for (const struct slurm_live *row = find_live(answers->live, answers->live_count, tally->job); row;
         row = next_row(answers, row)) {
        if (!slurm_is_ours(&known->mark, row->name, row->comment))
            continue;
        add_live(tally, row);
        any = true;
    }
    for (int steps = 0; accounted && steps < 2; steps++)
        for (size_t i = 0; i < answers->past_count; i++) {
            const struct slurm_past *row = &answers->past[i];

            if (row->id.job != tally->job || (row->id.step[0] != '\0') != (steps == 1))
                continue;
            any = true;
            if (steps)
                add_step(tally, row);
            else
                add_past(tally, answers, &known->mark, row);
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
        sw_buf_addf(&text, "it waits for %.100s", others);
    else
        sw_buf_add(&text, sentence ? sentence : "it is in the queue");
    if (strcmp(said, "None") != 0)
        sw_buf_addf(&text, " (%.60s)", said);
    out->until_ms = tally->expected_ms > now_ms ? tally->expected_ms : 0;
    copy(out->reason, sizeof out->reason, reason);
    copy(out->message, sizeof out->message, sw_buf_text(&text));
}

static void say_end(struct sw_observation *out, const struct slurm_tally *tally)
{
    const char *reason = slurm_end_reason(tally->said);

    out->signal = tally->signal;
    out->exit_code = tally->signal ? 128 + tally->signal
                     : tally->code || strcmp(reason, SW_REASON_EXIT) ? tally->code : SW_NO_EXIT_CODE;
    if (!strcmp(reason, SW_REASON_EXIT) && tally->signal)
        reason = SW_REASON_SIGNAL;
    copy(out->reason, sizeof out->reason, reason);
    if (tally->failed_task >= 0)
        out->failed_replica = tally->failed_task;
    if (tally->note)
        copy(out->message, sizeof out->message, tally->note);
    else if (tally->signal)
        snprintf(out->message, sizeof out->message, "ended by signal %d", tally->signal);
    else if (tally->code)
        snprintf(out->message, sizeof out->message, "exit code %d", tally->code);
    else
        copy(out->message, sizeof out->message, "it failed, and its exit code is not known");
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
    snprintf(out->message, sizeof out->message, "%.120s did not end as asked (%.80s): it never started",
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
    switch (out->state) {
    case SW_PENDING:
        say_waiting(out, tally, known->dependency, now_ms);
        break;
    case SW_ERROR:
        say_end(out, tally);
        break;
    case SW_COMPLETE:
        out->exit_code = 0;
        break;
    case SW_CANCELED:
        copy(out->reason, sizeof out->reason, SW_REASON_CANCELED);
        break;
    default:
        copy(out->message, sizeof out->message, tally->note ? tally->note : "");
    }
    if (out->state == SW_UNKNOWN && tally->said)
        snprintf(out->message, sizeof out->message, "Slurm says '%.100s'", tally->said);
}

/* Our script's own last word; it knows signal, rank and reason exactly. */
static void from_record(struct sw_observation *out, const json_t *record)
{
    int code = (int)sw_json_int(record, "exit_code", SW_NO_EXIT_CODE);
    const char *reason = sw_json_str(record, "reason");
    int64_t ended = sw_json_int(record, "ended", 0);

    out->presence = SW_PRESENT;
    out->state = code == 0 ? SW_COMPLETE : SW_ERROR;
    out->exit_code = code;
    out->signal = (int)sw_json_int(record, "signal", 0);
    out->failed_replica = (int)sw_json_int(record, "failed_replica", -1);
    copy(out->reason, sizeof out->reason, code == 0 ? "" : out->signal && !reason ? SW_REASON_SIGNAL
                                                   : reason ? reason : SW_REASON_EXIT);
    copy(out->message, sizeof out->message, sw_json_str(record, "message"));
    if (sw_json_int(record, "started", 0) && !out->started_ms)
        out->started_ms = sw_json_int(record, "started", 0) * 1000;
    if (ended)
        out->ended_ms = ended * 1000;
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

/* Accounting comes some seconds later, and would know how it failed. */
static bool is_too_early(const struct slurm_tally *tally, const struct slurm_known *known,
                         const struct sw_observation *out)
{
    return out->state == SW_ERROR && known->accounting && !tally->accounted && !known->exit &&
           !known->task_exit && tally->end_ms && known->now_ms - tally->end_ms < PATIENCE_MS;
}

/* Of an array: the record of the first task that failed. */
static void from_task(struct sw_observation *out, const struct slurm_known *known)
{
    int64_t started = out->started_ms, ended = out->ended_ms;

    from_record(out, known->task_exit);
    out->started_ms = started;
    out->ended_ms = ended;
    out->failed_replica = known->task;
}

bool slurm_observation(const struct slurm_answers *answers, const struct slurm_known *known,
                       struct sw_observation *out)
{
    struct slurm_tally tally = { 0 };
    bool any = gather(answers, known, &tally);

    if (!any && !known->exit)
        return false;
    if (any)
        from_tally(out, &tally, known);
    /* What Slurm itself did to the job (time, memory, a node, a cancel) it alone knows. */
    if (known->exit && (!any || out->state == SW_COMPLETE ||
                        (out->state == SW_ERROR && (sw_text_starts(tally.said, "FAILED") ||
                                                    sw_text_starts(tally.said, "COMPLETED")))))
        from_record(out, known->exit);
    else if (any && is_too_early(&tally, known, out)) {
        out->state = SW_RUNNING;
        out->exit_code = SW_NO_EXIT_CODE;
        out->ended_ms = 0;
        copy(out->reason, sizeof out->reason, "");
        copy(out->message, sizeof out->message, "its end is being written down");
    } else if (out->state == SW_ERROR && known->task_exit) {
        from_task(out, known);
    }
    if (any && dependency_failed(&tally, known))
        say_dependency_failed(out, known->dependency);
    if (known->canceled && sw_state_is_final(out->state) && out->state != SW_COMPLETE)
        set_canceled(out);
    if (!any && !out->remote_id[0] && known->slurm_id)
        snprintf(out->remote_id, sizeof out->remote_id, "%lld", (long long)known->slurm_id);
    return true;
}
