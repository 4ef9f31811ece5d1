/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_platform.c - jobs of a service behind a REST API (./server): a whole platform in one file.
 *
 * The shortest complete one: copy it to begin another (docs/add-a-platform.md). An attempt is one job there,
 * named ID.ATTEMPT. A create that finds the name taken finds its own job, so it may be repeated.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "core/job_env.h"
#include "core/reason.h"
#include "core/state.h"
#include "core/stop.h"
#include "platform/kit/chunks.h"
#include "platform/kit/cloud.h"
#include "platform/kit/jobs.h"
#include "platform/kit/log_lines.h"
#include "platform/kit/rest.h"

#define HOME    "/slipway"               /* the runner's folder in a job */
#define RESULTS "/results"

extern const struct sw_platform sw_platform_rest;

/* ---- plan to body ------------------------------------------------------------------------------- */

static struct sw_jobs_name name_of(const char *id, int attempt)
{
    struct sw_jobs_name name;

    snprintf(name.text, sizeof name.text, "%s.%d", id, attempt);
    return name;
}

static json_t *environment(const struct sw_plan *plan, int attempt)
{
    sw_auto(sw_buf) struct sw_buf workers = SW_BUF_INIT;
    json_t *env = sw_job_env_own(plan->env);

    for (int i = 1; i < plan->nodes; i++)
        sw_buf_addf(&workers, "%s127.0.0.1", i > 1 ? "," : "");
    sw_job_env_defaults(false, NULL, env);
    sw_job_env_add(&(struct sw_job_env){
        .job_id = plan->job_id, .attempt = attempt, .nodes = plan->nodes, .gpus_per_node = plan->gpus,
        .world_size_ranks = plan->world_size_ranks, .node_rank = -1, .master_addr = "127.0.0.1",
        .worker_addrs = sw_buf_text(&workers), .results_root = RESULTS, .results_above = RESULTS,
        .results_dir = RESULTS }, env);
    json_object_set_new(env, "SLIPWAY_TMP", json_string(HOME));
    return env;
}

static json_t *render_body(const struct sw_plan *plan, int attempt)
{
    sw_auto(sw_buf) struct sw_buf command = SW_BUF_INIT;
    sw_auto(json) json_t *stored = sw_plan_to_json(plan);
    sw_autofree char *text = sw_json_dump(stored);

    sw_buf_add(&command, "mkdir " HOME "\n");
    sw_chunks_shell(&command, "SLIPWAY_JOB", HOME "/job.sh");
    sw_buf_add(&command, "exec sh " HOME "/job.sh\n");
    return sw_json_object(
        SW_STR("name", name_of(plan->job_id, attempt).text), SW_STR("volume", plan->job_id),
        SW_INT("ranks", plan->nodes), SW_INT("gpus", plan->gpus), SW_STR("rank_variable", "NODE_RANK"),
        SW_STR("command", sw_buf_text(&command)), SW_SUB("env", environment(plan, attempt)),
        SW_INT("stop_seconds", (sw_stop_budget_ms(plan->grace_ms) + 999) / 1000),
        SW_SUB("labels", sw_json_object(SW_STR("plan", text), SW_STR_OPT("signature", plan->signature))));
}

/* ---- answer to observation ---------------------------------------------------------------------- */

static const struct sw_state_word words[] = {
    { "queued",   SW_PENDING,  "it waits for a free GPU" },
    { "starting", SW_RUNNING,  NULL },
    { "running",  SW_RUNNING,  NULL },
    { "ended",    SW_COMPLETE, NULL },
    { "lost",     SW_ERROR,    NULL },
    { "stopped",  SW_CANCELED, NULL },               /* before it began */
};

static bool is_canceled(const json_t *job)
{
    return sw_text_same(sw_json_str(job, "stop"), SW_REASON_CANCELED);
}

static struct sw_jobs_rank read_rank(const json_t *job, const json_t *rank, const char **note)
{
    bool stopped = sw_json_bool(rank, "stopped", false);
    enum sw_state state = sw_state_lookup(words, SW_COUNT(words), sw_json_str(rank, "state"), note);

