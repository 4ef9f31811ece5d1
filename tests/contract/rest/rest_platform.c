/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_platform.c - jobs of a service behind a REST API: descriptor, connection, what is done with jobs.
 *
 * The shortest complete platform: copy it to begin another one (docs/add-a-platform.md). An attempt is one job
 * there, named ID.ATTEMPT; a create that finds the name taken finds its own job, so it may be repeated.
 */
#include "rest_platform.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/stop.h"

enum { CALL_MS = 20000, POLL_MS = 20 };

/* ---- connection --------------------------------------------------------------------------------- */

struct rest_connect_options { const char *url; };

static const struct sw_option options[] = {
    { "url", SW_TEXT, SW_CONNECTION, SW_FILLS(struct rest_connect_options, url), .env = "REST_URL",
      .help = "address of the service" },
    { 0 }
};
static const struct sw_credential credentials[] = {
    { "REST_API_KEY", .required = true, .help = "key of the service" }, { 0 }
};
static const struct sw_rest_field fields[] = { { "gpus", "gpus" }, { "ranks", "nodes" }, { 0 } };

/* Tokens of the service last a few seconds. */
static struct sw_secret *fetch_token(void *context, bool refused, struct sw_error *err)
{
    struct sw_connection *conn = context;
    sw_auto(json) json_t *json = NULL;
    struct sw_rest_pair key[] = { { "X-Api-Key", conn->key ? sw_secret_reveal(conn->key) : NULL }, { 0 } };
    struct sw_rest_call call = { .method = "POST", .path = "/v1/token", .headers = key, .repeatable = true };

    (void)refused;
    if (sw_rest_call(conn->login, &call, &json, err) < 0)
        return NULL;
    return sw_secret_new(sw_json_str(json, "token") ? sw_json_str(json, "token") : "");
}

static void rest_close(struct sw_connection *conn)
{
    if (!conn)
        return;
    sw_rest_close(conn->rest);
    sw_rest_close(conn->login);
    sw_log_spools_close(conn->spools);
    sw_secret_free(conn->key);
    free(conn->url);
    free(conn->root);
    free(conn);
}

static struct sw_connection *rest_open(const struct sw_connect_options *config, struct sw_error *err)
{
    struct rest_connect_options connect = { 0 };
    struct sw_connection *conn = sw_new(struct sw_connection);
    struct sw_rest_options to = { .name = "the service", .fields = fields, .threads = true };
    const char *key = config->env ? config->env(config->env_context, "REST_API_KEY") : NULL;

    sw_options_fill(options, config->options, SW_CONNECTION, &connect, NULL);
    conn->url = sw_strdup(connect.url ? connect.url : "http://127.0.0.1:8080");
    conn->root = sw_path_join(config->state_dir, "rest");
    conn->key = key ? sw_secret_new(key) : NULL;
    conn->spools = sw_log_spools_open(conn->root);
    to.base_url = conn->url;
    conn->login = sw_rest_open(&to, err);
    to.token = fetch_token;
    to.token_context = conn;
    conn->rest = conn->login ? sw_rest_open(&to, err) : NULL;
    if (!conn->rest)
        rest_close(sw_take(conn));
    return conn;
}

static void rest_place(struct sw_connection *conn, struct sw_place *out)
{
    out->address = sw_strdup(conn->url);
    out->options = sw_json_object(SW_STR("url", conn->url));
}

static int get(struct sw_connection *conn, const char *path, const char *key, const char *value, json_t **json,
               struct sw_error *err)
{
    return sw_rest_call(conn->rest, &(struct sw_rest_call){
        .path = path, .repeatable = true, .deadline_ms = sw_monotonic_ms() + CALL_MS,
        .query = (const struct sw_rest_pair[]){ { key, value }, { 0 } } }, json, err);
}

