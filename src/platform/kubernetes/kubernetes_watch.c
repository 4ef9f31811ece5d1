/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_watch.c - list and watch of all our objects in the namespace, and the cache.
 *
 * One stream for each kind (Jobs, pods, JobSets where the cluster has them), all on the kit's thread with a
 * client of its own. A stream begins with a list and goes on from the list's resourceVersion. The server
 * ends it now and then; it is opened again from the last version that was heard, and nothing is lost. A
 * version that is too old for the server (410) means a new list: of this kind when a stream says so, of all
 * when it cannot be opened. When the server does not answer, the kit empties the cache and pauses.
 *
 *     cache: {"job": {NAME: object}, "pods": {NAME: object}}; a kind that is not there is not listed yet
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

enum {
    WORK_MS = 1000,
    SILENCE_MS = 150 * 1000,         /* bookmarks come every minute */
    SHORT_MS = 200,                  /* a stream that ends so soon is none */
    LINE_LIMIT = 16 * 1024 * 1024,
    MANY = 500,                      /* what was parsed of so many objects takes megabytes */
};

struct stream {                      /* of one kind */
    struct listener *listener;
    const char *kind;                /* the engine's name, or K8S_PODS */
    const char *group, *api, *plural;
    char version[64];                /* heard last; "": a list comes first */
    bool absent;                     /* the cluster does not have this kind, or does not show it */
    bool open;
    int64_t opened_ms;
    json_t *listed;                  /* while it is listed */
    struct sw_rest_lines lines;
};

enum { STREAMS = 3 };

struct listener {                    /* of the watch's thread, except for sw_rest_wake() */
    struct sw_connection *conn;      /* of start() alone */
    struct kube *kube;               /* NULL until it starts */
    struct sw_watch *watch;
    struct stream streams[STREAMS];
    bool failed, forbidden;
};

/* ---- the cache, pure ----------------------------------------------------------------------------- */

/* {"kind", "listed": {...}}, {"kind", "type": "ADDED", "object": {...}}, {"kind"}: forget all of it. */
static bool note(json_t *cache, const json_t *event)
{
    const char *kind = sw_json_str(event, "kind"), *type = sw_json_str(event, "type");
    json_t *listed = json_object_get(event, "listed"), *object = json_object_get(event, "object");
    json_t *known = json_object_get(cache, kind ? kind : "");
    const char *name = sw_json_str(json_object_get(object, "metadata"), "name");

    if (listed)
        json_object_set(cache, kind, listed);
    else if (!type)
        json_object_del(cache, kind);
    else if (!known || !name)
        return false;
    else if (sw_text_same(type, "DELETED"))
        json_object_del(known, name);
    else
        json_object_set(known, name, object);
    return true;
}

bool k8s_watch_copy(struct sw_connection *conn, const char *kind, json_t *list)
{
    json_t *cache = sw_watch_lock(conn->watch), *known = json_object_get(cache, kind), *object;
    const char *name;

    json_object_foreach(known, name, object)
        k8s_list_add(list, kind, object);
    sw_watch_unlock(conn->watch);
    return known != NULL;
}

static bool tell(struct stream *stream, const char *key, json_t *value, const char *type)
{
    sw_auto(json) json_t *event = sw_json_object(SW_STR("kind", stream->kind), SW_STR_OPT("type", type),
                                                 SW_SUB_COPY(key, value));

    return sw_watch_event(stream->listener->watch, event);
}

/* ---- list ---------------------------------------------------------------------------------------- */

static void keep_version(struct stream *stream, const json_t *object)
{
    const char *version = sw_json_str(json_object_get(object, "metadata"), "resourceVersion");

    if (version && strlen(version) < sizeof stream->version)
        snprintf(stream->version, sizeof stream->version, "%s", version);
}

static void take_page(void *context, const json_t *page)
{
    keep_version(context, page);
}

static int take_listed(void *context, json_t *object)
{
    struct stream *stream = context;
    const char *name = sw_json_str(json_object_get(object, "metadata"), "name");

    if (name)
        json_object_set_new(stream->listed, name, k8s_trim(object));
    return sw_watch_is_closed(stream->listener->watch);
}

static char *path_of(const struct stream *stream)
{
    return kube_path(stream->api, kube_address(stream->listener->kube)->namespace, stream->plural, NULL);
}

/* -1: it did not come. */
static int list(struct stream *stream)
{
    struct sw_rest_pages pages = k8s_pages;
    const struct sw_rest_pair query[] = { { "labelSelector", K8S_LABEL_ID }, { "limit", K8S_PAGE }, { 0 } };
    sw_auto(sw_rest_seen) struct sw_rest_seen seen = { 0 };
    sw_autofree char *path = path_of(stream);
    int result;

    pages.page = take_page;
    stream->listed = json_object();
    result = sw_rest_list(kube_rest(stream->listener->kube),
                          &(struct sw_rest_call){ .path = path, .query = query, .seen = &seen }, &pages,
                          take_listed, stream, NULL);
    if (result == 0)
        tell(stream, "listed", stream->listed, NULL);
    else
        stream->version[0] = '\0';
    if (json_object_size(stream->listed) >= MANY)
        sw_memory_return();
    json_decref(sw_take(stream->listed));
    stream->absent = seen.status == 404 || (stream->group && seen.status == 403);
    stream->listener->forbidden |= seen.status == 403 && !stream->group;
    return result == 0 || stream->absent ? 0 : -1;
}

