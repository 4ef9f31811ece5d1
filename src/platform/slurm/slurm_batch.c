/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_batch.c - plan in, batch script out: no ssh, no clock, no environment.
 *
 * The directives are written from one table. Behind them come the values of this job, each quoted, and then
 * texts that are the same for every job: slurm_batch_begin.sh claims the attempt (a second job of the same
 * attempt ends itself) and finds the first node; slurm_batch_run.sh starts one task per node, ends it before
 * Slurm would, and records how it ended, since accounting may be switched off and knows neither the rank that
 * failed first nor why.
 */
#include "platform/slurm/slurm_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "core/job_env.h"
#include "plan/mounts.h"

/* ---- directives -------------------------------------------------------------------------------- */

/* A line of #SBATCH ends a value at a blank or '#', and nothing can be escaped in it. */
static int check_value(const char *option, const char *value, struct sw_error *err)
{
    for (const char *at = value; *at; at++)
        if (isspace((unsigned char)*at) || strchr("#\"'\\`$", *at) || iscntrl((unsigned char)*at))
            return sw_fail(err, SW_E_SPEC, "slurm.%s '%s' contains a character that a batch script "
                           "cannot carry: '%c'", option, value, *at);
    return 0;
}

static int add_directive(struct sw_buf *out, const char *option, const char *flag,
                         const char *value, struct sw_error *err)
{
    if (sw_text_empty(value))
        return 0;
    if (check_value(option, value, err) < 0)
        return -1;
    sw_buf_addf(out, "#SBATCH --%s=%s\n", flag, value);
    return 0;
}

/* A job follows each colon, and Slurm's are numbers. */
bool slurm_waits_for_ours(const struct slurm_job *job)
{
    const char *at = job->options.dependency;

    while (at && (at = strchr(at, ':')))
        if (isalpha((unsigned char)*++at))
            return true;
    return false;
}

/* Options that become one directive each, in this order; what is not said has no line. */
static int add_queue(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const struct slurm_job_options *o = &job->options;
    sw_autofree char *partition = slurm_joined(o->partition), *nodelist = slurm_joined(o->nodelist);
    const struct { const char *name, *value; } rows[] = {
        { "account", o->account },         { "partition", partition },   { "qos", o->qos },
        { "reservation", o->reservation }, { "constraint", o->constraint }, { "nodelist", nodelist },
        { "dependency", o->dependency },   { "array", o->array },        { "begin", o->begin },
        { "licenses", o->licenses },
    };

    for (size_t i = 0; i < SW_COUNT(rows); i++)
        if (rows[i].value == o->dependency && slurm_waits_for_ours(job)) {
            if (check_value(rows[i].name, rows[i].value, err) < 0)
                return -1;
            sw_buf_addf(out, "# waits for %s: Slurm's number is found when it is submitted\n", rows[i].value);
        } else if (add_directive(out, rows[i].name, rows[i].name, rows[i].value, err) < 0) {
            return -1;
        }
    return 0;
}

static int add_gpus(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const char *type = job->plan->gpu_type;
    bool by_gres = job->options.gpu_request == SLURM_GPUS_BY_GRES;
    sw_autofree char *count = NULL;

    if (job->options.gres)
        return add_directive(out, "gres", "gres", job->options.gres, err);
    if (job->shape.gpus <= 0)
        return 0;
    count = sw_format("%s%s%s%d", by_gres ? "gpu:" : "", type ? type : "", type ? ":" : "",
                      job->shape.gpus);
    return add_directive(out, "gpus", by_gres ? "gres" : "gpus-per-node", count, err);
}

static int add_memory(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    if (job->options.mem)
        return add_directive(out, "mem", "mem", job->options.mem, err);
    if (job->plan->memory_bytes > 0)
        sw_buf_addf(out, "#SBATCH --mem=%lldM\n",
                    (long long)((job->plan->memory_bytes + (1 << 20) - 1) >> 20));
    else if (job->options.cosmos)
        sw_buf_add(out, "#SBATCH --mem=0\n");
    return 0;
}

