/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearsal.c - a platform that only pretends: descriptor and life cycle.
 *
 * It never runs the job's command. It plays a script instead ("pending 1s, running 2s, exit 3"), and is
 * otherwise complete: submit, observe, logs, cancel, adopt behave as on a real platform, and its API can be
 * slow, down or wrong. Tutorials, tests and bug reports need no cluster that way.
 *
 * Faults come from the connection (profile or environment) or from the job's own block; the
 * connection's win, so SLIPWAY_REHEARSAL_API=up repairs a job that asked for a broken API.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"
#include "core/id.h"
#include "platform/kit/log.h"
#include "platform/platform.h"
#include "platform/rehearsal/rehearsal_internal.h"

extern const struct sw_platform sw_platform_rehearsal;

#define DEFAULT_SCRIPT "pending 1s, running 2s, exit 0"

struct rehearsal_connect_options {
    const char *server;
};

struct rehearsal_job_options {
    const char *script, *api;
};

static const struct sw_option rehearsal_options[] = {
    { "script", SW_TEXT, SW_FILLS(struct rehearsal_job_options, script), .initial = DEFAULT_SCRIPT,
      .env = "SLIPWAY_REHEARSAL_SCRIPT",
      .help = "what to simulate, step by step: pending, unschedulable, running, paused, epochs, log, "
              "exit, signal, oom, lost, node-lost, preempted, image-error, vanished" },
    { "api", SW_TEXT, SW_FILLS(struct rehearsal_job_options, api), .env = "SLIPWAY_REHEARSAL_API",
      .help = "how the simulated API behaves: up, slow 200ms, down, down 3 calls, lose-answer, "
              "empty-list, not-found-then-found, cut-every 3 calls, rotate-log 4KiB, "
              "clock-back 1h" },
    { "server", SW_TEXT, SW_CONNECTION, SW_FILLS(struct rehearsal_connect_options, server),
      .env = "SLIPWAY_REHEARSAL_SERVER",
      .help = "name of the simulated server, if there is more than one" },
    { 0 }
};

enum counter { CALLS, SUBMITS, POLLS, NEW_FILES, COUNTERS };
static const char *const counter_names[] = { "calls", "submits", "polls" };

struct rehearsal_connection {
    char *server;                     /* the folder of the pretended server */
    char *name;                       /* the server's own; "": there is only one */
    char *api;                        /* the connection's own faults; NULL: the job's count */
    struct rehearsal_faults faults;
    atomic_llong counts[COUNTERS];
};

static struct rehearsal_connection *of(struct sw_connection *conn)
{
    return (struct rehearsal_connection *)conn;
}

static struct sw_connection *rehearsal_open(const struct sw_connect_options *config, struct sw_error *err)
{
    struct rehearsal_connect_options connect;
    struct rehearsal_job_options job;
    struct rehearsal_faults faults = { 0 };
    struct rehearsal_connection *here;

    if (sw_options_fill(rehearsal_options, config->options, SW_CONNECTION, &connect, err) < 0 ||
        sw_options_fill(rehearsal_options, config->options, SW_JOB, &job, err) < 0)
        return NULL;
    if (!sw_text_empty(connect.server) && sw_id_check(connect.server, err) < 0) {
        sw_wrap(err, "rehearsal.server");
        return NULL;
    }
    if (job.api && rehearsal_faults_parse(job.api, &faults, err) < 0)
        return NULL;
    here = sw_new(struct rehearsal_connection);
    here->name = sw_strdup(connect.server ? connect.server : "");
    here->server = sw_format("%s/rehearsal%s%s", config->state_dir, *here->name ? "-" : "", here->name);
    here->api = sw_text_empty(job.api) ? NULL : sw_strdup(job.api);
    here->faults = faults;
    return (struct sw_connection *)here;
}

static void rehearsal_close(struct sw_connection *conn)
{
    struct rehearsal_connection *here = of(conn);

    free(here->server);
    free(here->name);
    free(here->api);
    free(here);
}

