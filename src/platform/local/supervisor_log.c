/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_log.c - one rank's output: from its pipe, through the redactor, into its file.
 *
 * Memory is bounded by one piece. When the disk is full we keep the piece, stop reading, and so
 * make the job wait at its pipe; supervisor_loop.c ends the job when that lasts. Nothing is ever
 * dropped in silence: what had to be given up is counted and said in the exit record.
 *
 * logs/<rank>.idx holds lines "offset time_ms", one for each moment in which something is written
 * (local_inspect.c reads them). A line is written before its bytes, and times never go back, even
 * when the clock does.
 */
#include "platform/local/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "platform/kit/log_index.h"
#include "platform/local/local_internal.h"

enum { PIECE = 65536 };

int sup_log_open(struct sup_log *log, const char *folder, int rank,
                 const struct sw_secrets *secrets)
{
    sw_autofree char *path = sw_format("%s/logs/%d.log", folder, rank);
    sw_autofree char *index = sw_format("%s/logs/%d.idx", folder, rank);
    int ends[2];

    *log = (struct sup_log){ .pipe_read = -1, .pipe_write = -1, .file = -1, .index = -1 };
    log->redactor = sw_redactor_new(secrets);
    log->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    log->index = open(index, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log->file < 0 || log->index < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    log->pipe_read = ends[0];
    log->pipe_write = ends[1];
    fcntl(log->pipe_read, F_SETFL, O_NONBLOCK);
    return 0;
}

static void note_time(struct sup_log *log)
{
    int64_t now = sw_now_ms();
    char line[64];
    int length;

    if (now - log->indexed_ms < SW_LOG_INDEX_EVERY_MS)
        return;
    log->indexed_ms = now;
    length = snprintf(line, sizeof line, "%s%lld %lld\n", log->index_torn ? "\n" : "",
                      (long long)log->written, (long long)now);
    /* The index is a convenience: without room it has gaps, and the log itself says why. */
    log->index_torn = write(log->index, line, (size_t)length) != length;
}

/* Write what waits; true: all of it is out. */
static bool write_waiting(struct sup_log *log)
{
    size_t done = 0;

    while (done < log->waiting.length) {
        ssize_t n = write(log->file, log->waiting.data + done, log->waiting.length - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            if (!log->blocked_errno)
                log->blocked_since_ms = sw_monotonic_ms();
            log->blocked_errno = errno;
            break;
        }
        log->blocked_errno = 0;
        done += (size_t)n;
        log->written += n;
    }
    if (done > 0) {
        memmove(log->waiting.data, log->waiting.data + done, log->waiting.length - done);
        log->waiting.length -= done;
    }
    return log->waiting.length == 0;
}

bool sup_log_move(struct sup_log *log)
{
    char piece[PIECE];
    ssize_t n;

    if (log->waiting.length > 0 && !write_waiting(log))
        return false;
    n = read(log->pipe_read, piece, sizeof piece);
    if (n <= 0)
        return false;
    note_time(log);
    sw_redactor_feed(log->redactor, piece, (size_t)n, &log->waiting);
    write_waiting(log);
    return true;
}

void sup_log_finish(struct sup_log *log)
{
    char piece[PIECE];

    if (log->pipe_write >= 0)
        close(log->pipe_write);
    if (log->pipe_read >= 0) {
        while (sup_log_move(log))
            ;
        while (log->blocked_errno) {             /* no room: count what is left */
            ssize_t n = read(log->pipe_read, piece, sizeof piece);

            if (n <= 0)
                break;
            log->lost += n;
        }
        close(log->pipe_read);
    }
    if (log->redactor) {
        sw_redactor_flush(log->redactor, &log->waiting);
        write_waiting(log);
        sw_redactor_free(log->redactor);
    }
    log->lost += (int64_t)log->waiting.length;
    sw_buf_done(&log->waiting);
    if (log->file >= 0)
        close(log->file);
    if (log->index >= 0)
        close(log->index);
    log->pipe_read = log->pipe_write = log->file = log->index = -1;
    log->blocked_errno = 0;
    log->redactor = NULL;
}
