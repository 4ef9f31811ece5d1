/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_adopt.c - jobs that are found by their marks alone: adopt, jobs, orphans.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "platform/kit/orphans.h"
#include "platform/kubernetes/kubernetes_submit.h"

enum { HELPER_BEGINS_MS = 10 * 60 * 1000 };

/* ---- every object of ours, engine by engine ------------------------------------------------------ */

struct k8s_visit {
    struct sw_connection *conn;
    const struct k8s_engine *engine;
    int (*take)(void *context, const struct k8s_engine *engine, json_t *object);
    void *context;
};

static int visit_one(void *context, json_t *object)
{
    const struct k8s_visit *visit = context;

    return visit->take(visit->context, visit->engine, object);
}

/* An engine that the cluster does not have, or that we may not list, has no objects for us. */
static int visit_engine(struct k8s_visit *visit, const char *selector, struct sw_error *err)
{
    sw_autofree char *path = k8s_engine_path(visit->conn, visit->engine, NULL);
    const struct k8s_listing listing = { .path = path, .labels = selector };
    bool own = visit->engine->choice == K8S_JOB;
    struct sw_error why = { 0 };
    int there = k8s_has_engine(visit->conn, visit->engine, err);

    if (there <= 0)
        return there;
    if (k8s_list_pages(visit->conn, &listing, visit_one, visit, &why) == 0)
        return 0;
    return !own && (why.code == SW_E_NOT_FOUND || why.code == SW_E_REFUSED) ? 0 : sw_pass(err, &why);
}

static int visit_all(struct sw_connection *conn, const char *selector,
                     int (*take)(void *context, const struct k8s_engine *engine, json_t *object),
                     void *context,
                     struct sw_error *err)
{
    struct k8s_visit visit = { .conn = conn, .take = take, .context = context };

    for (visit.engine = k8s_engines; visit.engine->name; visit.engine++)
        if (visit_engine(&visit, selector, err) < 0)
            return -1;
    return 0;
}

/* ---- adopt -------------------------------------------------------------------------------------- */

struct k8s_newest {
    json_t *object;                  /* owned */
    const struct k8s_engine *engine;
    int attempt;
};

static int take_newest(void *context, const struct k8s_engine *engine, json_t *object)
{
    struct k8s_newest *newest = context;
    int number = k8s_label_number(object, K8S_LABEL_ATTEMPT, 1);

    if (number <= newest->attempt || !k8s_note(object, K8S_NOTE_SENT))
        return 0;
    json_decref(newest->object);
    *newest = (struct k8s_newest){ json_incref(object), engine, number };
    return 0;
}

static json_t *read_plan(struct sw_connection *conn, const char *name)
{
    sw_autofree char *path = k8s_path(conn, "v1", "configmaps", name);
    sw_auto(json) json_t *found = NULL;
    const char *text;

    if (k8s_call(conn, NULL, path, NULL, &found, NULL) < 0)
        return NULL;
    text = sw_json_str(json_object_get(found, "data"), "plan.json");
    return text ? sw_json_parse(text, strlen(text), "plan", NULL) : NULL;
}

int kubernetes_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *receipt,
                     struct sw_error *err)
{
    sw_autofree char *selector = sw_format(K8S_LABEL_ID "=%s", id);
    struct k8s_newest newest = { 0 };
    sw_auto(json) json_t *object = NULL, *read = NULL;
    sw_auto(sw_plan) struct sw_plan *known = NULL;
    const char *signature;

    if (visit_all(conn, selector, take_newest, &newest, err) < 0) {
        json_decref(newest.object);
        return -1;
    }
    object = newest.object;
    if (!object)
        return sw_fail(err, SW_E_NOT_FOUND, "namespace '%s' has no job '%s'", conn->namespace, id);
    read = read_plan(conn, k8s_meta(object, "name"));
    known = read ? sw_plan_from_json(read, NULL) : NULL;
    k8s_fill_submission(object, newest.engine->name, known, receipt);
    signature = k8s_note(object, K8S_NOTE_SIGNED);
    snprintf(receipt->signature, sizeof receipt->signature, "%s", signature ? signature : "");
    if (plan)
        *plan = sw_take(read);
    return 0;
}

/* ---- jobs --------------------------------------------------------------------------------------- */

static enum sw_state state_of(const struct k8s_workload *workload)
{
    static const enum sw_state states[] = {
        [K8S_SUSPENDED] = SW_PENDING, [K8S_WAITING] = SW_PENDING, [K8S_ACTIVE] = SW_RUNNING,
        [K8S_SUCCEEDED] = SW_COMPLETE, [K8S_FAILED] = SW_ERROR,
    };

    return states[workload->phase];
}

static int take_job(void *context, const struct k8s_engine *engine, json_t *object)
{
    struct k8s_workload workload = { 0 };
    const char *id = k8s_label(object, K8S_LABEL_ID), *owner = k8s_note(object, K8S_NOTE_OWNER);
    json_t *jobs = context, *other = json_object_get(jobs, id ? id : "");
    int64_t number = k8s_label_number(object, K8S_LABEL_ATTEMPT, 1);

    if (!id || !k8s_note(object, K8S_NOTE_SENT) || sw_json_int(other, "attempt", 0) >= number)
        return 0;
    engine->read(object, &workload);
    json_object_set_new(jobs, id, sw_json_object(
        SW_STR("id", id), SW_STR("state", sw_state_name(state_of(&workload))),
        SW_STR("owner", owner ? owner : ""),
        SW_INT("created_ms", workload.created_ms), SW_INT("attempt", number)));
    return 0;
}

