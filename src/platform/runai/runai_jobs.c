/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_jobs.c - many workloads at once: look, stop, put away, find again.
 *
 * A refresh is one list of the project, newest first, read until all jobs were met. Pods and logs are
 * asked for only where they say something new: when a job begins, when it ends, and when it waits for
 * long. Workloads are suspended and deleted a hundred at a time.
 */
#include "platform/runai/runai_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"
#include "core/stop.h"
#include "platform/kit/orphans.h"

#define CANCELED_NOTE "canceled"             /* this machine ended the job */
#define OUR_ARGS      "-c $" RUNAI_BOOT
enum { WAITS_LONG_MS = 60000, PAUSE_MS = 500, GRACE_MS = 30000, FACTS_MAX = 5, EXPLAINED_MAX = 4 };

/* ---- single workloads ------------------------------------------------------------------------------ */

struct by_name {
    const char *name, *project;
    json_t *found;                           /* owned */
};

static int take_named(void *context, json_t *entry)
{
    struct by_name *search = context;

    if (sw_text_same(sw_json_str(entry, "name"), search->name) &&
        sw_text_same(sw_json_str(entry, "projectId"), search->project) &&
        runai_time_ms(entry, "createdAt") >= runai_time_ms(search->found, "createdAt")) {
        json_decref(search->found);
        search->found = json_incref(entry);
    }
    return 0;
}

static int list_workloads(struct sw_connection *conn, const char *filter, bool deleted,
                          int (*take)(void *context, json_t *entry), void *context, struct sw_error *err)
{
    char limit[16];
    const struct sw_rest_pair query[] = { { "filterBy", filter }, { "deleted", deleted ? "true" : NULL },
                                          { "sortBy", "createdAt" }, { "sortOrder", "desc" },
                                          { "limit", limit }, { 0 } };
    const struct sw_rest_call call = { .path = "/workloads", .query = query, .repeatable = true };
    const struct sw_rest_pages pages = { .items = "workloads", .parameter = "offset", .full = RUNAI_PAGE };

    snprintf(limit, sizeof limit, "%d", RUNAI_PAGE);
    return sw_rest_list(runai_of(conn)->rest, &call, &pages, take, context, err);
}

json_t *runai_by_name(struct sw_connection *conn, const char *name, bool deleted, struct sw_error *err)
{
    const struct runai_site *site = runai_site(conn, err);
    sw_autofree char *filter = sw_format("name==%s", name);
    struct by_name search = { .name = name, .project = site ? site->project_id : NULL };

    if (!site)
        return NULL;
    if (list_workloads(conn, filter, deleted, take_named, &search, err) < 0) {
        json_decref(search.found);
        return NULL;
    }
    if (!search.found)
        sw_fail(err, SW_E_NOT_FOUND, "project '%s' has no workload '%s'", runai_of(conn)->project, name);
    return search.found;
}

json_t *runai_whole(struct sw_connection *conn, const json_t *entry, struct sw_error *err)
{
    const char *type = sw_json_str(entry, "type");
    sw_autofree char *path = sw_rest_path("/workloads/%s/%s",
        type && strncasecmp(type, "dist", 4) == 0 ? "distributed" : "trainings", runai_id(entry));
    json_t *whole = NULL;

    runai_call(conn, NULL, path, NULL, &whole, err);
    return whole;
}

static json_t *ask_part(struct sw_connection *conn, const json_t *workload, const char *part,
                        struct sw_error *err)
{
    sw_autofree char *start = sw_rest_path("/workloads/%s", runai_id(workload));
    sw_autofree char *path = sw_format("%s/%s?limit=500", start, part);
    sw_auto(json) json_t *answer = NULL;

    return runai_call(conn, NULL, path, NULL, &answer, err) < 0 ? NULL
               : json_incref(json_object_get(answer, part));
}

/* Suspend, resume or delete; the server says of each which it could not. */
int runai_batch(struct sw_connection *conn, const json_t *ids, const char *action, struct sw_error *err)
{
    for (size_t first = 0; first < json_array_size(ids); first += RUNAI_BATCH) {
        sw_auto(json) json_t *some = json_array(), *body = NULL, *answer = NULL;
        const json_t *failed;

        for (size_t i = first; i < json_array_size(ids) && i < first + RUNAI_BATCH; i++)
            json_array_append(some, json_array_get(ids, i));
        body = sw_json_object(SW_SUB_COPY("ids", some), SW_STR("action", action));
        if (runai_call(conn, "POST", "/workloads/batch", body, &answer, err) < 0)
            return -1;
        failed = json_array_get(json_object_get(answer, "failed"), 0);
        if (failed && sw_json_int(failed, "code", 0) != 404)
            return sw_fail(err, SW_E_REFUSED, "run:ai cannot %s it: %.200s", action,
                           sw_json_str(failed, "message") ? sw_json_str(failed, "message")
                                      : "no reason is given");
    }
    return 0;
}

