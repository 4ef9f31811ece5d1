/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_log.c - the log of a container as the engine gives it: messages since a time, the last
 * ones, or a stream that stays open; and what its runner reported in it. The copy on this machine
 * is the kit's (kit/log.h).
 */

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/report.h"
#include "platform/docker/docker_job.h"
#include "platform/kit/log.h"

enum {
    AT_ONCE = 4 * 1024 * 1024,       /* bytes that one call of a follow may add */
    A_MOMENT_MS = 5,
    TAIL_BYTES = 65536,
};

/* ---- for the kit ----------------------------------------------------------------------------- */

struct docker_log_answer {
    char job[SW_ID_SIZE];
    char name[DOCKER_NAME_SIZE];     /* of the container */
    const struct sw_log_sink *sink;
    struct docker_frames frames;
    bool clock_told, broken;
    size_t bytes;                    /* that came since the last call */

    struct docker_api *api;          /* lent; of a stream that stays open */
    bool open;
};

static int take_message(void *context, const struct docker_message *message)
{
    struct docker_log_answer *answer = context;

    return answer->sink->take(answer->sink->context, &(struct sw_log_message){
        .at_ns = message->at_ns, .bytes = message->bytes,
        .length = docker_is_report(message, answer->job) ? 0 : message->length });
}

static int take_bytes(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    struct docker_log_answer *answer = context;
    bool tells = !answer->clock_told && answer->sink->clock;
    int fed;

    answer->clock_told = true;
    answer->bytes += length;
    if (tells && answer->sink->clock(answer->sink->context, so_far->date_ms))
        return -1;
    fed = docker_frames_feed(&answer->frames, bytes, length);
    answer->broken = fed < 0;
    return fed;
}

static void answer_init(struct docker_log_answer *answer, const struct sw_jobref *job, int replica)
{
    snprintf(answer->job, sizeof answer->job, "%s", job->id);
    docker_name(answer->name, job->id, job->attempt, (int)sw_json_int(job->plan, "nodes", 1), replica);
    answer->frames = (struct docker_frames){ .take = take_message, .context = answer, .stamped = true };
}

static char *log_path(const struct docker_log_answer *answer, const struct sw_log_cursor *cursor)
{
    sw_autofree char *before = sw_rest_path("/containers/%s/logs?stdout=1&stderr=1&timestamps=1",
                                            answer->name);

    if (cursor->last > 0)
        return sw_format("%s&tail=%d", before, cursor->last);
    return sw_format("%s&follow=%d&since=%lld.%09lld", before, cursor->follow,
                     (long long)(cursor->since_ns / 1000000000), (long long)(cursor->since_ns % 1000000000));
}

/* The engine's events say whether the container ended, unless the caller knows more than they do. */
static int find_life(struct sw_connection *conn, struct docker_api *api, const struct sw_jobref *job,
                     const char *name, enum sw_log_life *life, struct sw_error *err)
{
    const json_t *known = sw_watch_lock(docker_of(conn)->events);
    bool told = known != NULL, over = sw_json_bool(json_object_get(known, name), "over", false);
    sw_auto(json) json_t *found = NULL;
    const char *status;

    sw_watch_unlock(docker_of(conn)->events);
    if (told && (over || !job->finished)) {
        *life = over ? SW_LOG_ENDED : SW_LOG_GROWS;
        return 0;
    }
    found = docker_inspect(api, name, err);
    if (!found)
        return -1;
    status = sw_json_str(json_object_get(found, "State"), "Status");
    *life = sw_text_same(status, "created") ? SW_LOG_NOT_BEGUN
            : docker_is_over(status) ? SW_LOG_ENDED : SW_LOG_GROWS;
    return 0;
}

static int fetch(struct docker_api *api, struct docker_log_answer *answer, struct sw_log_cursor *cursor,
                 struct sw_error *err)
{
    sw_autofree char *path = log_path(answer, cursor);
    struct sw_rest_call call = { .path = path, .sink = take_bytes, .sink_context = answer,
                                 .stall_ms = cursor->silence_ms ? cursor->silence_ms : DOCKER_LONG_MS,
                                 .silence_counts = cursor->silence_ms != 0 };
    struct sw_error why = { 0 };
    int result = docker_ask(api, &call, NULL, &why);

