/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_log.c - see kube_log.h.
 *
 * Output and errors of a container are two streams: the runner's report comes last and is in the log before
 * thousands of lines that were written earlier. So its end is searched for by time.
 */
#include "platform/kube/kube_log.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/report.h"
#include "platform/kit/log_lines.h"
#include "platform/kube/kube.h"

enum { TAIL_MS = 120000, TAIL_LINES = 5000, TAIL_MAX = 256 * 1024, PATIENCE_MS = 60000 };

static const struct { const char *words; enum kube_log_said said; } sayings[] = {
    { "waiting to start", KUBE_LOG_NOT_BEGUN },
    { "ContainerCreating", KUBE_LOG_NOT_BEGUN },
    { "PodInitializing", KUBE_LOG_NOT_BEGUN },
    { "does not have a host assigned", KUBE_LOG_NOT_BEGUN },
    { "is not valid for pod", KUBE_LOG_GONE },
    { "previous terminated container", KUBE_LOG_GONE },
    { "nable to retrieve container logs", KUBE_LOG_GONE },
    { "failed to try resolving symlinks", KUBE_LOG_GONE },
    { "no such file or directory", KUBE_LOG_GONE },
};

enum kube_log_said kube_log_said(const char *words)
{
    for (size_t i = 0; i < SW_COUNT(sayings); i++)
        if (strstr(words, sayings[i].words))
            return sayings[i].said;
    return KUBE_LOG_FAILED;
}

static int explain(const char *pod, struct sw_log_cursor *cursor, struct sw_error *why, struct sw_error *err)
{
    enum kube_log_said said = why->code == SW_E_REFUSED ? kube_log_said(why->message) : KUBE_LOG_FAILED;

    if (said == KUBE_LOG_NOT_BEGUN) {
        if (cursor->life != SW_LOG_ENDED)
            cursor->life = SW_LOG_NOT_BEGUN;
        return 0;
    }
    if (said == KUBE_LOG_GONE)
        return sw_fail(err, SW_E_NOT_FOUND, "the node no longer has the log of pod %s", pod);
    return sw_pass(err, why);
}

static char *path_of(const char *namespace, const char *pod, const struct sw_log_cursor *cursor)
{
    sw_autofree char *own = kube_path("v1", namespace, "pods", pod);
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    int64_t since_ms = cursor->since_ns / 1000000000 * 1000;
    char since[40];

    sw_time_format(since_ms, since);
    sw_buf_addf(&path, "%s/log?timestamps=true", own);
    if (cursor->last > 0)
        sw_buf_addf(&path, "&tailLines=%d", cursor->last);
    else if (since_ms > 0)
        sw_rest_query(&path, "sinceTime", since);
    return sw_buf_steal(&path);
}

int kube_log_fetch(struct sw_rest *rest, const char *namespace, const char *pod, struct sw_log_cursor *cursor,
                   const struct sw_log_sink *sink, struct sw_error *err)
{
    struct sw_log_lines lines = { .sink = sink };
    sw_autofree char *path = path_of(namespace, pod, cursor);
    const struct sw_rest_call call = {
        .path = path, .sink = sw_log_lines_sink, .sink_context = &lines, .repeatable = true,
        .stall_ms = cursor->silence_ms ? cursor->silence_ms : PATIENCE_MS,
        .silence_counts = cursor->silence_ms != 0 };
    struct sw_error why = { 0 };
    int result = sw_rest_call(rest, &call, NULL, &why);

    cursor->whole_seconds = true;
    if (result < 0)
        result = explain(pod, cursor, &why, err);
    else if (sw_log_lines_end(&lines))
        result = sw_fail(err, SW_E_INTERRUPTED, "the reader closed the log");
    sw_log_lines_done(&lines);
    return result;
}

/* ---- the end, with the report ------------------------------------------------------------------------ */

struct tail {
    struct sw_buf text;              /* the last that came */
    char *report;                    /* a line that is not in it any more; owned; NULL: none */
};

static void keep_report(struct tail *tail)
{
    const char *last = NULL, *end;

    for (const char *at = sw_buf_text(&tail->text); (at = strstr(at, SW_REPORT_START)); at++)
        last = at;
    end = last ? strchr(last, '\n') : NULL;
    if (end) {
        free(tail->report);
        tail->report = sw_strndup(last, (size_t)(end + 1 - last));
    }
}

static int take_bytes(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    struct tail *tail = context;
    size_t left;

    (void)so_far;
    sw_buf_add_bytes(&tail->text, bytes, length);
    if (tail->text.length <= 2 * TAIL_MAX)
        return 0;
    keep_report(tail);
    left = tail->text.length - TAIL_MAX;
    memmove(tail->text.data, tail->text.data + left, TAIL_MAX + 1);
    tail->text.length = TAIL_MAX;
    return 0;
}

char *kube_log_tail(struct sw_rest *rest, const char *namespace, const char *pod, int64_t ended_ms)
{
    const struct sw_log_cursor cursor = { .since_ns = ended_ms > TAIL_MS ? (ended_ms - TAIL_MS) * 1000000 : 0,
                                          .last = ended_ms > TAIL_MS ? 0 : TAIL_LINES };
    sw_autofree char *path = path_of(namespace, pod, &cursor);
    struct tail tail = { 0 };
    const struct sw_rest_call call = { .path = path, .sink = take_bytes, .sink_context = &tail,
                                       .repeatable = true, .stall_ms = PATIENCE_MS };
    int result = sw_rest_call(rest, &call, NULL, NULL);
    char *text = result < 0 ? NULL
                            : sw_format("%s%s", tail.report ? tail.report : "", sw_buf_text(&tail.text));

    sw_buf_done(&tail.text);
    free(tail.report);
    return text;
}
