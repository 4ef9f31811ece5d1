/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_log.c - the log of a pod as the kubelet gives it: lines since a time, the last ones, or a stream
 * that stays open. The copy on this machine is the kit's (kit/log.h).
 *
 * The kubelet rotates: it gives what is in the newest file of a container, 10 MiB by default. The runner's
 * first line says where a log begins; an answer from the beginning that does not start with it misses
 * something, and the kit says so in the copy. With an engine that restarts containers in place, the log of
 * the container before comes first, as long as the kubelet has it.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "platform/kit/log.h"
#include "platform/kit/log_lines.h"
#include "platform/kube/kube_log.h"
#include "platform/kubernetes/kubernetes_files.h"
#include "platform/kubernetes/kubernetes_internal.h"

enum {
    AT_ONCE = 4 * 1024 * 1024,       /* bytes that one call of a follow may add */
    A_MOMENT_MS = 5,
    LOOK_EVERY_MS = 2000,            /* whether a pod with a silent log is over, when its job is */
};

extern const struct sw_platform sw_platform_kubernetes;

/* ---- the pod --------------------------------------------------------------------------------------- */

enum sw_log_life k8s_log_life(const json_t *pod, const char *container)
{
    const char *phase = k8s_pod_phase(pod);
    const json_t *status = k8s_container(pod, container), *state = json_object_get(status, "state");

    if (sw_text_same(phase, "Succeeded") || sw_text_same(phase, "Failed"))
        return SW_LOG_ENDED;
    return json_object_get(state, "running") || json_object_get(state, "terminated") ||
                   sw_json_int(status, "restartCount", 0) > 0
               ? SW_LOG_GROWS : SW_LOG_NOT_BEGUN;
}

static void pod_read(const struct k8s_seen *known, const json_t *pod, struct k8s_pod *out)
{
    const char *name = k8s_meta(pod, "name");
    const char *node = k8s_pod_node(pod);

    snprintf(out->node, sizeof out->node, "%s", node ? node : "");
    snprintf(out->name, sizeof out->name, "%s", name ? name : "");
    snprintf(out->container, sizeof out->container, "%s",
             known->engine ? known->engine->container : K8S_CONTAINER);
    out->life = k8s_log_life(pod, out->container);
    out->restarts = (int)sw_json_int(k8s_container(pod, out->container), "restartCount", 0);
}

/* Which restart of its object an attempt is; -1: that is not known. */
static int restart_of(const struct k8s_seen *known, const struct sw_jobref *job)
{
    int first = k8s_label_number(known->object, K8S_LABEL_ATTEMPT, 0);

    return first < 1 || first > job->attempt ? -1 : job->attempt - first;
}

/* A job that is not over may still get the pod. */
static int pod_missing(const struct k8s_seen *known, const struct sw_jobref *job, int rank,
                       struct k8s_pod *out, struct sw_error *err)
{
    struct k8s_workload now = k8s_read(known);

    if (!known->object || job->finished || k8s_is_over(&now))
        return sw_fail(err, SW_E_NOT_FOUND, "the cluster no longer has a pod of '%s' (rank %d)", job->id,
                       rank);
    out->life = SW_LOG_NOT_BEGUN;
    return 0;
}

static bool is_cached(struct sw_connection *conn)
{
    bool cached = sw_watch_lock(conn->watch) != NULL;

    sw_watch_unlock(conn->watch);
    return cached;
}

int k8s_pod_find(struct sw_connection *conn, const struct sw_jobref *job, int rank, bool surely,
                 struct k8s_pod *out, struct sw_error *err)
{
    struct sw_observation one = { .job = *job };
    struct k8s_seen known = { 0 };
    sw_auto(json) json_t *list = NULL;
    const json_t *pod;

    *out = (struct k8s_pod){ 0 };
    surely = surely || !is_cached(conn);
    if (!surely)
        list = k8s_list(conn, &one, 1, err);
    else if (k8s_get(conn, job, &list, err) < 0)
        return -1;
    if (!list)
        return -1;
    k8s_find(list, job, &known);
    pod = k8s_pod_of(&known, rank, restart_of(&known, job));
    if (!pod)
        return surely ? pod_missing(&known, job, rank, out, err)
                      : k8s_pod_find(conn, job, rank, true, out, err);
    pod_read(&known, pod, out);
    return 0;
}

/* ---- one answer ------------------------------------------------------------------------------------ */

