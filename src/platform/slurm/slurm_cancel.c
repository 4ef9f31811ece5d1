/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_cancel.c - stop jobs: one script for all of them (slurm_cancel.sh), with one scancel of each kind.
 *
 * A cancel first leaves a mark in the attempt's folder: a submit that is still on its way finds it
 * and sends nothing, a job that starts later ends itself, and no retry follows. What waits is then
 * taken out of the queue. What runs a step gets a signal to its batch script alone, which lets
 * the command have its grace: Slurm's own cancel signals every process at once and kills after KillWait,
 * whatever the job was promised. That is for a job that does not end in time. Slurm is asked until
 * nothing of the jobs is queued, running or being cleaned up; and whatever number we remember, only
 * a job with our name or comment is touched.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/stop.h"

/* late: srun and the script end */
enum {
    CANCEL_PATIENCE_MS = 180000, LATE_MS = 15000,
    ANSWER_MS = 30000, ANSWER_MS_EACH = 300,      /* scancel asks the controller for each of its jobs */
    SCRIPT_JOBS = 256,
};

struct slurm_stop {                /* of one job */
    struct slurm_names names;
    int64_t hard_at_ms, deadline_ms;
    const char *how;
    bool hard, waits;
    long long number;              /* Slurm's, of the last answer; 0: not known */
};

static void add_job(struct sw_buf *script, const struct sw_jobref *job, const struct slurm_stop *stop)
{
    const char *const words[] = {
        stop->how, sw_text_empty(job->remote_id) ? "0" : job->remote_id, stop->names.job_name,
        stop->names.comment, stop->names.state, stop->names.secrets,
    };

    slurm_call_add(script, "job", words, SW_COUNT(words));
}

/* What one job's record says. */
static void read_state(struct sw_batch_job *one, struct slurm_stop *stop, struct slurm_record *record)
{
    const char *word = slurm_field(record);

    stop->waits = sw_text_same(word, "wait");
    stop->number = strtoll(record->rest, NULL, 10);
    if (sw_text_same(word, "never"))
        one->result = !slurm_is_array(one->job);          /* tasks that ran may be forgotten */
}

/* scancel complained: about one job, when it names its number, or else about all that are still there. */
static void read_complaint(struct sw_connection *conn, struct sw_batch_job *jobs, struct slurm_stop *all,
                           const size_t *which, size_t count, const char *text)
{
    const char *named = strstr(text, "job id ");
    long long number = named ? strtoll(named + strlen("job id "), NULL, 10) : 0;
    struct sw_error why = { 0 };

    sw_fail(&why, SW_E_UNREACHABLE, "Slurm does not answer on %s: %.500s",
            sw_ssh_host(slurm_of(conn)->ssh), text);
    for (size_t i = 0; i < count; i++)
        if (all[which[i]].waits && (number == 0 || number == all[which[i]].number)) {
            all[which[i]].waits = false;
            sw_batch_fail(&jobs[which[i]], 1, &why);
        }
}

/* Complaints come before the states that they are about: they wait until all states are read. */
static void read_answers(struct sw_connection *conn, struct sw_batch_job *jobs, struct slurm_stop *all,
                         const size_t *which, size_t count, struct sw_buf *answer)
{
    struct slurm_records records = slurm_records_of(answer);
    struct slurm_record record;
    sw_auto(sw_buf) struct sw_buf complaints = SW_BUF_INIT;
    size_t i;

    while (slurm_record_next(&records, &record)) {
        if (sw_text_same(record.kind, "complaint")) {
            sw_buf_addf(&complaints, "complaint\t%s\n", record.rest);
        } else if (!slurm_field_index(&record, count, &i)) {
            continue;
        } else if (sw_text_same(record.kind, "state")) {
            read_state(&jobs[which[i]], &all[which[i]], &record);
        } else {
            all[which[i]].waits = false;
            jobs[which[i]].result = sw_fail(&jobs[which[i]].err, SW_E_REFUSED,
                                            "the job cannot be canceled: %.500s", record.rest);
        }
    }
    records = slurm_records_of(&complaints);
    while (slurm_record_next(&records, &record))
        read_complaint(conn, jobs, all, which, count, record.rest);
}

/* One script for these. -1 + err: nothing is known of any of them. A login host that hangs must not hold
 * up the caller: the answer is "not yet", in time. */
