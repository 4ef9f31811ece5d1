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
#include "platform/kit/log_copy.h"
#include "platform/kit/log_index.h"

enum { COPIES_MOST = 64 };

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

/* The copy with the lock of its connection held, to the end of the scope. */
struct log_held {
    struct sw_log_spools *spools;
    struct sw_log_copy *copy;        /* NULL: it could not be opened */
};

static struct log_held hold(const struct sw_log *log, struct sw_error *err)
{
    struct log_held held = { .spools = log->platform->log_spools(log->conn) };

    pthread_mutex_lock(&held.spools->lock);
    held.copy = copy_for(held.spools, log, err);
    return held;
}

static void log_held_auto(struct log_held *held)
{
    pthread_mutex_unlock(&held->spools->lock);
}

static ssize_t spool_read(const struct sw_log *log, int64_t offset, char *bytes, size_t size,
                          struct sw_error *err)
{
    sw_auto(log_held) struct log_held held = hold(log, err);
    ssize_t n;

    if (!held.copy || sw_log_copy_extend(held.copy, log, offset, err) < 0)
        return -1;
    do
        n = pread(held.copy->spool.log, bytes, size, offset);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? n : sw_fail_errno(err, SW_E_IO, "cannot read the log of '%s'", log->job->id);
}

/* All there is: what a tail is counted from. Only a reader of the end learns that there was more. */
static int spool_size(const struct sw_log *log, int64_t *size, struct sw_error *err)
{
    sw_auto(log_held) struct log_held held = hold(log, err);
    struct sw_error why = { 0 };

    if (!held.copy)
        return -1;
    if (sw_log_copy_extend(held.copy, log, INT64_MAX, &why) < 0 && why.code != SW_E_NOT_FOUND)
        return sw_pass(err, &why);
    if (sw_spool_read_note(&held.copy->spool, err) < 0)
        return -1;
    *size = held.copy->spool.note.bytes;
    return 0;
}

static int spool_time(const struct sw_log *log, int64_t offset, int64_t *at_ms, int64_t *until,
                      struct sw_error *err)
{
    sw_auto(log_held) struct log_held held = hold(log, err);
    const struct sw_spool *spool = held.copy ? &held.copy->spool : NULL;

    if (!spool || sw_spool_read_note(&held.copy->spool, err) < 0)
        return -1;
    sw_log_index_time(spool->index, offset, spool->note.bytes, at_ms, until);
    return 0;
}

static int spool_since(const struct sw_log *log, int64_t at_ms, int64_t *offset, struct sw_error *err)
{
    sw_auto(log_held) struct log_held held = hold(log, err);
    struct sw_log_moment found, before;

    if (!held.copy || sw_log_copy_extend(held.copy, log, INT64_MAX, err) < 0 ||
        sw_spool_read_note(&held.copy->spool, err) < 0)
        return -1;
    *offset = sw_log_index_since(held.copy->spool.index, at_ms, &found, &before)
                  ? found.offset : held.copy->spool.note.bytes;
    return 0;
}

/* ---- for all platforms ------------------------------------------------------------------------ */

static bool has_files(const struct sw_log *log)
{
    assert(!log->platform->log_read != !log->platform->log_fetch);
    return log->platform->log_read != NULL;
}

static int no_times(const struct sw_log *log, struct sw_error *err)
{
    return sw_fail(err, SW_E_UNSUPPORTED, "the times of log lines are not available on %s",
                   log->platform->name);
}

ssize_t sw_log_read(const struct sw_log *log, int64_t offset, char *bytes, size_t size, struct sw_error *err)
{
    return !has_files(log) ? spool_read(log, offset, bytes, size, err)
           : log->platform->log_read(log->conn, log->job, log->replica, offset, bytes, size, err);
}

int sw_log_size(const struct sw_log *log, int64_t *size, struct sw_error *err)
{
    return !has_files(log) ? spool_size(log, size, err)
           : log->platform->log_size(log->conn, log->job, log->replica, size, err);
}

int sw_log_time(const struct sw_log *log, int64_t offset, int64_t *at_ms, int64_t *until,
                struct sw_error *err)
{
    return !has_files(log) ? spool_time(log, offset, at_ms, until, err)
           : !log->platform->log_time ? no_times(log, err)
           : log->platform->log_time(log->conn, log->job, log->replica, offset, at_ms, until, err);
}

int sw_log_since(const struct sw_log *log, int64_t at_ms, int64_t *offset, struct sw_error *err)
{
    return !has_files(log) ? spool_since(log, at_ms, offset, err)
           : !log->platform->log_since ? no_times(log, err)
           : log->platform->log_since(log->conn, log->job, log->replica, at_ms, offset, err);
}

char *sw_log_tail(const struct sw_log *log, bool *gone)
{
    sw_autofree char *bytes = sw_alloc(SW_LOG_TAIL_BYTES);
    struct sw_jobref ended = *log->job;
    const struct sw_log whole = { log->platform, log->conn, &ended, log->replica };
    struct sw_error why = { 0 };
    int64_t size = 0, at;
    ssize_t n;

    ended.finished = true;
    if (gone)
        *gone = false;
    if (sw_log_size(&whole, &size, NULL) < 0)
        return NULL;
    at = size > SW_LOG_TAIL_BYTES ? size - SW_LOG_TAIL_BYTES : 0;
    n = sw_log_read(&whole, at, bytes, SW_LOG_TAIL_BYTES, &why);
    if (gone)
        *gone = n < 0 && why.code == SW_E_NOT_FOUND;
    if (n <= 0)
        return n < 0 || size > 0 ? NULL : sw_strdup("");
    return sw_evidence_tail(bytes, (size_t)n, at > 0);
}
