/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearsal.c - a platform that only pretends: descriptor and life cycle.
 *
 * It never runs the job's command. It plays a script instead ("pending 1s, running 2s, exit 3"),
 * and is otherwise complete: submit, poll, logs, cancel, adopt behave as on a real platform, and
 * its API can be slow, down or lying. Tutorials, tests and bug reports need no cluster that way.
 *
 * Faults come from the connection (profile or environment) or from the job's own block; the
 * connection's win, so SLIPWAY_REHEARSAL_API=up repairs a job that asked for a broken API.
 */
#include <errno.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"
#include "core/id.h"
#include "platform/platform.h"
#include "platform/rehearsal/rehearsal_internal.h"

extern const struct sw_platform sw_platform_rehearsal;

#define DEFAULT_SCRIPT "pending 1s, running 2s, exit 0"
#define TAIL_BYTES     4096

struct rehearsal_connect_options {
    const char *server;
};

struct rehearsal_job_options {
    const char *script, *api;
};

static const struct sw_option rehearsal_options[] = {
    { "script", SW_TEXT, SW_FILLS(struct rehearsal_job_options, script), .initial = DEFAULT_SCRIPT,
      .env = "SLIPWAY_REHEARSAL_SCRIPT",
      .help = "what to pretend, step by step: pending, unschedulable, running, paused, epochs, log, "
              "exit, signal, oom, lost, node-lost, preempted, image-error, vanished" },
    { "api", SW_TEXT, SW_FILLS(struct rehearsal_job_options, api), .env = "SLIPWAY_REHEARSAL_API",
      .help = "how the pretended API behaves: up, slow 200ms, down, down 3 calls, lose-answer, "
              "empty-list, not-found-then-found, cut-every 3 calls, rotate-log 4KiB, "
              "clock-back 1h" },
    { "server", SW_TEXT, SW_CONNECTION, SW_FILLS(struct rehearsal_connect_options, server),
      .env = "SLIPWAY_REHEARSAL_SERVER",
      .help = "name of the pretended server, where there is more than one" },
    { 0 }
};

struct sw_connection {
    char *server;                     /* the folder that stands for the other side */
    char *name;                       /* the server's own; NULL: there is one alone */
    char *api;                        /* the connection's own faults; NULL: the job's count */
    struct rehearsal_faults faults;
    atomic_llong calls, submits, polls, new_files;
};

static struct sw_connection *rehearsal_open(const struct sw_connect_options *config, struct sw_error *err)
{
    struct rehearsal_connect_options connect;
    struct rehearsal_job_options job;
    struct rehearsal_faults faults = { 0 };
    struct sw_connection *conn;

    if (sw_options_fill(rehearsal_options, config->options, SW_CONNECTION, &connect, err) < 0 ||
        sw_options_fill(rehearsal_options, config->options, SW_JOB, &job, err) < 0)
        return NULL;
    if (!sw_text_empty(connect.server) && sw_id_check(connect.server, err) < 0) {
        sw_wrap(err, "rehearsal.server");
        return NULL;
    }
    if (job.api && rehearsal_faults_parse(job.api, &faults, err) < 0)
        return NULL;
    conn = sw_new(struct sw_connection);
    conn->name = sw_text_empty(connect.server) ? NULL : sw_strdup(connect.server);
    conn->server = sw_format("%s/rehearsal%s%s", config->state_dir, conn->name ? "-" : "",
                             conn->name ? conn->name : "");
    conn->api = sw_text_empty(job.api) ? NULL : sw_strdup(job.api);
    conn->faults = faults;
    return conn;
}

static void rehearsal_close(struct sw_connection *conn)
{
    if (!conn)
        return;
    free(conn->server);
    free(conn->name);
    free(conn->api);
    free(conn);
}

static void rehearsal_place(struct sw_connection *conn, struct sw_place *out)
{
    out->address = conn->name ? sw_format("rehearsal://%s", conn->name) : sw_strdup("");
    out->options = conn->name ? sw_json_object(SW_STR("server", conn->name)) : json_object();
}

static int rehearsal_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    sw_autofree char *id = rehearsal_server_id(conn->server, err);

    if (!id)
        return -1;
    sw_buf_addf(identity, "%s pretended server%s%s", id, conn->name ? " " : "",
                conn->name ? conn->name : "");
    return 0;
}

