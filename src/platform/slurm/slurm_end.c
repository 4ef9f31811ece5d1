/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_end.c - remove what we made for jobs that are over: one script for all of them.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <string.h>

enum { SCRIPT_JOBS = 256 };

static void add_quoted(struct sw_buf *out, const char *path)
{
    sw_buf_add_char(out, ' ');
    sw_buf_add_quoted(out, path);
}

/* Answers "F i WORDS" where something stays. */
static const char remove_text[] =
    "remove() {\n"
    "    i=$1\n"
    "    shift\n"
    "    said=$(rm -rf \"$@\" 2>&1) ||\n"
    "        printf 'F %s %s\\n' \"$i\" \"$(printf '%s' \"$said\" | tr '\\n' ' ')\"\n"
    "}\n";

/* Attempts are numbers behind the last dot; links carry Slurm's number behind a dash. */
static void add_job(struct sw_buf *script, size_t index, const char *id, const struct slurm_names *names,
                    bool keep_results)
{
    const char *const paths[] = {
        names->specs, names->env, names->secrets, names->entrypoint, names->letter, names->code,
        names->rules, names->sbatch, names->meta, names->work, names->mounts,
        keep_results ? NULL : names->results,
    };

    sw_buf_add(script, "! cd");
    add_quoted(script, names->base);
    sw_buf_addf(script, " 2>/dev/null || remove %zu meta/%s.[0-9]* slurm-logs/", index, id);
    sw_buf_add_quoted(script, names->job_name);
    sw_buf_add(script, ".[0-9]* slurm-logs/");
    sw_buf_add_quoted(script, names->job_name);
    sw_buf_add(script, "-[0-9]*");
    for (size_t i = 0; i < SW_COUNT(paths) && paths[i]; i++)
        add_quoted(script, paths[i]);
    sw_buf_add_char(script, '\n');
}

static void read_answers(struct sw_batch_job *jobs, size_t count, char *output)
{
    for (char *line; (line = strsep(&output, "\n"));) {
        size_t i = count;
        int used = 0;

        if (sscanf(line, "F %zu %n", &i, &used) == 1 && i < count)
            jobs[i].result = sw_fail(&jobs[i].err, SW_E_IO, "not everything could be removed: %.500s",
                                     line + used);
    }
}

static int remove_some(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, bool keep_results,
                       struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    sw_buf_add(&script, remove_text);
    for (size_t i = 0; i < count; i++) {
        sw_auto(slurm_names) struct slurm_names names = { 0 };

        jobs[i].result = slurm_names_of(conn, jobs[i].job, &names, &jobs[i].err);
        if (jobs[i].result == 0)
            add_job(&script, i, jobs[i].job->id, &names, keep_results);
    }
    sw_buf_add(&script, "exit 0\n");
    if (slurm_ask(conn, script.data, NULL, 0, true, &reply, err) < 0)
        return -1;
    if (reply.exit_code != 0)
        return sw_fail(err, SW_E_IO, "not everything could be removed: %.500s", sw_buf_text(&reply.errors));
    read_answers(jobs, count, reply.output.data);
    return 0;
}

void slurm_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                   bool keep_results, int64_t deadline_ms)
{
    (void)deadline_ms;
    for (size_t from = 0; from < count; from += SCRIPT_JOBS) {
        size_t some = count - from < SCRIPT_JOBS ? count - from : SCRIPT_JOBS;
        struct sw_error why = { 0 };

        if (remove_some(conn, jobs + from, some, keep_results, &why) < 0) {
            sw_batch_fail(jobs + from, count - from, &why);
            return;
        }
    }
}
