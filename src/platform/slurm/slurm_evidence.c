/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_evidence.c - why jobs failed: what Slurm said of them, and the ends of their logs, read by one script
 * for all of them. How they ended is known already: the caller has just seen it.
 *
 * The script is slurm_evidence.sh.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/reason.h"
#include "core/report.h"

enum { TAIL_BYTES = 16384, SCRIPT_JOBS = 256, READ_MS = 120000 };

static json_t *facts_of(const struct sw_observation *seen)
{
    json_t *facts = json_object();

    if (!strcmp(seen->reason, SW_REASON_NODE_LOST))
        json_object_set_new(facts, "node_down", json_string(seen->node[0] ? seen->node : "?"));
    if (!strcmp(seen->reason, SW_REASON_PREEMPTED))
        json_object_set_new(facts, "preempt_notice", json_true());
    if (slurm_is_array(&seen->job))
        json_object_set_new(facts, "array", json_true());
    json_object_set_new(facts, "gpus_requested",
                        json_integer(sw_json_int(seen->job.plan, "gpus", 0)));
    return facts;
}

static void add_job(struct sw_buf *script, size_t index, const struct sw_observation *seen,
                    const struct slurm_names *names)
{
    bool array = slurm_is_array(&seen->job);
    int rank = seen->failed_replica > 0 ? seen->failed_replica : 0;
    sw_autofree char *name = slurm_log_name(&seen->job, rank);
    sw_autofree char *slurm = array ? sw_format("main.%d.err", rank) : sw_strdup("main.err");
    sw_autofree char *report = array ? sw_format("task-%d/rank-0.json", rank)
                                     : sw_format("rank-%d.json", rank);
    char number[24];

    snprintf(number, sizeof number, "%zu", index);
    slurm_call_add(script, "tails", (const char *const[]){
        number, names->logs, names->state, name, slurm, report, !array && rank > 0 ? "main.out" : "" }, 7);
}

/* The lines of each job; `gone`: the folder of its logs is. */
static void read_answer(struct sw_buf *answer, struct sw_buf *tails, bool *gone, size_t count)
{
    struct slurm_records records = slurm_records_of(answer);
    struct slurm_record record;
    size_t i;

    while (slurm_record_next(&records, &record)) {
        if (!slurm_field_index(&record, count, &i))
            continue;
        if (!strcmp(record.kind, "line"))
            sw_buf_addf(&tails[i], "%s\n", record.rest);
        else
            gone[i] = true;
    }
}

/* tails[i] of each job that could be read; the caller frees them. */
static int read_some(struct sw_connection *conn, const struct sw_observation *const *seen, bool log_only,
                     struct sw_buf *tails, bool *gone, size_t count, int64_t deadline_ms)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_ssh_call call = { .repeatable = true, .timeout_ms = slurm_timeout(READ_MS, deadline_ms) };

    slurm_text_add(&script, SLURM_TEXT_COMMON);
    slurm_set_number(&script, "most", TAIL_BYTES);
    slurm_set_flag(&script, "log_only", log_only);
    slurm_set(&script, "report_start", SW_REPORT_START);
    slurm_text_add(&script, SLURM_TEXT_EVIDENCE);
    for (size_t i = 0; i < count; i++) {
        sw_auto(slurm_names) struct slurm_names names = { 0 };

        if (slurm_names_of(conn, &seen[i]->job, &names, NULL) == 0)
            add_job(&script, i, seen[i], &names);
    }
    sw_buf_add(&script, "exit 0\n");
    call.script = script.data;
    if (slurm_ask(conn, &call, &reply, NULL) < 0)
        return -1;
    read_answer(&reply.output, tails, gone, count);
    return 0;
}

/* The texts, owned, NULL where nothing was read; and which logs are gone. */
static void read_tails(struct sw_connection *conn, const struct sw_observation *const *seen, bool log_only,
                       char **texts, bool *gone, size_t count, int64_t deadline_ms)
{
    sw_autofree struct sw_buf *tails = sw_alloc((count ? count : 1) * sizeof *tails);

    for (size_t from = 0; from < count; from += SCRIPT_JOBS) {
        size_t some = count - from < SCRIPT_JOBS ? count - from : SCRIPT_JOBS;

        if (read_some(conn, seen + from, log_only, tails + from, gone + from, some, deadline_ms) < 0)
            break;                                       /* the rest would not be read, either */
    }
    for (size_t i = 0; i < count; i++)
        if (tails[i].length > 0) {
            tails[i].data[tails[i].length - 1] = '\0';   /* the newline that the script added */
            texts[i] = sw_buf_steal(&tails[i]);
        }
}

void slurm_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                    struct sw_evidence *out, size_t count, int64_t deadline_ms)
{
    sw_autofree char **texts = sw_alloc((count ? count : 1) * sizeof *texts);
    sw_autofree bool *gone = sw_alloc(count ? count : 1);

    read_tails(conn, seen, false, texts, gone, count, deadline_ms);
    for (size_t i = 0; i < count; i++) {
        const struct sw_jobref *job = &seen[i]->job;
        sw_auto(json) json_t *report = NULL;

        out[i].facts = facts_of(seen[i]);
        out[i].log_tail = texts[i];
        if (gone[i])
            json_object_set_new(out[i].facts, SW_FACT_LOG_GONE, json_true());
        report = texts[i] ? sw_report_in_log(texts[i], strlen(texts[i]), job->id,
                                             slurm_is_array(job) ? 0 : seen[i]->failed_replica) : NULL;
        sw_report_facts(report, out[i].facts);
    }
}

void slurm_log_ends(struct sw_connection *conn, const struct sw_observation *const *seen,
                    char **texts, size_t count)
{
    sw_autofree bool *gone = sw_alloc(count ? count : 1);

    read_tails(conn, seen, true, texts, gone, count, SW_NO_DEADLINE);
}