/* ---- faults ----------------------------------------------------------------------------------- */

/* How many calls of this kind came before; by everybody when the job itself asked for faults. */
static int64_t calls_before(struct sw_connection *conn, atomic_llong *counter, const char *id,
                            const char *name)
{
    return conn->api ? atomic_fetch_add(counter, 1) : rehearsal_job_count(conn->server, id, name);
}

/* The faults that hold for a job: the connection's, or else those it asked for itself. */
static struct rehearsal_faults faults_of(const struct sw_connection *conn, const char *api)
{
    struct rehearsal_faults faults = conn->faults;

    if (!conn->api && api && rehearsal_faults_parse(api, &faults, NULL) < 0)
        faults = (struct rehearsal_faults){ 0 };
    return faults;
}

/* One call of `every`, scattered: a regular pattern could fall in step with whoever calls. */
static bool is_cut(int64_t number, int64_t every)
{
    uint64_t mixed = ((uint64_t)number + 1) * 0x9e3779b97f4a7c15u;

    return every > 0 && (mixed >> 33) % (uint64_t)every == 0;
}

/* Every call to the server begins here: it may be slow, and it may find nobody. */
static int call(struct sw_connection *conn, const struct rehearsal_faults *faults, const char *id,
                struct sw_error *err)
{
    if (faults->slow_ms > 0)
        sw_sleep_ms(faults->slow_ms);
    if (faults->down_calls > 0 || faults->cut_every > 0) {
        int64_t before = calls_before(conn, &conn->calls, id, "calls");

        if (before < faults->down_calls || is_cut(before, faults->cut_every))
            return sw_fail(err, SW_E_UNREACHABLE,
                           "the rehearsal's API is down, as its script says");
    }
    return 0;
}

static int call_for_job(struct sw_connection *conn, const char *id, const char *api,
                        struct sw_error *err)
{
    struct rehearsal_faults faults = faults_of(conn, api);

    return call(conn, &faults, id, err);
}

/* ---- submit ----------------------------------------------------------------------------------- */

static struct rehearsal_job_options options_of(const struct sw_plan *plan)
{
    struct rehearsal_job_options job;

    sw_options_fill(rehearsal_options, plan->options, SW_JOB, &job, NULL);
    return job;
}

/* A job's own faults; those of the connection are in its block, too, and are left out here. */
static const char *plan_api(const struct sw_connection *conn, const struct sw_plan *plan)
{
    const char *api = options_of(plan).api;

    return sw_text_empty(api) || sw_text_same(api, conn->api) ? NULL : api;
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

/* Nodes are rehearsal-0, rehearsal-1, ...: as many as are wanted, after the last one to avoid. */
static int first_node(const json_t *avoid)
{
    int first = 0;
    json_t *name;
    size_t i;

    json_array_foreach(avoid, i, name) {
        const char *text = json_string_value(name);
        int64_t number = text && sw_text_starts(text, "rehearsal-")
                             ? rehearsal_number(text + strlen("rehearsal-"), 9999) : -1;

        if (number >= first)
            first = (int)number + 1;
    }
    return first;
}

static struct rehearsal_job job_of_plan(const struct sw_connection *conn, const struct sw_plan *plan,
                                        int64_t now_ms)
{
    return (struct rehearsal_job){
        .script = sw_strdup(options_of(plan).script),
        .api = sw_strdup(plan_api(conn, plan)),
        .nodes = plan->nodes,
        .first_node = first_node(plan->avoid),
        .submitted_ms = now_ms,
        .limit_ms = plan->time_ms,
    };
}

static json_t *rehearsal_render(struct sw_connection *conn, const struct sw_plan *plan,
                                struct sw_error *err)
{
    sw_auto(rehearsal_job) struct rehearsal_job job = { 0 };
    sw_auto(json) json_t *body = NULL;
    sw_autofree char *text = NULL;

    if (rehearsal_preflight(conn, plan, err) < 0)
        return NULL;
    job = job_of_plan(conn, plan, 0);
    body = rehearsal_job_json(&job, plan->job_id, 1);
    json_object_set_new(body, "submitted_ms", json_null());
    text = sw_json_dump_pretty(body);
    return json_pack("[o]", sw_json_object(
        SW_STR("what", "what the pretended server remembers; the command is not run"),
        SW_STR("text", text)));
}

static void write_receipt(const struct sw_connection *conn, const char *id, struct sw_submission *receipt)
{
    snprintf(receipt->remote_id, sizeof receipt->remote_id, "rehearsal://%s", id);
    receipt->details = sw_json_object(SW_BOOL("pretended", true));
    receipt->results_dir = sw_format("%s/%s/results", conn->server, id);
}

/* What lies where results would be: so that nobody takes a rehearsal for a training run. */
static void leave_note(const struct sw_connection *conn, const char *id, const char *script)
{
    sw_autofree char *path = sw_format("%s/%s/results/rehearsal.txt", conn->server, id);
    FILE *note = fopen(path, "we");

    if (!note)
        return;                        /* the note is a courtesy; the job does not depend on it */
    fprintf(note, "This was a rehearsal: the command was not run.\nScript: %s\n", script);
    fclose(note);
}

static int rehearsal_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                            const struct sw_secrets *secrets, struct sw_submission *receipt,
                            struct sw_error *err)
{
    struct rehearsal_faults faults = faults_of(conn, plan_api(conn, plan));
    sw_auto(rehearsal_job) struct rehearsal_job job = { 0 };
    sw_autofree char *folder = rehearsal_job_folder(conn->server, plan->job_id);
    bool made = false;

