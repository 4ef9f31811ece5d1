/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_stream.c - logs as the service gives them ("TIME LENGTH" lines, each followed by so many bytes), and a
 * command beside a job over an upgraded connection.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/report.h"
#include "core/stream.h"
#include "rest_platform.h"

/* ---- logs --------------------------------------------------------------------------------------- */

struct rest_log {                        /* an answer on its way */
    const struct sw_log_sink *sink;
    struct sw_buf held;                  /* a head or a piece that is not complete */
    long long at_ns, length;             /* of the piece; length 0: its head comes next */
};

/* The runner's report is for us alone. */
static int give_lines(const struct rest_log *log, const char *bytes, size_t length)
{
    while (length) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end ? (size_t)(end + 1 - bytes) : length;
        bool hidden = part > strlen(SW_REPORT_START) && sw_text_starts(bytes, SW_REPORT_START);

        if (log->sink->take(log->sink->context, &(struct sw_log_message){
                .at_ns = log->at_ns, .bytes = bytes, .length = hidden ? 0 : part }))
            return -1;
        bytes += part;
        length -= part;
    }
    return 0;
}

static int take_log(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    struct rest_log *log = context;
    size_t used = 0;

    (void)so_far;
    sw_buf_add_bytes(&log->held, bytes, length);
    for (;;) {
        const char *at = sw_buf_text(&log->held) + used, *end = memchr(at, '\n', log->held.length - used);

        if (!log->length) {
            if (!end || sscanf(at, "%lld %lld\n", &log->at_ns, &log->length) != 2)
                break;
            used += (size_t)(end + 1 - at);
        } else if (log->held.length - used < (size_t)log->length) {
            break;
        } else {
            if (give_lines(log, at, (size_t)log->length) < 0)
                return -1;
            used += (size_t)log->length;
            log->length = 0;
        }
    }
    memmove(log->held.data, log->held.data + used, log->held.length - used);
    log->held.length -= used;
    return 0;
}

static enum sw_log_life life_of(const json_t *job, int replica)
{
    const json_t *rank = json_array_get(json_object_get(job, "ranks"), (size_t)replica);
    const char *state = sw_json_str(rank, "state");

    return sw_text_same(state, "ended") || sw_text_same(state, "lost")       ? SW_LOG_ENDED
           : sw_text_same(state, "running") || sw_text_same(state, "starting") ? SW_LOG_GROWS
                                                                             : SW_LOG_NOT_BEGUN;
}

int rest_log_fetch(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                   struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    struct rest_log log = { .sink = sink };
    struct rest_name name = rest_name(job->id, job->attempt);
    sw_autofree char *path = sw_rest_path("/v1/jobs/%s/ranks/%d/log", name.text, replica);
    sw_autofree char *since = sw_format("%lld", (long long)cursor->since_ns);
    sw_auto(json) json_t *seen = NULL;
    int result;

    if (cursor->follow)
        return 0;                        /* no streams: the kit asks again and again */
    if (cursor->life == SW_LOG_LIFE_UNKNOWN) {
        if (rest_ask(conn, NULL, job, "", NULL, &seen, err) < 0)
            return -1;
        cursor->life = life_of(seen, replica);
    }
    result = sw_rest_call(conn->rest, &(struct sw_rest_call){
        .path = path, .sink = take_log, .sink_context = &log, .stall_ms = cursor->silence_ms,
        .silence_counts = cursor->silence_ms != 0,
        .query = (const struct sw_rest_pair[]){ { "since", cursor->last ? NULL : since }, { 0 } } }, NULL, err);
    sw_buf_done(&log.held);
    return result;
}

struct sw_log_spools *rest_log_spools(struct sw_connection *conn)
{
    return conn->spools;
}
