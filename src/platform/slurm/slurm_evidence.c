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

/* The lines of each job; `gone` (may be NULL): the folder of its logs is. */
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
        else if (gone)
            gone[i] = true;
    }
}

/* tails[i] of each job that could be read; the caller frees them. */
static int read_tails(struct sw_connection *conn, const struct sw_observation *const *seen, bool log_only,
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

/* Without the newline that the script added; owned; NULL: nothing was read. */
static char *text_of(struct sw_buf *tail)
{
    if (tail->length == 0)
        return NULL;
    tail->data[tail->length - 1] = '\0';
    return sw_buf_steal(tail);
}

static void take_evidence(const struct sw_observation *seen, char *tail, bool gone, struct sw_evidence *out)
{
    sw_auto(json) json_t *report = NULL;

    if (gone)
        json_object_set_new(out->facts, SW_FACT_LOG_GONE, json_true());
    out->log_tail = tail;
    if (!tail)
        return;
    report = sw_report_in_log(tail, strlen(tail), seen->job.id,
                              slurm_is_array(&seen->job) ? 0 : seen->failed_replica);
    sw_report_facts(report, out->facts);
}

void slurm_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                    struct sw_evidence *out,
                    size_t count, int64_t deadline_ms)
{
    for (size_t i = 0; i < count; i++)
        out[i].facts = facts_of(seen[i]);
    for (size_t from = 0; from < count; from += SCRIPT_JOBS) {
        size_t some = count - from < SCRIPT_JOBS ? count - from : SCRIPT_JOBS;
        sw_autofree struct sw_buf *tails = sw_alloc(some * sizeof *tails);
        sw_autofree bool *gone = sw_alloc(some * sizeof *gone);

        if (read_tails(conn, seen + from, false, tails, gone, some, deadline_ms) < 0)
            return;                                      /* the rest would not be read, either */
        for (size_t i = 0; i < some; i++)
            take_evidence(seen[from + i], text_of(&tails[i]), gone[i], &out[from + i]);
    }
}


void slurm_log_ends(struct sw_connection *conn, const struct sw_observation *const *seen,
                    char **texts, size_t count)
{
    for (size_t from = 0; from < count; from += SCRIPT_JOBS) {
        size_t some = count - from < SCRIPT_JOBS ? count - from : SCRIPT_JOBS;
        sw_autofree struct sw_buf *tails = sw_alloc(some * sizeof *tails);

        if (read_tails(conn, seen + from, true, tails, NULL, some, SW_NO_DEADLINE) < 0)
            return;
        for (size_t i = 0; i < some; i++)
            texts[from + i] = text_of(&tails[i]);
    }
}
