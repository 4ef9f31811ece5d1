/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - see log.h: asks the platform's own functions, or the spool.
 */
#include "platform/kit/log.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "platform/kit/log_copy.h"
#include "platform/kit/log_index.h"

enum { COPIES_MOST = 64, TAIL_BYTES = 65536 };

struct sw_log_spools {
    char *root;
    pthread_mutex_t lock;
    struct sw_log_copy *all[COPIES_MOST];
};

struct sw_log_spools *sw_log_spools_open(const char *root)
{
    struct sw_log_spools *spools = sw_new(struct sw_log_spools);

    spools->root = sw_strdup(root);
    pthread_mutex_init(&spools->lock, NULL);
    return spools;
}

void sw_log_spools_close(struct sw_log_spools *spools)
{
    if (!spools)
        return;
    for (size_t i = 0; i < COPIES_MOST; i++)
        sw_log_copy_free(spools->all[i]);
    pthread_mutex_destroy(&spools->lock);
    free(spools->root);
    free(spools);
}

char *sw_log_spool_folder(const struct sw_log *log)
{
    const struct sw_log_spools *spools = log->platform->log_spools(log->conn);

    return sw_format("%s/%s/attempt-%d/logs", spools->root, log->job->id, log->job->attempt);
}

/* The copy of this log; the one that was not used for the longest time makes room. */
static struct sw_log_copy *copy_for(struct sw_log_spools *spools, const struct sw_log *log,
                                    struct sw_error *err)
{
    struct sw_log_copy **all = spools->all, **slot = &all[0];
    sw_autofree char *folder = sw_log_spool_folder(log);
    int replica = log->replica < 0 ? 0 : log->replica;

    for (size_t i = 0; i < COPIES_MOST; i++) {
        if (all[i] && all[i]->replica == replica && strcmp(all[i]->folder, folder) == 0) {
            all[i]->used_ms = sw_monotonic_ms();
            return all[i];
        }
        if (*slot && (!all[i] || all[i]->used_ms < (*slot)->used_ms))
            slot = &all[i];
    }
    sw_log_copy_free(*slot);
    *slot = sw_log_copy_new(sw_take(folder), replica, err);
    if (*slot)
        (*slot)->used_ms = sw_monotonic_ms();
    return *slot;
}

/* ---- the four questions, of a spool -------------------------------------------------------------
 * */

struct question {
    int64_t offset, at_ms;           /* given, or found */
    int64_t until, size;
    char *bytes;
    size_t room;
    ssize_t got;
};

typedef int question_fn(struct sw_log_copy *copy, const struct sw_log *log, struct question *q,
                        struct sw_error *err);

static int ask(const struct sw_log *log, question_fn *answer, struct question *q, struct sw_error *err)
{
    struct sw_log_spools *spools = log->platform->log_spools(log->conn);
    struct sw_log_copy *copy;
    int result;

    pthread_mutex_lock(&spools->lock);
    copy = copy_for(spools, log, err);
    result = copy ? answer(copy, log, q, err) : -1;
    pthread_mutex_unlock(&spools->lock);
    return result;
}

static int read_bytes(struct sw_log_copy *copy, const struct sw_log *log, struct question *q,
                      struct sw_error *err)
{
    if (sw_log_copy_extend(copy, log, q->offset, err) < 0)
        return -1;
    do
        q->got = pread(copy->spool.log, q->bytes, q->room, q->offset);
    while (q->got < 0 && errno == EINTR);
    return q->got >= 0 ? 0 : sw_fail_errno(err, SW_E_IO, "cannot read the log of '%s'", log->job->id);
}

/* All there is: what a tail is counted from. That more was there, only a reader of its end is told.
 * */
static int find_size(struct sw_log_copy *copy, const struct sw_log *log, struct question *q,
                     struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (sw_log_copy_extend(copy, log, INT64_MAX, &why) < 0 && why.code != SW_E_NOT_FOUND) {
        if (err)
            *err = why;
        return -1;
    }
    q->size = sw_spool_read_note(&copy->spool, err) < 0 ? -1 : copy->spool.note.bytes;
    return q->size < 0 ? -1 : 0;
}