/* ---- watch --------------------------------------------------------------------------------------- */

static int take_event(void *context, json_t *event)
{
    struct stream *stream = context;
    const char *type = sw_json_str(event, "type");
    json_t *object = json_object_get(event, "object");
    sw_auto(json) json_t *kept = NULL;

    if (sw_text_same(type, "ERROR")) {                       /* 410 nearly always; a list is right for any */
        stream->version[0] = '\0';
        return 1;
    }
    keep_version(stream, object);
    if (sw_text_same(type, "BOOKMARK") || !type)
        return 0;
    kept = k8s_trim(object);
    return !tell(stream, "object", kept, type);
}

static void stream_over(void *context, const struct sw_rest_answer *answer)
{
    struct stream *stream = context;

    stream->open = false;
    sw_rest_lines_done(&stream->lines);
    stream->listener->failed |= answer->status != 200 || sw_monotonic_ms() - stream->opened_ms < SHORT_MS;
    stream->listener->forbidden |= answer->status == 403;
}

static int watch(struct stream *stream)
{
    const struct sw_rest_pair query[] = {
        { "watch", "1" }, { "resourceVersion", stream->version }, { "allowWatchBookmarks", "true" },
        { "timeoutSeconds", "290" }, { "labelSelector", K8S_LABEL_ID }, { 0 },
    };
    sw_autofree char *path = path_of(stream);

    stream->lines = (struct sw_rest_lines){ .take = take_event, .context = stream, .limit = LINE_LIMIT };
    stream->opened_ms = sw_monotonic_ms();
    stream->open = true;
    return sw_rest_send(kube_rest(stream->listener->kube),
                        &(struct sw_rest_call){ .path = path, .query = query, .stall_ms = SILENCE_MS,
                                                .sink = sw_rest_lines_sink, .sink_context = &stream->lines },
                        stream_over, stream, NULL);
}

/* Opens what is not open. -1: the server does not answer, or refuses. */
static int open_all(struct listener *listener)
{
    for (int i = 0; i < STREAMS; i++) {
        struct stream *stream = &listener->streams[i];

        if (stream->open || stream->absent)
            continue;
        if (!stream->version[0] && (tell(stream, "", NULL, NULL), list(stream)) < 0)
            return -1;
        if (!stream->absent && watch(stream) < 0)
            return -1;
    }
    return 0;
}

static void close_all(struct listener *listener)
{
    for (int i = 0; i < STREAMS; i++) {
        struct stream *stream = &listener->streams[i];

        if (stream->open)
            sw_rest_drop(kube_rest(listener->kube), stream);
        sw_rest_lines_done(&stream->lines);
        stream->open = stream->absent = false;
        stream->version[0] = '\0';
    }
}

/* ---- for the kit --------------------------------------------------------------------------------- */

static bool start(void *context)
{
    struct listener *listener = context;
    const struct kube_address *at = kube_address(listener->conn->kube);

    listener->kube = kube_open(&(struct kube_options){
        .kubeconfig = at->kubeconfig, .context = at->context, .namespace = at->namespace,
        .env = listener->conn->given.env, .env_context = listener->conn->given.env_context,
        .patience_ms = K8S_PATIENCE_MS }, NULL);
    listener->conn = NULL;
    return listener->kube != NULL;
}

static enum sw_watch_end listen_all(void *context, struct sw_watch *watched)
{
    struct listener *listener = context;
    bool began = false;

    listener->watch = watched;
    listener->failed = false;
    while (!sw_watch_is_closed(watched) && !listener->failed && open_all(listener) == 0) {
        began = true;
        if (sw_rest_work(kube_rest(listener->kube), WORK_MS, NULL) < 0)
            break;
    }
    close_all(listener);
    return listener->forbidden ? SW_WATCH_UNSUPPORTED : began ? SW_WATCH_STREAM_ENDED : SW_WATCH_NO_STREAM;
}

static void interrupt(void *context)
{
    sw_rest_wake(kube_rest(((struct listener *)context)->kube));
}

static void done(void *context)
{
    struct listener *listener = context;

    kube_close(listener->kube);
    free(listener);
}

const struct sw_watch_source k8s_watch_source = {
    .start = start, .listen = listen_all, .interrupt = interrupt, .note = note, .done = done,
};

void *k8s_watch_context(struct sw_connection *conn)
{
    static const struct stream kinds[STREAMS] = {
        { .kind = "job", .api = "batch/v1", .plural = "jobs" },
        { .kind = K8S_PODS, .api = "v1", .plural = K8S_PODS },
        { .kind = "jobset", .api = "jobset.x-k8s.io/v1alpha2", .plural = "jobsets",
          .group = "jobset.x-k8s.io" },
    };
    struct listener *listener = sw_new(struct listener);

    listener->conn = conn;
    for (int i = 0; i < STREAMS; i++) {
        listener->streams[i] = kinds[i];
        listener->streams[i].listener = listener;
    }
    return listener;
}