static void rehearsal_place(struct sw_connection *conn, struct sw_place *out)
{
    const char *name = of(conn)->name;

    out->address = sw_format("%s%s", *name ? "rehearsal://" : "", name);
    out->options = *name ? sw_json_object(SW_STR("server", name)) : json_object();
}

static int rehearsal_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    const char *name = of(conn)->name;
    sw_autofree char *id = rehearsal_server_id(of(conn)->server, err);

    if (!id)
        return -1;
    sw_buf_addf(identity, "%s pretended server%s%s", id, *name ? " " : "", name);
    return 0;
}

/* ---- faults ----------------------------------------------------------------------------------- */

/* How many calls of this kind came before: in this session, or over all clients when the job itself asked
 * for faults. */
static int64_t calls_before(struct rehearsal_connection *here, enum counter which, const char *id)
{
    return here->api ? atomic_fetch_add(&here->counts[which], 1)
                     : rehearsal_job_count(here->server, id, counter_names[which]);
}

static bool is_among_first(struct rehearsal_connection *here, enum counter which, const char *id,
                           int64_t count)
{
    return count > 0 && calls_before(here, which, id) < count;
}

/* The faults that hold for a job: the connection's, or else those it asked for itself. */
static struct rehearsal_faults faults_of(const struct rehearsal_connection *here, const char *api)
{
    struct rehearsal_faults faults = here->faults;

    if (!here->api && api && rehearsal_faults_parse(api, &faults, NULL) < 0)
        faults = (struct rehearsal_faults){ 0 };
    return faults;
}

/* One call of `every`, scattered: a regular pattern could fall in step with the caller's. */
static bool is_cut(int64_t number, int64_t every)
{
    uint64_t mixed = ((uint64_t)number + 1) * 0x9e3779b97f4a7c15u;

    return every > 0 && (mixed >> 33) % (uint64_t)every == 0;
}

/* Every call to the server begins here: it may be slow, and it may get no answer. */
static int call(struct rehearsal_connection *here, const struct rehearsal_faults *faults, const char *id,
                struct sw_error *err)
{
    if (faults->slow_ms > 0)
        sw_sleep_ms(faults->slow_ms);
    if (faults->down_calls > 0 || faults->cut_every > 0) {
        int64_t before = calls_before(here, CALLS, id);

        if (before < faults->down_calls || is_cut(before, faults->cut_every))
            return sw_fail(err, SW_E_UNREACHABLE, "the rehearsal's API is down (scripted)");
    }
    return 0;
}

/* A call that concerns no job. */
static int call_server(struct rehearsal_connection *here, struct sw_error *err)
{
    return here->api ? call(here, &here->faults, "", err) : 0;
}

/* ---- submit ----------------------------------------------------------------------------------- */

static struct rehearsal_job_options options_of(const struct sw_plan *plan)
{
    struct rehearsal_job_options job;

    sw_options_fill(rehearsal_options, plan->options, SW_JOB, &job, NULL);
    return job;
}

static int rehearsal_preflight(struct sw_connection *conn, const struct sw_plan *plan,
                               struct sw_error *err)
{
    const struct rehearsal_job_options job = options_of(plan);
    struct rehearsal_faults faults;

    (void)conn;
    if (rehearsal_script_check(job.script, plan->nodes, err) < 0)
        return -1;
    return job.api ? rehearsal_faults_parse(job.api, &faults, err) : 0;
}

/* Nodes are rehearsal-0, rehearsal-1, ...: as many as are needed, after the last one to avoid. */
static int first_node(const json_t *avoid)
{
    int first = 0, number;
    json_t *name;
    size_t i;

    json_array_foreach(avoid, i, name)
        if (json_is_string(name) &&
            sscanf(json_string_value(name), "rehearsal-%4d", &number) == 1 && number >= first)
            first = number + 1;
    return first;
}

