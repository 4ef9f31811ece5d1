/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_evidence.c - why jobs failed: what Slurm said of them, and the ends of their logs, read by one script
 * for all of them. How they ended is known already: the caller has just seen it.
 *
 * Each line of the answer begins with the number of its job, put there by sed: whatever a log holds, it
 * cannot pass for another job's. "3!" says that the folder of job 3's logs is gone.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/reason.h"
#include "core/report.h"

enum { TAIL_BYTES = 16384, SCRIPT_JOBS = 256 };

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

/* The end of the log of the failed rank or task; for evidence also what Slurm itself said, and its report as
 * the last line. */
static const char tails_text[] =
    "tails() {\n"
    "    logs=$2 state=$3 file=$4 slurm=$5 report=$6\n"
    "    [ -z \"$log_only\" ] || { tail -c \"$most\" \"$logs/$file\" 2>/dev/null; echo; } | "
    "sed \"s/^/$1 /\"\n"
    "    [ -z \"$log_only\" ] || return 0\n"
    "    [ -d \"$logs\" ] || echo \"$1!\"\n"
    "    {\n"
    "    tail -c \"$most\" \"$logs/$file\" 2>/dev/null\n"
    "    [ -z \"$7\" ] || tail -c 2048 \"$logs/$7\" 2>/dev/null\n"
    "    tail -c 2048 \"$logs/$slurm\" 2>/dev/null\n"
    "    [ ! -s \"$state/$report\" ] || {\n"
    "    printf '\\n" SW_REPORT_START "'\ntr -d '\\n' <\"$state/$report\"\necho\n}\n"
    "    echo\n"
    "    } | sed \"s/^/$1 /\"\n"
    "}\n";

static void add_job(struct sw_buf *script, size_t index, const struct sw_observation *seen,
                    const struct slurm_names *names)
{
    bool array = slurm_is_array(&seen->job);
    int rank = seen->failed_replica > 0 ? seen->failed_replica : 0;
    sw_autofree char *name = slurm_log_name(&seen->job, rank);
    sw_autofree char *slurm = array ? sw_format("main.%d.err", rank) : sw_strdup("main.err");
    sw_autofree char *report = array ? sw_format("task-%d/rank-0.json", rank)
                                     : sw_format("rank-%d.json", rank);

    sw_buf_addf(script, "tails %zu ", index);
    sw_buf_add_quoted(script, names->logs);
    sw_buf_add_char(script, ' ');
    sw_buf_add_quoted(script, names->state);
    sw_buf_addf(script, " %s %s %s %s\n", name, slurm, report, !array && rank > 0 ? "main.out" : "''");
}

/* The lines of each job, without their numbers; `gone` (may be NULL): whose log is no more. */
static void sort_out(const struct sw_buf *answer, struct sw_buf *tails, bool *gone, size_t count)
{
    const char *end = answer->data + answer->length;

    for (const char *at = answer->data, *next; at && at < end; at = next) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        char *text;
        size_t index = strtoul(at, &text, 10);

        next = newline ? newline + 1 : end;
        if (index < count && *text == '!' && gone)
            gone[index] = true;
        else if (index < count && *text == ' ' && text < next)
            sw_buf_add_bytes(&tails[index], text + 1, (size_t)(next - text) - 1);
    }
}

/* tails[i] of each job that could be read; the caller frees them. */
static int read_tails(struct sw_connection *conn, const struct sw_observation *const *seen, bool log_only,
                      struct sw_buf *tails, bool *gone, size_t count)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    sw_buf_addf(&script, "export LC_ALL=C\nmost=%d log_only=%s\n%s", TAIL_BYTES, log_only ? "1" : "",
                tails_text);
    for (size_t i = 0; i < count; i++) {
        sw_auto(slurm_names) struct slurm_names names = { 0 };

        if (slurm_names_of(conn, &seen[i]->job, &names, NULL) == 0)
            add_job(&script, i, seen[i], &names);
    }
    sw_buf_add(&script, "exit 0\n");
    if (slurm_ask(conn, script.data, NULL, 0, true, &reply, NULL) < 0)
        return -1;
    sort_out(&reply.output, tails, gone, count);
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
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++)
        out[i].facts = facts_of(seen[i]);
    for (size_t from = 0; from < count; from += SCRIPT_JOBS) {
        size_t some = count - from < SCRIPT_JOBS ? count - from : SCRIPT_JOBS;
        sw_autofree struct sw_buf *tails = sw_alloc(some * sizeof *tails);
        sw_autofree bool *gone = sw_alloc(some * sizeof *gone);

        if (read_tails(conn, seen + from, false, tails, gone, some) < 0)
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

        if (read_tails(conn, seen + from, true, tails, NULL, some) < 0)
            return;
        for (size_t i = 0; i < some; i++)
            texts[from + i] = text_of(&tails[i]);
    }
}