static int find_time(struct sw_log_copy *copy, const struct sw_log *log, struct question *q,
                     struct sw_error *err)
{
    (void)log;
    if (sw_spool_read_note(&copy->spool, err) < 0)
        return -1;
    sw_log_index_time(copy->spool.index, q->offset, copy->spool.note.bytes, &q->at_ms, &q->until);
    return 0;
}

static int find_since(struct sw_log_copy *copy, const struct sw_log *log, struct question *q,
                      struct sw_error *err)
{
    struct sw_log_moment found, before;

    if (sw_log_copy_extend(copy, log, INT64_MAX, err) < 0 || sw_spool_read_note(&copy->spool, err) < 0)
        return -1;
    q->offset = sw_log_index_since(copy->spool.index, q->at_ms, &found, &before) ? found.offset
                                                                                : copy->spool.note.bytes;
    return 0;
}

/* ---- for all platforms
 * --------------------------------------------------------------------------- */

static bool has_files(const struct sw_log *log)
{
    assert(!log->platform->log_read != !log->platform->log_fetch);
    return log->platform->log_read != NULL;
}

ssize_t sw_log_read(const struct sw_log *log, int64_t offset, char *bytes, size_t size, struct sw_error *err)
{
    struct question q = { .offset = offset, .bytes = bytes, .room = size };

    if (has_files(log))
        return log->platform->log_read(log->conn, log->job, log->replica, offset, bytes, size, err);
    return ask(log, read_bytes, &q, err) < 0 ? -1 : q.got;
}

int sw_log_size(const struct sw_log *log, int64_t *size, struct sw_error *err)
{
    struct question q = { 0 };

    if (has_files(log))
        return log->platform->log_size(log->conn, log->job, log->replica, size, err);
    if (ask(log, find_size, &q, err) < 0)
        return -1;
    *size = q.size;
    return 0;
}

static int no_times(const struct sw_log *log, struct sw_error *err)
{
    return sw_fail(err, SW_E_UNSUPPORTED, "the times of log lines are not available on %s",
                   log->platform->name);
}

int sw_log_time(const struct sw_log *log, int64_t offset, int64_t *at_ms, int64_t *until,
                struct sw_error *err)
{
    struct question q = { .offset = offset };

    if (has_files(log))
        return !log->platform->log_time
                   ? no_times(log, err)
                   : log->platform->log_time(log->conn, log->job, log->replica, offset, at_ms, until, err);
    if (ask(log, find_time, &q, err) < 0)
        return -1;
    *at_ms = q.at_ms;
    *until = q.until;
    return 0;
}

int sw_log_since(const struct sw_log *log, int64_t at_ms, int64_t *offset, struct sw_error *err)
{
    struct question q = { .at_ms = at_ms };

    if (has_files(log))
        return !log->platform->log_since
                   ? no_times(log, err)
                   : log->platform->log_since(log->conn, log->job, log->replica, at_ms, offset, err);
    if (ask(log, find_since, &q, err) < 0)
        return -1;
    *offset = q.offset;
    return 0;
}

char *sw_log_tail(const struct sw_log *log, bool *gone)
{
    sw_autofree char *bytes = sw_alloc(TAIL_BYTES);
    struct sw_jobref ended = *log->job;
    const struct sw_log whole = { log->platform, log->conn, &ended, log->replica };
    struct sw_error why = { 0 };
    const char *from = bytes, *newline;
    int64_t size = 0, at;
    ssize_t n;

    ended.finished = true;
    if (gone)
        *gone = false;
    if (sw_log_size(&whole, &size, NULL) < 0)
        return NULL;
    at = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
    n = sw_log_read(&whole, at, bytes, TAIL_BYTES, &why);
    if (gone)
        *gone = n < 0 && why.code == SW_E_NOT_FOUND;
    if (n <= 0)
        return n < 0 || size > 0 ? NULL : sw_strdup("");
    newline = at > 0 ? memchr(bytes, '\n', (size_t)n) : NULL;
    if (newline)
        from = newline + 1;                  /* half a line would mislead */
    return sw_text_utf8(from, (size_t)(n - (from - bytes)));
}
