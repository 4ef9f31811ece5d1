/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_observe.c - ask about all jobs in one round trip (slurm_observe.sh), and act on what was seen.
 *
 * Slurm not answering says nothing about jobs: then nothing changes.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/report.h"
#include "platform/slurm/slurm_retry.h"

struct slurm_question {            /* one job, and what was answered about it besides the rows */
    int64_t number;                /* Slurm's; 0: not known */
    char *name, *comment;          /* by which a row is known to be about it; owned */
    char *log;                     /* its main log, when its growth matters; owned; NULL */
    const char *dependency;        /* borrowed; NULL: none */
    bool is_array;
    json_t *exit, *report;
    json_t *task_exit;             /* of the first task that failed */
    int task;
    bool canceled, submitting;
    struct sw_buf attempts;
    int64_t grown_ms;
};

struct slurm_poll {                /* one round trip */
    struct slurm_question *jobs;
    size_t count;
    struct slurm_live *live;
    struct slurm_past *past;
    size_t live_count, past_count, live_room, past_room;
    bool accounting_silent, accounting_off;
    bool search;                   /* some number is not known: the rows are of all jobs */
};

static void slurm_poll_auto(struct slurm_poll *poll)
{
    for (size_t i = 0; i < poll->count; i++) {
        struct slurm_question *job = &poll->jobs[i];

        free(job->name);
        free(job->comment);
        free(job->log);
        json_decref(job->exit);
        json_decref(job->report);
        json_decref(job->task_exit);
        sw_buf_done(&job->attempts);
    }
    free(poll->jobs);
    free(poll->live);
    free(poll->past);
}

/* ---- the answer ----------------------------------------------------------------------------------- */

static void add_live(struct slurm_poll *poll, char *line)
{
    if (poll->live_count == poll->live_room) {
        poll->live_room = poll->live_room ? poll->live_room * 2 : 64;
        poll->live = sw_realloc_array(poll->live, poll->live_room, sizeof *poll->live);
    }
    poll->live_count += slurm_squeue_line(line, &poll->live[poll->live_count]);
}

static void add_past(struct slurm_poll *poll, char *line)
{
    if (poll->past_count == poll->past_room) {
        poll->past_room = poll->past_room ? poll->past_room * 2 : 64;
        poll->past = sw_realloc_array(poll->past, poll->past_room, sizeof *poll->past);
    }
    poll->past_count += slurm_sacct_line(line, &poll->past[poll->past_count]);
}

static void note_growth(struct slurm_poll *poll, struct slurm_record *record)
{
    int64_t at_ms = slurm_when(slurm_field(record));

    for (size_t i = 0; i < poll->count; i++)
        if (sw_text_same(poll->jobs[i].log, record->rest))
            poll->jobs[i].grown_ms = at_ms;
}

/* Kept when it failed and no task before it did. */
static void note_task(struct slurm_question *job, struct slurm_record *record)
{
    const char *number = slurm_field(record);
    char *end = NULL;
    long task = strtol(number, &end, 10);
    sw_auto(json) json_t *exit = sw_json_parse(record->rest, strlen(record->rest), "exit record", NULL);

    if (end == number || *end || !exit || sw_json_int(exit, "exit_code", 0) == 0 || task < 0 ||
        task > INT32_MAX || (job->task_exit && job->task <= (int)task))
        return;
    json_decref(job->task_exit);
    job->task_exit = sw_take(exit);
    job->task = (int)task;
}

static void read_job(struct slurm_question *job, struct sw_observation *seen, struct slurm_record *record)
{
    const char *kind = record->kind, *text = record->rest;

    if (!strcmp(kind, "number"))
        job->number = strtoll(text, NULL, 10);
    else if (!strcmp(kind, "canceled"))
        job->canceled = true;
    else if (!strcmp(kind, "attempt"))
        sw_buf_addf(&job->attempts, "%s\n", text);
    else if (!strcmp(kind, "submitting"))
        job->submitting = true;
    else if (!strcmp(kind, "secrets"))
        seen->leaves_secrets = true;
    else if (!strcmp(kind, "task"))
        note_task(job, record);
    else if (!strcmp(kind, "report") && !job->report)
        job->report = sw_report_parse(text, strlen(text));
    else if (!strcmp(kind, "exit") && !job->exit)
        job->exit = sw_json_parse(text, strlen(text), "exit record", NULL);
}

