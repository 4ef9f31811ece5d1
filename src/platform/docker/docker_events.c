/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_events.c - see docker_events.h.
 *
 * The engine remembers its last 256 events and tells them first (`since`), so a stream that was cut
 * goes on where it was, and the first one begins with what happened shortly before. What was heard
 * before a cut is forgotten all the same: somebody may have started a container again meanwhile.
 *
 * The thread may sit in a connect to a dead host. It shares nothing with the connection but this struct, so
 * closing leaves it behind, and the last of the two cleans up.
 */
#include "platform/docker/docker_events.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"

enum { KNOWN_MOST = 8192, PAUSE_MS = 200, PAUSE_MOST_MS = 5000, WORK_MS = 1000 };

struct docker_events {
    pthread_mutex_t lock;            /* guards all that follows */
    pthread_cond_t closed;
    struct docker_where where;
    struct docker_api *api;          /* the thread's; to be woken by others */
    json_t *known;                   /* name of a container -> what was heard of it */
    int64_t last_ns;                 /* the engine's time of the last event; 0: none yet */
    int bell;                        /* an eventfd */
    int references;                  /* the connection's and the thread's */
    bool begun, live, over;
    bool mute;                       /* Podman: what it tells cannot be relied on */
};

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
    if (json_object_size(known) > KNOWN_MOST)
        json_object_clear(known);
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

/* ---- the thread ------------------------------------------------------------------------------ */

static void events_free(struct docker_events *events)
{
    docker_where_done(&events->where);
    json_decref(events->known);
    if (events->bell >= 0)
        close(events->bell);
    pthread_cond_destroy(&events->closed);
    pthread_mutex_destroy(&events->lock);
    free(events);
}

static void drop(struct docker_events *events)
{
    int left;

    pthread_mutex_lock(&events->lock);
    left = --events->references;
    pthread_mutex_unlock(&events->lock);
    if (left == 0)
        events_free(events);
}

static void ring(struct docker_events *events)
{
    (void)!write(events->bell, &(uint64_t){ 1 }, sizeof(uint64_t));      /* full: it rings already */
}

static int hear(void *context, json_t *event)
{
    struct docker_events *events = context;
    int64_t at_ns = sw_json_int(event, "timeNano", 0);
    bool over;

    pthread_mutex_lock(&events->lock);
    if (at_ns > events->last_ns)
        events->last_ns = at_ns;
    if (docker_event_note(events->known, event))
        ring(events);
    over = events->over;
    pthread_mutex_unlock(&events->lock);
    return over;
}

struct hearing {
    bool ended, answered;
};

static void on_end(void *context, const struct sw_rest_answer *answer)
{
    struct hearing *hearing = context;

    hearing->ended = true;
    hearing->answered = answer->status == 200;
}

static void set_live(struct docker_events *events, bool live)
{
    pthread_mutex_lock(&events->lock);
    events->live = live;
    json_object_clear(events->known);
    pthread_mutex_unlock(&events->lock);
}

static bool is_over(struct docker_events *events)
{
    bool over;

    pthread_mutex_lock(&events->lock);
    over = events->over;
    pthread_mutex_unlock(&events->lock);
    return over;
}

static char *path_since(struct docker_events *events)
{
    struct sw_buf path = SW_BUF_INIT;
    int64_t last_ns = events->last_ns ? events->last_ns : 1000000000;    /* all it remembers */

    sw_buf_addf(&path, "/events?since=%lld.%09lld", (long long)(last_ns / 1000000000),
                (long long)(last_ns % 1000000000));
    docker_query_json(&path, "filters", json_pack("{s:[s],s:[s]}", "type", "container", "label",
                                                  LABEL_ID));
    return sw_buf_steal(&path);
}

/* Until the stream ends; false: it never began. What was heard in it counts only as long as it
 * lasts. */
static bool listen_once(struct docker_events *events)
{
    struct sw_rest_lines lines = { .take = hear, .context = events };
    sw_autofree char *path = path_since(events);
    struct hearing hearing = { 0 };
    bool sent;

    set_live(events, true);
    sent = docker_send(events->api, &(struct docker_call){ .path = path, .stall_ms = -1,
                                                           .sink = sw_rest_lines_sink,
                                                           .sink_context = &lines },
                       on_end, &hearing, NULL) == 0;
    while (sent && !hearing.ended && !is_over(events))
        if (docker_work(events->api, WORK_MS, NULL) < 0)
            break;
    docker_drop(events->api, &hearing);
    set_live(events, false);
    ring(events);
    sw_rest_lines_done(&lines);
    return hearing.answered;
}

