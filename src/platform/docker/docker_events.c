/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_events.c - see docker_job.h.
 *
 * The engine remembers its last 256 events and sends them first (`since`), so a stream that was cut goes on
 * where it was, and the first one begins with what happened shortly before.
 */
#include "platform/docker/docker_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { WORK_MS = 1000 };

/* ---- one event ------------------------------------------------------------------------------- */

enum meaning { NOTHING, LOOK, STARTED, OUT_OF_MEMORY, ENDED, REMOVED };

static const struct {
    const char *action;
    enum meaning meaning;
} actions[] = {
    { "start", STARTED },     { "oom", OUT_OF_MEMORY },  { "die", ENDED },
    { "destroy", REMOVED },   { "pause", LOOK },         { "unpause", LOOK },
    { "died", ENDED },        { "remove", REMOVED },     /* Podman's own words */
};

static enum meaning meaning_of(const json_t *event)
{
    const char *action = sw_json_str(event, "Action");

    for (size_t i = 0; i < SW_COUNT(actions); i++)
        if (sw_text_same(action, actions[i].action))
            return actions[i].meaning;
    return NOTHING;
}

static int exit_code_of(const json_t *attributes)
{
    const char *text = sw_json_str(attributes, "exitCode");
    char *end;
    long code;

    text = text ? text : sw_json_str(attributes, "containerExitCode");       /* Podman's */
    code = text ? strtol(text, &end, 10) : -1;
    return text && end > text && !*end && code >= 0 && code <= 255 ? (int)code : SW_NO_EXIT_CODE;
}

/* What is known of a container; made when it is new. Borrowed. */
static json_t *entry_of(json_t *known, const char *name)
{
    json_t *entry = json_object_get(known, name);

    if (!entry) {
        entry = json_object();
        json_object_set_new(known, name, entry);
    }
    return entry;
}

bool docker_event_note(json_t *known, const json_t *event)
{
    const json_t *attributes = json_object_get(json_object_get(event, "Actor"), "Attributes");
    const char *name = sw_json_str(attributes, "name");
    enum meaning meaning = meaning_of(event);
    int64_t at_ms = sw_json_int(event, "timeNano", 0) / 1000000;
    json_t *entry;

    if (meaning == NOTHING || sw_text_empty(name))
        return false;
    if (meaning == STARTED)
        json_object_del(known, name);
    entry = entry_of(known, name);
    if (meaning == STARTED)
        json_object_set_new(entry, "started_ms", json_integer(at_ms));
    else if (meaning == OUT_OF_MEMORY)
        json_object_set_new(entry, "oom", json_true());
    else if (meaning == ENDED || meaning == REMOVED)
        json_object_set_new(entry, "over", json_true());
    if (meaning == ENDED) {
        json_object_set_new(entry, "exit_code", json_integer(exit_code_of(attributes)));
        json_object_set_new(entry, "ended_ms", json_integer(at_ms));
    }
    return meaning != OUT_OF_MEMORY;
}

/* ---- one stream ------------------------------------------------------------------------------ */

struct docker_listener {             /* of the watch's thread, except for sw_rest_wake() */
    struct docker_endpoint endpoint;
    struct docker_api *api;          /* NULL until it starts */
    struct sw_watch *watch;
    int64_t last_ns;                 /* the engine's time of the last event; 0: none yet */
    bool ended, answered;            /* the stream that is open */
};

static bool listener_start(void *context)
{
    struct docker_listener *listener = context;

    listener->api = docker_api_open(&listener->endpoint, NULL);
    return listener->api != NULL;
}

static void listener_interrupt(void *context)
{
    sw_rest_wake(((struct docker_listener *)context)->api->rest);
}

static void listener_done(void *context)
{
    struct docker_listener *listener = context;

    docker_api_close(listener->api);
    docker_endpoint_done(&listener->endpoint);
    free(listener);
}

static int take_event(void *context, json_t *event)
{
    struct docker_listener *listener = context;
    int64_t at_ns = sw_json_int(event, "timeNano", 0);

    if (at_ns > listener->last_ns)
        listener->last_ns = at_ns;
    return sw_watch_event(listener->watch, event) ? 0 : 1;
}

static void stream_over(void *context, const struct sw_rest_answer *answer)
{
    struct docker_listener *listener = context;

    listener->ended = true;
    listener->answered = answer->status == 200;
}

static char *path_since(int64_t last_ns)
{
    int64_t since_ns = last_ns ? last_ns : 1000000000;       /* all that it remembers */
    sw_autofree char *path = sw_format("/events?since=%lld.%09lld",
                                       (long long)(since_ns / 1000000000),
                                       (long long)(since_ns % 1000000000));

    return docker_filtered(path, json_pack("{s:[s],s:[s]}", "type", "container", "label",
                                           LABEL_ID));
}

/* Podman's own events come late or not at all, depending on where it keeps them. */
static enum sw_watch_end listener_listen(void *context, struct sw_watch *watch)
{
    struct docker_listener *listener = context;
    struct sw_rest_lines lines = { .take = take_event, .context = listener };
    sw_autofree char *path = path_since(listener->last_ns);

