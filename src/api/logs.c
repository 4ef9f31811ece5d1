/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs.c - reading and following logs by byte offset.
 *
 * A platform offers each replica's log as bytes from 0; this file adds tails, following and the
 * mixing of replicas. The end of the bytes is never the end of the job: only the job's state
 * ends a follow, and it is asked *before* the last read, so that nothing written before the end
 * can be missed. Memory is bounded by one piece per replica.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/buf.h"
#include "base/clock.h"

enum {
    PIECE = 64 * 1024,
    LONGEST_HELD_LINE = 64 * 1024,     /* a longer line is passed on in parts */
    LOOK_EVERY_MS = 100,
    ASK_STATE_EVERY_MS = 200,
};

struct stream {
    int replica;
    int64_t offset;
    struct sw_buf held;       /* the beginning of a line, when replicas are mixed */
};

struct reading {
    struct sw_session *session;
    const struct api_job *job;
    const struct sw_log_options *options;
    sw_log_fn *fn;
    void *context;
    struct stream *streams;
    size_t count;
    char *piece;
    bool cut;                 /* the platform was out of reach at the last read */
};

static int interrupted(struct sw_error *err)
{
    return sw_fail(err, SW_E_INTERRUPTED, "stopped by the caller");
}

/* Hand on whole lines; keep the rest for the next piece. */
static int pass_lines(struct reading *r, struct stream *s, const char *bytes, size_t length)
{
    const char *end = memrchr(bytes, '\n', length);
    size_t whole = end ? (size_t)(end - bytes) + 1 : 0;
    int stop = 0;

    if (whole > 0) {
        sw_buf_add_bytes(&s->held, bytes, whole);
        stop = r->fn(r->context, s->replica, s->held.data, s->held.length);
        sw_buf_clear(&s->held);
    }
    sw_buf_add_bytes(&s->held, bytes + whole, length - whole);
    if (!stop && s->held.length > LONGEST_HELD_LINE) {
        stop = r->fn(r->context, s->replica, s->held.data, s->held.length);
        sw_buf_clear(&s->held);
    }
    return stop;
}

/* One piece from where we stand. To somebody who follows, a platform out of reach has nothing
 * new: the next read goes on at the same byte. */
static ssize_t next_piece(struct reading *r, const struct stream *s, struct sw_error *err)
{
    struct sw_error why = { 0 };
    ssize_t n = r->job->platform->read_log(r->job->link, &r->job->ref, s->replica, s->offset,
                                           r->piece, PIECE, &why);

    if (n >= 0)
        return n;
    r->cut = why.code == SW_E_UNREACHABLE;
    if (r->cut && r->options->follow)
        return 0;
    if (err)
        *err = why;
    return -1;
}

/* Read what there is of one replica. Returns 1 when something was there. */
static int drain(struct reading *r, struct stream *s, struct sw_error *err)
{
    int any = 0;

    for (;;) {
        ssize_t n = next_piece(r, s, err);
        int stop;

        if (n <= 0)
            return n < 0 ? -1 : any;
        s->offset += n;
        any = 1;
        stop = r->count > 1 ? pass_lines(r, s, r->piece, (size_t)n)
                            : r->fn(r->context, s->replica, r->piece, (size_t)n);
        if (stop)
            return interrupted(err);
        if (r->count > 1)
            return any;                  /* take turns, so that one chatty rank drowns no other */
    }
}

static int drain_all(struct reading *r, struct sw_error *err)
{
    int any = 0;

    r->cut = false;
    for (size_t i = 0; i < r->count; i++) {
        int result = drain(r, &r->streams[i], err);

        if (result < 0)
            return -1;
        any |= result;
    }
    return any;
}

static int flush_held(struct reading *r, struct sw_error *err)
{
    for (size_t i = 0; i < r->count; i++) {
        struct stream *s = &r->streams[i];

        if (s->held.length && r->fn(r->context, s->replica, s->held.data, s->held.length))
            return interrupted(err);
        sw_buf_clear(&s->held);
    }
    return 0;
}

/* Is the job over (1), going on (0), or can nobody say because the store fails (-1)? Not
 * reaching the platform is not an end. */