    (void)secrets;                     /* nothing runs, so nobody needs them */
    if (rehearsal_preflight(conn, plan, err) < 0 || sw_mkdirs(folder, 0700, err) < 0 ||
        call(conn, &faults, plan->job_id, err) < 0)
        return -1;
    job = job_of_plan(conn, plan, sw_now_ms());
    if (rehearsal_job_make(conn->server, plan->job_id, attempt, &job, &made, err) < 0)
        return -1;
    if (made)
        leave_note(conn, plan->job_id, job.script);
    if (faults.lost_answers > 0 &&
        calls_before(conn, &conn->submits, plan->job_id, "submits") < faults.lost_answers)
        return sw_fail(err, SW_E_UNREACHABLE,
                       "the rehearsal's API took the job, and its answer was lost");
    write_receipt(conn, plan->job_id, receipt);
    return 0;
}

/* ---- look ------------------------------------------------------------------------------------- */

static struct rehearsal_run run_of(const struct rehearsal_job *job)
{
    return (struct rehearsal_run){
        .submitted_ms = job->submitted_ms,
        .canceled_ms = job->canceled_ms,
        .limit_ms = job->limit_ms,
        .now_ms = sw_now_ms(),
    };
}

static int attempt_of(const struct sw_jobref *job)
{
    return job->attempt > 1 ? job->attempt : 1;
}

struct view {                          /* one job with its script, as needed to look at it */
    struct rehearsal_job job;
    struct rehearsal_script script;
    struct rehearsal_run run;
};

static void view_auto(struct view *view)
{
    rehearsal_job_done(&view->job);
    rehearsal_script_done(&view->script);
}

static int view_load(const struct sw_connection *conn, const char *id, int attempt, struct view *view,
                     struct sw_error *err)
{
    if (rehearsal_job_read(conn->server, id, attempt, &view->job, err) < 0)
        return -1;
    view->run = run_of(&view->job);
    return rehearsal_script_parse(view->job.script, attempt, &view->script, err);
}

/* The same through the API, with its faults. */
static int view_ask(struct sw_connection *conn, const struct sw_jobref *ref, struct view *view,
                    struct sw_error *err)
{
    if (view_load(conn, ref->id, attempt_of(ref), view, err) < 0)
        return -1;
    return call_for_job(conn, ref->id, view->job.api, err);
}

/* A server whose clock was set back tells times before the job was even sent. */
static int64_t by_its_clock(const struct rehearsal_faults *faults, int64_t at_ms)
{
    return at_ms > faults->clock_back_ms ? at_ms - faults->clock_back_ms : at_ms;
}

static void describe(const struct sw_connection *conn, const struct view *view,
                     struct sw_observation *seen)
{
    struct rehearsal_faults faults = faults_of(conn, view->job.api);
    struct rehearsal_scene scene;