static int rest_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    sw_auto(json) json_t *server = NULL;

    if (get(conn, "/v1/server", NULL, NULL, &server, err) < 0)
        return -1;
    sw_buf_addf(identity, "%s the service at %s", sw_json_str(server, "id"), conn->url);
    return 0;
}

static bool rest_sees_loopback(struct sw_connection *conn, const struct sw_plan *plan)
{
    (void)plan;
    return sw_http_is_loopback(conn->url);
}

int rest_ask(struct sw_connection *conn, const char *method, const struct sw_jobref *job, const char *rest,
             const json_t *body, json_t **json, struct sw_error *err)
{
    struct rest_name name = rest_name(job->id, job->attempt);
    sw_autofree char *start = sw_rest_path("/v1/jobs/%s", name.text), *path = sw_format("%s%s", start, rest);

    return sw_rest_call(conn->rest, &(struct sw_rest_call){
        .method = method, .path = path, .json = body, .repeatable = true,
        .deadline_ms = sw_monotonic_ms() + CALL_MS }, json, err);
}

/* ---- submit ------------------------------------------------------------------------------------- */

static int rest_preflight(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    (void)conn;
    if (json_array_size(plan->mounts) > 0)
        return sw_fail(err, SW_E_SPEC, "mounts: the service has no folders of other machines");
    return plan->memory_bytes > 0 || plan->cpus > 0
               ? sw_fail(err, SW_E_SPEC, "memory, cpus: the service limits neither") : 0;
}

static json_t *rest_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(json) json_t *body = rest_preflight(conn, plan, err) < 0 ? NULL : rest_render_body(plan, 1, err);
    sw_autofree char *text = body ? sw_json_dump_pretty(body) : NULL;

    return body ? json_pack("[o]", sw_json_object(SW_STR("what", "POST /v1/jobs"), SW_STR("text", text))) : NULL;
}

/* Secrets leave their type through a descriptor only: memory that no disk sees. */
static int send_secrets(struct sw_connection *conn, const char *name, const struct sw_secrets *secrets,
                        struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/v1/secrets/%s", name);
    sw_autofd int fd = memfd_create("secrets", MFD_CLOEXEC);

    if (!secrets || sw_secrets_count(secrets) == 0)
        return 0;
    if (fd < 0 || sw_secrets_send(secrets, fd) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot pass the secrets on");
    return sw_rest_call(conn->rest, &(struct sw_rest_call){
        .method = "PUT", .path = path, .fd = fd, .length = lseek(fd, 0, SEEK_END), .repeatable = true,
        .deadline_ms = sw_monotonic_ms() + CALL_MS }, NULL, err);
}

static void fill_submission(const json_t *job, struct sw_submission *out)
{
    snprintf(out->remote_id, sizeof out->remote_id, "%s", sw_json_str(job, "name"));
    out->details = json_object();
    out->results_dir = sw_strdup(sw_json_str(job, "results"));
}

static int rest_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                       const struct sw_secrets *secrets, struct sw_submission *out, struct sw_error *err)
{
    struct sw_jobref job = { .id = plan->job_id, .attempt = attempt };
    struct rest_name name = rest_name(job.id, attempt);
    sw_auto(json) json_t *body = rest_render_body(plan, attempt, err), *server = NULL, *made = NULL;
    struct sw_rest_call create = { .method = "POST", .path = "/v1/jobs", .json = body, .repeatable = true,
                                   .deadline_ms = sw_monotonic_ms() + CALL_MS };
    struct sw_error why = { 0 };

    if (!body || get(conn, "/v1/server", NULL, NULL, &server, err) < 0 ||
        rest_render_files(body, plan, sw_json_str(server, "arch"), err) < 0 ||
        send_secrets(conn, name.text, secrets, err) < 0)
        return -1;
    if (sw_rest_call(conn->rest, &create, &made, &why) < 0 && why.code == SW_E_CONFLICT) {
        why = (struct sw_error){ 0 };
        rest_ask(conn, NULL, &job, "", NULL, &made, &why);
    }
    if (!made)
        return sw_pass(err, &why);
    fill_submission(made, out);
    return 0;
}