/* ---- lists ----------------------------------------------------------------------------------------- */

struct wanted {
    const char *project;
    json_t *names;                           /* that were not met yet; NULL: all are wanted */
    json_t *found;                           /* by name */
};

static int take_wanted(void *context, json_t *entry)
{
    struct wanted *wanted = context;
    const char *name = sw_json_str(entry, "name");

    if (!name || !sw_text_same(sw_json_str(entry, "projectId"), wanted->project))
        return 0;
    if (!wanted->names || json_object_del(wanted->names, name) == 0)
        json_object_set(wanted->found, name, entry);
    return wanted->names && json_object_size(wanted->names) == 0;
}

/* A list may be older than a job: its own address is not. */
static void ask_for_missing(struct sw_connection *conn, const struct sw_jobref *job, const char *name,
                            json_t *found)
{
    sw_autofree char *path = sw_text_empty(job->remote_id) ? NULL
               : sw_rest_path("/workloads/%s", job->remote_id);
    sw_auto(json) json_t *entry = NULL;

    if (path && !json_object_get(found, name) && runai_call(conn, NULL, path, NULL, &entry, NULL) == 0 &&
        entry)
        json_object_set(found, name, entry);
}

static json_t *list(struct sw_connection *conn, const struct sw_observation *jobs, size_t count,
                    struct sw_error *err)
{
    const struct runai_site *site = runai_site(conn, err);
    sw_autofree char *filter = site ? sw_format("projectId==%s", site->project_id) : NULL;
    sw_auto(json) json_t *found = json_object(), *names = jobs ? json_object() : NULL;
    struct wanted wanted = { site ? site->project_id : NULL, names, found };

    for (size_t i = 0; i < count; i++)
        json_object_set_new(names, runai_name(jobs[i].job.id, jobs[i].job.attempt).text, json_true());
    if (!site || list_workloads(conn, filter, false, take_wanted, &wanted, err) < 0)
        return NULL;
    for (size_t i = 0; i < count; i++)
        ask_for_missing(conn, &jobs[i].job, runai_name(jobs[i].job.id, jobs[i].job.attempt).text, found);
    return sw_take(found);
}

/* One that was deleted is not one that never was. */
static json_t *get(struct sw_connection *conn, const char *name, struct sw_error *err)
{
    struct sw_error why = { 0 };
    json_t *entry = runai_by_name(conn, name, false, &why);

    if (!entry && why.code == SW_E_NOT_FOUND)
        return runai_by_name(conn, name, true, err);
    if (!entry)
        sw_pass(err, &why);
    return entry;
}

static void add_tails(struct sw_connection *conn, const struct sw_jobref *job, json_t *workload)
{
    int count = (int)sw_json_int(job->plan, "nodes", 1);
    json_t *tails = json_object(), *pod;
    size_t i;

    json_array_foreach(json_object_get(workload, "pods"), i, pod) {
        int rank = runai_rank_of(pod, count);
        bool failed = sw_text_same(sw_json_str(pod, "k8sPhase"), "Failed");
        sw_autofree char *tail = rank == 0 || (rank > 0 && failed) ? runai_log_tail(conn, job, pod, rank)
                                                                  : NULL;
        char key[16];

        snprintf(key, sizeof key, "%d", rank);
        if (tail)
            json_object_set_new(tails, key, sw_json_text(tail));
    }
    json_object_set_new(workload, "tails", tails);
}

static bool waits_long(const json_t *workload)
{
    int64_t since_ms = runai_time_ms(workload, "phaseUpdatedAt");

    return since_ms && sw_now_ms() - since_ms > WAITS_LONG_MS;
}

static void detail(struct sw_connection *conn, const struct sw_jobref *job, json_t *workload)
{
    enum sw_state state = runai_state(runai_phase(workload), NULL);
    sw_autofree char *note = runai_note_path(conn, job->id, job->attempt, CANCELED_NOTE);
    json_t *part = NULL;

    if (sw_file_exists(note))
        json_object_set_new(workload, "canceled", json_true());
    if (runai_time_ms(workload, "deletedAt") || sw_state_is_final(job->state))
        return;
    if (state == SW_PENDING &&
        (waits_long(workload) || sw_text_same(runai_phase(workload), "Initializing")) &&
        runai_of(conn)->explained++ < EXPLAINED_MAX)
        part = ask_part(conn, workload, "events", NULL);
    if (part)
        json_object_set_new(workload, "events", part);
    part = (state == SW_RUNNING && job->state != SW_RUNNING) || state == SW_COMPLETE || state == SW_ERROR
               ? ask_part(conn, workload, "pods", NULL) : NULL;
    if (part)
        json_object_set_new(workload, "pods", part);
    if (state == SW_COMPLETE || state == SW_ERROR)
        add_tails(conn, job, workload);
}