struct k8s_log {
    struct k8s_pod pod;
    struct sw_log_lines lines;
    struct sw_log_sink sink;         /* between the lines and the caller */
    const struct sw_log_sink *out;   /* the caller's */
    struct sw_log_cursor *cursor;
    size_t bytes;                    /* that came since the last call */
    bool began;                      /* a message came */
    char trouble[256];               /* of the kubelet, in the place of a log */

    struct sw_rest *rest;            /* of a stream that stays open; owned */
    bool open;
    int64_t looked_ms;
};

/* Every line has its time: what has none are the words of a kubelet that cannot go on. */
static int take_message(void *context, const struct sw_log_message *message)
{
    struct k8s_log *log = context;

    if (!message->at_ns && message->length) {
        snprintf(log->trouble, sizeof log->trouble, "%.*s", (int)message->length, message->bytes);
        return -1;
    }
    if (!log->began)
        log->cursor->misses = !log->lines.begins && (log->cursor->last > 0 || log->cursor->since_ns == 0);
    log->began = true;
    return log->out->take(log->out->context, message);
}

static int take_clock(void *context, int64_t server_ms)
{
    const struct k8s_log *log = context;

    return log->out->clock ? log->out->clock(log->out->context, server_ms) : 0;
}

static int take_bytes(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    struct k8s_log *log = context;

    log->bytes += length;
    return sw_log_lines_sink(&log->lines, so_far, bytes, length);
}

static void log_init(struct k8s_log *log, struct sw_log_cursor *cursor, const struct sw_log_sink *out)
{
    log->sink = (struct sw_log_sink){ .take = take_message, .clock = take_clock, .context = log };
    log->lines.sink = &log->sink;
    log->cursor = cursor;
    log->out = out;
    cursor->whole_seconds = true;
}

/* `last`: the last so many lines; 0: since the cursor's time. */
static char *log_path(struct sw_connection *conn, const struct k8s_log *log, int last, bool previous)
{
    sw_autofree char *pod = k8s_path(conn, "v1", "pods", log->pod.name);
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    int64_t since_ms = log->cursor->since_ns / 1000000000 * 1000;
    char since[40];

    sw_time_format(since_ms, since);
    sw_buf_addf(&path, "%s/log?timestamps=true", pod);
    sw_rest_query(&path, "container", log->pod.container);
    if (log->cursor->follow && !previous)
        sw_buf_add(&path, "&follow=true");
    if (previous)
        sw_buf_add(&path, "&previous=true");
    if (last > 0)
        sw_buf_addf(&path, "&tailLines=%d", last);
    else if (since_ms > 0 && log->cursor->last == 0)
        sw_rest_query(&path, "sinceTime", since);
    return sw_buf_steal(&path);
}

/* ---- what the words of a refusal mean --------------------------------------------------------------- */

static int explain(const struct k8s_log *log, struct sw_error *why, struct sw_error *err)
{
    bool refused = why->code == SW_E_REFUSED || log->trouble[0];
    enum kube_log_said said = refused
        ? kube_log_said(log->trouble[0] ? log->trouble : why->message) : KUBE_LOG_FAILED;

    if (said == KUBE_LOG_NOT_BEGUN) {
        if (log->cursor->life != SW_LOG_ENDED)
            log->cursor->life = SW_LOG_NOT_BEGUN;
        return 0;
    }
    if (said == KUBE_LOG_GONE)
        return sw_fail(err, SW_E_NOT_FOUND, "the node no longer has the log of pod %s", log->pod.name);
    if (log->trouble[0])
        return sw_fail(err, SW_E_UNREACHABLE, "the log of pod %s breaks off: %s", log->pod.name,
                       log->trouble);
    return sw_pass(err, why);
}

static int ask(struct sw_connection *conn, struct k8s_log *log, int last, bool previous, struct sw_error *err)
{
    const struct sw_log_cursor *cursor = log->cursor;
    sw_autofree char *path = log_path(conn, log, last, previous);
    struct sw_rest_call call = { .path = path, .sink = take_bytes, .sink_context = log, .repeatable = true,
                                 .stall_ms = cursor->silence_ms ? cursor->silence_ms : K8S_PATIENCE_MS,
                                 .silence_counts = cursor->silence_ms != 0 };
    struct sw_error why = { 0 };

    log->lines.clock_told = previous;    /* the last answer tells it */
    if (sw_rest_call(conn->rest, &call, NULL, &why) < 0)
        return explain(log, &why, err);
    if (sw_log_lines_end(&log->lines) == 0)
        return 0;
    if (log->trouble[0])
        return explain(log, &why, err);
    return sw_fail(err, SW_E_INTERRUPTED, "the reader closed the log");
}