json_t *kubernetes_jobs(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(json) json_t *jobs = json_object();
    json_t *list, *job;
    const char *id;

    if (visit_all(conn, K8S_LABEL_ID, take_job, jobs, err) < 0)
        return NULL;
    list = json_array();
    json_object_foreach(jobs, id, job) {
        json_object_del(job, "attempt");
        json_array_append(list, job);
    }
    return list;
}

/* ---- orphans ------------------------------------------------------------------------------------ */

struct k8s_search {
    struct sw_connection *conn;
    struct sw_orphans orphans;
    json_t *used;                    /* names of shared objects that some job mounts */
};

static void note_used(json_t *used, const json_t *object)
{
    sw_autofree char *text = sw_json_dump(object);
    static const char *const starts[] = { "slipway-runner-", "slipway-pull-" };

    for (size_t i = 0; i < SW_COUNT(starts); i++)
        for (const char *at = text; (at = strstr(at, starts[i]));) {
            size_t length = strcspn(at, "\"");
            sw_autofree char *name = sw_strndup(at, length);

            json_object_set_new(used, name, json_true());
            at += length;
        }
}

/* One that runs is a job, not a leftover. */
static int take_orphan(void *context, const struct k8s_engine *engine, json_t *object)
{
    struct k8s_search *search = context;
    const char *id = k8s_label(object, K8S_LABEL_ID), *name = k8s_meta(object, "name");
    sw_autofree char *path = k8s_engine_path(search->conn, engine, name);
    struct k8s_workload workload = { 0 };

    note_used(search->used, object);
    engine->read(object, &workload);
    if (!id || search->orphans.sweep->known(search->orphans.sweep->context, id) ||
        !k8s_is_over(&workload))
        return 0;
    if (sw_orphan_add(&search->orphans, &(struct sw_orphan){
            .what = engine->name, .where = name, .job = id, .marked = true,
            .store = k8s_label(object, K8S_LABEL_STORE),
            .uid = k8s_note(object, K8S_NOTE_UID), .owner = k8s_note(object, K8S_NOTE_OWNER) }) &&
        k8s_delete(search->conn, path, k8s_meta(object, "uid"), NULL) < 0)
        sw_orphan_stays(&search->orphans);
    return 0;
}

struct k8s_shared {                  /* objects of one kind that belong to no job */
    struct k8s_search *search;
    const char *plural;
};

static int take_shared(void *context, json_t *object)
{
    const struct k8s_shared *shared = context;
    struct k8s_search *search = shared->search;
    const char *name = k8s_meta(object, "name");
    sw_autofree char *path = k8s_path(search->conn, "v1", shared->plural, name);

    if (name && !json_object_get(search->used, name) &&
        sw_orphan_add(&search->orphans, &(struct sw_orphan){ .what = "cache", .where = name }) &&
        k8s_delete(search->conn, path, k8s_meta(object, "uid"), NULL) < 0)
        sw_orphan_stays(&search->orphans);
    return 0;
}

/* What may not be listed is left alone. */
static int shared_orphans(struct k8s_search *search, struct sw_error *err)
{
    static const char *const kinds[] = { "configmaps", "secrets" };

    for (size_t i = 0; i < SW_COUNT(kinds); i++) {
        sw_autofree char *path = k8s_path(search->conn, "v1", kinds[i], NULL);
        struct k8s_shared shared = { search, kinds[i] };
        struct sw_error why = { 0 };

        if (k8s_list_pages(search->conn, &(struct k8s_listing){ .path = path, .labels = K8S_LABEL_SHARED,
                                                                .names_only = true },
                           take_shared, &shared, &why) < 0)
            return sw_pass(err, &why);
    }
    return 0;
}

/* Of a client that died. One that runs may be at work for another client, and ends at its deadline. */
static bool is_left(const json_t *pod)
{
    const char *phase = sw_json_str(json_object_get(pod, "status"), "phase");
    bool old = sw_now_ms() - k8s_time_ms(k8s_meta(pod, "creationTimestamp")) > HELPER_BEGINS_MS;

    return sw_text_same(phase, "Succeeded") || sw_text_same(phase, "Failed") ||
           (old && !sw_text_same(phase, "Running"));
}

static int take_helper(void *context, json_t *pod)
{
    struct k8s_search *search = context;
    const char *name = k8s_meta(pod, "name");
    sw_autofree char *path = name ? k8s_path(search->conn, "v1", K8S_PODS, name) : NULL;

    if (path && is_left(pod) &&
        sw_orphan_add(&search->orphans, &(struct sw_orphan){ .what = "helper pod", .where = name }) &&
        k8s_delete(search->conn, path, k8s_meta(pod, "uid"), NULL) < 0)
        sw_orphan_stays(&search->orphans);
    return 0;
}

static int helper_orphans(struct k8s_search *search, struct sw_error *err)
{
    sw_autofree char *path = k8s_path(search->conn, "v1", K8S_PODS, NULL);
    const struct k8s_listing listing = { .path = path, .labels = K8S_LABEL_SHARED "=helper" };

    return k8s_list_pages(search->conn, &listing, take_helper, search, err) < 0 ? -1 : 0;
}

json_t *kubernetes_orphans(struct sw_connection *conn, const struct sw_sweep *sweep, struct sw_error *err)
{
    sw_auto(json) json_t *found = json_array(), *used = json_object();
    struct k8s_search search = { conn, { sweep, found }, used };

    if (visit_all(conn, K8S_LABEL_ID, take_orphan, &search, err) < 0 ||
        helper_orphans(&search, err) < 0 ||
        (sweep->caches && shared_orphans(&search, err) < 0))
        return NULL;
    sw_orphan_folders(&search.orphans, conn->root);
    return sw_take(found);
}