static bool is_over(const json_t *workload)
{
    const char *phase = runai_phase(workload);

    return runai_time_ms(workload, "deletedAt") || strcmp(phase, "Stopped") == 0 ||
           strcmp(phase, "Completed") == 0 ||
           strcmp(phase, "Failed") == 0;
}

static int stop(struct sw_connection *conn, const char *name, const char *why, struct sw_error *err)
{
    sw_auto(json) json_t *workload = get(conn, name, err);
    sw_auto(json) json_t *ids = workload ? json_pack("[s]", runai_id(workload)) : NULL;

    (void)why;
    return !workload ? -1 : is_over(workload) ? 0 : runai_batch(conn, ids, "suspend", err);
}

const struct sw_jobs_api runai_jobs_api = { runai_name, list, get, runai_read, stop, detail };

int runai_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count, struct sw_error *err)
{
    runai_of(conn)->explained = 0;
    return sw_jobs_observe(&runai_jobs_api, conn, jobs, count, err);
}

/* ---- cancel ---------------------------------------------------------------------------------------- */

struct canceling {
    struct sw_connection *conn;
    struct sw_batch_job *jobs;
    struct sw_observation *seen;
    size_t count, left;                      /* that still go on */
    json_t *ids;                             /* of those */
};

static void note_canceled(struct sw_connection *conn, const struct sw_jobref *job)
{
    sw_autofree char *path = runai_note_path(conn, job->id, job->attempt, CANCELED_NOTE);
    sw_autofree char *folder = runai_note_path(conn, job->id, job->attempt, "");

    if (sw_mkdirs(folder, 0700, NULL) == 0)
        sw_file_write(path, "", 0, 0600, NULL);
}

/* Which of them go on? The answer is the same for all: -1 + err, or each has its own. */
static int look(struct canceling *c, struct sw_error *err)
{
    sw_auto(json) json_t *found = list(c->conn, c->seen, c->count, err);

    if (!found)
        return -1;
    c->left = 0;
    json_array_clear(c->ids);
    for (size_t i = 0; i < c->count; i++) {
        struct sw_jobs_name name = runai_name(c->jobs[i].job->id, c->jobs[i].job->attempt);
        struct sw_error why = { 0 };
        sw_auto(json) json_t *entry = json_incref(json_object_get(found, name.text));

        if (c->jobs[i].result < 0)
            continue;
        if (!entry && !(entry = get(c->conn, name.text, &why)) && why.code != SW_E_NOT_FOUND)
            c->jobs[i].result = sw_pass(&c->jobs[i].err, &why);
        if (!entry || is_over(entry))
            continue;
        c->left++;
        json_array_append_new(c->ids, json_string(runai_id(entry)));
    }
    return 0;
}

static int64_t patience_ms(const struct sw_batch_job *jobs, size_t count)
{
    int64_t longest = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t grace_ms = sw_json_int(jobs[i].job->plan, "grace_ms", GRACE_MS);

        longest = grace_ms > longest ? grace_ms : longest;
    }
    return sw_stop_budget_ms(longest) + SW_STOP_SLACK_MS;
}

static int cancel_all(struct canceling *c, int64_t deadline_ms, struct sw_error *err)
{
    if (look(c, err) < 0)
        return -1;
    for (size_t i = 0; i < c->count; i++)
        note_canceled(c->conn, c->jobs[i].job);
    if (runai_batch(c->conn, c->ids, "suspend", err) < 0)
        return -1;
    while (c->left > 0) {
        if (sw_monotonic_ms() >= deadline_ms)
            return sw_fail(err, SW_E_UNREACHABLE, "run:ai ends it; it is not over yet");
        sw_sleep_ms(PAUSE_MS);
        if (look(c, err) < 0)
            return -1;
    }
    return 0;
}

void runai_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, int64_t deadline_ms)
{
    sw_autofree struct sw_observation *seen = sw_alloc((count + 1) * sizeof *seen);
    sw_auto(json) json_t *ids = json_array();
    struct canceling c = { conn, jobs, seen, count, 0, ids };
    struct sw_error why = { 0 };

    memset(seen, 0, (count + 1) * sizeof *seen);
    for (size_t i = 0; i < count; i++)
        seen[i].job = *jobs[i].job;
    if (cancel_all(&c, deadline_ms ? deadline_ms : sw_monotonic_ms() + patience_ms(jobs, count), &why) < 0)
        sw_batch_fail(jobs, count, &why);
}

