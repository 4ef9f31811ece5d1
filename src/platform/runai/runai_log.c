/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_log.c - logs come from the cluster, since the control plane has none:
 *
 *     the Kubernetes API   with a kubeconfig, or at kube_apiserver_url with run:ai's token; of any pod
 *     the Cluster API      a WebSocket at the cluster's own domain, with run:ai's token; of running workloads
 *     the results store    what the pod brought there (runai_kept_log.c), where an output goes there
 *
 * The first is asked where it is configured. When it refuses the token, or is not configured, a job whose
 * output goes to object storage has brought its log there, to the end; of the others only the Cluster API
 * knows. A log is read in one way, since each of them has its own times.
 */
#include "platform/runai/runai_internal.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "platform/kit/log_lines.h"
#include "platform/kube/kube_log.h"

enum { SILENCE_MS = 1500, WHOLE_MS = 5 * 60000 };

/* ---- the Kubernetes API ---------------------------------------------------------------------------- */

/* NULL without an error: it is not configured, or takes no token of run:ai. */
static struct sw_rest *kube_client(struct sw_connection *conn, struct sw_error *err)
{
    const struct kube_options to = {
        .kubeconfig = runai_of(conn)->kubeconfig, .context = runai_of(conn)->kube_context,
        .env = sw_cloud_of(conn)->given.env,
        .env_context = sw_cloud_of(conn)->given.env_context, .warn = sw_cloud_of(conn)->given.warn,
        .warn_context = sw_cloud_of(conn)->given.warn_context,
        .patience_ms = RUNAI_PATIENCE_MS };
    struct sw_rest *rest = NULL;

    pthread_mutex_lock(&runai_of(conn)->lock);
    if (runai_of(conn)->kubeconfig && !runai_of(conn)->kube)
        runai_of(conn)->kube = kube_open(&to, err);
    if (!runai_of(conn)->kubeconfig && runai_of(conn)->kube_url && !runai_of(conn)->kube_refused &&
        !runai_of(conn)->kube_rest)
        runai_of(conn)->kube_rest = runai_rest_to(conn, runai_of(conn)->kube_url, "Kubernetes", err);
    if (runai_of(conn)->kubeconfig)
        rest = runai_of(conn)->kube ? kube_rest(runai_of(conn)->kube) : NULL;
    else if (!runai_of(conn)->kube_refused)
        rest = runai_of(conn)->kube_rest;
    pthread_mutex_unlock(&runai_of(conn)->lock);
    return rest;
}

/* ---- the Cluster API ------------------------------------------------------------------------------- */

static struct sw_rest *cluster_client(struct sw_connection *conn, const struct runai_site *site,
                                      struct sw_error *err)
{
    const char *scheme = sw_text_starts(runai_of(conn)->url, "http://") ? "http://" : "https://";
    sw_autofree char *url = sw_format("%s%s/cluster-api", strstr(site->domain, "://") ? "" : scheme,
                                      site->domain);

    pthread_mutex_lock(&runai_of(conn)->lock);
    if (!runai_of(conn)->cluster_rest)
        runai_of(conn)->cluster_rest = runai_rest_to(conn, url, "the cluster", err);
    pthread_mutex_unlock(&runai_of(conn)->lock);
    return runai_of(conn)->cluster_rest;
}

static int take_frame(void *lines, const char *bytes, size_t length)
{
    return sw_log_lines_sink(lines, NULL, bytes, length);
}

/* The log from its beginning, until the socket closes or is silent: whether it follows by itself is not
 * documented. */
static int read_socket(struct sw_websocket *ws, struct sw_log_lines *lines, struct sw_error *err)
{
    int64_t until_ms = sw_monotonic_ms() + WHOLE_MS, silent_ms = sw_monotonic_ms() + SILENCE_MS;
    int state;

    while ((state = sw_websocket_read(ws, take_frame, lines)) == 0 && sw_monotonic_ms() < until_ms) {
        struct pollfd fd = { .fd = sw_websocket_fd(ws), .events = POLLIN };

        if (poll(&fd, 1, 100) > 0)
            silent_ms = sw_monotonic_ms() + SILENCE_MS;
        else if (sw_monotonic_ms() >= silent_ms)
            break;
    }
    if (state < 0 || (state == 1 && sw_log_lines_end(lines)))
        return sw_fail(err, SW_E_INTERRUPTED, "the reader closed the log");
    return 0;
}

