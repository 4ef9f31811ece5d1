/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_submit.c - hand a plan to the cluster, at most once, in one round trip.
 *
 * One script (slurm_submit.sh) checks, writes and submits. A repeat after a lost connection, a dead client
 * or from another machine finds the first job. What is left of a submitter that died is taken over only when
 * the queue has nothing of it; and should two jobs of one attempt exist after all, the batch script lets only
 * one run.
 *
 * Small texts travel inside the script and are written by the shell itself, without a process for each;
 * everything else is its standard input (slurm_upload.h). What all jobs share is sent only when it is
 * missing: then, and only then, there is a second round trip.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "platform/slurm/slurm_upload.h"

/* ---- the script -------------------------------------------------------------------------------- */

/* A file that the script writes: NAME is its path, NAME_text what is in it. */
static void set_file(struct sw_buf *out, const char *name, const char *path, const char *text)
{
    sw_autofree char *variable = sw_format("%s_text", name);

    slurm_set(out, name, path);
    slurm_set(out, variable, text);
}

static void set_document(struct sw_buf *out, const char *name, const char *path, const json_t *document)
{
    sw_autofree char *text = document ? sw_json_dump(document) : NULL;

    set_file(out, name, path, text);
}

static void set_specs(struct sw_buf *out, const struct slurm_job *job)
{
    sw_auto(json) json_t *specs = sw_plan_to_json(job->plan);

    json_object_set_new(specs, "results_dir", sw_json_text(job->names.results));
    if (job->plan->signature)                /* not part of what it signs: slurm_adopt takes both out */
        json_object_set_new(specs, "signature", sw_json_text(job->plan->signature));
    set_document(out, "specs", job->names.specs, specs);
}

static void set_meta(struct sw_buf *out, const struct slurm_job *job)
{
    const struct sw_plan *plan = job->plan;
    sw_auto(json) json_t *meta = sw_json_object(
        SW_INT("version", 1), SW_STR("job_id", plan->job_id), SW_INT("attempt", job->attempt),
        SW_STR("job_name", job->names.job_name), SW_STR("job_dir", job->names.base),
        SW_STR("log_dir", job->names.logs), SW_STR("results_dir", job->names.results),
        SW_STR_OPT("store", plan->store_id),
        SW_SUB("owner_uid", plan->store_id ? json_integer(plan->owner_uid) : NULL),
        SW_STR_OPT("image", plan->image), SW_INT("nodes", job->shape.nodes),
        SW_INT("replicas", slurm_replica_count(job)), SW_STR("job_name_prefix", job->prefix));

    set_document(out, "meta", job->names.meta, meta);
}

static int set_files(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = slurm_payload(job, err);
    sw_auto(json) json_t *document = payload ? sw_payload_to_json(payload) : NULL;
    sw_auto(json) json_t *env = slurm_environment(job);
    sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT, entrypoint = SW_BUF_INIT, conversion = SW_BUF_INIT;

    if (!document || slurm_batch(&batch, job, err) < 0 ||
        (slurm_converts_elsewhere(job) && slurm_convert_batch(&conversion, job, err) < 0))
        return -1;
    slurm_entrypoint(&entrypoint, job);
    set_specs(out, job);
    set_document(out, "env", job->names.env, env);
    set_document(out, "payload", job->names.payload, document);
    set_document(out, "rules", job->names.rules, job->plan->rules);
    set_file(out, "entrypoint", job->names.entrypoint, sw_buf_text(&entrypoint));
    set_file(out, "sbatch", job->names.sbatch, sw_buf_text(&batch));
    slurm_set(out, "image_sbatch_text", sw_buf_text(&conversion));
    set_meta(out, job);
    return 0;
}

/* ---- what the cluster allowed a moment ago ------------------------------------------------------- */

/* A base folder that no other may write to stays so, and a limit that allowed as much still does: the
 * cluster is asked once per connection. */
static bool is_known(struct slurm_connection *slurm, const struct slurm_job *job, const char *partition)
{
    bool known;

    pthread_mutex_lock(&slurm->lock);
    known = sw_text_same(slurm->safe_base, job->names.base) && sw_text_same(slurm->allowed_in, partition) &&
            job->shape.limit_minutes <= slurm->allowed_minutes;
    pthread_mutex_unlock(&slurm->lock);
    return known;
}

static void remember(struct slurm_connection *slurm, const struct slurm_job *job)
{
    sw_autofree char *partition = slurm_joined(job->options.partition);

    if (!job->options.check || is_known(slurm, job, partition ? partition : ""))
        return;
    pthread_mutex_lock(&slurm->lock);
    free(slurm->safe_base);
    free(slurm->allowed_in);
    slurm->safe_base = sw_strdup(job->names.base);
    slurm->allowed_in = sw_strdup(partition ? partition : "");
    slurm->allowed_minutes = job->shape.limit_minutes;
    pthread_mutex_unlock(&slurm->lock);
}