/* What the server remembers, but for the time. The connection's faults are among the plan's options,
 * too, and are not the job's own. */
static json_t *job_of_plan(const struct rehearsal_connection *here, const struct sw_plan *plan,
                           int attempt)
{
    const struct rehearsal_job_options options = options_of(plan);
    bool own = !sw_text_empty(options.api) && !sw_text_same(options.api, here->api);

    return sw_json_object(
        SW_STR("id", plan->job_id),
        SW_INT("attempt", attempt),
        SW_NULL("submitted_ms"),
        SW_STR("script", options.script),
        SW_STR_OPT("api", own ? options.api : NULL),
        SW_INT("nodes", plan->nodes),
        SW_INT("first_node", first_node(plan->avoid)),
        SW_INT("limit_ms", plan->time_ms));
}

static json_t *rehearsal_render(struct sw_connection *conn, const struct sw_plan *plan,
                                struct sw_error *err)
{
    sw_auto(json) json_t *body = NULL;
    sw_autofree char *text = NULL;

    if (rehearsal_preflight(conn, plan, err) < 0)
        return NULL;
    body = job_of_plan(of(conn), plan, 1);
    text = sw_json_dump_pretty(body);
    return json_pack("[o]", sw_json_object(
        SW_STR("what", "what the simulated server stores; the command is not run"),
        SW_STR("text", text)));
}

static void fill_submission(const struct rehearsal_connection *here, const char *id,
                            struct sw_submission *out)
{
    snprintf(out->remote_id, sizeof out->remote_id, "rehearsal://%s", id);
    out->details = sw_json_object(SW_BOOL("pretended", true));
    out->results_dir = sw_format("%s/%s/results", here->server, id);
}

/* Where results would be: so that no reader takes a rehearsal for a training run. A courtesy: the job does
 * not depend on it. */
static void leave_note(const struct rehearsal_connection *here, const char *id, const char *script)
{
    sw_autofree char *path = sw_format("%s/%s/results/rehearsal.txt", here->server, id);
    sw_autofree char *text =
        sw_format("This was a rehearsal: the command was not run.\nScript: %s\n", script);
    sw_autofd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd >= 0)
        sw_write_all(fd, text, strlen(text));
}

static int rehearsal_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                            const struct sw_secrets *secrets, struct sw_submission *receipt,
                            struct sw_error *err)
{
    struct rehearsal_connection *here = of(conn);
    sw_auto(json) json_t *job = job_of_plan(here, plan, attempt);
    struct rehearsal_faults faults = faults_of(here, sw_json_str(job, "api"));
    sw_autofree char *folder = sw_path_join(here->server, plan->job_id);
    bool made = false;

    (void)secrets;                     /* nothing runs, so none is needed */
    if (rehearsal_preflight(conn, plan, err) < 0 || sw_mkdirs(folder, 0700, err) < 0 ||
        call(here, &faults, plan->job_id, err) < 0)
        return -1;
    json_object_set_new(job, "submitted_ms", json_integer(sw_now_ms()));
    if (rehearsal_job_make(here->server, plan->job_id, attempt, job, &made, err) < 0)
        return -1;
    if (made)
        leave_note(here, plan->job_id, sw_json_str(job, "script"));
    if (is_among_first(here, SUBMITS, plan->job_id, faults.lost_answers))
        return sw_fail(err, SW_E_UNREACHABLE,
                       "the rehearsal's API took the job, and its answer was lost");
    fill_submission(here, plan->job_id, receipt);
    return 0;
}

/* ---- observe ---------------------------------------------------------------------------------- */

/* What the server knows, without a call to it. */
static int load(const struct rehearsal_connection *here, const char *id, int attempt,
                struct rehearsal_job *job, struct sw_error *err)
{
    int result = rehearsal_job_read(here->server, id, attempt > 1 ? attempt : 1, job, err);