static int fetch_cluster(struct sw_connection *conn, const struct runai_site *site, const json_t *workload,
                         const char *pod, const struct sw_log_cursor *cursor, const struct sw_log_sink *sink,
                         struct sw_error *err)
{
    bool many = sw_json_str(workload, "distributedFramework") != NULL;
    sw_autofree char *path = sw_rest_path("/api/v1/%s/workloads/training/%s/%s/logs?timestamps=true&pod=%s",
                                          runai_of(conn)->project,
                                          many ? "pytorch" : "runai", sw_json_str(workload, "name"), pod);
    char last[16];
    const struct sw_rest_pair query[] = { { "tail", cursor->last > 0 ? last : NULL }, { 0 } };
    struct sw_rest *rest = cluster_client(conn, site, err);
    sw_auto(sw_websocket) struct sw_websocket *ws = NULL;
    struct sw_log_lines lines = { .sink = sink };
    int result;

    snprintf(last, sizeof last, "%d", cursor->last);
    ws = rest ? sw_rest_websocket(rest, &(struct sw_rest_call){ .path = path, .query = query }, NULL, err)
               : NULL;
    result = ws ? read_socket(ws, &lines, err) : -1;
    sw_log_lines_done(&lines);
    return result;
}

/* ---- which pod, which way -------------------------------------------------------------------------- */

static const json_t *pod_of(const json_t *pods, int rank, int count)
{
    size_t i;
    json_t *pod;

    json_array_foreach((json_t *)pods, i, pod)
        if (runai_rank_of(pod, count) == rank)
            return pod;
    return NULL;
}

static enum sw_log_life life_of(const json_t *pod)
{
    const char *phase = sw_json_str(pod, "k8sPhase");

    return sw_text_same(phase, "Pending") ? SW_LOG_NOT_BEGUN
           : sw_text_same(phase, "Running") ? SW_LOG_GROWS : SW_LOG_ENDED;
}

bool runai_reads_kube(struct sw_connection *conn)
{
    const struct runai_site *site = runai_site(conn, NULL);
    struct sw_rest *rest = site ? kube_client(conn, NULL) : NULL;
    sw_autofree char *path = rest ? kube_path("v1", site->namespace, "pods", "slipway") : NULL;
    sw_autofree char *log = path ? sw_format("%s/log", path) : NULL;
    struct sw_error why = { 0 };

    if (!rest)
        return false;
    if (sw_rest_call(rest, &(struct sw_rest_call){ .path = log, .repeatable = true }, NULL, &why) == 0 ||
        why.code == SW_E_NOT_FOUND || why.code == SW_E_REFUSED)      /* that pod is not there, most likely */
        return true;
    runai_of(conn)->kube_refused = why.code == SW_E_CREDENTIAL;
    return false;
}

static int no_way(const struct sw_connection *conn, const struct runai_site *site, const struct sw_error *why,
                  struct sw_error *err)
{
    sw_fail(err, SW_E_UNSUPPORTED, "its log cannot be read: run:ai's control plane has none%s%s%s",
            runai_of(conn)->kube_refused ? ", and the cluster's Kubernetes API does not take run:ai's token"
            : "",
            why->code ? ", and " : site->domain ? "" : ", and the cluster has no domain",
            why->code ? why->message : "");
    return sw_hint(err, "set runai.kubeconfig, or runai.kube_apiserver_url where that takes run:ai's tokens, "
                        "or let an output go to object storage");
}

static int fetch(struct sw_connection *conn, const struct sw_jobref *job, int replica, const json_t *workload,
                 const char *pod, struct sw_log_cursor *cursor, const struct sw_log_sink *sink,
                 struct sw_error *err)
{
    const struct runai_site *site = runai_site(conn, err);
    struct sw_error why = { 0 };
    struct sw_rest *rest = site ? kube_client(conn, &why) : NULL;