    if (state == SW_COMPLETE && (sw_json_int(rank, "exit_code", 0) != 0 || stopped))
        state = stopped && is_canceled(job) ? SW_CANCELED : SW_ERROR;
    return (struct sw_jobs_rank){
        .rank = { .presence = SW_PRESENT, .state = state, .follows = stopped,
                  .started_ms = sw_json_int(rank, "started", 0) / 1000000,
                  .ended_ms = sw_json_int(rank, "ended", 0) / 1000000 },
        .exit_code = (int)sw_json_int(rank, "exit_code", SW_NO_EXIT_CODE),
        .log_tail = sw_json_str(rank, "tail") };     /* the service keeps it with the rank */
}

static void read_job(const json_t *job, struct sw_observation *seen)
{
    const json_t *all = json_object_get(job, "ranks");
    int count = (int)json_array_size(all);
    sw_autofree struct sw_jobs_rank *ranks = sw_alloc((size_t)(count + 1) * sizeof *ranks);
    const char *note = NULL;

    for (int i = 0; i < count; i++)
        ranks[i] = read_rank(job, json_array_get(all, (size_t)i), &note);
    sw_jobs_read_ranks(ranks, count, is_canceled(job), seen);
    snprintf(seen->remote_id, sizeof seen->remote_id, "%s", sw_json_str(job, "name"));
    if (seen->state == SW_PENDING && note) {
        snprintf(seen->reason, sizeof seen->reason, SW_REASON_GPU_WAIT);
        snprintf(seen->message, sizeof seen->message, "%s", note);
    }
}

/* ---- connection --------------------------------------------------------------------------------- */

struct rest_connect_options { const char *url; };

static const struct sw_option options[] = {
    { "url", SW_TEXT, SW_CONNECTION, SW_FILLS(struct rest_connect_options, url), .env = "REST_URL",
      .initial = "http://127.0.0.1:8080", .help = "address of the service" },
    { 0 }
};
static const struct sw_credential credentials[] = {
    { "REST_TOKEN", .required = true, .help = "token of the service" }, { 0 }
};
static const struct sw_rest_field fields[] = { { "gpus", "gpus" }, { "ranks", "nodes" }, { 0 } };

struct sw_connection {
    struct sw_cloud cloud;
    char *url;                           /* where the service is */
    struct sw_secret *token;             /* NULL: not set */
};

static void rest_close(struct sw_connection *conn)
{
    if (!conn)
        return;
    sw_cloud_done(&conn->cloud);
    sw_secret_free(conn->token);
    free(conn->url);
    free(conn);
}

static struct sw_connection *rest_open(const struct sw_connect_options *config, struct sw_error *err)
{
    struct sw_connection *conn = sw_new(struct sw_connection);
    struct sw_rest_options to = { .name = "the service", .fields = fields, .threads = true,
                                  .patience_ms = 20000, .token = sw_rest_token_given };
    const char *token = config->env(config->env_context, credentials[0].name);
    struct rest_connect_options connect = { 0 };

    sw_options_fill(options, config->options, SW_CONNECTION, &connect, NULL);
    conn->url = sw_strdup(connect.url);
    sw_cloud_init(&conn->cloud, "rest", config);
    conn->token = token ? sw_secret_new(token) : NULL;
    to.base_url = conn->url;
    to.token_context = conn->token;
    conn->cloud.rest = sw_rest_open(&to, err);
    if (!conn->cloud.rest)
        rest_close(sw_take(conn));
    return conn;
}

/* One call that may be repeated: METHOD /v1/KIND/NAME[/MORE]. */
static int ask(struct sw_connection *conn, const char *method, const char *kind, const char *name,
               const char *more, const json_t *body, json_t **json, struct sw_error *err)
{
    sw_autofree char *start = sw_rest_path("/v1/%s/%s", kind, name), *path = sw_format("%s%s", start, more);

    return sw_cloud_call(conn, method, path, body, json, err);
}

static void rest_place(struct sw_connection *conn, struct sw_place *out)
{
    out->address = sw_strdup(conn->url);
    out->options = sw_json_object(SW_STR("url", conn->url));
}

static int rest_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    sw_auto(json) json_t *server = NULL;

    if (ask(conn, NULL, "server", "", "", NULL, &server, err) < 0)
        return -1;
    sw_buf_addf(identity, "%s the service at %s", sw_json_str(server, "id"), conn->url);
    return 0;
}