static int make_script(struct sw_buf *out, struct slurm_connection *slurm, const struct slurm_job *job,
                       const struct slurm_upload *upload, unsigned sent, struct sw_error *err)
{
    const struct slurm_names *names = &job->names;
    sw_autofree char *partition = slurm_joined(job->options.partition);
    bool known = is_known(slurm, job, partition ? partition : "");

    slurm_text_add(out, SLURM_TEXT_COMMON);
    slurm_set(out, "own_umask", slurm_umask(&job->options));
    slurm_set(out, "state", names->state);
    slurm_set(out, "logs", names->logs);
    slurm_set(out, "name", names->job_name);
    slurm_set(out, "prefix", job->prefix);
    slurm_set(out, "comment", names->comment);
    slurm_set(out, "account", job->options.account);
    slurm_set(out, "waits_for", slurm_waits_for_ours(job) ? job->options.dependency : NULL);
    slurm_set_flag(out, "base_is_safe", known);
    sw_buf_addf(out, "now=%lld\nown_token=%lld-%d\n", (long long)(sw_now_ms() / 1000),
                (long long)sw_now_ms(), (int)getpid());
    slurm_upload_values(out, job, upload, sent);
    slurm_needs_values(out, job, !known);
    sw_buf_add(out, "image_job=\n");
    if ((slurm_converts_elsewhere(job) && slurm_convert_values(out, job, err) < 0) ||
        set_files(out, job, err) < 0)
        return -1;
    slurm_text_add(out, SLURM_TEXT_NEEDS);
    slurm_text_add(out, SLURM_TEXT_REFUSALS);
    slurm_text_add(out, SLURM_TEXT_SUBMIT);
    return 0;
}

/* ---- the answer -------------------------------------------------------------------------------- */

static void fill_submission(struct sw_submission *out, struct slurm_connection *slurm,
                            const struct slurm_job *job, const char *number)
{
    snprintf(out->remote_id, sizeof out->remote_id, "%s", number);
    out->details = sw_json_object(
        SW_STR("slurm_job_id", number), SW_STR("job_name", job->names.job_name),
        SW_STR("base_dir", job->names.base), SW_STR("job_dir", job->names.base),
        SW_STR("log_dir", job->names.logs), SW_STR("job_name_prefix", job->prefix),
        SW_INT("attempt", job->attempt), SW_INT("nodes", job->shape.nodes),
        SW_INT("replicas", slurm_replica_count(job)), SW_STR("hostname", sw_ssh_host(slurm->ssh)));
    out->results_dir = sw_strdup(job->names.results);
}

/* 0: it is in the queue. 1: a shared file is missing there; *sent then says what has to come along. */
static int read_answer(struct sw_connection *conn, const struct slurm_job *job, struct sw_ssh_reply *reply,
                       unsigned *sent, struct sw_submission *out, struct sw_error *err)
{
    struct slurm_records records = slurm_records_of(&reply->output);
    struct slurm_record record;

    while (slurm_record_next(&records, &record)) {
        if (sw_text_same(record.kind, "need")) {
            *sent |= slurm_upload_missing(record.rest);
            return 1;
        }
        if (sw_text_same(record.kind, "refused"))
            return slurm_refused(&record, err);
        if (sw_text_same(record.kind, "job") && *record.rest && strlen(record.rest) < SLURM_ID_ROOM) {
            fill_submission(out, slurm_of(conn), job, record.rest);
            remember(slurm_of(conn), job);
            return 0;
        }
    }
    sw_fail(err, SW_E_UNREACHABLE, "the commands on the login node ended (exit code %d) before they "
                                   "reported a "
                                   "result%s%.500s", reply->exit_code, reply->errors.length ? ": " : "",
            sw_buf_text(&reply->errors));
    return sw_hint(err, "the job may have been queued: the next refresh finds out");
}

static int send_once(struct sw_connection *conn, const struct slurm_job *job, struct slurm_upload *upload,
                     unsigned *sent, struct sw_submission *out, struct sw_error *err)
{
    struct sw_ssh_piece pieces[SLURM_PIECES];
    struct sw_ssh_call call = { .input = pieces,
                                .input_count = slurm_upload_pieces(upload, *sent, pieces) };
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (make_script(&script, slurm_of(conn), job, upload, *sent, err) < 0)
        return -1;
    call.script = script.data;
    if (slurm_ask(conn, &call, &reply, err) < 0)
        return -1;
    return read_answer(conn, job, &reply, sent, out, err);
}

/* A round trip of its own, and only for jobs with mounts: a clone may take minutes. */
static int stage_mounts(struct sw_connection *conn, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_ssh_call call = { .repeatable = true, .timeout_ms = 900000 };

    if (json_array_size(job->plan->mounts) == 0)
        return 0;
    if (slurm_mounts_script(&script, job, err) < 0)
        return -1;
    call.script = script.data;
    if (slurm_ask(conn, &call, &reply, err) < 0)
        return -1;
    if (reply.exit_code == 0)
        return 0;
    sw_fail(err, SW_E_SPEC, "cannot prepare a mount: %.400s", sw_buf_text(&reply.errors));
    return sw_hint(err, "sources are paths of the cluster, or repositories that its login host can "
                        "read; nothing was submitted");
}

int slurm_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                 const struct sw_secrets *secrets, struct sw_submission *out, struct sw_error *err)
{
    sw_auto(slurm_upload) struct slurm_upload upload = SLURM_UPLOAD_INIT;
    sw_auto(slurm_job) struct slurm_job job = { 0 };
    unsigned sent = 0;
    int result;

    if (slurm_job_of(conn, plan, attempt, &job, err) < 0 ||
        slurm_upload_load(&upload, conn, &job, secrets, err) < 0 ||
        slurm_registry_login(conn, &job, err) < 0 || stage_mounts(conn, &job, err) < 0)
        return -1;
    result = send_once(conn, &job, &upload, &sent, out, err);
    if (result == 1)
        result = send_once(conn, &job, &upload, &sent, out, err);
    if (result == 1)
        return sw_fail(err, SW_E_REFUSED, "the runner cannot be stored in '%s/runner'", job.names.base);
    return result;
}