    rehearsal_scene_at(&view->script, &view->run, &scene);
    seen->presence = scene.vanished ? SW_ABSENT : SW_PRESENT;
    seen->state = scene.state;
    snprintf(seen->reason, sizeof seen->reason, "%s", scene.reason);
    snprintf(seen->message, sizeof seen->message, "%s", scene.message);
    seen->exit_code = scene.exit_code;
    seen->signal = scene.signal;
    seen->until_ms = by_its_clock(&faults, scene.until_ms);
    seen->started_ms = by_its_clock(&faults, scene.started_ms);
    seen->ended_ms = by_its_clock(&faults, scene.ended_ms);
    seen->failed_replica = scene.failed_rank;
    snprintf(seen->remote_id, sizeof seen->remote_id, "rehearsal://%s", seen->job.id);
    seen->last_output_ms = rehearsal_last_output(&view->script, &view->run);
    if (scene.started_ms)
        snprintf(seen->node, sizeof seen->node, "rehearsal-%d", view->job.first_node);
}

/* Does the server leave the job out of its list this time? The connection's count is for whole
 * lists and taken by poll. */
static bool job_hides(struct sw_connection *conn, const struct rehearsal_faults *faults, const char *id)
{
    return !conn->api && faults->unseen_calls > 0 &&
           rehearsal_job_count(conn->server, id, "polls") < faults->unseen_calls;
}

/* One job of a poll. -1: this job asked for an API that is down now. */
static int look(struct sw_connection *conn, struct sw_observation *seen, bool hidden, struct sw_error *err)
{
    __attribute__((cleanup(view_auto))) struct view view = { 0 };
    struct rehearsal_faults faults;
    struct sw_error why = { 0 };

    if (view_load(conn, seen->job.id, attempt_of(&seen->job), &view, &why) < 0) {
        seen->presence = why.code == SW_E_NOT_FOUND ? SW_ABSENT : SW_UNSEEN;
        return 0;
    }
    faults = faults_of(conn, view.job.api);
    if (!conn->api && call(conn, &faults, seen->job.id, err) < 0)
        return -1;
    /* A lie, and half believed: a job that was never confirmed may be on its way, so for that one
     * a list without it proves nothing. The rest is monitor/'s to survive. */
    if (hidden || job_hides(conn, &faults, seen->job.id))
        seen->presence = sw_text_empty(seen->job.remote_id) ? SW_UNSEEN : SW_ABSENT;
    else
        describe(conn, &view, seen);
    return 0;
}

static int rehearsal_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                          struct sw_error *err)
{
    struct sw_error why = { 0 };
    size_t unreachable = 0;
    bool hidden;

    /* Faults of the connection hit the whole question once; those of a job only that job. */
    if (conn->api && call(conn, &conn->faults, "", err) < 0)
        return -1;
    hidden = conn->api && conn->faults.unseen_calls > 0 &&
             atomic_fetch_add(&conn->polls, 1) < conn->faults.unseen_calls;
    for (size_t i = 0; i < count; i++)
        unreachable += look(conn, &jobs[i], hidden, &why) < 0;
    if (count > 0 && unreachable == count)
        return sw_fail(err, why.code, "%s", why.message);
    return 0;
}

/* A log in several files: a read ends with its file, and mostly the next file is not there yet when
 * somebody asks for it first. How much may be read from `offset` now? */
static size_t before_rotation(struct sw_connection *conn, const struct rehearsal_faults *faults,
                              int64_t offset, size_t size)
{
    int64_t inside = faults->rotate_bytes > 0 ? offset % faults->rotate_bytes : -1;

    if (inside < 0)
        return size;
    if (inside == 0 && offset > 0 && atomic_fetch_add(&conn->new_files, 1) % 3 != 2)
        return 0;
    return (int64_t)size > faults->rotate_bytes - inside ? (size_t)(faults->rotate_bytes - inside)
                                                         : size;
}

