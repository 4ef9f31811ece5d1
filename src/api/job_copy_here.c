/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_copy_here.c - this machine's half of copying to and from a job: a tree becomes an archive, an archive a
 * tree.
 *
 * What comes from a job is not trusted: it is unpacked into a new folder beside its place, which nothing
 * leads out of (core/archive.h), and gets its name when it is whole.
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

struct counted {                       /* a visitor that counts for another */
    struct sw_archive_visitor inner;
    struct job_copy_count *count;
};

static int count_member(void *context, const struct sw_archive_member *member, struct sw_error *err)
{
    const struct counted *to = context;

    to->count->files += member->kind != SW_ARCHIVE_FOLDER;
    return to->inner.member(to->inner.context, member, err);
}

static int count_data(void *context, const void *bytes, size_t length, struct sw_error *err)
{
    const struct counted *to = context;

    to->count->bytes += (int64_t)length;
    return job_copy_tell(to->count, err) < 0 ? -1 : to->inner.data(to->inner.context, bytes, length, err);
}

static int count_end(void *context, struct sw_error *err)
{
    const struct counted *to = context;

    return to->inner.end(to->inner.context, err);
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* `from`, which nothing else uses, becomes `to`. A folder is added to one that is there. */
static int put_in_place(const char *from, const char *to, int depth, struct sw_error *err)
{
    struct stat info;
    struct dirent *each;
    DIR *folder;
    int result = 0;

    if (lstat(from, &info) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot read '%s'", from);
    if (!S_ISDIR(info.st_mode) || !is_folder(to))
        return rename(from, to) == 0 ? 0 : sw_fail_errno(err, SW_E_IO, "cannot write '%s'", to);
    if (depth > DEPTH_MAX)
        return sw_fail(err, SW_E_REFUSED, "its folders are nested too deeply");
    folder = opendir(from);
    if (!folder)
        return sw_fail_errno(err, SW_E_IO, "cannot read '%s'", from);
    while (result == 0 && (each = readdir(folder))) {
        sw_autofree char *source = NULL, *target = NULL;

        if (strcmp(each->d_name, ".") == 0 || strcmp(each->d_name, "..") == 0)
            continue;
        source = sw_path_join(from, each->d_name);
        target = sw_path_join(to, each->d_name);
        result = put_in_place(source, target, depth + 1, err);
    }
    closedir(folder);
    return result;
}

/* tar fills the last block behind the end of the archive: it must not find its reader gone. */
static int read_rest(struct from_fd *from, struct sw_error *err)
{
    char bytes[PIECE];
    ssize_t n;

    while ((n = read_fd(&from->stream, bytes, sizeof bytes, err)) > 0)
        if (job_copy_tell(from->count, err) < 0)
            return -1;
    return (int)n;
}

static int unpack_into(int fd, const char *folder, struct job_copy_count *count,
                       void (*warn)(void *context, const char *text), void *warn_context,
                       struct sw_error *err)
{
    sw_auto(sw_archive_place) struct sw_archive_place *place =
        sw_archive_place_open(folder, warn, warn_context, err);
    struct from_fd from = { .stream.read = read_fd, .fd = fd, .count = count };
    struct counted counted = { .count = count };
    const struct sw_archive_visitor visitor = { count_member, count_data, count_end, &counted };

    if (!place)
        return -1;
    counted.inner = sw_archive_place_visitor(place);
    return sw_archive_read_tar(&from.stream, &visitor, err) < 0 ? -1 : read_rest(&from, err);
}

int job_copy_unpack(int fd, const char *name, const char *to, struct job_copy_count *count, char **made,
                    void (*warn)(void *context, const char *text), void *warn_context, struct sw_error *err)
{
    sw_autofree char *target = is_folder(to) ? sw_path_join(to, name) : sw_path_absolute(to, NULL);
    sw_autofree char *beside = sw_format("%s.slipway-XXXXXX", target), *root = NULL;
    int result;

    if (!mkdtemp(beside))
        return sw_fail_errno(err, SW_E_IO, "cannot make a folder beside '%s'", target);
    root = sw_path_join(beside, name);
    result = unpack_into(fd, beside, count, warn, warn_context, err);
    if (result == 0 && faccessat(AT_FDCWD, root, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        result = sw_fail(err, SW_E_NOT_FOUND, "the job sent nothing of that name");
    if (result == 0)
        result = put_in_place(root, target, 0, err);
    sw_remove_tree(beside, NULL);
    if (result == 0)
        *made = sw_take(target);
    return result;
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