static bool rest_sees_loopback(struct sw_connection *conn, const struct sw_plan *plan)
{
    (void)plan;
    return sw_http_is_loopback(conn->url);
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
    sw_auto(json) json_t *body = rest_preflight(conn, plan, err) == 0 ? render_body(plan, 1) : NULL;
    sw_autofree char *text = body ? sw_json_dump_pretty(body) : NULL;

    return text ? json_pack("[{s:s,s:s}]", "what", "POST /v1/jobs", "text", text) : NULL;
}

static void fill_submission(const json_t *job, struct sw_submission *out)
{
    sw_jobs_receipt(out, sw_json_str(job, "name"), sw_json_str(json_object_get(job, "labels"), "signature"));
    out->results_dir = sw_strdup(sw_json_str(job, "results"));
}

static int rest_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                       const struct sw_secrets *secrets, struct sw_submission *out, struct sw_error *err)
{
    static const struct sw_chunk_limits limits = { "rest", 96 * 1024, 1800 * 1024 };
    struct sw_jobs_name name = name_of(plan->job_id, attempt);
    sw_auto(json) json_t *body = render_body(plan, attempt), *server = NULL, *made = NULL;
    sw_autofree char *secret = sw_rest_path("/v1/secrets/%s", name.text);
    sw_autofree char *path = sw_rest_path("/v1/jobs/%s", name.text);
    sw_autofree char *kept = sw_path_join(conn->cloud.root, plan->job_id);
    const struct sw_rest_call put = { "PUT", .path = secret, .secrets = secrets, .repeatable = true };
    const struct sw_rest_call create = { "POST", .path = "/v1/jobs", .json = body, .repeatable = true };

    if (ask(conn, NULL, "server", "", "", NULL, &server, err) < 0 ||
        sw_chunks_put_job(json_object_get(body, "env"), "SLIPWAY_JOB", &(struct sw_chunks_job){
            plan, sw_json_str(server, "arch"), RESULTS, HOME "/work", attempt, kept }, &limits, err) < 0 ||
        sw_rest_call(conn->cloud.rest, &put, NULL, err) < 0 ||
        sw_rest_create(conn->cloud.rest, &create, path, &made, err) < 0)
        return -1;
    fill_submission(made, out);
    return 0;
}

/* ---- jobs, by name (kit/jobs.h) ----------------------------------------------------------------- */

static int keep_by_name(void *context, json_t *job)
{
    return json_object_set(context, sw_json_str(job, "name"), job);
}

static json_t *list(struct sw_connection *conn, const struct sw_observation *wanted, size_t count,
                    struct sw_error *err)
{
    static const struct sw_rest_pages pages = { "jobs", "next", "after" };
    const struct sw_rest_call call = { .path = "/v1/jobs", .repeatable = true };
    sw_auto(json) json_t *jobs = json_object();

    (void)wanted, (void)count;           /* the service lists all of them at once */
    return sw_rest_list(conn->cloud.rest, &call, &pages, keep_by_name, jobs, err) < 0 ? NULL : sw_take(jobs);
}

static json_t *get(struct sw_connection *conn, const char *name, struct sw_error *err)
{
    json_t *job = NULL;

    ask(conn, NULL, "jobs", name, "", NULL, &job, err);
    return job;
}

static int stop(struct sw_connection *conn, const char *name, const char *why, struct sw_error *err)
{
    sw_auto(json) json_t *body = sw_json_object(SW_STR("why", why));

    return ask(conn, "POST", "jobs", name, "/stop", body, NULL, err);
}

static const struct sw_jobs_api api = { name_of, list, get, read_job, stop, NULL };

SW_JOBS_SLOTS(rest, &api)

static json_t *rest_replicas(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(json) json_t *seen = get(conn, name_of(job->id, job->attempt).text, err);
    json_t *rows = seen ? json_array() : NULL, *rank;
    size_t i;

    json_array_foreach(json_object_get(seen, "ranks"), i, rank)
        json_array_append_new(rows, sw_json_object(
            SW_INT("rank", (json_int_t)i), SW_STR("node", "rest"),
            SW_STR("status", sw_state_name(read_rank(seen, rank, NULL).rank.state)),
            SW_SUB_COPY("exit_code", json_object_get(rank, "exit_code"))));
    return rows;
}