    cursor->whole_seconds = api->podman;
    if (result == 0)
        return 0;
    if (answer->broken)
        sw_fail(&why, SW_E_UNREACHABLE, "the engine's answer is not a log");
    if (why.code == SW_E_UNSUPPORTED)
        sw_hint(&why, "the log driver of the container keeps no readable log: use "
                "'log_driver: local'");
    return sw_pass(err, &why);
}

/* ---- a stream that stays open ---------------------------------------------------------------- */

static void stream_close(void *stream)
{
    struct docker_log_answer *answer = stream;

    sw_rest_drop(answer->api->rest, answer);
    docker_give_back(answer->api);
    docker_frames_done(&answer->frames);
    free(answer);
}

static void stream_ended(void *context, const struct sw_rest_answer *how)
{
    struct docker_log_answer *answer = context;

    (void)how;
    answer->open = false;
}

static int stream_open(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       struct sw_log_cursor *cursor, struct sw_error *err)
{
    struct docker_log_answer *answer = sw_new(struct docker_log_answer);
    sw_autofree char *path = NULL;

    answer_init(answer, job, replica);
    path = log_path(answer, cursor);
    answer->api = docker_borrow(conn, err);
    if (docker_send(answer->api, &(struct sw_rest_call){ .path = path, .sink = take_bytes,
                                                         .sink_context = answer, .stall_ms = -1 },
                    stream_ended, answer, err) < 0) {
        docker_give_back(answer->api);
        free(answer);
        return -1;
    }
    answer->open = true;
    cursor->stream = answer;
    cursor->close = stream_close;
    return 0;
}

/* Has a container with a silent log ended? 1 also when it is gone. */
static int is_over(struct sw_connection *conn, const struct sw_jobref *job,
                   const struct docker_log_answer *answer, struct sw_error *err)
{
    struct sw_error why = { 0 };
    enum sw_log_life life;

    if (find_life(conn, answer->api, job, answer->name, &life, &why) == 0)
        return life == SW_LOG_ENDED;
    if (why.code == SW_E_NOT_FOUND)
        return 1;
    return sw_pass(err, &why);
}

static int follow(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                  struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    struct docker_log_answer *answer;
    size_t before;
    int over;

    if (!cursor->stream && stream_open(conn, job, replica, cursor, err) < 0)
        return -1;
    answer = cursor->stream;
    answer->sink = sink;
    answer->bytes = 0;
    do {
        before = answer->bytes;
        sw_rest_work(answer->api->rest, A_MOMENT_MS, NULL);
    } while (answer->open && answer->bytes > before && answer->bytes < AT_ONCE);
    if (!answer->open)
        return 0;
    over = answer->bytes > 0 || job->best_effort ? 0 : is_over(conn, job, answer, err);
    return over < 0 ? -1 : over ? 0 : SW_LOG_STAYS_OPEN;
}

int docker_log_fetch(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                     struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = NULL;
    struct docker_log_answer answer = { .sink = sink };
    int result;

    assert(replica >= 0);
    if (cursor->follow)
        return follow(conn, job, replica, cursor, sink, err);
    answer_init(&answer, job, replica);
    api = docker_borrow(conn, err);
    if (!api || (cursor->life == SW_LOG_LIFE_UNKNOWN &&
                 find_life(conn, api, job, answer.name, &cursor->life, err) < 0))
        return -1;
    result = cursor->life == SW_LOG_NOT_BEGUN ? 0 : fetch(api, &answer, cursor, err);
    docker_frames_done(&answer.frames);
    return result;
}

/* ---- what the runner reported ---------------------------------------------------------------- */

struct docker_tail {
    const char *id;
    struct sw_buf lines;
    json_t *report;
    int64_t at_ms;                   /* of the newest message */
};

static int keep_message(void *context, const struct docker_message *message)
{
    struct docker_tail *tail = context;
    struct sw_buf *lines = &tail->lines;
    size_t start = strlen(SW_REPORT_START);

    if (message->at_ns / 1000000 > tail->at_ms)
        tail->at_ms = message->at_ns / 1000000;
    if (tail->id && docker_is_report(message, tail->id)) {
        json_decref(tail->report);
        tail->report = sw_report_parse(message->bytes + start, message->length - start);
        return 0;
    }
    sw_buf_add_bytes(lines, message->bytes, message->length);
    if (lines->length > 2 * TAIL_BYTES) {
        memmove(lines->data, lines->data + lines->length - TAIL_BYTES, TAIL_BYTES);
        lines->length = TAIL_BYTES;
    }
    return 0;
}