    job->faults = faults_of(here, job->api);
    return result;
}

/* The same by a call, with its faults. `replica`: that must exist. */
static int ask(struct sw_connection *conn, const struct sw_jobref *ref, int replica,
               struct rehearsal_job *job, struct sw_error *err)
{
    if (load(of(conn), ref->id, ref->attempt, job, err) < 0 ||
        call(of(conn), &job->faults, ref->id, err) < 0)
        return -1;
    if (replica < 0 || replica >= job->nodes)
        return sw_fail(err, SW_E_NOT_FOUND, "the job has no replica %d", replica);
    return 0;
}

/* A server whose clock was set back gives times before the job was even sent. */
static int64_t by_its_clock(const struct rehearsal_faults *faults, int64_t at_ms)
{
    return at_ms > faults->clock_back_ms ? at_ms - faults->clock_back_ms : at_ms;
}

static void describe(const struct rehearsal_job *job, struct sw_observation *seen)
{
    rehearsal_observe_at(&job->steps, &job->run, seen);
    if (seen->started_ms)
        snprintf(seen->node, sizeof seen->node, "rehearsal-%d", job->first_node);
    seen->until_ms = by_its_clock(&job->faults, seen->until_ms);
    seen->started_ms = by_its_clock(&job->faults, seen->started_ms);
    seen->ended_ms = by_its_clock(&job->faults, seen->ended_ms);
    snprintf(seen->remote_id, sizeof seen->remote_id, "rehearsal://%s", seen->job.id);
    seen->last_output_ms = rehearsal_last_output(&job->steps, &job->run);
}

/* -1: this job asked for an API that is down now. */
static int observe_one(struct rehearsal_connection *here, struct sw_observation *seen, bool hidden,
                       struct sw_error *err)
{
    sw_auto(rehearsal_job) struct rehearsal_job job = { 0 };
    struct sw_error why = { 0 };

    if (load(here, seen->job.id, seen->job.attempt, &job, &why) < 0) {
        seen->presence = why.code == SW_E_NOT_FOUND ? SW_ABSENT : SW_UNSEEN;
        return 0;
    }
    if (!here->api && call(here, &job.faults, seen->job.id, err) < 0)
        return -1;
    /* A job that was never confirmed may be on its way: a list without it proves nothing. */
    if (hidden ||
        (!here->api && is_among_first(here, POLLS, seen->job.id, job.faults.unseen_calls)))
        seen->presence = sw_text_empty(seen->job.remote_id) ? SW_UNSEEN : SW_ABSENT;
    else
        describe(&job, seen);
    return 0;
}

/* Faults of the connection hit the whole question once; those of a job only that job. */
static int rehearsal_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                             struct sw_error *err)
{
    struct rehearsal_connection *here = of(conn);
    struct sw_error why = { 0 };
    size_t unreachable = 0;
    bool hidden;

    if (call_server(here, err) < 0)
        return -1;
    hidden = here->api && is_among_first(here, POLLS, "", here->faults.unseen_calls);
    for (size_t i = 0; i < count; i++)
        unreachable += observe_one(here, &jobs[i], hidden, &why) < 0;
    if (count > 0 && unreachable == count)
        return sw_fail(err, why.code, "%s", why.message);
    return 0;
}

/* ---- logs, replicas, evidence ------------------------------------------------------------------- */

/* A log in several files: a read ends with its file, and mostly the next file is not there yet at the first
 * read. How much may be read from `offset` now? */
static size_t before_rotation(struct rehearsal_connection *here, const struct rehearsal_faults *faults,
                              int64_t offset, size_t size)
{
    int64_t inside = faults->rotate_bytes > 0 ? offset % faults->rotate_bytes : -1;

    if (inside < 0)
        return size;
    if (inside == 0 && offset > 0 && atomic_fetch_add(&here->counts[NEW_FILES], 1) % 3 != 2)
        return 0;
    return (int64_t)size > faults->rotate_bytes - inside ? (size_t)(faults->rotate_bytes - inside)
                                                         : size;
}

