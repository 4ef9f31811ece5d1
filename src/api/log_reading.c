/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_reading.c - reading the log of one job by byte offset.
 *
 * A platform offers each replica's log as bytes from 0; this file adds tails, times and the mixing of
 * replicas. An empty read is not the end of the bytes (a log that is being rotated goes quiet for a
 * moment): the size says whether there is more. Memory is bounded by one piece per replica.
 *
 * A piece carries one time. Bytes of one time are cut where the platform says that another time
 * begins; when lines are mixed, whole lines matter more, and a line has the time of its first byte.
 */
#include "api/log_reading.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "platform/kit/log.h"

enum {
    PIECE = API_LOG_PIECE,
    LONGEST_HELD_LINE = 64 * 1024,     /* a longer line is passed on in parts */
    SILENCE_MS = 5000,                 /* how long bytes that must be there may stay away */
};

static struct sw_log log_of(const struct log_reading *r, int replica)
{
    return (struct sw_log){ r->job.platform, r->job.conn, &r->job.ref, replica };
}

static int interrupted(struct sw_error *err)
{
    return sw_fail(err, SW_E_INTERRUPTED, "stopped by the caller");
}

static int pass_held(struct log_reading *r, struct log_stream *s)
{
    int stop = 0;

    if (s->held.length)
        stop = r->fn(r->context, s->replica, s->held_ms, s->held.data, s->held.length);
    sw_buf_clear(&s->held);
    return stop;
}

/* Hand on whole lines; keep the rest for the next piece. */
static int pass_lines(struct log_reading *r, struct log_stream *s, int64_t at_ms, const char *bytes,
                      size_t length)
{
    const char *first = s->held.length ? memchr(bytes, '\n', length) : NULL;
    const char *last;
    size_t used = 0;

    if (s->held.length) {
        used = first ? (size_t)(first - bytes) + 1 : length;
        sw_buf_add_bytes(&s->held, bytes, used);
        if ((first || s->held.length > LONGEST_HELD_LINE) && pass_held(r, s))
            return 1;
    }
    last = memrchr(bytes + used, '\n', length - used);
    if (last) {
        size_t whole = (size_t)(last - bytes) + 1 - used;

        if (r->fn(r->context, s->replica, at_ms, bytes + used, whole))
            return 1;
        used += whole;
    }
    if (used < length) {
        s->held_ms = at_ms;
        sw_buf_add_bytes(&s->held, bytes + used, length - used);
    }
    return s->held.length > LONGEST_HELD_LINE ? pass_held(r, s) : 0;
}

/* How many of these bytes share the time of the first; a platform that cannot tell gives them
 * all the time 0. */
static size_t same_time(struct log_reading *r, const struct log_stream *s, size_t length, int64_t *at_ms)
{
    const struct sw_log log = log_of(r, s->replica);
    int64_t until = 0;

    *at_ms = 0;
    if ((log.platform->log_time_asks && !r->options->times) ||
        sw_log_time(&log, s->offset, at_ms, &until, NULL) < 0) {
        *at_ms = 0;
        return length;
    }
    if (until <= s->offset || until - s->offset > (int64_t)length)
        return length;
    return (size_t)(until - s->offset);
}

/* Hand on what was read, time by time. */
static int pass_piece(struct log_reading *r, struct log_stream *s, size_t length)
{
    for (size_t done = 0; done < length;) {
        int64_t at_ms;
        size_t part = same_time(r, s, length - done, &at_ms);

        s->offset += (int64_t)part;
        if (r->lines ? pass_lines(r, s, at_ms, r->piece + done, part)
                         : r->fn(r->context, s->replica, at_ms, r->piece + done, part))
            return 1;
        done += part;
    }
    return 0;
}

/* A job that never began has no log that could be gone. */
static bool is_unbegun(const struct sw_job *row)
{
    return row->started_ms == 0 && row->exit_code == SW_NO_EXIT_CODE && row->signal == 0;
}

/* What is left of it was shown: that the last lines are gone is a warning. Without any it is a failure, but
 * a follow ends as the job does. */
static void say_gone(struct log_reading *r, const struct sw_error *why)
{
    if (!r->gone)
        api_warn(r->session, why->message);
    r->gone = true;
}

/* One piece from the present offset. To a follow, a platform out of reach has nothing new: the next read
 * goes on at the same byte. */
static ssize_t next_piece(struct log_reading *r, const struct log_stream *s, struct sw_error *err)
{
    const struct sw_log log = log_of(r, s->replica);
    struct sw_error why = { 0 };
    ssize_t n = sw_log_read(&log, s->offset, r->piece, PIECE, &why);

    if (n >= 0)
        return n;
    if (why.code == SW_E_NOT_FOUND && (r->moved || is_unbegun(&r->job.row)))
        return 0;
    if (why.code == SW_E_NOT_FOUND && (s->offset > 0 || r->options->follow)) {
        say_gone(r, &why);
        return 0;
    }
    if (why.code == SW_E_TIMEOUT)            /* 75 is for our own waiting: this is the platform's */
        why.code = SW_E_UNREACHABLE;
    r->cut = why.code == SW_E_UNREACHABLE;
    if (r->cut && r->options->follow)
        return 0;
    return sw_pass(err, &why);
}