static int add_size(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const struct slurm_shape *shape = &job->shape;
    char limit[32];

    sw_buf_addf(out, "#SBATCH --nodes=%d\n#SBATCH --ntasks-per-node=%d\n", shape->nodes,
                shape->tasks_per_node);
    if (add_gpus(out, job, err) < 0)
        return -1;
    if (shape->nodes > 1)
        sw_buf_addf(out, "#SBATCH --ntasks=%d\n", shape->nodes * shape->tasks_per_node);
    if (shape->cpus > 0)
        sw_buf_addf(out, "#SBATCH --cpus-per-task=%d\n", shape->cpus);
    sw_buf_add(out, "#SBATCH --wait-all-nodes=1\n");
    if (add_memory(out, job, err) < 0)
        return -1;
    if (shape->exclusive)
        sw_buf_add(out, "#SBATCH --exclusive\n");
    slurm_time_text(shape->limit_minutes, limit);
    sw_buf_addf(out, "#SBATCH --time=%s\n", limit);
    return 0;
}

/* Nodes to keep away from: the user's and those that failed before. */
static int add_exclude(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_autofree char *said = slurm_joined(job->options.exclude), *failed = slurm_joined(job->plan->avoid);
    sw_autofree char *both = sw_format("%s%s%s", said ? said : "", said && failed ? "," : "",
                                       failed ? failed : "");

    return add_directive(out, "exclude", "exclude", both, err);
}

static int add_notes(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const char *comment = job->options.comment;
    sw_autofree char *types = slurm_joined(job->options.mail_type);

    if (comment && strpbrk(comment, "\"\\\n\r"))
        return sw_fail(err, SW_E_SPEC, "slurm.comment contains a quote, backslash or line end");
    sw_buf_addf(out, "#SBATCH --comment=\"%s", job->names.comment);
    if (job->plan->store_id && slurm_word_check("store", job->plan->store_id, err) < 0)
        return -1;
    if (job->plan->store_id)                     /* whose it is: which store, and which user */
        sw_buf_addf(out, " store=%s uid=%ld", job->plan->store_id, job->plan->owner_uid);
    sw_buf_addf(out, "%s%s\"\n", comment ? " " : "", comment ? comment : "");
    if (!job->options.mail_user)
        return 0;
    return add_directive(out, "mail_type", "mail-type", types, err) < 0 ||
                   add_directive(out, "mail_user", "mail-user", job->options.mail_user, err) < 0 ? -1 : 0;
}

static int add_life(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const char *task = job->options.array ? ".%a" : "", *logs = job->names.logs;
    size_t i;
    json_t *line;

    sw_buf_addf(out, "#SBATCH --output=%s/main%s.out\n#SBATCH --error=%s/main%s.err\n"
                "#SBATCH --open-mode=append\n", logs, task, logs, task);
    if (job->shape.ahead_s > 0)
        sw_buf_addf(out, "#SBATCH --signal=B:USR1@%lld\n", (long long)job->shape.ahead_s);
    sw_buf_add(out, job->options.requeue ? "#SBATCH --requeue\n" : "#SBATCH --no-requeue\n");
    if (job->options.dependency)
        sw_buf_add(out, "#SBATCH --kill-on-invalid-dep=yes\n");
    if (job->options.nice)
        sw_buf_addf(out, "#SBATCH --nice=%d\n", job->options.nice);
    json_array_foreach(job->options.sbatch_args, i, line) {
        if (check_value("sbatch_args", json_string_value(line), err) < 0)
            return -1;
        sw_buf_addf(out, "#SBATCH %s\n", json_string_value(line));
    }
    return 0;
}

/* ---- the values of this job -------------------------------------------------------------------- */

/* What is known before the nodes are. */
static void add_environment(struct sw_buf *out, const struct slurm_job *job)
{
    sw_auto(json) json_t *env = json_object();
    const char *name;
    json_t *value;

    sw_job_env_add(&(struct sw_job_env){
        .job_id = job->plan->job_id, .attempt = job->attempt, .nodes = job->shape.nodes,
        .node_rank = -1, .gpus_per_node = job->shape.gpus,
        .world_size_ranks = job->plan->world_size_ranks,
    }, env);
    sw_buf_add(out, "export");
    json_object_foreach(env, name, value) {
        sw_buf_addf(out, " %s=", name);
        sw_buf_add_quoted(out, json_string_value(value));
    }
    sw_buf_add_char(out, '\n');
}