/* ---- resume ---------------------------------------------------------------------------------------- */

int runai_resume(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(json) json_t *workload = get(conn, runai_name(job->id, job->attempt).text, err);
    sw_auto(json) json_t *ids = workload ? json_pack("[s]", runai_id(workload)) : NULL;

    return workload ? runai_batch(conn, ids, "resume", err) : -1;
}

/* ---- put away -------------------------------------------------------------------------------------- */

void runai_finalize(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count)
{
    sw_log_keep_ends(&sw_platform_runai, conn, jobs, count);
    for (size_t i = 0; i < count; i++)
        if (runai_has_secrets(jobs[i]->plan))
            runai_delete_secrets(conn, jobs[i]->id, jobs[i]->attempt, NULL);
}

static int cleanup_one(struct sw_connection *conn, const struct sw_jobref *job, json_t *ids,
                       struct sw_error *err)
{
    for (int attempt = 1; attempt <= (job->attempt > 1 ? job->attempt : 1); attempt++) {
        struct sw_error why = { 0 };
        sw_auto(json) json_t *entry = runai_by_name(conn, runai_name(job->id, attempt).text, false, &why);

        if (entry)
            json_array_append_new(ids, json_string(runai_id(entry)));
        else if (why.code != SW_E_NOT_FOUND)
            return sw_pass(err, &why);
        if ((!job->plan || runai_has_secrets(job->plan)) &&
            runai_delete_secrets(conn, job->id, attempt, err) < 0)
            return -1;
    }
    return 0;
}

void runai_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, bool keep_results,
                   int64_t deadline_ms)
{
    sw_auto(json) json_t *ids = json_array();
    struct sw_error why = { 0 };

    (void)keep_results, (void)deadline_ms;       /* results are elsewhere; each call has its own patience */
    for (size_t i = 0; i < count; i++)
        jobs[i].result = cleanup_one(conn, jobs[i].job, ids, &jobs[i].err);
    if (runai_batch(conn, ids, "delete", &why) < 0) {
        sw_batch_fail(jobs, count, &why);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        sw_autofree char *folder = sw_path_join(runai_of(conn)->root, jobs[i].job->id);

        if (jobs[i].result == 0)
            jobs[i].result = sw_remove_tree(folder, &jobs[i].err);
    }
}

/* ---- evidence and replicas ------------------------------------------------------------------------- */

void runai_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                    struct sw_evidence *out,
                    size_t count, int64_t deadline_ms)
{
    sw_jobs_evidence(&sw_platform_runai, conn, seen, out, count);
    for (size_t i = 0; i < count && (!deadline_ms || sw_monotonic_ms() < deadline_ms); i++) {
        sw_auto(json) json_t *workload = json_pack("{s:s}", "id", seen[i]->remote_id);
        sw_auto(json) json_t *events = seen[i]->remote_id[0] ? ask_part(conn, workload, "events", NULL)
                   : NULL;
        json_t *said = json_array(), *event;
        size_t k;

        json_array_foreach(events, k, event)
            if (sw_text_same(sw_json_str(event, "type"), "Warning") && json_array_size(said) < FACTS_MAX)
                json_array_append(said, json_object_get(event, "message"));
        json_object_set_new(out[i].facts, "events", said);
    }
}

json_t *runai_replicas(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(json) json_t *workload = get(conn, runai_name(job->id, job->attempt).text, err);
    sw_auto(json) json_t *pods = workload ? ask_part(conn, workload, "pods", err) : NULL;
    json_t *rows = pods ? json_array() : NULL, *pod;
    size_t i;

    json_array_foreach(pods, i, pod)
        json_array_append_new(rows, sw_json_object(
            SW_INT("rank", runai_rank_of(pod, (int)sw_json_int(job->plan, "nodes", 1))),
            SW_STR_OPT("node", sw_json_str(pod, "nodeName")),
            SW_STR("status", sw_state_name(runai_pod_state(pod))),
            SW_STR_OPT("pod", sw_json_str(pod, "name"))));
    return rows;
}

/* ---- found again ----------------------------------------------------------------------------------- */

int runai_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *receipt,
                struct sw_error *err)
{
    sw_auto(json) json_t *newest = NULL, *whole = NULL, *read = NULL;
    sw_auto(sw_plan) struct sw_plan *known = NULL;
    struct sw_error why = { 0 };
    const char *signature;