static ssize_t rehearsal_log_read_of(struct sw_connection *conn, const struct sw_jobref *ref, int replica,
                                     int64_t offset, char *bytes, size_t size, struct sw_error *err)
{
    sw_auto(rehearsal_job) struct rehearsal_job job = { 0 };

    if (ask(conn, ref, replica, &job, err) < 0)
        return -1;
    size = before_rotation(of(conn), &job.faults, offset, size);
    return (ssize_t)rehearsal_log_read(&job.steps, &job.run, offset, bytes, size);
}

static int rehearsal_log_size_of(struct sw_connection *conn, const struct sw_jobref *ref, int replica,
                                 int64_t *size, struct sw_error *err)
{
    sw_auto(rehearsal_job) struct rehearsal_job job = { 0 };

    if (ask(conn, ref, replica, &job, err) < 0)
        return -1;
    *size = rehearsal_log_size(&job.steps, &job.run);
    return 0;
}

/* Times come with the bytes: no call of their own, so no fault either. */
static int rehearsal_log_time_of(struct sw_connection *conn, const struct sw_jobref *ref, int replica,
                                 int64_t offset, int64_t *at_ms, int64_t *until, struct sw_error *err)
{
    sw_auto(rehearsal_job) struct rehearsal_job job = { 0 };

    (void)replica;
    if (load(of(conn), ref->id, ref->attempt, &job, err) < 0)
        return -1;
    rehearsal_log_time(&job.steps, &job.run, offset, at_ms, until);
    return 0;
}

static int rehearsal_log_since_of(struct sw_connection *conn, const struct sw_jobref *ref, int replica,
                                  int64_t at_ms, int64_t *offset, struct sw_error *err)
{
    sw_auto(rehearsal_job) struct rehearsal_job job = { 0 };

    (void)replica;
    if (load(of(conn), ref->id, ref->attempt, &job, err) < 0)
        return -1;
    *offset = rehearsal_log_since(&job.steps, &job.run, at_ms);
    return 0;
}

/* The end of the script is that of the rank that failed; the others were stopped because of it. */
static json_t *replica_json(const struct sw_observation *seen, int first_node, int rank)
{
    bool bystander = seen->state == SW_ERROR && rank != seen->failed_replica;
    sw_autofree char *node = sw_format("rehearsal-%d", first_node + rank);

    return sw_json_object(
        SW_INT("rank", rank),
        SW_STR("node", node),
        SW_STR("status", sw_state_name(bystander ? SW_CANCELED : seen->state)),
        SW_SUB("exit_code", bystander || seen->exit_code < 0 ? json_null()
                                                             : json_integer(seen->exit_code)),
        SW_SUB("signal", bystander || !seen->signal ? json_null() : json_integer(seen->signal)),
        SW_NULL("pid"),
        SW_STR("message", bystander ? "stopped after another rank failed" : seen->message));
}

static json_t *rehearsal_replicas(struct sw_connection *conn, const struct sw_jobref *ref,
                                  struct sw_error *err)
{
    sw_auto(rehearsal_job) struct rehearsal_job job = { 0 };
    struct sw_observation seen = { 0 };
    json_t *replicas;

    if (ask(conn, ref, 0, &job, err) < 0)
        return NULL;
    rehearsal_observe_at(&job.steps, &job.run, &seen);
    replicas = json_array();
    for (int rank = 0; rank < job.nodes; rank++)
        json_array_append_new(replicas, replica_json(&seen, job.first_node, rank));
    return replicas;
}

static void rehearsal_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                               struct sw_evidence *out, size_t count, int64_t deadline_ms)
{
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++) {
        out[i].facts = sw_json_object(SW_BOOL("pretended", true));
        out[i].log_tail =
            sw_log_tail(&(struct sw_log){ &sw_platform_rehearsal, conn, &seen[i]->job, 0 }, NULL);
    }
}