/* ---- observe ------------------------------------------------------------------------------------ */

static int keep_by_name(void *context, json_t *job)
{
    return json_object_set(context, sw_json_str(job, "name"), job);
}

static json_t *list_jobs(struct sw_connection *conn, struct sw_error *err)
{
    static const struct sw_rest_pages pages = { "jobs", "next", "after" };
    sw_auto(json) json_t *jobs = json_object();
    struct sw_rest_call call = { .path = "/v1/jobs", .repeatable = true,
                                 .deadline_ms = sw_monotonic_ms() + CALL_MS };

    return sw_rest_list(conn->rest, &call, &pages, keep_by_name, jobs, err) < 0 ? NULL : sw_take(jobs);
}

/* A list without it proves nothing: it is asked for by name. */
static void look_again(struct sw_connection *conn, struct sw_observation *seen)
{
    sw_auto(json) json_t *job = NULL;
    struct sw_error why = { 0 };

    if (rest_ask(conn, NULL, &seen->job, "", NULL, &job, &why) == 0)
        rest_observation(job, seen);
    else
        seen->presence = why.code == SW_E_NOT_FOUND ? SW_ABSENT : SW_UNSEEN;
}

static int rest_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                        struct sw_error *err)
{
    sw_auto(json) json_t *list = list_jobs(conn, err);

    for (size_t i = 0; list && i < count; i++) {
        struct rest_name name = rest_name(jobs[i].job.id, jobs[i].job.attempt);
        const json_t *job = json_object_get(list, name.text);

        if (job)
            rest_observation(job, &jobs[i]);
        else
            look_again(conn, &jobs[i]);
    }
    return list ? 0 : -1;
}

static int stop(struct sw_connection *conn, const struct sw_jobref *job, const char *why, struct sw_error *err)
{
    sw_auto(json) json_t *body = sw_json_object(SW_STR("why", why));

    return rest_ask(conn, "POST", job, "/stop", body, NULL, err);
}

/* One rank failed: the others are ended. */
static void rest_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].state == SW_RUNNING && sw_text_same(jobs[i].reason, SW_REASON_ENDING))
            stop(conn, &jobs[i].job, "a rank failed", NULL);
}

static json_t *rest_replicas_of(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(json) json_t *seen = NULL;

    return rest_ask(conn, NULL, job, "", NULL, &seen, err) < 0 ? NULL : rest_replicas(seen);
}

static void rest_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                          struct sw_evidence *out, size_t count, int64_t deadline_ms)
{
    for (size_t i = 0; i < count && (!deadline_ms || sw_monotonic_ms() < deadline_ms); i++)
        out[i].log_tail = sw_log_tail(&(struct sw_log){ &sw_platform_rest, conn, &seen[i]->job,
                                                        seen[i]->failed_replica }, NULL);
}

/* ---- end ---------------------------------------------------------------------------------------- */

static int wait_for_end(struct sw_connection *conn, const struct sw_jobref *job, int64_t deadline_ms,
                        struct sw_error *err)
{
    for (;;) {
        sw_auto(json) json_t *seen = NULL;

        if (rest_ask(conn, NULL, job, "", NULL, &seen, err) < 0 || sw_json_bool(seen, "over", false))
            return seen ? 0 : -1;
        if (sw_monotonic_ms() > deadline_ms)
            return sw_fail(err, SW_E_UNREACHABLE, "it was told to end, and still runs");
        sw_sleep_ms(POLL_MS);
    }
}

