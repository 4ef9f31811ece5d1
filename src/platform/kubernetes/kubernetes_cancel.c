/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_cancel.c - jobs are stopped by deleting their objects, and seen to be gone; cleanup does the
 * same with jobs that are over.
 *
 * Foreground deletion keeps an object until its last pod is gone, so an object that is not there any more
 * is a job of which nothing runs. The UID is a precondition: what was made anew under the same name is
 * left alone. The kubelet sends TERM and gives the runner the time it needs for the command and its
 * outputs. A pod takes its log along, so the log is copied before and while it ends.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/stop.h"
#include "platform/kit/log.h"

enum { AT_ONCE = 8, STEP_MS = 200, STEP_MOST_MS = 2000, LOGS_MOST = 16, GONE_MS = 20000 };

extern const struct sw_platform sw_platform_kubernetes;

/* ---- one object --------------------------------------------------------------------------------- */

int k8s_delete(struct sw_connection *conn, const char *path, const char *uid, struct sw_error *err)
{
    sw_auto(json) json_t *body = sw_json_object(
        SW_STR("apiVersion", "v1"), SW_STR("kind", "DeleteOptions"),
        SW_STR("propagationPolicy", "Foreground"),
        SW_SUB("preconditions", uid ? sw_json_object(SW_STR("uid", uid)) : NULL));
    struct sw_error why = { 0 };

    if (k8s_call(conn, "DELETE", path, body, NULL, &why) == 0 || why.code == SW_E_NOT_FOUND ||
        why.code == SW_E_CONFLICT)
        return 0;
    return sw_pass(err, &why);
}

/* ---- cancel ------------------------------------------------------------------------------------- */

struct k8s_ending {                  /* one job of a cancel */
    struct sw_batch_job *job;
    char *path, *uid;                /* of its object; NULL: it is over */
    bool begun;                      /* a pod of it ran */
    int ranks;                       /* whose logs are copied */
};

struct k8s_endings {
    struct sw_connection *conn;
    struct k8s_ending *items;
    size_t count;
    int64_t deadline_ms;
};

static void k8s_endings_auto(struct k8s_endings *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].path);
        free(all->items[i].uid);
    }
    free(all->items);
}

static bool has_begun(const json_t *pods)
{
    json_t *pod, *container;
    size_t i, k;

    json_array_foreach(pods, i, pod)
        json_array_foreach(json_object_get(json_object_get(pod, "status"), "containerStatuses"), k,
                           container) {
            const json_t *state = json_object_get(container, "state");

            if (json_object_get(state, "running") || json_object_get(state, "terminated"))
                return true;
        }
    return false;
}

/* What of the list concerns this job. A list may lie for a moment: what it lacks is asked for by name. */
static int find_one(struct sw_connection *conn, const json_t *list, struct k8s_ending *ending,
                    struct sw_error *err)
{
    sw_auto(json) json_t *asked = NULL;
    struct k8s_seen known = { 0 };
    struct k8s_workload workload;
    struct sw_error why = { 0 };

    k8s_find(list, ending->job->job, &known);
    if (!known.object) {
        if (k8s_get(conn, ending->job->job, &asked, &why) < 0)
            return why.code == SW_E_NOT_FOUND ? 0 : sw_pass(err, &why);
        k8s_find(asked, ending->job->job, &known);
    }
    workload = k8s_read(&known);
    if (!known.object || k8s_is_over(&workload))
        return 0;
    ending->path = k8s_engine_path(conn, known.engine, k8s_meta(known.object, "name"));
    ending->uid = sw_strdup(k8s_meta(known.object, "uid"));
    ending->begun = has_begun(known.pods);
    ending->ranks = ending->begun ? (int)sw_json_int(ending->job->job->plan, "nodes", 1) : 0;
    return 0;
}

static json_t *list_all(struct sw_connection *conn, const struct sw_batch_job *jobs, size_t count,
                        struct sw_error *err)
{
    sw_autofree struct sw_observation *seen = sw_alloc((count + 1) * sizeof *seen);

    for (size_t i = 0; i < count; i++)
        seen[i] = (struct sw_observation){ .job = *jobs[i].job };
    return k8s_list(conn, seen, count, err);
}

/* To ask for the size of a log is to copy what is there of it. */
static void copy_log(const struct k8s_endings *all, const struct k8s_ending *ending)
{
    for (int rank = 0; rank < ending->ranks && rank < LOGS_MOST; rank++) {
        int64_t size;

        sw_log_size(&(struct sw_log){ &sw_platform_kubernetes, all->conn, ending->job->job, rank }, &size,
                    NULL);
    }
}

static void stop_one(void *context, size_t index)
{
    const struct k8s_endings *all = context;
    struct k8s_ending *ending = &all->items[index];

    if (!ending->path)
        return;
    if (all->count <= LOGS_MOST)
        copy_log(all, ending);
    ending->job->result = k8s_delete(all->conn, ending->path, ending->uid, &ending->job->err);
}