static int feed(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    (void)so_far;
    return docker_frames_feed(context, bytes, length);
}

/* A log driver that keeps nothing to read (SW_E_UNSUPPORTED) has an empty log. */
static int ask_end(struct docker_api *api, const char *container, const char *query,
                   struct docker_tail *tail, struct sw_error *err)
{
    sw_autofree char *encoded = sw_rest_path("/containers/%s", container);
    sw_autofree char *path = sw_format("%s%s", encoded, query);
    struct docker_frames frames = { .take = keep_message, .context = tail,
                                    .stamped = strstr(query, "timestamps=1") };
    struct sw_error why = { 0 };
    int result = docker_ask(api, &(struct sw_rest_call){ .path = path, .sink = feed, .sink_context = &frames,
                                                         .stall_ms = tail->id ? DOCKER_LONG_MS : 0 }, NULL,
                            &why);

    docker_frames_done(&frames);
    if (result == 0 || why.code == SW_E_UNSUPPORTED)
        return 0;
    return sw_pass(err, &why);
}

static void docker_tail_auto(struct docker_tail *tail)
{
    json_decref(tail->report);
    sw_buf_done(&tail->lines);
}

/* Without half a line at the beginning. */
static char *as_text(const struct sw_buf *lines)
{
    size_t length = lines->length < TAIL_BYTES ? lines->length : TAIL_BYTES;
    const char *from = lines->data + lines->length - length;
    const char *newline = length == TAIL_BYTES ? memchr(from, '\n', length) : NULL;

    if (newline) {
        length -= (size_t)(newline + 1 - from);
        from = newline + 1;
    }
    return sw_text_utf8(from, length);
}

int docker_ask_tail(struct docker_api *api, const char *container, const char *id, int most,
                    char **tail, json_t **report, struct sw_error *err)
{
    sw_autofree char *query = sw_format("/logs?stdout=1&stderr=1&tail=%d", most);
    sw_auto(docker_tail) struct docker_tail kept = { .id = id, .lines = SW_BUF_INIT };

    if (ask_end(api, container, query, &kept, err) < 0)
        return -1;
    *tail = kept.lines.length ? as_text(&kept.lines) : NULL;
    if (report)
        *report = sw_take(kept.report);
    return 0;
}

/* The engine copies the two streams into the log independently, so a pipe full of output may come behind the
 * report: usually 64 KiB, up to a megabyte, in lines of one byte. The engine counts those lines, seconds for
 * a million, and does not send them. */
int docker_ask_report(struct docker_api *api, const char *container, const char *id,
                      json_t **report, struct sw_error *err)
{
    static const int depths[] = { 1 << 16, 1 << 20 };

    for (size_t i = 0; i < SW_COUNT(depths) && !*report; i++) {
        sw_autofree char *query = sw_format("/logs?stdout=0&stderr=1&tail=%d", depths[i]);
        sw_auto(docker_tail) struct docker_tail kept = { .id = id, .lines = SW_BUF_INIT };

        if (ask_end(api, container, query, &kept, err) < 0)
            return -1;
        *report = sw_take(kept.report);
    }
    return 0;
}

json_t *docker_ask_beat(struct docker_api *api, const char *container, const char *id)
{
    sw_autofree char *tail = NULL;
    sw_auto(json) json_t *report = NULL;

    if (!container || docker_ask_tail(api, container, id, 1, &tail, &report, NULL) < 0)
        return NULL;
    if (!report && tail && !sw_text_starts(tail, SW_RUNNER_SAYS))
        report = sw_json_object(SW_STR("phase", "running"));
    return sw_take(report);
}

int64_t docker_last_output_ms(struct docker_api *api, const char *container)
{
    sw_auto(docker_tail) struct docker_tail kept = { .lines = SW_BUF_INIT };

    if (container)
        ask_end(api, container, "/logs?stdout=1&stderr=1&tail=1&timestamps=1", &kept, NULL);
    return kept.at_ms;
}