static ssize_t rehearsal_log_read_of(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                                  int64_t offset, char *bytes, size_t size, struct sw_error *err)
{
    __attribute__((cleanup(view_auto))) struct view view = { 0 };
    struct rehearsal_faults faults;

    if (view_ask(conn, job, &view, err) < 0)
        return -1;
    if (replica < 0 || replica >= view.job.nodes)
        return sw_fail(err, SW_E_NOT_FOUND, "the job has no replica %d", replica);
    faults = faults_of(conn, view.job.api);
    size = before_rotation(conn, &faults, offset, size);
    return (ssize_t)rehearsal_log_read(&view.script, &view.run, offset, bytes, size);
}

static int rehearsal_log_size_of(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                                 int64_t *size, struct sw_error *err)
{
    __attribute__((cleanup(view_auto))) struct view view = { 0 };

    if (view_ask(conn, job, &view, err) < 0)
        return -1;
    if (replica < 0 || replica >= view.job.nodes)
        return sw_fail(err, SW_E_NOT_FOUND, "the job has no replica %d", replica);
    *size = rehearsal_log_size(&view.script, &view.run);
    return 0;
}

/* Times come with the bytes: no call of their own, so no fault either. */
static int rehearsal_log_time_of(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                                 int64_t offset, int64_t *at_ms, int64_t *until,
                                 struct sw_error *err)
{
    __attribute__((cleanup(view_auto))) struct view view = { 0 };

    (void)replica;
    if (view_load(conn, job->id, attempt_of(job), &view, err) < 0)
        return -1;
    rehearsal_log_time(&view.script, &view.run, offset, at_ms, until);
    return 0;
}

static int rehearsal_log_since_of(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                                  int64_t at_ms, int64_t *offset, struct sw_error *err)
{
    __attribute__((cleanup(view_auto))) struct view view = { 0 };

    (void)replica;
    if (view_load(conn, job->id, attempt_of(job), &view, err) < 0)
        return -1;
    *offset = rehearsal_log_since(&view.script, &view.run, at_ms);
    return 0;
}

/* The rank that failed tells its own story; the others were stopped because of it. */
static json_t *replica_json(const struct rehearsal_scene *scene, int first_node, int rank)
{
    bool bystander = scene->state == SW_ERROR && rank != scene->failed_rank;
    sw_autofree char *node = sw_format("rehearsal-%d", first_node + rank);

    return sw_json_object(
        SW_INT("rank", rank),
        SW_STR("node", node),
        SW_STR("status", sw_state_name(bystander ? SW_CANCELED : scene->state)),
        SW_SUB("exit_code", bystander || scene->exit_code < 0 ? json_null()
                                                              : json_integer(scene->exit_code)),
        SW_SUB("signal", bystander || !scene->signal ? json_null()
                                                     : json_integer(scene->signal)),
        SW_NULL("pid"),
        SW_STR("message", bystander ? "stopped after another rank failed" : scene->message));
}

static json_t *rehearsal_replicas(struct sw_connection *conn, const struct sw_jobref *job,
                                  struct sw_error *err)
{
    __attribute__((cleanup(view_auto))) struct view view = { 0 };
    struct rehearsal_scene scene;
    json_t *replicas;

    if (view_ask(conn, job, &view, err) < 0)
        return NULL;
    rehearsal_scene_at(&view.script, &view.run, &scene);
    replicas = json_array();
    for (int rank = 0; rank < view.job.nodes; rank++)
        json_array_append_new(replicas, replica_json(&scene, view.job.first_node, rank));
    return replicas;
}

static void evidence_of(struct sw_connection *conn, const struct sw_jobref *job, struct sw_evidence *out)
{
    __attribute__((cleanup(view_auto))) struct view view = { 0 };
    char tail[TAIL_BYTES];
    int64_t size;

    if (view_ask(conn, job, &view, NULL) < 0)
        return;
    out->facts = sw_json_object(SW_BOOL("pretended", true));
    size = rehearsal_log_size(&view.script, &view.run);
    out->log_tail = sw_text_utf8(tail, rehearsal_log_read(&view.script, &view.run,
                                 size > TAIL_BYTES ? size - TAIL_BYTES : 0, tail, sizeof tail));
}

static void rehearsal_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                               struct sw_evidence *out, size_t count, int64_t deadline_ms)
{
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++)
        evidence_of(conn, &seen[i]->job, &out[i]);
}

