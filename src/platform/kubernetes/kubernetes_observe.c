/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_observe.c - the slots observe, reconcile, evidence, replicas and wake_fd.
 *
 * Only reads, but for reconcile(): that removes what a submit left behind which did not come to its end.
 *
 * Events and the objects of queues are asked for only where they explain something: for few jobs that wait
 * and whose pods do not say why.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"
#include "platform/kit/jobs.h"
#include "platform/kubernetes/kubernetes_internal.h"

enum { EVENTS_MOST = 8 };            /* jobs whose events are asked for in one observe() */

extern const struct sw_platform sw_platform_kubernetes;

/* ---- what explains a wait ------------------------------------------------------------------------ */

json_t *k8s_events(struct sw_connection *conn, const char *field, const char *value)
{
    sw_autofree char *path = k8s_path(conn, "v1", "events", NULL);
    sw_autofree char *selector = sw_format("involvedObject.%s=%s", field, value);
    const struct sw_rest_pair query[] = { { "fieldSelector", selector }, { "limit", K8S_PAGE }, { 0 } };
    const struct sw_rest_call call = { .path = path, .query = query, .repeatable = true };
    sw_auto(json) json_t *answer = NULL;

    if (sw_rest_call(conn->rest, &call, &answer, NULL) < 0)
        return NULL;
    return json_incref(json_object_get(answer, "items"));
}

/* Events of the first pod that has not begun, or of the object while it has none. Owned; NULL: none came. */
static json_t *events_of(struct sw_connection *conn, const struct k8s_seen *known)
{
    const char *uid = k8s_meta(known->object, "uid"), *own;
    json_t *pod;
    size_t i;

    json_array_foreach((json_t *)known->pods, i, pod)
        if (sw_text_same(k8s_pod_phase(pod), "Pending") &&
            (own = k8s_meta(pod, "uid"))) {
            uid = own;
            break;
        }
    return uid ? k8s_events(conn, "uid", uid) : NULL;
}

/* Objects of a queue, by the UID of what they belong to. */
static int take_queued(void *context, json_t *object)
{
    sw_auto(json) json_t *kept = k8s_trim(object);
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(json_object_get(kept, "metadata"), "ownerReferences"), i, one)
        if (sw_json_str(one, "uid"))
            json_object_set(context, sw_json_str(one, "uid"), kept);
    return 0;
}

static const struct queue {
    const char *group, *plural;
} queues[] = { { "kueue.x-k8s.io", "workloads" }, { "scheduling.volcano.sh", "podgroups" } };

/* Which queue may hold it; NULL: none does. */
static const struct queue *queue_of(const struct k8s_seen *known)
{
    enum k8s_phase phase = k8s_read(known).phase;

    if (!known->object)
        return NULL;
    if (phase == K8S_SUSPENDED && k8s_label(known->object, "kueue.x-k8s.io/queue-name"))
        return &queues[0];
    return phase == K8S_WAITING && known->engine->choice == K8S_VOLCANO ? &queues[1] : NULL;
}

struct extras {                      /* of one observe() */
    json_t *queued[SW_COUNT(queues)];     /* asked for once; NULL: not yet */
    int events_left;
};

static void extras_auto(struct extras *extras)
{
    for (size_t i = 0; i < SW_COUNT(extras->queued); i++)
        json_decref(extras->queued[i]);
}

static const json_t *queued_of(struct sw_connection *conn, const struct k8s_seen *known,
                               struct extras *extras)
{
    const struct queue *queue = queue_of(known);
    const char *uid = k8s_meta(known->object, "uid"), *version;
    json_t **list = queue ? &extras->queued[queue - queues] : NULL;

    if (!queue || !uid)
        return NULL;
    if (!*list) {
        *list = json_object();
        version = k8s_group(conn, queue->group, NULL);
        if (version) {
            sw_autofree char *api = sw_format("%s/%s", queue->group, version);
            sw_autofree char *path = k8s_path(conn, api, queue->plural, NULL);

            k8s_list_pages(conn, &(struct k8s_listing){ .path = path }, take_queued, *list, NULL);
        }
    }
    return json_object_get(*list, uid);
}

/* ---- observe ------------------------------------------------------------------------------------- */

/* It was sent, and there is no such object: deleted by hand, or by `ttl:` after its end. Nothing tells how
 * far it came, so it is not tried again. */
static void judge_gone(struct sw_observation *seen)
{
    seen->presence = SW_PRESENT;
    seen->by_absence = true;
    seen->state = SW_ERROR;
    snprintf(seen->reason, sizeof seen->reason, "%s", SW_REASON_REMOVED);
    snprintf(seen->message, sizeof seen->message, "%s",
             "it was deleted on the cluster; how far it got is unknown");
}

static void judge(struct sw_connection *conn, struct k8s_seen *known, struct extras *extras,
                  struct sw_observation *seen)
{
    sw_auto(json) json_t *events = NULL;

