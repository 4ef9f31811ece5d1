/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_copy_here.c - this machine's half of copying to and from a job: a tree becomes an archive, an archive a
 * tree (core/archive_put.c; what comes from a job is not trusted).
 */
#include "api/job_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/archive.h"

enum { PIECE = 64 * 1024, TELL_EVERY_MS = 100, DEPTH_MAX = 200 };

int job_copy_tell(struct job_copy_count *count, struct sw_error *err)
{
    int64_t now_ms = sw_monotonic_ms();
    struct sw_copy_progress progress = { .listing = true, .files_done = count->files,
                                         .files_total = count->files, .bytes_done = count->bytes,
                                         .bytes_total = count->bytes, .left_ms = -1 };

    if (!count->begun_ms)
        count->begun_ms = now_ms;
    if (!count->progress || now_ms - count->told_ms < TELL_EVERY_MS)
        return 0;
    count->told_ms = now_ms;
    if (now_ms > count->begun_ms)
        progress.bytes_per_second = count->bytes / (now_ms - count->begun_ms) * 1000;
    return count->progress(count->context, &progress)
               ? sw_fail(err, SW_E_INTERRUPTED, "the copy was stopped") : 0;
}

/* ---- out of a job -------------------------------------------------------------------------------- */

struct from_fd {
    struct sw_archive_stream stream;
    int fd;
    struct job_copy_count *count;
};

static ssize_t read_fd(struct sw_archive_stream *stream, void *bytes, size_t length, struct sw_error *err)
{
    const struct from_fd *from = (const struct from_fd *)stream;
    ssize_t n;

    do
        n = read(from->fd, bytes, length);
    while (n < 0 && errno == EINTR);
    from->count->cut |= n == 0;
    return n >= 0 ? n : sw_fail_errno(err, SW_E_IO, "cannot read what the job sends");
}

static int count_part(void *context, const struct sw_archive_member *member, size_t length,
                      struct sw_error *err)
{
    struct job_copy_count *count = context;

    count->files += member && member->kind != SW_ARCHIVE_FOLDER;
    count->bytes += (int64_t)length;
    return job_copy_tell(count, err);
}

int job_copy_unpack(int fd, const char *name, const char *to, struct job_copy_count *count, char **made,
                    void (*warn)(void *context, const char *text), void *warn_context, struct sw_error *err)
{
    struct from_fd from = { .stream.read = read_fd, .fd = fd, .count = count };
    const struct sw_archive_watch watch = { count_part, count, warn, warn_context };

    return sw_archive_put(&from.stream, name, name, to, &watch, made, err);
}

/* ---- into a job ---------------------------------------------------------------------------------- */

struct packing {
    int fd;
    struct job_copy_count *count;
};

static int send_bytes(const struct packing *to, const void *bytes, size_t length, struct sw_error *err)
{
    if (sw_write_all(to->fd, bytes, length) == 0)
        return 0;
    to->count->cut = true;
    return sw_fail(err, SW_E_UNREACHABLE, "the job takes no more of it");
}

static int send_head(const struct packing *to, const struct sw_archive_member *member, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf head = SW_BUF_INIT;

    sw_tar_head(&head, member);
    return send_bytes(to, head.data, head.length, err);
}

static int send_file(const struct packing *to, const char *path, const char *name, const struct stat *info,
                     struct sw_error *err)
{
    static const char zeros[512];
    sw_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct sw_archive_member member = { .name = name, .kind = SW_ARCHIVE_FILE, .mode = info->st_mode & 0777,
                                        .size = info->st_size, .mtime_s = info->st_mtime };
    char bytes[PIECE];
    int64_t left = info->st_size;

    if (fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot read '%s'", path);
    if (send_head(to, &member, err) < 0)
        return -1;
    while (left > 0) {
        ssize_t n = read(fd, bytes, left < PIECE ? (size_t)left : PIECE);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? sw_fail_errno(err, SW_E_IO, "cannot read '%s'", path)
                         : sw_fail(err, SW_E_CONFLICT, "'%s' became shorter while it was read", path);
        if (send_bytes(to, bytes, (size_t)n, err) < 0)
            return -1;
        left -= n;
        to->count->bytes += n;
        if (job_copy_tell(to->count, err) < 0)
            return -1;
    }
    to->count->files++;
    return send_bytes(to, zeros, (size_t)((512 - info->st_size % 512) % 512), err);
}

static int send_link(const struct packing *to, const char *path, const char *name, struct sw_error *err)
{
    char target[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof target - 1);
    struct sw_archive_member member = { .name = name, .kind = SW_ARCHIVE_LINK, .target = target,
                                        .mode = 0777 };

    if (n < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot read '%s'", path);
    target[n] = '\0';
    to->count->files++;
    return send_head(to, &member, err);
}

static int send_any(const struct packing *to, const char *path, const char *name, int depth,
                    struct sw_error *err);

static int send_folder(const struct packing *to, const char *path, const char *name, const struct stat *info,
                       int depth, struct sw_error *err)
{
    struct sw_archive_member member = { .name = name, .kind = SW_ARCHIVE_FOLDER, .mode = info->st_mode & 0777,
                                        .mtime_s = info->st_mtime };
    DIR *folder = depth <= DEPTH_MAX ? opendir(path) : NULL;
    struct dirent *each;
    int result;

    if (!folder)
        return depth > DEPTH_MAX ? sw_fail(err, SW_E_REFUSED, "folders of '%s' are nested too deeply", path)
                                 : sw_fail_errno(err, SW_E_IO, "cannot read '%s'", path);
    result = send_head(to, &member, err);
    while (result == 0 && (each = readdir(folder))) {
        sw_autofree char *below = NULL, *below_name = NULL;

        if (strcmp(each->d_name, ".") == 0 || strcmp(each->d_name, "..") == 0)
            continue;
        below = sw_path_join(path, each->d_name);
        below_name = sw_format("%s/%s", name, each->d_name);
        result = send_any(to, below, below_name, depth + 1, err);
    }
    closedir(folder);
    return result;
}

/* Pipes, sockets and devices are left out. What the user named may be a link to it. */
static int send_any(const struct packing *to, const char *path, const char *name, int depth,
                    struct sw_error *err)
{
    sw_autofree char *real = depth == 0 ? realpath(path, NULL) : NULL;
    const char *at = real ? real : path;
    struct stat info;

    if (lstat(at, &info) < 0)
        return sw_fail_errno(err, errno == ENOENT ? SW_E_NOT_FOUND : SW_E_IO, "cannot read '%s'", path);
    if (S_ISREG(info.st_mode))
        return send_file(to, at, name, &info, err);
    if (S_ISDIR(info.st_mode))
        return send_folder(to, at, name, &info, depth, err);
    return S_ISLNK(info.st_mode) ? send_link(to, at, name, err) : 0;
}

int job_copy_pack(int fd, const char *from, struct job_copy_count *count, struct sw_error *err)
{
    const struct packing to = { fd, count };
    sw_auto(sw_buf) struct sw_buf end = SW_BUF_INIT;

    if (send_any(&to, from, "x", 0, err) < 0)
        return -1;
    sw_tar_end(&end);
    return send_bytes(&to, end.data, end.length, err);
}
