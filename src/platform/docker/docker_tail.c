/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_tail.c - the end of a container's log alone, and what its runner said last.
 *
 * Without the spool: a verdict needs the last lines, not a hundred megabytes; and to ask for them is
 * the cheapest of all questions.
 */
#include "platform/docker/docker_job.h"

#include <string.h>

#include "base/text.h"
#include "core/report.h"

enum { TAIL_BYTES = 65536 };

struct tail {
    const char *id;
    struct sw_buf lines;
    json_t *report;
    struct docker_frames frames;
};

static void read_report(struct tail *tail, const struct docker_message *message)
{
    size_t start = strlen(SW_REPORT_START);

    json_decref(tail->report);
    tail->report = sw_report_parse(message->bytes + start, message->length - start);
}

static int keep(void *context, const struct docker_message *message)
{
    struct tail *tail = context;
    struct sw_buf *lines = &tail->lines;

    if (docker_is_report(message, tail->id)) {
        read_report(tail, message);
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
    struct tail *tail = context;

    (void)so_far;
    return docker_frames_feed(&tail->frames, bytes, length);
}

/* Half a line at the beginning would only mislead. */
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

/* A log driver that keeps nothing to be read has no log, and says so. */
static int ask_end(struct docker_api *api, const char *container, const char *what,
                   struct tail *kept, struct sw_error *err)
{
    sw_autofree char *path = docker_path("/containers/", container, what);
    struct sw_error why = { 0 };

    kept->frames.context = kept;
    if (docker_ask(api, &(struct docker_call){ .path = path, .sink = feed, .sink_context = kept,
                                               .stall_ms = DOCKER_LONG_MS }, NULL, &why) == 0 ||
        why.code == SW_E_UNSUPPORTED)
        return 0;
    if (err)
        *err = why;
    return -1;
}

static void tail_auto(struct tail *kept)
{
    json_decref(kept->report);
    sw_buf_done(&kept->lines);
    docker_frames_done(&kept->frames);
}

int docker_ask_tail(struct docker_api *api, const char *container, const char *id, int most,
                    char **tail, json_t **report, struct sw_error *err)
{
    sw_autofree char *what = sw_format("/logs?stdout=1&stderr=1&tail=%d", most);
    __attribute__((cleanup(tail_auto))) struct tail kept = { .id = id, .lines = SW_BUF_INIT,
                                                             .frames = { .take = keep } };

    if (ask_end(api, container, what, &kept, err) < 0)
        return -1;
    *tail = kept.lines.length ? as_text(&kept.lines) : NULL;
    *report = sw_take(kept.report);
    return 0;
}

/* The two streams are copied into the log independently, so a pipe full of output may stand behind the
 * report: up to a megabyte, in lines of one byte. Those lines are counted there and not sent. */
int docker_ask_report(struct docker_api *api, const char *container, const char *id,
                      json_t **report, struct sw_error *err)
{
    __attribute__((cleanup(tail_auto))) struct tail kept = { .id = id, .lines = SW_BUF_INIT,
                                                             .frames = { .take = keep } };

    if (ask_end(api, container, "/logs?stdout=0&stderr=1&tail=1048576", &kept, err) < 0)
        return -1;
    *report = sw_take(kept.report);
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

static int keep_time(void *context, const struct docker_message *message)
{
    int64_t *at_ms = context;

    if (message->at_ns / 1000000 > *at_ms)
        *at_ms = message->at_ns / 1000000;
    return 0;
}

static int feed_time(void *context, const struct sw_http_reply *so_far, const char *bytes,
                     size_t length)
{
    (void)so_far;
    return docker_frames_feed(context, bytes, length);
}

int64_t docker_last_output_ms(struct docker_api *api, const char *container)
{
    sw_autofree char *path = container ? docker_path("/containers/", container,
                                                     "/logs?stdout=1&stderr=1&tail=1&timestamps=1")
                                       : NULL;
    int64_t at_ms = 0;
    struct docker_frames frames = { .take = keep_time, .context = &at_ms, .stamped = true };

    if (path)
        docker_ask(api, &(struct docker_call){ .path = path, .sink = feed_time,
                                               .sink_context = &frames }, NULL, NULL);
    docker_frames_done(&frames);
    return at_ms;
}
