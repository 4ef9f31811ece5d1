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
#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"
#include "platform/kit/marked.h"
#include "platform/kit/sending.h"

#define CANCELED_NOTE "canceled"             /* this machine ended the job */
#define OUR_ARGS      "-c $" RUNAI_BOOT
enum { WAITS_LONG_MS = 60000, FACTS_MAX = 5, EXPLAINED_MAX = 4 };

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
    return sw_rest_list(sw_cloud_of(conn)->rest, &call, &pages, take, context, err);
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

    sw_cloud_call(conn, NULL, path, NULL, &whole, err);
    return whole;
}

json_t *runai_part(struct sw_connection *conn, const json_t *workload, const char *part, struct sw_error *err)
{
    sw_autofree char *start = sw_rest_path("/workloads/%s", runai_id(workload));
    sw_autofree char *path = sw_format("%s/%s?limit=500", start, part);
    sw_auto(json) json_t *answer = NULL;

    return sw_cloud_call(conn, NULL, path, NULL, &answer, err) < 0 ? NULL
               : json_incref(json_object_get(answer, part));
}

/* Suspend or delete workloads; the server says of each which it could not. */
static int batch(struct sw_connection *conn, const json_t *workloads, const char *action,
                 struct sw_error *err)
{
    for (size_t first = 0; first < json_array_size(workloads); first += RUNAI_BATCH) {
        sw_auto(json) json_t *ids = json_array(), *body = NULL, *answer = NULL;
        const json_t *failed;
        const char *words;

        for (size_t i = first; i < json_array_size(workloads) && i < first + RUNAI_BATCH; i++)
            json_array_append_new(ids, json_string(runai_id(json_array_get(workloads, i))));
        body = sw_json_object(SW_SUB_COPY("ids", ids), SW_STR("action", action));
        if (sw_cloud_call(conn, "POST", "/workloads/batch", body, &answer, err) < 0)
            return -1;
        failed = json_array_get(json_object_get(answer, "failed"), 0);
        words = sw_json_str(failed, "message");
        if (failed && sw_json_int(failed, "code", 0) != 404)
            return sw_fail(err, SW_E_REFUSED, "run:ai cannot %s it: %.200s", action,
                           words ? words : "no reason is given");
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

    if (path && !json_object_get(found, name) && sw_cloud_call(conn, NULL, path, NULL, &entry, NULL) == 0 &&
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
    sw_autofree char *canceled = sw_cloud_note(conn, job->id, job->attempt, CANCELED_NOTE);
    json_t *part = NULL;

    if (canceled)
        json_object_set_new(workload, "canceled", json_true());
    if (runai_time_ms(workload, "deletedAt") || sw_state_is_final(job->state))
        return;
    if (state == SW_PENDING &&
        (waits_long(workload) || sw_text_same(runai_phase(workload), "Initializing")) &&
        runai_of(conn)->explained++ < EXPLAINED_MAX)
        part = runai_part(conn, workload, "events", NULL);
    if (part)
        json_object_set_new(workload, "events", part);
    part = (state == SW_RUNNING && job->state != SW_RUNNING) || state == SW_COMPLETE || state == SW_ERROR
               ? runai_part(conn, workload, "pods", NULL) : NULL;
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
    sw_auto(json) json_t *some = workload ? json_pack("[O]", workload) : NULL;

    (void)why;
    return !workload ? -1 : is_over(workload) ? 0 : batch(conn, some, "suspend", err);
}

static int stop_all(struct sw_connection *conn, const struct sw_batch_job *jobs, size_t count,
                    const json_t *going_on, struct sw_error *err)
{
    for (size_t i = 0; i < count; i++)
        sw_cloud_note_write(conn, jobs[i].job->id, jobs[i].job->attempt, CANCELED_NOTE, "", NULL);
    return batch(conn, going_on, "suspend", err);
}

const struct sw_jobs_api runai_jobs_api = { runai_name, list, get, runai_read, stop, detail, stop_all,
                                            is_over };

int runai_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count, struct sw_error *err)
{
    runai_of(conn)->explained = 0;
    return sw_jobs_observe(&runai_jobs_api, conn, jobs, count, err);
}

void runai_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, int64_t deadline_ms)
{
    sw_jobs_cancel(&runai_jobs_api, conn, jobs, count, deadline_ms);
}

/* ---- resume ---------------------------------------------------------------------------------------- */

int runai_resume(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(json) json_t *workload = get(conn, runai_name(job->id, job->attempt).text, err);
    sw_auto(json) json_t *one = workload ? json_pack("[O]", workload) : NULL;

    return workload ? batch(conn, one, "resume", err) : -1;
}

