/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - the log of a replica as bytes from 0, on every platform.
 *
 * Where a platform keeps logs as files that can be read at any offset, its own functions answer.
 * Where its API gives a stream only (log_fetch), a spool on this machine answers and is extended
 * from the platform when it is read at its end. docs/decisions/0044-logs-by-offset-or-by-stream.md
 * says why there are two kinds.
 */
#ifndef SW_PLATFORM_KIT_LOG_H
#define SW_PLATFORM_KIT_LOG_H

#include "platform/platform.h"

struct sw_log {                      /* which log; all borrowed for the call */
    const struct sw_platform *platform;
    struct sw_connection *conn;
    const struct sw_jobref *job;
    int replica;                     /* below 0: the first */
};

/* Bytes read, 0: none there (yet), -1. Memory is bounded whatever the size of the log.
 * SW_E_NOT_FOUND: the job is over, and its log or the end of it is gone. */
ssize_t sw_log_read(const struct sw_log *log, int64_t offset, char *bytes, size_t size, struct sw_error *err);
int sw_log_size(const struct sw_log *log, int64_t *size, struct sw_error *err);
/* When the byte at `offset` was written (0: not known), and the first offset of another time.
 * SW_E_UNSUPPORTED. */
int sw_log_time(const struct sw_log *log, int64_t offset, int64_t *at_ms, int64_t *until,
                struct sw_error *err);
/* The first byte written at or after a time; may be a little too early, never too late.
 * SW_E_UNSUPPORTED. */
int sw_log_since(const struct sw_log *log, int64_t at_ms, int64_t *offset, struct sw_error *err);
/* The last lines, at most 64 KiB, of a log that grows no more; owned; "": it is empty, NULL: not
 * read. *gone (may be NULL): there was a log, and neither the platform nor this machine has it. */
char *sw_log_tail(const struct sw_log *log, bool *gone);

/* ---- for platforms with log_fetch ------------------------------------------------------------ */

/* The spools of one connection, in ROOT/JOB/attempt-N/logs; a platform returns them by
 * log_spools(). */
struct sw_log_spools;
struct sw_log_spools *sw_log_spools_open(const char *root);
void sw_log_spools_close(struct sw_log_spools *spools);

/* These jobs are over: copy the end of the log of each replica, since the platform may forget it a
 * moment later. What fails is not lost: mostly the platform still has it. */
void sw_log_keep_ends(const struct sw_platform *platform, struct sw_connection *conn,
                      const struct sw_jobref *const *jobs, size_t count);

#endif
