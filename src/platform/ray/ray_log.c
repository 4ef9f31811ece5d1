/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_log.c - the log of a driver: the file as it is now, and the socket that goes on with it.
 *
 *     all that is there   GET /api/v0/logs/file           bytes, in bounded memory
 *     what comes          WS /api/jobs/ID/logs/tail       from the first byte, each time
 *
 * The socket has no offset: what was seen before is counted and skipped (kit/log.h). Its end is not the end
 * of the job, which only its state tells. A proxy that refuses the socket leaves the file, read again and
 * again. The runner writes UTF-8 text with plain line ends, since Ray reads its logs as such: the two ways
 * give the same bytes.
 */
#include "platform/ray/ray_internal.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/state.h"

enum { AT_ONCE = 4 * 1024 * 1024, A_MOMENT_MS = 5, SILENCE_MS = 1000 };

static enum sw_log_life life_of(const json_t *job)
{
    if (ray_is_over(job))
        return SW_LOG_ENDED;
    return sw_json_str(job, "driver_node_id") ? SW_LOG_GROWS : SW_LOG_NOT_BEGUN;
}

/* ---- the file ------------------------------------------------------------------------------- */

struct log_file {
    struct ray_text text;
    bool stopped;
};

static int take_bytes(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    struct log_file *file = context;

    (void)so_far;
    file->stopped = ray_text_feed(&file->text, bytes, length) != 0;
    return file->stopped ? -1 : 0;
}

/* A node that is gone took the log with it. */
static int not_read(const struct sw_error *why, const json_t *job, struct sw_error *err)
{
    if (why->code == SW_E_UNREACHABLE && ray_is_over(job) && strstr(why->message, "Agent for node id"))
        return sw_fail(err, SW_E_NOT_FOUND, "the node that ran the driver is gone, and the log with it");
    return sw_pass(err, why);
}

static int read_file(struct sw_connection *conn, const json_t *job, const struct sw_log_cursor *cursor,
                     const struct sw_log_sink *sink, struct sw_error *err)
{
    const char *node = sw_json_str(job, "driver_node_id"), *id = sw_json_str(job, "submission_id");
    sw_autofree char *path = sw_rest_path("/api/v0/logs/file?node_id=%s&filename=job-driver-%s.log&lines=-1"
                                          "&timeout=600", node, id);
    struct log_file file = { .stopped = false };
    struct sw_error why = { 0 };
    int result;

    ray_text_init(&file.text, job);
    file.text.sink = sink;
    result = ray_ask(conn, &(struct sw_rest_call){
        .path = path, .sink = take_bytes, .sink_context = &file, .stall_ms = cursor->silence_ms,
        .silence_counts = cursor->silence_ms != 0 }, NULL, &why);
    if (result == 0 && cursor->life == SW_LOG_ENDED)
        file.stopped = ray_text_end(&file.text) != 0;
    ray_text_done(&file.text);
    if (file.stopped)
        return sw_fail(err, SW_E_INTERRUPTED, "the reader closed the log");
    return result < 0 ? not_read(&why, job, err) : 0;
}

/* ---- the socket ----------------------------------------------------------------------------- */

struct log_socket {
    struct sw_rest *rest;
    struct sw_websocket *ws;
    struct ray_text text;
    size_t bytes;                    /* that came since the last call */
    int64_t heard_ms;                /* when the last one came, or its job was asked for */
};

static void socket_close(void *stream)
{
    struct log_socket *socket = stream;

    sw_websocket_close(socket->ws);
    sw_rest_close(socket->rest);
    ray_text_done(&socket->text);
    free(socket);
}