/* 1: it is gone, or another one has its name; 0: it is there; -1 + err. */
static int is_gone(struct sw_connection *conn, const struct k8s_ending *ending, struct sw_error *err)
{
    sw_auto(json) json_t *found = NULL;
    struct sw_error why = { 0 };

    if (k8s_call(conn, NULL, ending->path, NULL, &found, &why) < 0)
        return why.code == SW_E_NOT_FOUND ? 1 : sw_pass(err, &why);
    return !sw_text_same(k8s_meta(found, "uid"), ending->uid);
}

static void await_one(void *context, size_t index)
{
    const struct k8s_endings *all = context;
    struct k8s_ending *ending = &all->items[index];
    struct sw_batch_job *job = ending->job;
    int64_t grace_ms = sw_json_int(job->job->plan, "grace_ms", SW_GRACE_MS);
    int64_t until_ms = all->deadline_ms ? all->deadline_ms
                                        : sw_monotonic_ms() + sw_stop_budget_ms(grace_ms) + K8S_PATIENCE_MS;

    for (int64_t step_ms = STEP_MS; ending->path && job->result == 0;
         step_ms = step_ms * 3 / 2 > STEP_MOST_MS ? STEP_MOST_MS : step_ms * 3 / 2) {
        int gone = is_gone(all->conn, ending, &job->err);

        if (gone != 0) {
            job->result = gone < 0 ? -1 : ending->begun ? 0 : 1;
            return;
        }
        if (sw_monotonic_ms() > until_ms) {
            job->result = sw_fail(&job->err, SW_E_TIMEOUT,
                                  "it was asked to stop, and one of its pods still exists");
            return;
        }
        if (ending->begun && all->count <= LOGS_MOST) {
            copy_log(all, ending);
            step_ms = STEP_MS;
        }
        sw_sleep_ms(step_ms);
    }
}

void kubernetes_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                       int64_t deadline_ms)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *list = list_all(conn, jobs, count, &why);
    sw_auto(k8s_endings) struct k8s_endings all = {
        conn, sw_alloc((count + 1) * sizeof *all.items), count, deadline_ms };

    if (!list) {
        sw_batch_fail(jobs, count, &why);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        all.items[i].job = &jobs[i];
        jobs[i].result = find_one(conn, list, &all.items[i], &jobs[i].err);
    }
    sw_parallel(count, AT_ONCE, stop_one, &all);
    sw_parallel(count, AT_ONCE, await_one, &all);
}

/* ---- cleanup ------------------------------------------------------------------------------------ */

struct k8s_removal {
    struct sw_connection *conn;
    struct sw_batch_job *jobs;
};

/* Every attempt's object of one job; those of other engines than today's have none. */
static json_t *objects_of(struct sw_connection *conn, const struct k8s_engine *engine, const char *id,
                          struct sw_error *err)
{
    sw_autofree char *path = k8s_engine_path(conn, engine, NULL);
    sw_autofree char *asked = sw_format("%s?labelSelector=" K8S_LABEL_ID "%%3D%s", path, id);
    sw_auto(json) json_t *answer = NULL;

    return k8s_call(conn, NULL, asked, NULL, &answer, err) < 0 ? NULL
                                                               : json_incref(json_object_get(answer,
                                                                                             "items"));
}

static const struct k8s_engine *engine_of(const struct sw_jobref *job)
{
    const struct k8s_engine *engine = k8s_engine_named(sw_json_str(job->details, "engine"));

    return engine ? engine : k8s_engines;
}

/* Waits a little: the next job of that name, and a user who looks, find nothing. */
static int remove_objects(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    const struct k8s_engine *engine = engine_of(job);
    int64_t until_ms = sw_monotonic_ms() + GONE_MS;

    for (;;) {
        sw_auto(json) json_t *objects = objects_of(conn, engine, job->id, err);
        json_t *object;
        size_t i;

        if (!objects)
            return -1;
        json_array_foreach(objects, i, object) {
            sw_autofree char *path = k8s_engine_path(conn, engine, k8s_meta(object, "name"));

            if (!k8s_meta(object, "deletionTimestamp") &&
                k8s_delete(conn, path, k8s_meta(object, "uid"), err) < 0)
                return -1;
        }
        if (json_array_size(objects) == 0 || sw_monotonic_ms() > until_ms)
            return 0;
        sw_sleep_ms(STEP_MS);
    }
}

static void remove_job(void *context, size_t index)
{
    const struct k8s_removal *removal = context;
    struct sw_batch_job *one = &removal->jobs[index];
    sw_autofree char *folder = sw_path_join(removal->conn->root, one->job->id);

    one->result = remove_objects(removal->conn, one->job, &one->err);
    if (one->result == 0)
        one->result = sw_remove_tree(folder, &one->err);
}

/* Results are in volumes of the user or in object storage: they stay in any case. */
void kubernetes_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                        bool keep_results, int64_t deadline_ms)
{
    (void)keep_results;
    (void)deadline_ms;               /* each call has its own */
    sw_parallel(count, AT_ONCE, remove_job, &(struct k8s_removal){ conn, jobs });
}
