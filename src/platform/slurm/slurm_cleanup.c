/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_cleanup.c - remove what we made: files of jobs that are over, and with `gc --caches` runners of
 * other versions that no job names any more. Jobs themselves are not searched for: their rows name what they
 * left.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "platform/slurm/slurm_upload.h"

enum { SCRIPT_JOBS = 256, CLEANUP_MS = 120000 };

static void add_job(struct sw_buf *script, size_t index, const char *id, const struct slurm_names *names,
                    bool keep_results)
{
    char number[24];
    const char *const words[] = {
        number, names->base, id, names->job_name,
        names->specs, names->env, names->secrets, names->entrypoint, names->payload, names->code,
        names->rules, names->sbatch, names->meta, names->work, names->mounts, names->results,
    };

    snprintf(number, sizeof number, "%zu", index);
    slurm_call_add(script, "remove_job", words, SW_COUNT(words) - keep_results);
}

static void read_answers(struct sw_batch_job *jobs, size_t count, struct sw_buf *answer)
{
    struct slurm_records records = slurm_records_of(answer);
    struct slurm_record record;
    size_t i;

    while (slurm_record_next(&records, &record))
        if (sw_text_same(record.kind, "failed") && slurm_field_index(&record, count, &i))
            jobs[i].result = sw_fail(&jobs[i].err, SW_E_IO, "not everything could be removed: %.500s",
                                     record.rest);
}

static int remove_some(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, bool keep_results,
                       int64_t deadline_ms, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_ssh_call call = { .repeatable = true, .timeout_ms = slurm_timeout(CLEANUP_MS, deadline_ms) };

    slurm_text_add(&script, SLURM_TEXT_COMMON);
    slurm_text_add(&script, SLURM_TEXT_CLEANUP);
    for (size_t i = 0; i < count; i++) {
        sw_auto(slurm_names) struct slurm_names names = { 0 };

        jobs[i].result = slurm_names_of(conn, jobs[i].job, &names, &jobs[i].err);
        if (jobs[i].result == 0)
            add_job(&script, i, jobs[i].job->id, &names, keep_results);
    }
    sw_buf_add(&script, "exit 0\n");
    call.script = script.data;
    if (slurm_ask(conn, &call, &reply, err) < 0)
        return -1;
    if (reply.exit_code != 0)
        return sw_fail(err, SW_E_IO, "not everything could be removed: %.500s", sw_buf_text(&reply.errors));
    read_answers(jobs, count, &reply.output);
    return 0;
}

void slurm_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, bool keep_results,
                   int64_t deadline_ms)
{
    for (size_t from = 0; from < count; from += SCRIPT_JOBS) {
        size_t some = count - from < SCRIPT_JOBS ? count - from : SCRIPT_JOBS;
        struct sw_error why = { 0 };

        if (remove_some(conn, jobs + from, some, keep_results, deadline_ms, &why) < 0) {
            sw_batch_fail(jobs + from, count - from, &why);
            return;
        }
    }
}

/* ---- gc ---------------------------------------------------------------------------------------------- */

/* Without --caches the cluster is not asked. */
json_t *slurm_orphans(struct sw_connection *conn, const struct sw_sweep *sweep, struct sw_error *err)
{
    const char *words[2 + SLURM_MACHINES] = { slurm_of(conn)->options.base_dir,
                                              sweep->remove ? "yes" : "no" };
    sw_auto(json) json_t *rows = json_array();
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct slurm_records records;
    struct slurm_record record;

    if (!sweep->caches)
        return sw_take(rows);
    if (slurm_base_check(words[0], err) < 0)
        return NULL;
    slurm_text_add(&script, SLURM_TEXT_COMMON);
    slurm_text_add(&script, SLURM_TEXT_CLEANUP);
    slurm_call_add(&script, "remove_runners", words, 2 + slurm_runner_names(conn, words + 2));
    if (slurm_ask(conn, &(struct sw_ssh_call){ .script = script.data }, &reply, err) < 0)
        return NULL;
    records = slurm_records_of(&reply.output);
    while (slurm_record_next(&records, &record)) {
        bool removed = sw_text_same(slurm_field(&record), "removed");

        json_array_append_new(rows, sw_json_object(
            SW_STR("what", "cache"), SW_STR("where", record.rest), SW_STR("job", ""),
            SW_BOOL("removed", removed)));
    }
    return sw_take(rows);
}