    if (!site)
        return -1;
    if (rest && (kube_log_fetch(rest, site->namespace, pod, cursor, sink, &why) == 0 ||
                 runai_of(conn)->kubeconfig ||
                 why.code != SW_E_CREDENTIAL))
        return why.code ? sw_pass(err, &why) : 0;
    if (rest)
        runai_of(conn)->kube_refused = true;
    if (why.code && !rest)
        return sw_pass(err, &why);
    if (runai_is_kept(job))
        return runai_kept_fetch(conn, job, replica, cursor, sink, err);
    why = (struct sw_error){ 0 };
    if (site->domain && cursor->life == SW_LOG_GROWS) {
        if (fetch_cluster(conn, site, workload, pod, cursor, sink, &why) == 0)
            return 0;
        if (why.code == SW_E_UNREACHABLE || why.code == SW_E_INTERRUPTED)
            return sw_pass(err, &why);
    }
    return no_way(conn, site, &why, err);
}

/* Only its state is needed, and its id does not change. */
static json_t *workload_of(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_autofree char *path = sw_text_empty(job->remote_id) ? NULL
               : sw_rest_path("/workloads/%s", job->remote_id);
    json_t *workload = NULL;

    if (!path)
        return runai_by_name(conn, runai_name(job->id, job->attempt).text, false, err);
    sw_cloud_call(conn, NULL, path, NULL, &workload, err);
    return workload;
}

/* The pod with its log, or all of it; the results store still has a copy. */
static bool is_gone(const json_t *workload, const json_t *pods, const json_t *pod, const struct sw_error *why)
{
    return pods ? !pod && runai_state(runai_phase(workload), NULL) != SW_PENDING
                : why->code == SW_E_NOT_FOUND;
}

int runai_log_fetch(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                    struct sw_log_cursor *cursor,
                    const struct sw_log_sink *sink, struct sw_error *err)
{
    sw_auto(json) json_t *workload = NULL, *pods = NULL;
    struct sw_error why = { 0 };
    const json_t *pod;

    if (cursor->follow)
        return 0;                                /* no streams: the kit asks again and again */
    workload = workload_of(conn, job, &why);
    pods = workload ? runai_part(conn, workload, "pods", &why) : NULL;
    pod = pod_of(pods, replica, (int)sw_json_int(job->plan, "nodes", 1));
    if (runai_is_kept(job) && is_gone(workload, pods, pod, &why)) {
        cursor->life = SW_LOG_ENDED;
        return runai_kept_fetch(conn, job, replica, cursor, sink, err);
    }
    if (!pods)
        return sw_pass(err, &why);
    if (!pod && runai_state(runai_phase(workload), NULL) == SW_PENDING) {
        cursor->life = SW_LOG_NOT_BEGUN;
        return 0;
    }
    if (!pod)
        return sw_fail(err, SW_E_NOT_FOUND, "run:ai no longer has a pod of rank %d", replica);
    if (cursor->life == SW_LOG_LIFE_UNKNOWN || life_of(pod) == SW_LOG_NOT_BEGUN)
        cursor->life = life_of(pod);
    return cursor->life == SW_LOG_NOT_BEGUN
               ? 0 : fetch(conn, job, replica, workload, sw_json_str(pod, "name"), cursor, sink, err);
}

/* ---- the end of a log ------------------------------------------------------------------------------ */

char *runai_log_tail(struct sw_connection *conn, const struct sw_jobref *job, const json_t *pod, int rank)
{
    const struct runai_site *site = runai_site(conn, NULL);
    const char *name = sw_json_str(pod, "name");
    struct sw_rest *rest = site && name ? kube_client(conn, NULL) : NULL;
    char *tail = rest ? kube_log_tail(rest, site->namespace, name, runai_time_ms(pod, "completedAt")) : NULL;

    return tail ? tail : runai_kept_tail(conn, job, rank);
}