static void read_answer(struct slurm_poll *poll, struct sw_observation *seen, struct sw_buf *answer)
{
    struct slurm_records records = slurm_records_of(answer);
    struct slurm_record record;

    while (slurm_record_next(&records, &record)) {
        size_t i;

        if (!strcmp(record.kind, "squeue"))
            add_live(poll, record.rest);
        else if (!strcmp(record.kind, "sacct"))
            add_past(poll, record.rest);
        else if (!strcmp(record.kind, "grown"))
            note_growth(poll, &record);
        else if (!strcmp(record.kind, "accounting"))
            *(sw_text_same(record.rest, "off") ? &poll->accounting_off : &poll->accounting_silent) = true;
        else if (slurm_field_index(&record, poll->count, &i))
            read_job(&poll->jobs[i], &seen[i], &record);
    }
    slurm_live_sort(poll->live, poll->live_count);
}

/* ---- one job ------------------------------------------------------------------------------------ */

static void add_attempts(struct slurm_question *job, struct sw_observation *seen)
{
    sw_auto(slurm_attempts) struct slurm_attempts attempts = { 0 };

    slurm_attempts_parse(sw_buf_text(&job->attempts), job->attempts.length, &attempts);
    slurm_attempts_describe(&attempts, seen);
}

static void fill(const struct slurm_poll *poll, struct slurm_question *job, struct sw_observation *seen,
                 int64_t now_ms)
{
    const struct slurm_answers answers = { poll->live, poll->live_count, poll->past, poll->past_count };
    const struct slurm_known known = {
        .slurm_id = job->number, .mark = { job->name, job->comment }, .search = poll->search,
        .exit = job->exit, .canceled = job->canceled, .task_exit = job->task_exit, .task = job->task,
        .now_ms = now_ms, .dependency = job->dependency,
        .accounting = !poll->accounting_silent && !poll->accounting_off,
    };

    if (slurm_observation(&answers, &known, seen)) {
        seen->last_output_ms = job->grown_ms;
        if (seen->state != SW_PENDING)
            seen->runner = sw_take(job->report);
        add_attempts(job, seen);
    } else if (job->canceled && !job->number) {
        seen->presence = SW_PRESENT;
        seen->state = SW_CANCELED;
        snprintf(seen->reason, sizeof seen->reason, SW_REASON_CANCELED);
        snprintf(seen->message, sizeof seen->message, "canceled before it was submitted");
    } else {
        seen->presence = job->submitting || (job->number && poll->accounting_silent) ? SW_UNSEEN : SW_ABSENT;
    }
}

/* ---- the question --------------------------------------------------------------------------------- */

static bool is_guarded(const struct sw_jobref *job)
{
    return sw_json_str(json_object_get(job->plan, "guard"), "no_output") != NULL;
}

static int init_job(struct slurm_question *job, struct sw_connection *conn, const struct sw_jobref *ref,
                    const char *prefix, struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    struct slurm_job_options options;

    slurm_job_options_fill(json_object_get(ref->plan, "options"), &options, NULL);
    job->number = ref->remote_id ? strtoll(ref->remote_id, NULL, 10) : 0;
    job->name = sw_format("%s%s", prefix, ref->id);
    job->comment = slurm_comment(ref->id, slurm_submitted_as(ref));
    job->dependency = options.dependency;
    job->is_array = options.array != NULL;
    if (!is_guarded(ref))
        return 0;
    if (slurm_names_of(conn, ref, &names, err) < 0)
        return -1;
    job->log = sw_format("%s/main.out", names.logs);
    return 0;
}

/* One line of each_job(): the records are in the folder `meta`, and folders are named as slurm_names.c names
 * `state`; an id has no character that needs quoting. */
