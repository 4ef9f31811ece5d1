/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_log.c - a rank's log by offset, and by time.
 *
 * The log is a plain file. Beside it the supervisor keeps an index of times (kit/log_index.h).
 */
#include "platform/local/local_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "platform/kit/log_index.h"

enum {
    MTIME_SLACK_MS = 1000,           /* between our clock and the one that stamps files */
};

static int open_beside(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       const char *ending)
{
    sw_autofree char *folder = local_attempt_folder(conn, job->id, job->attempt);
    sw_autofree char *path = sw_format("%s/logs/%d.%s", folder, replica < 0 ? 0 : replica, ending);

    return open(path, O_RDONLY | O_CLOEXEC);
}

/* There is no file: the rank wrote nothing yet, or the attempt's folder was removed by hand. */
static ssize_t no_log(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_autofree char *folder = local_attempt_folder(conn, job->id, job->attempt);

    if (!job->finished || sw_file_exists(folder))
        return 0;
    return sw_fail(err, SW_E_NOT_FOUND, "the log is gone: '%s' was removed", folder);
}

ssize_t local_log_read(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       int64_t offset, char *bytes, size_t size, struct sw_error *err)
{
    sw_autofd int fd = open_beside(conn, job, replica, "log");
    ssize_t n;

    if (fd < 0)
        return errno == ENOENT
                   ? no_log(conn, job, err)
                   : sw_fail_errno(err, SW_E_IO, "cannot read the log of '%s'", job->id);
    do
        n = pread(fd, bytes, size, offset);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? n : sw_fail_errno(err, SW_E_IO, "cannot read the log of '%s'", job->id);
}

static int stat_log(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       struct stat *info, struct sw_error *err)
{
    sw_autofd int fd = open_beside(conn, job, replica, "log");

    *info = (struct stat){ 0 };
    if (fd < 0 ? errno != ENOENT : fstat(fd, info) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot read the log of '%s'", job->id);
    return 0;
}

int local_log_size(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t *size,
                   struct sw_error *err)
{
    struct stat info;

    if (stat_log(conn, job, replica, &info, err) < 0)
        return -1;
    *size = info.st_size;
    return 0;
}

static int64_t modified_ms(const struct stat *info)
{
    return (int64_t)info->st_mtim.tv_sec * 1000 + info->st_mtim.tv_nsec / 1000000;
}

int64_t local_last_output_ms(const char *folder, int ranks)
{
    int64_t newest = 0;

    for (int rank = 0; rank < ranks && rank < LOCAL_REPLICAS_MAX; rank++) {
        sw_autofree char *path = sw_format("%s/logs/%d.log", folder, rank);
        struct stat info;
        int64_t at;

        if (stat(path, &info) < 0 || info.st_size == 0)
            continue;
        at = modified_ms(&info);
        if (at > newest)
            newest = at;
    }
    return newest;
}

/* ---- the index ---------------------------------------------------------------------------- */

int local_log_time(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t offset,
                   int64_t *at_ms, int64_t *until, struct sw_error *err)
{
    struct stat info;
    sw_autofd int index = -1;

    /* The size first: a byte that is in the file by now has its line in the index. */
    if (stat_log(conn, job, replica, &info, err) < 0)
        return -1;
    index = open_beside(conn, job, replica, "idx");
    sw_log_index_time(index, offset, info.st_size, at_ms, until);
    return 0;
}

int local_log_since(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t at_ms,
                    int64_t *offset, struct sw_error *err)
{
    struct stat info;
    struct sw_log_moment earlier, first;
    sw_autofd int index = -1;

    if (stat_log(conn, job, replica, &info, err) < 0)
        return -1;
    index = open_beside(conn, job, replica, "idx");
    if (sw_log_index_since(index, at_ms, &first, &earlier))
        *offset = first.offset;
    else if (modified_ms(&info) + MTIME_SLACK_MS < at_ms ||
             (earlier.ends > 0 && modified_ms(&info) < earlier.at_ms + MTIME_SLACK_MS))
        *offset = info.st_size;
    else                           /* the file was written since then, but the index does not say what */
        *offset = earlier.offset;
    return 0;
}