    listener->watch = watch;
    listener->ended = listener->answered = false;
    if (!docker_api_version(listener->api, NULL))
        return SW_WATCH_NO_STREAM;
    if (listener->api->podman)
        return SW_WATCH_UNSUPPORTED;
    if (docker_send(listener->api, &(struct sw_rest_call){ .path = path, .stall_ms = -1,
                                                           .sink = sw_rest_lines_sink,
                                                           .sink_context = &lines },
                    stream_over, listener, NULL) == 0)
        while (!listener->ended && !sw_watch_is_closed(watch))
            if (sw_rest_work(listener->api->rest, WORK_MS, NULL) < 0)
                break;
    sw_rest_drop(listener->api->rest, listener);
    sw_rest_lines_done(&lines);
    return listener->answered ? SW_WATCH_STREAM_ENDED : SW_WATCH_NO_STREAM;
}

struct sw_watch *docker_events_open(const struct docker_endpoint *endpoint)
{
    static const struct sw_watch_source source = {
        .start = listener_start, .listen = listener_listen, .interrupt = listener_interrupt,
        .note = docker_event_note, .done = listener_done,
    };
    struct docker_listener *listener = sw_new(struct docker_listener);

    docker_endpoint_copy(&listener->endpoint, endpoint);
    return sw_watch_new(&source, listener);
}

int docker_wake_fd(struct sw_connection *conn)
{
    return sw_watch_fd(docker_of(conn)->events);
}

/* ---- what was heard -------------------------------------------------------------------------- */

static void merge_one(json_t *known, json_t *container)
{
    const char *name = docker_listed_name(container);
    const json_t *entry = name ? json_object_get(known, name) : NULL;
    int code = (int)sw_json_int(entry, "exit_code", SW_NO_EXIT_CODE);

    if (!name)
        return;
    if (code != SW_NO_EXIT_CODE &&
        docker_state(sw_json_str(container, "State"), NULL) == SW_RUNNING) {
        json_object_set_new(container, "State", json_string("exited"));
        json_object_set_new(container, "Status", json_sprintf("Exited (%d)", code));
    }
    if (code != SW_NO_EXIT_CODE && sw_json_int(entry, "started_ms", 0))
        json_object_set_new(container, DOCKER_HEARD, json_deep_copy(entry));
    if (docker_state(sw_json_str(container, "State"), NULL) == SW_COMPLETE)
        json_object_set_new(entry_of(known, name), "over", json_true());
}

json_t *docker_list_now(struct sw_connection *conn, struct docker_api *api, const char *id,
                        struct sw_error *err)
{
    json_t *list = docker_list(api, id, err), *known = sw_watch_lock(docker_of(conn)->events), *container;
    size_t i;

    if (known)
        json_array_foreach(list, i, container)
            merge_one(known, container);
    sw_watch_unlock(docker_of(conn)->events);
    return list;
}

/* ---- what the engine remembers --------------------------------------------------------------- */

static int take_date(void *context, const struct sw_http_reply *so_far, const char *bytes,
                     size_t length)
{
    (void)bytes;
    (void)length;
    *(int64_t *)context = so_far->date_ms;
    return 0;
}

static int note_past(void *context, json_t *event)
{
    const json_t *actor = json_object_get(event, "Actor"), *about = json_object_get(actor, "Attributes");
    const char *attempt = sw_json_str(about, LABEL_ATTEMPT), *rank = sw_json_str(about, LABEL_RANK);
    const char *action = sw_json_str(event, "Action");
    struct docker_past *past = context;
    bool ours = past->container ? sw_text_same(sw_json_str(actor, "ID"), past->container)
                                : attempt && rank && atoi(attempt) == past->attempt &&
                                      atoi(rank) == past->rank;

    past->events++;
    if (!ours)
        return 0;
    past->started |= sw_text_same(action, "start");
    past->killed |= sw_text_same(action, "kill") || sw_text_same(action, "stop");
    past->removed |= meaning_of(event) == REMOVED;
    if (meaning_of(event) == ENDED) {
        past->died = true;
        past->exit_code = exit_code_of(about);
        past->ended_ms = sw_json_int(event, "timeNano", 0) / 1000000;
    }
    return 0;
}

int docker_past_read(struct docker_api *api, const char *job, struct docker_past *past,
                     struct sw_error *err)
{
    struct sw_rest_lines lines = { .take = note_past, .context = past };
    sw_autofree char *path = NULL, *filtered = NULL;
    int64_t now_ms = 0;
    int result;

    /* By the engine's own clock: "until" a time to come would be waited for. */
    if (docker_ask(api, &(struct sw_rest_call){ .path = "/version", .sink = take_date,
                                                .sink_context = &now_ms }, NULL, err) < 0)
        return -1;
    path = sw_format("/events?since=1&until=%lld", (long long)(now_ms / 1000 + 1));
    if (job)
        filtered = docker_filtered(path, json_pack("{s:[s],s:[o]}", "type", "container", "label",
                                                   json_sprintf("%s=%s", LABEL_ID, job)));
    result = docker_ask(api, &(struct sw_rest_call){ .path = filtered ? filtered : path,
                                                     .sink = sw_rest_lines_sink,
                                                     .sink_context = &lines }, NULL, err);
    sw_rest_lines_done(&lines);
    return result;
}