    known->workload = queued_of(conn, known, extras);
    if (extras->events_left > 0 && k8s_wants_events(known)) {
        extras->events_left--;
        events = events_of(conn, known);
        known->events = events;
    }
    k8s_judge(known, seen);
}

/* A job that ran waits again: the watch may have begun a moment before it started, and be behind. */
static bool goes_back(const struct sw_observation *seen)
{
    return seen->presence == SW_PRESENT && seen->state == SW_PENDING && seen->job.state == SW_RUNNING &&
           seen->attempt <= seen->job.attempt;
}

static int observe_one(struct sw_connection *conn, const json_t *list, struct extras *extras,
                       struct sw_observation *seen, struct sw_error *err)
{
    sw_auto(json) json_t *own = NULL;
    struct k8s_seen known;

    k8s_find(list, &seen->job, &known);
    judge(conn, &known, extras, seen);
    if (seen->presence != SW_ABSENT && !goes_back(seen))
        return 0;
    if (k8s_get(conn, &seen->job, &own, err) < 0)
        return -1;
    sw_observation_done(seen);
    *seen = (struct sw_observation){ .job = seen->job, .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1 };
    k8s_find(own, &seen->job, &known);
    judge(conn, &known, extras, seen);
    if (seen->presence == SW_ABSENT && !sw_text_empty(seen->job.remote_id))
        judge_gone(seen);
    return 0;
}

int kubernetes_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                       struct sw_error *err)
{
    __attribute__((cleanup(extras_auto))) struct extras extras = { .events_left = EVENTS_MOST };
    sw_auto(json) json_t *list = k8s_list(conn, jobs, count, err);

    if (!list)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (observe_one(conn, list, &extras, &jobs[i], err) < 0)
            return -1;
    return 0;
}

int kubernetes_wake_fd(struct sw_connection *conn)
{
    return sw_watch_fd(conn->watch);
}

/* ---- reconcile ----------------------------------------------------------------------------------- */

/* Its submit is dead. It is looked at again first: only what is still so is removed. */
static void remove_half_made(struct sw_connection *conn, const struct sw_jobref *job)
{
    sw_auto(json) json_t *list = NULL;
    struct k8s_seen known;
    sw_autofree char *path = NULL;

    if (k8s_get(conn, job, &list, NULL) < 0)
        return;
    k8s_find(list, job, &known);
    if (!k8s_is_half_made(&known, job))
        return;
    path = k8s_engine_path(conn, known.engine, k8s_meta(known.object, "name"));
    k8s_delete(conn, path, k8s_meta(known.object, "uid"), NULL);
}

void kubernetes_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].needs_reconcile && sw_text_empty(jobs[i].job.remote_id))
            remove_half_made(conn, &jobs[i].job);
}

/* ---- evidence ------------------------------------------------------------------------------------ */

void kubernetes_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                         struct sw_evidence *out, size_t count, int64_t deadline_ms)
{
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++) {
        out[i].facts = out[i].facts ? out[i].facts : json_object();
        if (seen[i]->facts)
            json_object_update_missing(out[i].facts, seen[i]->facts);
    }
    sw_jobs_evidence(&sw_platform_kubernetes, conn, seen, out, count);
}

/* ---- replicas ------------------------------------------------------------------------------------ */

static json_t *replica(const struct k8s_seen *known, const struct sw_jobref *job, int rank)
{
    const json_t *pod = k8s_pod_of(known, rank, -1);
    struct sw_observation one = { .job = *job };
    char reason[48] = "", message[256] = "";
    bool waits = pod ? k8s_pod_waits(pod, known->events, reason, message) : false;
    int code;

    k8s_pod_end(pod, known->engine, &one);
    code = one.exit_code;
    sw_observation_done(&one);
    return sw_json_object(
        SW_INT("rank", rank), SW_STR("node", k8s_pod_node(pod)),
        SW_STR("status", sw_state_name(pod ? one.state : SW_PENDING)),
        SW_SUB("exit_code", code == SW_NO_EXIT_CODE ? json_null() : json_integer(code)),
        SW_STR("phase", k8s_pod_phase(pod)),
        SW_BOOL("ready", k8s_is_true(k8s_condition(pod, "Ready"))),
        SW_STR("pod", k8s_meta(pod, "name")),
        SW_SUB("readiness_issue", waits ? sw_json_object(SW_STR("reason", reason), SW_STR("message", message))
                                        : json_null()));
}

json_t *kubernetes_replicas(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(json) json_t *list = NULL, *events = NULL;
    json_t *out;
    struct k8s_seen known;

    if (k8s_get(conn, job, &list, err) < 0)
        return NULL;
    k8s_find(list, job, &known);
    if (!known.object) {
        sw_fail(err, SW_E_NOT_FOUND, "%s is no longer on the cluster", job->id);
        return NULL;
    }
    events = k8s_wants_events(&known) ? events_of(conn, &known) : NULL;
    known.events = events;
    out = json_array();
    for (int rank = 0; rank < k8s_nodes(&known, job); rank++)
        json_array_append_new(out, replica(&known, job, rank));
    return out;
}