/* ---- act -------------------------------------------------------------------------------------- */

static int cancel_one(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    __attribute__((cleanup(view_auto))) struct view view = { 0 };
    struct sw_error why = { 0 };

    if (view_load(conn, job->id, attempt_of(job), &view, &why) < 0 && why.code != SW_E_NOT_FOUND)
        return sw_fail(err, why.code, "%s", why.message);
    if (call_for_job(conn, job->id, view.job.api, err) < 0)
        return -1;
    /* Also without a job: one that is still on its way finds the cancel when it arrives. */
    return rehearsal_job_cancel(conn->server, job->id, attempt_of(job), sw_now_ms(), err);
}

static void rehearsal_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                             int64_t deadline_ms)
{
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++)
        jobs[i].result = cancel_one(conn, jobs[i].job, &jobs[i].err);
}

static int remove_all_but_results(const char *folder, struct sw_error *err)
{
    DIR *entries = opendir(folder);
    int result = 0;

    if (!entries)
        return errno == ENOENT ? 0 : sw_fail_errno(err, SW_E_IO, "cannot read '%s'", folder);
    for (struct dirent *entry; result == 0 && (entry = readdir(entries));) {
        sw_autofree char *path = NULL;

        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "results") == 0)
            continue;
        path = sw_path_join(folder, entry->d_name);
        result = sw_remove_tree(path, err);
    }
    closedir(entries);
    return result;
}

static void rehearsal_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                              bool keep_results, int64_t deadline_ms)
{
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++) {
        sw_autofree char *folder = rehearsal_job_folder(conn->server, jobs[i].job->id);

        jobs[i].result = keep_results ? remove_all_but_results(folder, &jobs[i].err)
                                      : sw_remove_tree(folder, &jobs[i].err);
    }
}

static int rehearsal_adopt(struct sw_connection *conn, const char *id, json_t **plan,
                           struct sw_submission *receipt, struct sw_error *err)
{
    __attribute__((cleanup(view_auto))) struct view view = { 0 };
    int newest = rehearsal_job_newest(conn->server, id);

    if (view_load(conn, id, newest ? newest : 1, &view, err) < 0)
        return sw_wrap(err, "the rehearsal knows no job '%s'", id);
    if (call_for_job(conn, id, view.job.api, err) < 0)
        return -1;
    if (plan)
        *plan = NULL;                  /* the pretended server keeps no plan */
    write_receipt(conn, id, receipt);
    return 0;
}

/* ---- places: the stage is this machine ------------------------------------------------------------ */

static int rehearsal_check_path(struct sw_connection *conn, const char *path, bool *exists,
                                struct sw_error *err)
{
    if (conn->api && call(conn, &conn->faults, "", err) < 0)
        return -1;
    *exists = access(path, F_OK) == 0;
    return 0;
}

static json_t *rehearsal_list_path(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    if (conn->api && call(conn, &conn->faults, "", err) < 0)
        return NULL;
    return sw_folder_names(path, err);
}

static bool rehearsal_sees_loopback(struct sw_connection *conn, const struct sw_plan *plan)
{
    (void)conn;
    (void)plan;
    return true;
}

const struct sw_platform sw_platform_rehearsal = {
    .name       = "rehearsal",
    .summary    = "only pretends, on a script such as 'pending 1s, running 2s, exit 3'; "
                  "never runs the command",
    .options    = rehearsal_options,
    .open       = rehearsal_open,       .close      = rehearsal_close,
    .place      = rehearsal_place,      .identify   = rehearsal_identify,
    .sees_loopback = rehearsal_sees_loopback,
    .render     = rehearsal_render,     .preflight  = rehearsal_preflight,
    .submit     = rehearsal_submit,     .observe       = rehearsal_observe,
    .log_read   = rehearsal_log_read_of,   .log_size   = rehearsal_log_size_of,
    .log_time   = rehearsal_log_time_of, .log_since = rehearsal_log_since_of,
    .cancel     = rehearsal_cancel,     .cleanup    = rehearsal_cleanup,
    .replicas   = rehearsal_replicas,   .evidence   = rehearsal_evidence,
    .adopt      = rehearsal_adopt,
    .check_path = rehearsal_check_path, .list_path  = rehearsal_list_path,
};