/* ---- put away -------------------------------------------------------------------------------------- */

void runai_finalize(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count)
{
    sw_jobs_finalize(&sw_platform_runai, conn, jobs, count, runai_delete_secrets);
}

static int cleanup_one(struct sw_connection *conn, const struct sw_jobref *job, json_t *workloads,
                       struct sw_error *err)
{
    for (int attempt = 1; attempt <= (job->attempt > 1 ? job->attempt : 1); attempt++) {
        struct sw_error why = { 0 };
        sw_auto(json) json_t *entry = runai_by_name(conn, runai_name(job->id, attempt).text, false, &why);

        if (entry)
            json_array_append(workloads, entry);
        else if (why.code != SW_E_NOT_FOUND)
            return sw_pass(err, &why);
        if (sw_got_secrets(job->plan) && runai_delete_secrets(conn, job->id, attempt, err) < 0)
            return -1;
    }
    return 0;
}

void runai_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, bool keep_results,
                   int64_t deadline_ms)
{
    sw_auto(json) json_t *workloads = json_array();
    struct sw_error why = { 0 };

    (void)keep_results, (void)deadline_ms;       /* results are elsewhere; each call has its own patience */
    for (size_t i = 0; i < count; i++)
        jobs[i].result = cleanup_one(conn, jobs[i].job, workloads, &jobs[i].err);
    if (batch(conn, workloads, "delete", &why) < 0) {
        sw_batch_fail(jobs, count, &why);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (jobs[i].result == 0)
            jobs[i].result = sw_cloud_forget(conn, jobs[i].job->id, &jobs[i].err);
}

/* ---- evidence and replicas ------------------------------------------------------------------------- */

void runai_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                    struct sw_evidence *out, size_t count, int64_t deadline_ms)
{
    sw_jobs_evidence(&sw_platform_runai, conn, seen, out, count);
    for (size_t i = 0; i < count && (!deadline_ms || sw_monotonic_ms() < deadline_ms); i++) {
        sw_auto(json) json_t *workload = json_pack("{s:s}", "id", seen[i]->remote_id);
        sw_auto(json) json_t *events = seen[i]->remote_id[0] ? runai_part(conn, workload, "events", NULL)
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
    sw_auto(json) json_t *pods = workload ? runai_part(conn, workload, "pods", err) : NULL;
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
    if (!sw_text_same(runai_mark(whole, "labels", SW_MARK_ID), id))
        return sw_fail(err, SW_E_NOT_FOUND, "project '%s' has no job '%s'", runai_of(conn)->project, id);
    read = runai_plan_of(whole);
    known = read ? sw_plan_from_json(read, NULL) : NULL;
    runai_fill_submission(newest, whole, known, receipt);
    signature = runai_mark(whole, "annotations", SW_MARK_SIGNATURE);
    snprintf(receipt->signature, sizeof receipt->signature, "%s", signature ? signature : "");
    if (plan)
        *plan = sw_take(read);
    return 0;
}

/* Lists show no labels, and the arguments are always the same. */
static int visit(struct sw_connection *conn, sw_marked_take *take, void *context, struct sw_error *err)
{
    sw_auto(json) json_t *all = list(conn, NULL, 0, err);
    const char *name;
    json_t *entry;

    json_object_foreach(all, name, entry) {
        bool may_be = sw_text_same(sw_json_str(entry, "arguments"), OUR_ARGS);
        sw_auto(json) json_t *whole = may_be ? runai_whole(conn, entry, err) : NULL;
        const char *id = runai_mark(whole, "labels", SW_MARK_ID);
        const char *attempt = runai_mark(whole, "labels", SW_MARK_ATTEMPT);

        if (may_be && !whole)
            return -1;
        if (id)
            take(context, &(struct sw_marked){
                .id = id, .where = name, .attempt = attempt ? atoi(attempt) : 1,
                .store = runai_mark(whole, "labels", SW_MARK_STORE),
                .uid = runai_mark(whole, "annotations", SW_MARK_UID),
                .owner = runai_mark(whole, "annotations", SW_MARK_OWNER),
                .state = runai_state(runai_phase(entry), NULL), .over = is_over(entry),
                .created_ms = runai_time_ms(entry, "createdAt"), .answer = entry });
    }
    return all ? 0 : -1;
}

static int delete_one(struct sw_connection *conn, const json_t *entry, struct sw_error *err)
{
    sw_auto(json) json_t *one = json_pack("[O]", entry);

    return batch(conn, one, "delete", err);
}

static const struct sw_marked_api marked = { "workload", visit, delete_one, NULL };

SW_MARKED_SLOTS(runai, &marked)