static void rest_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                        int64_t deadline_ms)
{
    for (size_t i = 0; i < count; i++)
        jobs[i].result = stop(conn, jobs[i].job, SW_REASON_CANCELED, &jobs[i].err);
    for (size_t i = 0; i < count; i++) {
        int64_t grace_ms = sw_json_duration_ms(jobs[i].job->plan, "grace_ms", 30000);

        if (jobs[i].result == 0)
            jobs[i].result = wait_for_end(conn, jobs[i].job, deadline_ms ? deadline_ms
                                          : sw_monotonic_ms() + sw_stop_budget_ms(grace_ms), &jobs[i].err);
        else if (jobs[i].err.code == SW_E_NOT_FOUND)
            jobs[i].result = 0;
    }
}

static void rest_finalize(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count)
{
    sw_log_keep_ends(&sw_platform_rest, conn, jobs, count);
}

static int cleanup_one(struct sw_connection *conn, const struct sw_jobref *job, bool keep_results,
                       struct sw_error *err)
{
    sw_autofree char *volume = sw_rest_path("/v1/volumes/%s", job->id);
    sw_autofree char *folder = sw_path_join(conn->root, job->id);
    struct sw_error why = { 0 };

    for (struct sw_jobref one = { .id = job->id, .attempt = 1 }; one.attempt <= job->attempt; one.attempt++)
        if (rest_ask(conn, "DELETE", &one, "", NULL, NULL, &why) < 0 && why.code != SW_E_NOT_FOUND)
            return sw_pass(err, &why);
    if (!keep_results && sw_rest_call(conn->rest, &(struct sw_rest_call){
            .method = "DELETE", .path = volume, .repeatable = true }, NULL, err) < 0)
        return -1;
    return sw_remove_tree(folder, err);
}

static void rest_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                         bool keep_results, int64_t deadline_ms)
{
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++)
        jobs[i].result = cleanup_one(conn, jobs[i].job, keep_results, &jobs[i].err);
}

static int rest_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *out,
                      struct sw_error *err)
{
    sw_auto(json) json_t *list = list_jobs(conn, err);
    const json_t *job, *newest = NULL, *labels;

    for (int attempt = 1; list && (job = json_object_get(list, rest_name(id, attempt).text)); attempt++)
        newest = job;
    if (!newest)
        return list ? sw_fail(err, SW_E_NOT_FOUND, "the service has no job '%s'", id) : -1;
    labels = json_object_get(newest, "labels");
    fill_submission(newest, out);
    snprintf(out->signature, sizeof out->signature, "%s",
             sw_json_str(labels, "signature") ? sw_json_str(labels, "signature") : "");
    if (plan)
        *plan = sw_json_parse(sw_json_str(labels, "plan"), strlen(sw_json_str(labels, "plan")), "plan", NULL);
    return 0;
}

/* ---- files there -------------------------------------------------------------------------------- */

static int rest_check_path(struct sw_connection *conn, const char *path, bool *exists, struct sw_error *err)
{
    struct sw_error why = { 0 };

    *exists = get(conn, "/v1/files", "path", path, NULL, &why) == 0;
    return *exists || why.code == SW_E_NOT_FOUND ? 0 : sw_pass(err, &why);
}

static json_t *rest_list_path(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    sw_auto(json) json_t *found = NULL;

    return get(conn, "/v1/files", "path", path, &found, err) < 0
               ? NULL : json_incref(json_object_get(found, "names"));
}

const struct sw_platform sw_platform_rest = {
    .name = "rest", .summary = "the service of the contract suite",
    .options = options, .credentials = credentials,
    .open = rest_open, .close = rest_close, .place = rest_place, .identify = rest_identify,
    .sees_loopback = rest_sees_loopback, .render = rest_render, .preflight = rest_preflight,
    .submit = rest_submit, .observe = rest_observe, .reconcile = rest_reconcile,
    .log_fetch = rest_log_fetch, .log_spools = rest_log_spools, .replicas = rest_replicas_of,
    .evidence = rest_evidence, .cancel = rest_cancel, .finalize = rest_finalize, .cleanup = rest_cleanup,
    .adopt = rest_adopt, .check_path = rest_check_path, .list_path = rest_list_path,
};