/* NULL without err: it was refused, and there is the file. */
static struct sw_websocket *open_socket(struct sw_connection *conn, struct sw_rest *rest, const json_t *job)
{
    sw_autofree char *plain = sw_rest_path("/api/jobs/%s/logs/tail", sw_json_str(job, "submission_id"));
    sw_autofree char *path = ray_path(conn, plain);
    struct sw_buf value = SW_BUF_INIT;
    const struct sw_rest_pair headers[] = { ray_header(conn, &value), { 0 } };
    struct sw_websocket *ws = rest ? sw_rest_websocket(rest, &(struct sw_rest_call){
        .path = path, .headers = headers[0].key ? headers : NULL }, NULL, NULL) : NULL;

    sw_buf_wipe(&value);
    return ws;
}

static int begin_following(struct sw_connection *conn, const struct sw_jobref *ref,
                           struct sw_log_cursor *cursor, struct sw_error *err)
{
    sw_auto(json) json_t *job = ray_get(conn, ray_name(ref->id, ref->attempt).text, err);
    struct log_socket *socket;

    if (!job)
        return -1;
    if (life_of(job) != SW_LOG_GROWS)
        return 0;
    socket = sw_new(struct log_socket);
    ray_text_init(&socket->text, job);
    socket->rest = sw_rest_beside(sw_cloud_of(conn)->rest, err);
    socket->ws = open_socket(conn, socket->rest, job);
    if (!socket->ws) {
        socket_close(socket);
        return 0;
    }
    cursor->stream = socket;
    cursor->close = socket_close;
    return 0;
}

static int take_frame(void *context, const char *bytes, size_t length)
{
    struct log_socket *socket = context;

    socket->bytes += length;
    return ray_text_feed(&socket->text, bytes, length);
}

/* The socket may be far behind a job that is over: then the rest is read from the file. */
static bool has_ended(struct sw_connection *conn, const struct sw_jobref *ref, struct log_socket *socket)
{
    sw_auto(json) json_t *job = NULL;

    if (ref->finished)
        return true;
    if (sw_monotonic_ms() - socket->heard_ms < SILENCE_MS)
        return false;
    socket->heard_ms = sw_monotonic_ms();
    job = ray_get(conn, ray_name(ref->id, ref->attempt).text, NULL);
    return job && ray_is_over(job);
}

static int follow(struct sw_connection *conn, const struct sw_jobref *ref, struct sw_log_cursor *cursor,
                  const struct sw_log_sink *sink, struct sw_error *err)
{
    struct log_socket *socket;
    size_t before;
    int how;

    if (!cursor->stream && begin_following(conn, ref, cursor, err) < 0)
        return -1;
    if (!cursor->stream)
        return 0;
    socket = cursor->stream;
    socket->text.sink = sink;
    socket->bytes = 0;
    do {
        struct pollfd wait = { .fd = sw_websocket_fd(socket->ws), .events = POLLIN };

        before = socket->bytes;
        poll(&wait, 1, A_MOMENT_MS);
        how = sw_websocket_read(socket->ws, take_frame, socket);
    } while (how == 0 && socket->bytes > before && socket->bytes < AT_ONCE);
    if (how < 0)
        return sw_fail(err, SW_E_INTERRUPTED, "the reader closed the log");
    if (socket->bytes > 0)
        socket->heard_ms = sw_monotonic_ms();
    return how > 0 || (socket->bytes == 0 && has_ended(conn, ref, socket)) ? 0 : SW_LOG_STAYS_OPEN;
}

int ray_log_fetch(struct sw_connection *conn, const struct sw_jobref *ref, int replica,
                  struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    sw_auto(json) json_t *job = NULL;

    (void)replica;
    if (cursor->follow)
        return follow(conn, ref, cursor, sink, err);
    if (!(job = ray_get(conn, ray_name(ref->id, ref->attempt).text, err)))
        return -1;
    if (cursor->life == SW_LOG_LIFE_UNKNOWN)
        cursor->life = life_of(job);
    return cursor->life == SW_LOG_NOT_BEGUN || !sw_json_str(job, "driver_node_id")
               ? 0 : read_file(conn, job, cursor, sink, err);
}