static int ask_about(struct sw_connection *conn, struct sw_batch_job *jobs, struct slurm_stop *all,
                     const size_t *which, size_t count, bool last, int64_t deadline_ms, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    int64_t most_ms = ANSWER_MS + ANSWER_MS_EACH * (int64_t)(count - 1);
    struct sw_ssh_call call = { .repeatable = true, .timeout_ms = slurm_timeout(most_ms, deadline_ms) };

    slurm_text_add(&script, SLURM_TEXT_COMMON);
    slurm_set(&script, "pauses", last ? "0.05 0.1 0.2 0.3 0.5 0.5" : "");
    sw_buf_add(&script, "each_job() {\n");
    for (size_t i = 0; i < count; i++)
        add_job(&script, jobs[which[i]].job, &all[which[i]]);
    sw_buf_add(&script, "}\n");
    slurm_text_add(&script, SLURM_TEXT_CANCEL);
    call.script = script.data;
    if (slurm_ask(conn, &call, &reply, err) < 0)
        return -1;
    if (reply.exit_code != 0)
        return sw_fail(err, SW_E_REFUSED, "the job cannot be canceled: %.500s",
                       sw_buf_text(&reply.errors));
    read_answers(conn, jobs, all, which, count, &reply.output);
    return 0;
}

static void begin(struct sw_connection *conn, struct sw_batch_job *one, struct slurm_stop *stop,
                  int64_t deadline_ms)
{
    int64_t grace_ms = sw_json_int(one->job->plan, "grace_ms", SW_GRACE_MS);

    stop->hard_at_ms = sw_monotonic_ms() + LATE_MS + sw_stop_budget_ms(grace_ms);
    stop->deadline_ms = stop->hard_at_ms + CANCEL_PATIENCE_MS;
    if (deadline_ms != SW_NO_DEADLINE && deadline_ms < stop->deadline_ms)
        stop->deadline_ms = deadline_ms;
    stop->how = "soft";
    stop->waits = slurm_names_of(conn, one->job, &stop->names, &one->err) == 0;
    if (!stop->waits)
        one->result = -1;
}

/* What is asked for next, where it still waits. */
static void go_on(struct sw_batch_job *one, struct slurm_stop *stop)
{
    const char *remote_id = one->job->remote_id;
    int64_t now_ms = sw_monotonic_ms();

    stop->how = !stop->hard && now_ms > stop->hard_at_ms ? "hard" : "wait";
    stop->hard |= !strcmp(stop->how, "hard");
    if (!stop->waits || now_ms <= stop->deadline_ms)
        return;
    stop->waits = false;
    one->result = sw_fail(&one->err, SW_E_TIMEOUT, "Slurm was asked to cancel job %s and has not done it "
                          "yet", remote_id ? remote_id : one->job->id);
    sw_hint(&one->err, "a node may not answer; `squeue -j %s` shows it", remote_id ? remote_id : "ID");
}

/* The next that wait, from *at on: how many. */
static size_t gather(const struct slurm_stop *all, size_t count, size_t *at, size_t which[SCRIPT_JOBS])
{
    size_t found = 0;

    for (; *at < count && found < SCRIPT_JOBS; ++*at)
        if (all[*at].waits)
            which[found++] = *at;
    return found;
}

/* One round over all that wait. false: none is left. */
static bool ask_all(struct sw_connection *conn, struct sw_batch_job *jobs, struct slurm_stop *all,
                    size_t count, int64_t deadline_ms)
{
    size_t which[SCRIPT_JOBS], found, at = 0;
    bool any = false;

    while ((found = gather(all, count, &at, which)) > 0) {
        struct sw_error why = { 0 };

        any = true;
        if (ask_about(conn, jobs, all, which, found, at == count, deadline_ms, &why) == 0)
            continue;
        for (size_t i = 0; i < count; i++)           /* the others would wait for the same silence */
            if (all[i].waits) {
                all[i].waits = false;
                sw_batch_fail(&jobs[i], 1, &why);
            }
    }
    return any;
}

void slurm_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, int64_t deadline_ms)
{
    sw_autofree struct slurm_stop *all = sw_alloc((count ? count : 1) * sizeof *all);

    for (size_t i = 0; i < count; i++)
        begin(conn, &jobs[i], &all[i], deadline_ms);
    while (ask_all(conn, jobs, all, count, deadline_ms))
        for (size_t i = 0; i < count; i++)
            go_on(&jobs[i], &all[i]);
    for (size_t i = 0; i < count; i++)
        slurm_names_done(&all[i].names);
}