static int cleanup_one(struct sw_connection *conn, const struct sw_jobref *job, bool keep_results,
                       struct sw_error *err)
{
    for (int attempt = 1; attempt <= job->attempt; attempt++)
        if (ask(conn, "DELETE", "jobs", name_of(job->id, attempt).text, "", NULL, NULL, err) < 0 &&
            err->code != SW_E_NOT_FOUND)
            return -1;
    if (!keep_results && ask(conn, "DELETE", "volumes", job->id, "", NULL, NULL, err) < 0)
        return -1;
    return sw_cloud_forget(conn, job->id, err);
}

static void rest_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                         bool keep_results, int64_t deadline_ms)
{
    (void)deadline_ms;                   /* each call has its own */
    for (size_t i = 0; i < count; i++)
        jobs[i].result = cleanup_one(conn, jobs[i].job, keep_results, &jobs[i].err);
}

static int rest_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *out,
                      struct sw_error *err)
{
    sw_auto(json) json_t *jobs = list(conn, NULL, 0, err);
    const json_t *job = sw_jobs_newest(&api, jobs, id), *labels = json_object_get(job, "labels");
    const char *text = sw_json_str(labels, "plan");

    if (!job)
        return jobs ? sw_fail(err, SW_E_NOT_FOUND, "the service has no job '%s'", id) : -1;
    fill_submission(job, out);
    if (plan)
        *plan = text ? sw_json_parse(text, strlen(text), "plan", NULL) : NULL;
    return 0;
}

/* ---- logs --------------------------------------------------------------------------------------- */

static int rest_log_fetch(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                          struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    struct sw_jobs_name name = name_of(job->id, job->attempt);
    sw_autofree char *log = sw_rest_path("/v1/jobs/%s/ranks/%d/log?last=%d", name.text, replica,
                                         cursor->last);
    sw_autofree char *path = sw_format("%s&since=%lld", log, (long long)cursor->since_ns);
    struct sw_log_lines lines = { .sink = sink };
    struct sw_rest_call call = { .path = path, .sink = sw_log_lines_sink, .sink_context = &lines,
                                 .stall_ms = cursor->silence_ms, .silence_counts = cursor->silence_ms != 0 };
    int result;

    if (cursor->follow)
        return 0;                        /* no streams: the kit asks again and again */
    if (sw_jobs_log_life(&api, conn, job, &cursor->life, err) < 0)
        return -1;
    result = sw_rest_call(conn->cloud.rest, &call, NULL, err);
    if (result == 0 && sw_log_lines_end(&lines))
        result = sw_fail(err, SW_E_INTERRUPTED, "the reader closed the log");
    sw_log_lines_done(&lines);
    return result;
}

static void rest_finalize(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count)
{
    sw_log_keep_ends(&sw_platform_rest, conn, jobs, count);
}

static void rest_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                          struct sw_evidence *out, size_t count, int64_t deadline_ms)
{
    (void)deadline_ms;                   /* each call has its own */
    sw_jobs_evidence(&sw_platform_rest, conn, seen, out, count);
}

static json_t *rest_list_path(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    sw_auto(json) json_t *found = NULL;

    return ask(conn, NULL, "files", path, "", NULL, &found, err) < 0
               ? NULL : json_incref(json_object_get(found, "names"));
}

static int rest_check_path(struct sw_connection *conn, const char *path, bool *exists, struct sw_error *err)
{
    sw_autofree char *there = sw_rest_path("/v1/files/%s", path);

    return sw_rest_exists(conn->cloud.rest, there, exists, err);
}

const struct sw_platform sw_platform_rest = {
    .name = "rest", .summary = "the service of the contract suite",
    .options = options, .credentials = credentials,
    .open = rest_open, .close = rest_close, .place = rest_place, .identify = rest_identify,
    .sees_loopback = rest_sees_loopback, .preflight = rest_preflight, .render = rest_render,
    .submit = rest_submit, .observe = rest_observe, .reconcile = rest_reconcile, .cancel = rest_cancel,
    .replicas = rest_replicas, .cleanup = rest_cleanup, .adopt = rest_adopt,
    .log_fetch = rest_log_fetch, .log_spools = sw_cloud_log_spools, .finalize = rest_finalize,
    .evidence = rest_evidence, .list_path = rest_list_path, .check_path = rest_check_path,
};
