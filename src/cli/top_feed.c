/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_feed.c - what `slipway top` shows is brought by threads of its own.
 *
 * A key must be answered at once, also while a platform takes a minute to answer: so one thread
 * watches the jobs, another follows the log of the selected one, and the screen only ever takes
 * what they left. They are asked to end and given a moment; one that hangs in the network
 * is left behind, as the program ends anyway.
 */
#include "cli/top_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"

#define SHOWN     500           /* jobs, newest first */
#define ROUND_MS  1000
#define TAIL      500
#define END_S     2

/* ---- the ring of lines ------------------------------------------------------------------------ */

void top_log_clear(struct top_log *log)
{
    for (size_t i = 0; i < SW_COUNT(log->lines); i++)
        free(sw_take(log->lines[i]));
    sw_buf_done(&log->partial);
    *log = (struct top_log){ 0 };
}

const char *top_log_line(const struct top_log *log, size_t index)
{
    return log->lines[(log->first + index) % TOP_LOG_LINES];
}

/* A bar that draws itself again with '\r' shows its last state; tabs become spaces. */
static char *tidy(const char *line, size_t length)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_autofree char *clean = NULL;
    const char *last;

    while (length && line[length - 1] == '\r')
        length--;
    last = length ? memrchr(line, '\r', length) : NULL;
    if (last) {
        length -= (size_t)(last + 1 - line);
        line = last + 1;
    }
    clean = sw_text_printable(line, length);
    for (const char *c = clean; *c; c++)
        if (*c == '\t')
            do
                sw_buf_add_char(&out, ' ');
            while (out.length % 8);
        else
            sw_buf_add_char(&out, *c);
    return sw_buf_steal(&out);
}

static void end_line(struct top_log *log)
{
    size_t at = (log->first + log->count) % TOP_LOG_LINES;

    if (log->count == TOP_LOG_LINES)
        log->first = (log->first + 1) % TOP_LOG_LINES;
    else
        log->count++;
    free(log->lines[at]);
    log->lines[at] = tidy(sw_buf_text(&log->partial), log->partial.length);
    sw_buf_clear(&log->partial);
}

void top_log_add(struct top_log *log, const char *bytes, size_t length)
{
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end ? (size_t)(end - bytes) : length;
        size_t room = TOP_LINE_BYTES - log->partial.length;

        sw_buf_add_bytes(&log->partial, bytes, part < room ? part : room);
        if (!end)
            return;
        end_line(log);
        bytes += part + 1;
        length -= part + 1;
    }
}

/* ---- the threads ------------------------------------------------------------------------------ */

void top_feed_ring(struct top_feed *feed)
{
    (void)!write(feed->wake[1], "", 1);         /* full: it rings already */
}

static bool is_over(struct top_feed *feed)
{
    bool over;

    pthread_mutex_lock(&feed->lock);
    over = feed->over;
    pthread_mutex_unlock(&feed->lock);
    return over;
}

/* The newest answer about the jobs that are not over, kept by id for the list below. */
static int hear(void *context, const char *document)
{
    json_t *newest = context, *parsed = sw_json_parse(document, strlen(document), "answer", NULL);
    json_t *job;
    size_t i;

    json_array_foreach(json_object_get(parsed, "jobs"), i, job)
        if (sw_json_str(job, "id"))
            json_object_set(newest, sw_json_str(job, "id"), job);
    if (json_object_get(parsed, "unreachable"))
        json_object_set(newest, "", json_object_get(parsed, "unreachable"));
    json_decref(parsed);
    return 0;
}

/* All jobs, the living with what only watching tells (last line, GPU use). */
static json_t *look(struct cli *cli)
{
    struct sw_watch_options once = { .size = sizeof once, .rounds = 1 };
    struct sw_list_options options = {
        .size = sizeof options, .look = SW_LOOK_STORED, .limit = SHOWN,
    };
    sw_auto(json) json_t *newest = json_object();
    json_t *document, *jobs, *job;
    size_t i;

    sw_watch(cli->session, NULL, 0, &once, hear, newest, NULL);
    document = cli_document(sw_list(cli->session, &options, NULL), NULL);
    jobs = json_object_get(document, "jobs");
    json_array_foreach(jobs, i, job) {
        const json_t *newer = json_object_get(newest, sw_json_str(job, "id"));

        json_object_update_missing(job, (json_t *)newer);
    }
    if (json_object_get(newest, ""))
        json_object_set(document, "unreachable", json_object_get(newest, ""));
    return document;
}