    for (int attempt = 1; why.code == SW_OK; attempt++) {
        json_t *entry = runai_by_name(conn, runai_name(id, attempt).text, false, &why);

        if (entry) {
            json_decref(newest);
            newest = entry;
        }
    }
    if (why.code != SW_E_NOT_FOUND || !newest)
        return sw_pass(err, &why);
    whole = runai_whole(conn, newest, err);
    if (!whole)
        return -1;
    if (!sw_text_same(runai_mark(whole, "labels", RUNAI_ID), id))
        return sw_fail(err, SW_E_NOT_FOUND, "project '%s' has no job '%s'", runai_of(conn)->project, id);
    read = runai_plan_of(whole);
    known = read ? sw_plan_from_json(read, NULL) : NULL;
    runai_fill_submission(newest, whole, known, receipt);
    signature = runai_mark(whole, "annotations", RUNAI_SIGNATURE);
    snprintf(receipt->signature, sizeof receipt->signature, "%s", signature ? signature : "");
    if (plan)
        *plan = sw_take(read);
    return 0;
}

/* Each workload that Slipway made, with its marks. Lists show no labels, and the arguments are always
 * the same. */
static int visit_ours(struct sw_connection *conn, void (*take)(void *context, const json_t *entry,
                                                               const json_t *whole),
                      void *context, struct sw_error *err)
{
    sw_auto(json) json_t *all = list(conn, NULL, 0, err);
    const char *name;
    json_t *entry;

    if (!all)
        return -1;
    json_object_foreach(all, name, entry) {
        sw_auto(json) json_t *whole = NULL;

        if (!sw_text_same(sw_json_str(entry, "arguments"), OUR_ARGS))
            continue;
        whole = runai_whole(conn, entry, err);
        if (!whole)
            return -1;
        if (runai_mark(whole, "labels", RUNAI_ID))
            take(context, entry, whole);
    }
    return 0;
}

static void take_job(void *context, const json_t *entry, const json_t *whole)
{
    const char *id = runai_mark(whole, "labels", RUNAI_ID),
               *owner = runai_mark(whole, "annotations", RUNAI_OWNER);
    const char *said = runai_mark(whole, "labels", RUNAI_ATTEMPT);
    json_int_t attempt = said ? atoi(said) : 1;

    if (sw_json_int(json_object_get(context, id), "attempt", 0) < attempt)
        json_object_set_new(context, id, sw_json_object(
            SW_STR("id", id), SW_STR("state", sw_state_name(runai_state(runai_phase(entry), NULL))),
            SW_STR("owner", owner ? owner : ""), SW_INT("created_ms", runai_time_ms(entry, "createdAt")),
            SW_INT("attempt", attempt)));
}

json_t *runai_jobs(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(json) json_t *jobs = json_object();
    json_t *rows, *job;
    const char *id;

    if (visit_ours(conn, take_job, jobs, err) < 0)
        return NULL;
    rows = json_array();
    json_object_foreach(jobs, id, job) {
        json_object_del(job, "attempt");
        json_array_append(rows, job);
    }
    return rows;
}

struct searching {
    struct sw_connection *conn;
    struct sw_orphans orphans;
};

/* One that runs is a job, not a leftover. */
static void take_orphan(void *context, const json_t *entry, const json_t *whole)
{
    const struct searching *search = context;
    const struct sw_sweep *sweep = search->orphans.sweep;
    const char *id = runai_mark(whole, "labels", RUNAI_ID);
    sw_auto(json) json_t *ids = json_pack("[s]", runai_id(entry));

    if (sweep->known(sweep->context, id) || !is_over(entry))
        return;
    if (sw_orphan_add(&search->orphans, &(struct sw_orphan){
            .what = "workload", .where = sw_json_str(entry, "name"), .job = id, .marked = true,
            .store = runai_mark(whole, "labels", RUNAI_STORE),
            .uid = runai_mark(whole, "annotations", RUNAI_UID),
            .owner = runai_mark(whole, "annotations", RUNAI_OWNER) }) &&
        runai_batch(search->conn, ids, "delete", NULL) < 0)
        sw_orphan_stays(&search->orphans);
}

json_t *runai_orphans(struct sw_connection *conn, const struct sw_sweep *sweep, struct sw_error *err)
{
    sw_auto(json) json_t *found = json_array();
    struct searching search = { conn, { sweep, found } };

    if (visit_ours(conn, take_orphan, &search, err) < 0)
        return NULL;
    sw_orphan_folders(&search.orphans, runai_of(conn)->root);
    return sw_take(found);
}