static int is_over(struct reading *r, int64_t *asked_ms, struct sw_error *err)
{
    const char *id = r->job->row.id;
    sw_auto(sw_job) struct sw_job row = { 0 };
    int64_t now = sw_monotonic_ms();

    if (*asked_ms && now - *asked_ms < ASK_STATE_EVERY_MS)
        return 0;
    *asked_ms = now;
    if (api_refresh(r->session, &id, 1, NULL, err) < 0 ||
        sw_store_get(r->session->store, id, SW_COLUMNS_LIST, &row, err) < 0)
        return -1;
    return row.phase == SW_PHASE_OVER;
}

static int follow(struct reading *r, struct sw_error *err)
{
    int64_t asked_ms = 0;

    for (;;) {
        int over = is_over(r, &asked_ms, err);
        int any = over < 0 ? -1 : drain_all(r, err);

        while (over > 0 && any > 0)
            any = drain_all(r, err);
        if (any < 0)
            return -1;
        if (over && !r->cut)             /* the last bytes may be behind the cut */
            return flush_held(r, err);
        if (any)
            continue;
        if (r->options->idle && r->options->idle(r->context))
            return interrupted(err);
        sw_sleep_ms(LOOK_EVERY_MS);
    }
}

/* Fill `piece` from `from`, as much as there is: platforms may answer in smaller parts. */
static ssize_t read_at(struct reading *r, int replica, int64_t from, size_t size,
                       struct sw_error *err)
{
    size_t got = 0;

    while (got < size) {
        ssize_t n = r->job->platform->read_log(r->job->link, &r->job->ref, replica,
                                               from + (int64_t)got, r->piece + got, size - got,
                                               err);

        if (n < 0)
            return -1;
        if (n == 0)
            break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

/* Where the last `lines` lines begin, reading backwards piece by piece. The newline that ends
 * the last line does not begin another. */
static int tail_offset(struct reading *r, struct stream *s, int64_t lines, struct sw_error *err)
{
    int64_t size = 0;

    if (r->job->platform->log_size(r->job->link, &r->job->ref, s->replica, &size, err) < 0)
        return -1;
    s->offset = lines == 0 ? size : 0;
    for (int64_t at = size; lines > 0 && at > 0;) {
        int64_t from = at > PIECE ? at - PIECE : 0;
        ssize_t n = read_at(r, s->replica, from, (size_t)(at - from), err);

        if (n < 0)
            return -1;
        for (ssize_t i = n - 1; i >= 0; i--) {
            if (r->piece[i] == '\n' && from + i != size - 1 && --lines == 0) {
                s->offset = from + i + 1;
                return 0;
            }
        }
        at = from;
    }
    return 0;
}

static int read_all(struct reading *r, struct sw_error *err)
{
    int any;

    for (size_t i = 0; r->options->tail_lines >= 0 && i < r->count; i++)
        if (tail_offset(r, &r->streams[i], r->options->tail_lines, err) < 0)
            return -1;
    if (r->options->follow)
        return follow(r, err);
    do {
        any = drain_all(r, err);
    } while (any > 0);
    return any < 0 ? -1 : flush_held(r, err);
}

int sw_logs(struct sw_session *session, const char *id, const struct sw_log_options *options,
            sw_log_fn *fn, void *context, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    sw_autofree char *piece = sw_alloc(PIECE);
    struct reading r = { .session = session, .job = &job, .options = options, .fn = fn,
                         .context = context, .piece = piece };
    int nodes, result;

    if (api_job_open(session, id, &job, err) < 0)
        return -1;
    nodes = (int)sw_json_int(job.row.plan, "nodes", 1);
    if (options->replica >= nodes)
        return sw_fail(err, SW_E_USAGE, "job '%s' has no rank %d: it has %d", id,
                       options->replica, nodes);
    if (options->attempt > 0)
        job.ref.attempt = options->attempt;
    r.count = options->replica >= 0 ? 1 : (size_t)nodes;
    r.streams = sw_alloc(r.count * sizeof *r.streams);
    for (size_t i = 0; i < r.count; i++)
        r.streams[i].replica = options->replica >= 0 ? options->replica : (int)i;
    result = read_all(&r, err);
    for (size_t i = 0; i < r.count; i++)
        sw_buf_done(&r.streams[i].held);
    free(r.streams);
    return result;
}