/* Read what there is of one replica. Returns 1 when something was there. */
static int drain(struct log_reading *r, struct log_stream *s, struct sw_error *err)
{
    int any = 0;

    for (;;) {
        ssize_t n = next_piece(r, s, err);

        if (n <= 0)
            return n < 0 ? -1 : any;
        any = 1;
        if (pass_piece(r, s, (size_t)n))
            return interrupted(err);
        if (r->lines)
            return any;                  /* take turns, so that one chatty rank drowns no other */
    }
}

int api_log_drain(struct log_reading *r, struct sw_error *err)
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

int api_log_flush(struct log_reading *r, struct sw_error *err)
{
    for (size_t i = 0; i < r->count; i++)
        if (pass_held(r, &r->streams[i]))
            return interrupted(err);
    return 0;
}

/* Are there bytes of this replica that the last read did not give (1), or not (0)? Asked twice,
 * so that a platform that answers every other call cannot keep us for ever. */
static int is_behind(struct log_reading *r, const struct log_stream *s, struct sw_error *err)
{
    const struct sw_log log = log_of(r, s->replica);
    struct sw_error why = { 0 };
    int64_t size = 0;

    for (int tries = 0; tries < 2; tries++)
        if (sw_log_size(&log, &size, &why) == 0)
            return size > s->offset;
    r->cut |= why.code == SW_E_UNREACHABLE || why.code == SW_E_TIMEOUT;
    if (why.code == SW_E_NOT_FOUND && r->moved)
        return 0;
    if (!r->cut || r->options->follow)
        return 0;
    return sw_pass(err, &why);
}

static int any_is_behind(struct log_reading *r, struct sw_error *err)
{
    int behind = 0;

    for (size_t i = 0; i < r->count && behind == 0; i++)
        behind = is_behind(r, &r->streams[i], err);
    return behind;
}


int api_log_drain_to_the_end(struct log_reading *r, struct sw_error *err)
{
    int64_t heard_ms = sw_monotonic_ms();

    for (;;) {
        int any = api_log_drain(r, err);
        int behind = any != 0 || r->cut ? any : any_is_behind(r, err);

        if (behind <= 0)
            return behind;
        if (any > 0)
            heard_ms = sw_monotonic_ms();
        else if (sw_monotonic_ms() - heard_ms > SILENCE_MS)
            return 0;
        else
            sw_sleep_ms(1);
    }
}

/* Fill `piece` from `from`: platforms may answer in smaller parts, or with a pause. */
static ssize_t read_at(struct log_reading *r, int replica, int64_t from, size_t size,
                       struct sw_error *err)
{
    const struct sw_log log = log_of(r, replica);
    int64_t heard_ms = sw_monotonic_ms();
    size_t got = 0;

    while (got < size && sw_monotonic_ms() - heard_ms <= SILENCE_MS) {
        ssize_t n = sw_log_read(&log, from + (int64_t)got, r->piece + got, size - got, err);

        if (n < 0)
            return -1;
        if (n == 0)                      /* the size said that it is there */
            sw_sleep_ms(1);
        else
            heard_ms = sw_monotonic_ms();
        got += (size_t)n;
    }
    return (ssize_t)got;
}

/* Where the last `lines` lines begin, reading backwards piece by piece. The newline that ends
 * the last line does not begin another. */
static int tail_offset(struct log_reading *r, struct log_stream *s, int64_t lines, struct sw_error *err)
{
    const struct sw_log log = log_of(r, s->replica);
    int64_t size = 0;

    if (sw_log_size(&log, &size, err) < 0)
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

/* The later of "the last N lines" and "since then" is where the reading begins. */
static int begin_at(struct log_reading *r, struct log_stream *s, struct sw_error *err)
{
    const struct sw_log log = log_of(r, s->replica);
    int64_t since = 0;
    int64_t lines = r->options->tail_lines;

    if ((lines > 0 || lines == SW_LOG_NEW) && tail_offset(r, s, lines > 0 ? lines : 0, err) < 0)
        return -1;
    if (r->options->since_ms <= 0)
        return 0;
    if (sw_log_since(&log, r->options->since_ms, &since, err) < 0)
        return -1;
    s->offset = s->offset > since ? s->offset : since;
    return 0;
}
int api_log_begin(struct log_reading *r, struct sw_error *err)
{
    for (size_t i = 0; i < r->count; i++)
        if (begin_at(r, &r->streams[i], err) < 0)
            return -1;
    return 0;
}

int api_log_open(struct log_reading *r, struct sw_error *err)
{
    const struct sw_log_options *options = r->options;
    int nodes;

    if (api_job_open(r->session, r->id, &r->job, err) < 0)
        return -1;
    nodes = api_replicas(&r->job.row);
    if (options->one_replica && (options->replica < 0 || options->replica >= nodes))
        return sw_fail(err, SW_E_NOT_FOUND, "job '%s' has no rank %d: it has %d", r->id,
                       options->replica, nodes);
    if (options->attempt > 0)
        r->job.ref.attempt = r->job.ref.log_attempt = options->attempt;
    r->now.attempt = r->job.ref.attempt;
    r->reported = r->job.row.attempt;
    r->count = options->one_replica ? 1 : (size_t)nodes;
    r->lines |= r->count > 1;
    r->streams = sw_alloc(r->count * sizeof *r->streams);
    for (size_t i = 0; i < r->count; i++)
        r->streams[i].replica = options->one_replica ? options->replica : (int)i;
    return 0;
}

void api_log_close(struct log_reading *r)
{
    for (size_t i = 0; r->streams && i < r->count; i++)
        sw_buf_done(&r->streams[i].held);
    free(r->streams);
    sw_job_done(&r->job.row);
}