static void add_job(struct sw_buf *out, size_t index, const struct slurm_question *job,
                    const struct sw_jobref *ref)
{
    sw_buf_add(out, "job ");
    sw_buf_add_number(out, (int64_t)index);
    sw_buf_add_char(out, ' ');
    sw_buf_add_number(out, job->number);
    sw_buf_add_char(out, ' ');
    sw_buf_add(out, ref->id);
    sw_buf_add_char(out, '.');
    sw_buf_add_number(out, slurm_submitted_as(ref));
    sw_buf_add(out, job->is_array ? " 1\n" : " 0\n");
}

static void add_number(struct sw_buf *numbers, int64_t number)
{
    if (number == 0)
        return;
    sw_buf_add_char(numbers, ',');
    sw_buf_add_number(numbers, number);
}

static int write_jobs(struct sw_buf *out, struct slurm_poll *poll, struct sw_connection *conn,
                      const struct sw_observation *seen, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf numbers = SW_BUF_INIT;
    const char *last_base = NULL, *last_prefix = NULL;

    sw_buf_add(out, "each_job() {\n");
    for (size_t i = 0; i < poll->count; i++) {
        const char *base, *prefix;

        if (slurm_base_of(conn, &seen[i].job, &base, &prefix, err) < 0 ||
            init_job(&poll->jobs[i], conn, &seen[i].job, prefix, err) < 0)
            return -1;
        if (!sw_text_same(base, last_base) || !sw_text_same(prefix, last_prefix)) {
            sw_autofree char *meta = sw_format("%s/meta", base);

            slurm_set(out, "meta", meta);
            slurm_set(out, "prefix", prefix);
        }
        last_base = base;
        last_prefix = prefix;
        poll->search |= poll->jobs[i].number == 0;
        add_number(&numbers, poll->jobs[i].number);
        add_job(out, i, &poll->jobs[i], &seen[i].job);
    }
    sw_buf_addf(out, "}\nnumbers=%s\n", sw_buf_text(&numbers));
    slurm_set_flag(out, "some_unknown", poll->search);
    return 0;
}

static int write_script(struct sw_buf *out, struct slurm_poll *poll, struct sw_connection *conn,
                        const struct sw_observation *seen, struct sw_error *err)
{
    slurm_text_add(out, SLURM_TEXT_COMMON);
    slurm_set(out, "squeue_format", SLURM_SQUEUE_FORMAT);
    slurm_set(out, "sacct_format", SLURM_SACCT_FORMAT);
    slurm_set_flag(out, "alone", poll->count == 1);
    if (write_jobs(out, poll, conn, seen, err) < 0)
        return -1;
    sw_buf_add(out, "set --");
    for (size_t i = 0; i < poll->count; i++)
        if (poll->jobs[i].log) {
            sw_buf_add_char(out, ' ');
            sw_buf_add_quoted(out, poll->jobs[i].log);
        }
    sw_buf_add_char(out, '\n');
    slurm_text_add(out, SLURM_TEXT_OBSERVE);
    return 0;
}

int slurm_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count, struct sw_error *err)
{
    sw_auto(slurm_poll) struct slurm_poll poll = { .count = count };
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    int64_t now_ms;

    if (count == 0)
        return 0;
    poll.jobs = sw_alloc(count * sizeof *poll.jobs);
    if (write_script(&script, &poll, conn, jobs, err) < 0 || slurm_read(conn, script.data, &reply, err) < 0)
        return -1;
    if (reply.exit_code != 0)
        return sw_fail(err, SW_E_UNREACHABLE, "the login node could not ask Slurm: %.500s",
                       sw_buf_text(&reply.errors));
    read_answer(&poll, jobs, &reply.output);
    now_ms = sw_now_ms();
    for (size_t i = 0; i < count; i++)
        fill(&poll, &poll.jobs[i], &jobs[i], now_ms);
    return 0;
}

/* The secrets of jobs that Slurm killed; a job that ends by itself removes its own. */
void slurm_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    for (size_t i = 0; i < count; i++) {
        sw_auto(slurm_names) struct slurm_names names = { 0 };
        const char *path;

        if (!jobs[i].leaves_secrets || slurm_names_of(conn, &jobs[i].job, &names, NULL) < 0)
            continue;
        path = names.secrets;
        slurm_call_add(&script, "rm -f", &path, 1);
    }
    if (script.length > 0)                       /* what stays is seen by the next observe() */
        slurm_read(conn, script.data, &reply, NULL);
}