static void pause_for(struct docker_events *events, int64_t ms)
{
    int64_t until_ms = sw_monotonic_ms() + ms;
    const struct timespec until = { .tv_sec = until_ms / 1000,
                                    .tv_nsec = until_ms % 1000 * 1000000 };

    pthread_mutex_lock(&events->lock);
    while (!events->over && pthread_cond_timedwait(&events->closed, &events->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&events->lock);
}

/* Podman's own events come late or not at all, depending on where it keeps them. */
static bool is_mute(struct docker_events *events)
{
    bool mute = docker_api_version(events->api, NULL) && docker_api_is_podman(events->api);

    pthread_mutex_lock(&events->lock);
    events->mute = mute;
    pthread_mutex_unlock(&events->lock);
    return mute;
}

static void *stay(void *context)
{
    struct docker_events *events = context;
    int64_t pause_ms = PAUSE_MS;

    while (!is_over(events) && !is_mute(events)) {
        pause_ms = listen_once(events) ? PAUSE_MS : pause_ms * 2;
        pause_for(events, pause_ms < PAUSE_MOST_MS ? pause_ms : PAUSE_MOST_MS);
    }
    pthread_mutex_lock(&events->lock);
    docker_api_close(sw_take(events->api));
    pthread_mutex_unlock(&events->lock);
    drop(events);
    return NULL;
}

/* With the lock held. */
static bool start_thread(struct docker_events *events)
{
    events->api = docker_api_open(&events->where, NULL);
    if (!events->api)
        return false;
    events->references++;
    if (sw_thread_start(NULL, 0, stay, events) == 0)
        return true;
    events->references--;
    docker_api_close(sw_take(events->api));
    return false;
}

/* ---- for the connection ---------------------------------------------------------------------------- */

struct docker_events *docker_events_open(const struct docker_where *where)
{
    struct docker_events *events = sw_new(struct docker_events);
    pthread_condattr_t monotonic;

    pthread_mutex_init(&events->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&events->closed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    docker_where_copy(&events->where, where);
    events->known = json_object();
    events->bell = -1;
    events->references = 1;
    return events;
}

void docker_events_close(struct docker_events *events)
{
    if (!events)
        return;
    pthread_mutex_lock(&events->lock);
    events->over = true;
    if (events->api)
        docker_wake(events->api);
    pthread_cond_signal(&events->closed);
    pthread_mutex_unlock(&events->lock);
    drop(events);
}

int docker_wake_fd(struct sw_connection *conn)
{
    struct docker_events *events = conn->events;
    int bell;

    pthread_mutex_lock(&events->lock);
    if (!events->begun) {
        events->begun = true;
        events->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (events->bell >= 0 && !start_thread(events)) {
            close(events->bell);
            events->bell = -1;
        }
    }
    bell = events->mute ? -1 : events->bell;
    pthread_mutex_unlock(&events->lock);
    return bell;
}

enum docker_told docker_events_say(struct docker_events *events, const char *name)
{
    enum docker_told told = DOCKER_NOT_TOLD;

    pthread_mutex_lock(&events->lock);
    if (sw_json_bool(json_object_get(events->known, name), "over", false))
        told = DOCKER_TOLD_OVER;
    else if (events->live)
        told = DOCKER_TOLD_ALIVE;
    pthread_mutex_unlock(&events->lock);
    return told;
}

static void merge_one(json_t *known, json_t *container)
{
    const char *name = json_string_value(json_array_get(json_object_get(container, "Names"), 0));
    const char *state = sw_json_str(container, "State");
    json_t *entry;
    int code;

    if (sw_text_empty(name))
        return;
    name += *name == '/';
    entry = json_object_get(known, name);
    code = (int)sw_json_int(entry, "exit_code", SW_NO_EXIT_CODE);
    if (code != SW_NO_EXIT_CODE && docker_state(state, NULL) == SW_RUNNING) {
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
    struct docker_events *events = conn->events;
    json_t *list = docker_list(api, id, err), *container;
    size_t i;

    pthread_mutex_lock(&events->lock);
    if (events->live)
        json_array_foreach(list, i, container)
            merge_one(events->known, container);
    pthread_mutex_unlock(&events->lock);
    return list;
}