/* ---- cancel ----------------------------------------------------------------------------------- */

static int cancel_one(struct rehearsal_connection *here, const struct sw_jobref *ref, struct sw_error *err)
{
    sw_auto(rehearsal_job) struct rehearsal_job job = { 0 };
    struct sw_error why = { 0 };

    if (load(here, ref->id, ref->attempt, &job, &why) < 0 && why.code != SW_E_NOT_FOUND)
        return sw_fail(err, why.code, "%s", why.message);
    job.faults = faults_of(here, job.api);
    if (call(here, &job.faults, ref->id, err) < 0)
        return -1;
    /* Also without a job: one that is still on its way finds the cancel when it arrives. */
    return rehearsal_job_cancel(here->server, ref->id, ref->attempt > 1 ? ref->attempt : 1,
                                sw_now_ms(), err);
}

static void rehearsal_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                             int64_t deadline_ms)
{
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++)
        jobs[i].result = cancel_one(of(conn), jobs[i].job, &jobs[i].err);
}

static void rehearsal_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                              bool keep_results, int64_t deadline_ms)
{
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++) {
        sw_autofree char *folder = sw_path_join(of(conn)->server, jobs[i].job->id);

        jobs[i].result = keep_results ? sw_remove_all_but(folder, "results", &jobs[i].err)
                                      : sw_remove_tree(folder, &jobs[i].err);
    }
}

static int rehearsal_adopt(struct sw_connection *conn, const char *id, json_t **plan,
                           struct sw_submission *receipt, struct sw_error *err)
{
    sw_auto(rehearsal_job) struct rehearsal_job job = { 0 };
    int newest = rehearsal_job_newest(of(conn)->server, id);

    if (load(of(conn), id, newest, &job, err) < 0)
        return sw_wrap(err, "the rehearsal has no job '%s'", id);
    if (call(of(conn), &job.faults, id, err) < 0)
        return -1;
    if (plan)
        *plan = NULL;                  /* the pretended server keeps no plan */
    fill_submission(of(conn), id, receipt);
    return 0;
}

/* ---- paths: those of this machine ------------------------------------------------------------- */

static int rehearsal_check_path(struct sw_connection *conn, const char *path, bool *exists,
                                struct sw_error *err)
{
    if (call_server(of(conn), err) < 0)
        return -1;
    *exists = access(path, F_OK) == 0;
    return 0;
}

static json_t *rehearsal_list_path(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    if (call_server(of(conn), err) < 0)
        return NULL;
    return sw_folder_names(path, err);
}

static bool rehearsal_sees_loopback(struct sw_connection *conn, const struct sw_plan *plan)
{
    (void)conn, (void)plan;
    return true;
}

const struct sw_platform sw_platform_rehearsal = {
    .name       = "rehearsal",
    .summary    = "a simulation, from a script such as 'pending 1s, running 2s, exit 3'; never runs the "
                  "command",
    .options    = rehearsal_options,
    .open       = rehearsal_open,       .close      = rehearsal_close,
    .place      = rehearsal_place,      .identify   = rehearsal_identify,
    .sees_loopback = rehearsal_sees_loopback,
    .render     = rehearsal_render,     .preflight  = rehearsal_preflight,
    .submit     = rehearsal_submit,     .observe    = rehearsal_observe,
    .log_read   = rehearsal_log_read_of, .log_size  = rehearsal_log_size_of,
    .log_time   = rehearsal_log_time_of, .log_since = rehearsal_log_since_of,
    .cancel     = rehearsal_cancel,     .cleanup    = rehearsal_cleanup,
    .replicas   = rehearsal_replicas,   .evidence   = rehearsal_evidence,
    .adopt      = rehearsal_adopt,
    .check_path = rehearsal_check_path, .list_path  = rehearsal_list_path,
};