static void wait_ms(struct top_feed *feed, int64_t ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    pthread_mutex_lock(&feed->lock);
    while (!feed->over &&
           pthread_cond_timedwait(&feed->changed, &feed->lock, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&feed->lock);
}

static void *watch_jobs(void *context)
{
    struct top_feed *feed = context;

    while (!is_over(feed)) {
        json_t *document = look(feed->cli), *old;

        pthread_mutex_lock(&feed->lock);
        old = feed->document;
        if (document)
            feed->document = document;
        pthread_mutex_unlock(&feed->lock);
        if (document)
            json_decref(old);
        top_feed_ring(feed);
        wait_ms(feed, ROUND_MS);
    }
    return NULL;
}

/* One request for a log. */
struct top_reading {
    struct top_feed *feed;
    unsigned wanted;
};

static bool stale(const struct top_reading *r)
{
    return r->feed->over || r->feed->wanted != r->wanted;
}

static int on_bytes(void *context, int rank, int64_t at_ms, const char *bytes, size_t length)
{
    struct top_reading *r = context;
    bool stop;

    (void)rank, (void)at_ms;
    pthread_mutex_lock(&r->feed->lock);
    stop = stale(r);
    if (!stop)
        top_log_add(&r->feed->log, bytes, length);
    pthread_mutex_unlock(&r->feed->lock);
    top_feed_ring(r->feed);
    return stop;
}

static int on_idle(void *context)
{
    struct top_reading *r = context;
    bool stop;

    pthread_mutex_lock(&r->feed->lock);
    stop = stale(r);
    pthread_mutex_unlock(&r->feed->lock);
    return stop;
}

static void *read_logs(void *context)
{
    struct top_feed *feed = context;
    struct sw_log_options options = {
        .size = sizeof options, .tail_lines = TAIL, .follow = true,
        .idle = on_idle,
    };
    struct top_reading r = { feed, 0 };
    char id[SW_ID_SIZE];

    for (;;) {
        pthread_mutex_lock(&feed->lock);
        while (!feed->over && feed->wanted == r.wanted)
            pthread_cond_wait(&feed->changed, &feed->lock);
        r.wanted = feed->wanted;
        memcpy(id, feed->id, sizeof id);
        top_log_clear(&feed->log);
        pthread_mutex_unlock(&feed->lock);
        if (is_over(feed))
            return NULL;
        if (id[0])
            sw_logs(feed->cli->session, id, &options, on_bytes, &r, NULL);
    }
}

/* ---- for the screen --------------------------------------------------------------------------- */

int top_feed_start(struct top_feed *feed, struct cli *cli, struct sw_error *err)
{
    *feed = (struct top_feed){ .cli = cli, .wake = { -1, -1 } };
    if (pipe2(feed->wake, O_CLOEXEC | O_NONBLOCK) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot create a pipe");
    pthread_mutex_init(&feed->lock, NULL);
    sw_cond_init_monotonic(&feed->changed);
    if (sw_thread_start(&feed->watcher, 0, watch_jobs, feed) == 0)
        feed->threads++;
    if (feed->threads == 1 && sw_thread_start(&feed->reader, 0, read_logs, feed) == 0)
        feed->threads++;
    return feed->threads == 2 ? 0 : sw_fail(err, SW_E_IO, "cannot start a thread");
}

bool top_feed_end(struct top_feed *feed)
{
    pthread_t threads[] = { feed->watcher, feed->reader };
    struct timespec until;
    bool all;

    pthread_mutex_lock(&feed->lock);
    feed->over = true;
    all = feed->acting == 0;
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_S;
    for (size_t i = 0; i < feed->threads; i++)
        all &= pthread_timedjoin_np(threads[i], NULL, &until) == 0;
    if (!all)
        return false;
    top_log_clear(&feed->log);
    json_decref(feed->document);
    json_decref(feed->detail);
    close(feed->wake[0]);
    close(feed->wake[1]);
    return true;
}

void top_feed_select(struct top_feed *feed, const char *id)
{
    pthread_mutex_lock(&feed->lock);
    snprintf(feed->id, sizeof feed->id, "%s", id ? id : "");
    feed->wanted++;
    json_decref(sw_take(feed->detail));
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
}

json_t *top_feed_document(struct top_feed *feed)
{
    json_t *document;

    pthread_mutex_lock(&feed->lock);
    document = json_incref(feed->document);
    pthread_mutex_unlock(&feed->lock);
    return document;
}