static void add_values(struct sw_buf *out, const struct slurm_job *job)
{
    const struct slurm_names *names = &job->names;

    slurm_set(out, "slipway_base", names->base);
    slurm_set(out, "slipway_state", names->state);
    slurm_set(out, "slipway_logs", names->logs);
    slurm_set(out, "slipway_results", names->results);
    slurm_set(out, "slipway_secrets", names->secrets);
    slurm_set(out, "slipway_entrypoint", names->entrypoint);
    slurm_set(out, "slipway_payload", names->payload);
    slurm_set(out, "slipway_runner_x86_64", job->runner[0]);
    slurm_set(out, "slipway_runner_aarch64", job->runner[1]);
    slurm_set(out, "slipway_mounts", json_array_size(job->plan->mounts) > 0 ? names->mounts : NULL);
    slurm_set_flag(out, "slipway_bundle", slurm_in_bundle(job));
    slurm_set(out, "slipway_umask", slurm_umask(&job->options));
    slurm_set_number(out, "slipway_limit", job->shape.soft_s);
    add_environment(out, job);
}

/* How long the others may go on when a task has ended; a stop leaves each its grace. */
enum { WAIT_S = 60, WAIT_OUTPUTS_S = 3600 };     /* the second when each has outputs to bring */

/* slipway_srun WORD...: the step, with this job's flags. */
static int add_srun(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_autofree char *names = slurm_in_bundle(job) ? slurm_container_names(job) : sw_strdup("ALL");
    size_t i;
    json_t *word;

    sw_buf_addf(out, "slipway_srun() {\n    srun --kill-on-bad-exit=1 --wait=%lld --export=",
                (long long)((slurm_has_outputs(job->plan) ? WAIT_OUTPUTS_S : WAIT_S) +
                            job->shape.time_grace_ms / 1000));
    sw_buf_add_quoted(out, names);
    if (job->shape.cpus > 0)
        sw_buf_addf(out, " --cpus-per-task=%d", job->shape.cpus);
    if (job->plan->launcher == SW_LAUNCHER_MPI) {
        if (slurm_word_check("mpi", job->options.mpi, err) < 0)
            return -1;
        sw_buf_addf(out, " --mpi=%s", job->options.mpi);
    }
    if (slurm_container_step(out, job, err) < 0)
        return -1;
    json_array_foreach(job->options.srun_args, i, word) {
        sw_buf_add_char(out, ' ');
        sw_buf_add_quoted(out, json_string_value(word));
    }
    sw_buf_add(out, " \"$@\"\n}\n");
    return 0;
}

static void add_setup(struct sw_buf *out, const struct slurm_job *job)
{
    size_t i;
    json_t *line;

    json_array_foreach(job->options.setup_lines, i, line)
        sw_buf_addf(out, "%s\n", json_string_value(line));
}

int slurm_batch(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_buf_add(out, "#!/bin/bash\n");
    if (slurm_word_check("job_name_prefix", job->names.job_name, err) < 0 || add_size(out, job, err) < 0)
        return -1;
    sw_buf_addf(out, "#SBATCH --job-name=%s\n", job->names.job_name);
    if (add_queue(out, job, err) < 0 || add_exclude(out, job, err) < 0 || add_notes(out, job, err) < 0 ||
        add_life(out, job, err) < 0)
        return -1;
    sw_buf_add(out, "\n# Made by slipway; a repeated submit writes the same.\n");
    add_values(out, job);
    if (add_srun(out, job, err) < 0)
        return -1;
    sw_text_once(out);
    if (slurm_retry_text(out, job, err) < 0)
        return -1;
    slurm_text_add(out, SLURM_TEXT_BATCH_BEGIN);
    add_setup(out, job);
    if (slurm_container_prepare(out, job, err) < 0)
        return -1;
    slurm_text_add(out, SLURM_TEXT_BATCH_RUN);
    return 0;
}