/* The log of the container before this one, where containers are restarted in place. That it is gone is said
 * by what comes first then. */
static int ask_previous(struct sw_connection *conn, struct k8s_log *log, struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (log->pod.restarts == 0 || ask(conn, log, log->cursor->last, true, &why) == 0 ||
        why.code == SW_E_NOT_FOUND) {
        log->trouble[0] = '\0';
        return 0;
    }
    return sw_pass(err, &why);
}

/* ---- a stream that stays open ----------------------------------------------------------------------- */

static void stream_close(void *stream)
{
    struct k8s_log *log = stream;

    sw_rest_close(log->rest);
    sw_log_lines_done(&log->lines);
    free(log);
}

static void stream_ended(void *context, const struct sw_rest_answer *how)
{
    struct k8s_log *log = context;

    (void)how;                           /* what did not come is fetched */
    log->open = false;
}

static int stream_begin(struct sw_connection *conn, struct k8s_log *log, struct sw_error *err)
{
    sw_autofree char *path = log_path(conn, log, 0, false);
    struct sw_rest_call call = { .path = path, .sink = take_bytes, .sink_context = log, .stall_ms = -1 };

    if (ask_previous(conn, log, err) < 0)
        return -1;
    log->lines.clock_told = true;
    log->rest = sw_rest_beside(conn->rest, err);
    if (!log->rest || sw_rest_send(log->rest, &call, stream_ended, log, err) < 0)
        return -1;
    log->open = true;
    return 0;
}

static int stream_open(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    struct k8s_log *log = sw_new(struct k8s_log);

    log_init(log, cursor, sink);
    cursor->stream = log;
    cursor->close = stream_close;
    return k8s_pod_find(conn, job, replica, false, &log->pod, err) < 0 || log->pod.life == SW_LOG_NOT_BEGUN
               ? -1 : stream_begin(conn, log, err);
}

/* Has a pod with a silent log ended, though its stream has not (its node is gone)? */
static bool is_over(struct sw_connection *conn, const struct sw_jobref *job, int replica, struct k8s_log *log)
{
    struct sw_error why = { 0 };
    struct k8s_pod now;

    if (log->bytes || !job->finished || job->best_effort ||
        sw_monotonic_ms() - log->looked_ms < LOOK_EVERY_MS)
        return false;
    log->looked_ms = sw_monotonic_ms();
    if (k8s_pod_find(conn, job, replica, true, &now, &why) < 0)
        return why.code == SW_E_NOT_FOUND;
    return now.life == SW_LOG_ENDED;
}

static int follow(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                  struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    struct k8s_log *log;
    size_t before;

    if (!cursor->stream && stream_open(conn, job, replica, cursor, sink, err) < 0)
        return ((struct k8s_log *)cursor->stream)->pod.life == SW_LOG_NOT_BEGUN ? 0 : -1;
    log = cursor->stream;
    log->out = sink;
    log->cursor = cursor;
    log->bytes = 0;
    do {
        before = log->bytes;
        sw_rest_work(log->rest, A_MOMENT_MS, NULL);
    } while (log->open && log->bytes > before && log->bytes < AT_ONCE);
    return log->open && !is_over(conn, job, replica, log) ? SW_LOG_STAYS_OPEN : 0;
}

/* ---- slots ------------------------------------------------------------------------------------------ */

/* The last lines may begin in the container before; then all of this one are wanted. */
static int fetch(struct sw_connection *conn, struct k8s_log *log, struct sw_error *err)
{
    int last = log->pod.restarts > 0 ? 0 : log->cursor->last;

    return ask_previous(conn, log, err) < 0 ? -1 : ask(conn, log, last, false, err);
}

int kubernetes_log_fetch(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                         struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    struct k8s_log log = { 0 };
    int result;

    assert(replica >= 0);
    if (cursor->follow)
        return follow(conn, job, replica, cursor, sink, err);
    log_init(&log, cursor, sink);
    if (k8s_pod_find(conn, job, replica, job->finished && cursor->life == SW_LOG_LIFE_UNKNOWN, &log.pod,
                     err) < 0)
        return -1;
    if (cursor->life == SW_LOG_LIFE_UNKNOWN || log.pod.life == SW_LOG_NOT_BEGUN)
        cursor->life = log.pod.life;
    result = cursor->life == SW_LOG_NOT_BEGUN ? 0 : fetch(conn, &log, err);
    sw_log_lines_done(&log.lines);
    return result;
}

void kubernetes_finalize(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count)
{
    sw_log_keep_ends(&sw_platform_kubernetes, conn, jobs, count);
}
