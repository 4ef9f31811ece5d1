/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - the files and folders of file.h.
 *
 * The one decision that surprises: sw_file_write() syncs the folder too. Without that a power
 * cut can forget the rename, and a job would be both submitted and unknown.
 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

int sw_write_all(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;

    while (length > 0) {
        ssize_t n = write(fd, at, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

static char *read_open(int fd, const char *path, size_t limit, size_t *length,
                       struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    for (;;) {
        ssize_t n = read(fd, sw_buf_reserve(&out, 65536), 65536);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sw_null(sw_fail_errno(err, SW_E_IO, "cannot read '%s'", path));
        if (n == 0)
            break;
        out.length += (size_t)n;
        out.data[out.length] = '\0';
        if (out.length > limit)
            return sw_null(sw_fail(err, SW_E_IO, "'%s' is larger than %zu bytes", path, limit));
    }
    if (length)
        *length = out.length;
    return sw_buf_steal(&out);
}

static int open_to_read(const char *path, int flags, struct sw_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);

    if (fd < 0)
        sw_fail_errno(err, errno == ENOENT || errno == ENOTDIR ? SW_E_NOT_FOUND : SW_E_IO,
                      "cannot read '%s'", path);
    return fd;
}

char *sw_file_read(const char *path, size_t limit, size_t *length, struct sw_error *err)
{
    sw_autofd int fd = open_to_read(path, 0, err);

    return fd < 0 ? NULL : read_open(fd, path, limit, length, err);
}

char *sw_file_read_plain(const char *path, size_t limit, size_t *length, struct sw_error *err)
{
    sw_autofd int fd = open_to_read(path, O_NONBLOCK | O_NOCTTY, err);
    struct stat info;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
        return sw_null(sw_fail(err, SW_E_IO, "'%s' is not a plain file", path));
    if (info.st_size > 0 && (uintmax_t)info.st_size > limit)
        return sw_null(sw_fail(err, SW_E_IO, "'%s' is larger than %zu bytes", path, limit));
    return read_open(fd, path, limit, length, err);
}

static void sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    sw_autofree char *folder = slash ? sw_strndup(path, slash == path ? 1 : (size_t)(slash - path))
                                     : sw_strdup(".");
    sw_autofd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        fsync(fd);
}

int sw_file_write(const char *path, const void *bytes, size_t length, mode_t mode,
                  struct sw_error *err)
{
    sw_autofree char *beside = sw_format("%s.XXXXXX", path);
    sw_autofd int fd = mkostemp(beside, O_CLOEXEC);

    if (fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot write '%s'", path);
    if (fchmod(fd, mode) < 0 || sw_write_all(fd, bytes, length) < 0 || fsync(fd) < 0 ||
        rename(beside, path) < 0) {
        sw_fail_errno(err, SW_E_IO, "cannot write '%s'", path);
        unlink(beside);
        return -1;
    }
    sync_folder_of(path);
    return 0;
}

int sw_mkdirs(const char *path, mode_t mode, struct sw_error *err)
{
    sw_autofree char *partial = sw_strdup(path);

    for (char *at = partial + 1;; at++) {
        char was = *at;

        if (was != '/' && was != '\0')
            continue;
        *at = '\0';
        if (mkdir(partial, mode) < 0 && errno != EEXIST)
            return sw_fail_errno(err, SW_E_IO, "cannot create the folder '%s'", partial);
        *at = was;
        if (was == '\0')
            break;
    }
    return 0;
}

bool sw_folder_is_private(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & 077) == 0;
}

int sw_folder_make_private(const char *path, struct sw_error *err)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return sw_fail_errno(err, SW_E_IO, "cannot make '%s'", path);
    if (sw_folder_is_private(path))
        return 0;
    sw_fail(err, SW_E_IO, "'%s' is accessible to others, so nothing is stored there", path);
    return sw_hint(err, "check who created it, then remove it or run: chmod 700 %s", path);
}

/* ---- removing --------------------------------------------------------------------------- */

/* The folders between the root of what is removed and the one we are in. One of them is open at a
 * time, however deep a job has nested them; the way up is "..", believed when it is the folder we
 * came from. */
struct removing {
    struct removed_level {
        dev_t dev;
        ino_t ino;
        char *name;
    } *levels;
    size_t depth, room;
};

static void removing_auto(struct removing *r)
{
    for (size_t i = 0; i < r->depth; i++)
        free(r->levels[i].name);
    free(r->levels);
}

/* Into the folder `name`; its descriptor, or -1. */
static int remove_enter(struct removing *r, int at, const char *name)
{
    sw_autofd int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;

    if (fd < 0 || fstat(fd, &info) < 0)
        return -1;
    fchmod(fd, 0700);           /* a job may have left folders it cannot write to itself */
    if (r->depth == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        r->levels = sw_realloc_array(r->levels, r->room, sizeof *r->levels);
    }
    r->levels[r->depth++] = (struct removed_level){ info.st_dev, info.st_ino, sw_strdup(name) };
    return sw_take_fd(fd);
}

/* Out of the empty folder `at` (taken), which is removed; the one above, or -1. */
static int remove_leave(struct removing *r, int at)
{
    const struct removed_level *above = &r->levels[r->depth - 2];
    sw_autofd int mine = at, up = openat(mine, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    sw_autofree char *name = r->levels[--r->depth].name;
    struct stat info;

    if (up < 0 || fstat(up, &info) < 0)
        return -1;
    if (info.st_dev != above->dev || info.st_ino != above->ino) {
        errno = EBUSY;          /* it was moved elsewhere meanwhile */
        return -1;
    }
    if (unlinkat(up, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return -1;
    return sw_take_fd(up);
}

/* Remove what can be removed at once. *deeper: a folder that has to be emptied first, owned; NULL:
 * nothing is left. */
static int remove_entries(int fd, char **deeper)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    int result = 0;

    *deeper = NULL;
    if (!folder) {
        if (again >= 0)
            close(again);
        return -1;
    }
    for (struct dirent *entry; result == 0 && !*deeper && (entry = readdir(folder));) {
        const char *name = entry->d_name;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(fd, name, 0) == 0 ||
            errno == ENOENT)
            continue;
        if (errno != EISDIR && errno != EPERM)
            result = -1;
        else if (unlinkat(fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
            *deeper = sw_strdup(name);
    }
    if (result < 0) {
        int saved = errno;

        closedir(folder);
        errno = saved;
        return -1;
    }
    closedir(folder);
    return 0;
}

static int remove_below(int parent, const char *name)
{
    __attribute__((cleanup(removing_auto))) struct removing r = { 0 };
    sw_autofd int at = -1;

    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    at = remove_enter(&r, parent, name);
    if (at < 0)
        return errno == ENOENT ? 0 : -1;
    for (;;) {
        sw_autofree char *deeper = NULL;

        if (remove_entries(at, &deeper) < 0)
            return -1;
        if (!deeper && r.depth == 1)
            return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -1;
        if (deeper) {
            int below = remove_enter(&r, at, deeper);

            if (below < 0 && errno == ENOENT)
                continue;
            close(at);
            at = below;
        } else {
            at = remove_leave(&r, at);
        }
        if (at < 0)
            return -1;
    }
}

int sw_remove_tree(const char *path, struct sw_error *err)
{
    if (remove_below(AT_FDCWD, path) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot remove '%s'", path);
    return 0;
}

int sw_remove_all_but(const char *folder, const char *kept, struct sw_error *err)
{
    DIR *entries = opendir(folder);
    int result = 0;

    if (!entries)
        return errno == ENOENT ? 0 : sw_fail_errno(err, SW_E_IO, "cannot read '%s'", folder);
    for (struct dirent *entry; result == 0 && (entry = readdir(entries));) {
        sw_autofree char *path = sw_path_join(folder, entry->d_name);

        if (*entry->d_name != '.' && strcmp(entry->d_name, kept) != 0)
            result = sw_remove_tree(path, err);
    }
    closedir(entries);
    return result;
}

/* ---- looking ---------------------------------------------------------------------------- */

bool sw_file_exists(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0;
}

int sw_file_look(const char *path, bool *exists, struct sw_error *err)
{
    struct stat info;

    *exists = stat(path, &info) == 0;
    if (!*exists && errno != ENOENT && errno != ENOTDIR)
        return sw_fail_errno(err, SW_E_IO, "cannot access '%s'", path);
    return 0;
}

static int walk_below(const char *root, const char *relative, sw_walk_fn *fn, void *context,
                      int depth, struct sw_error *err)
{
    sw_autofree char *here = *relative ? sw_path_join(root, relative) : sw_strdup(root);
    DIR *folder = opendir(here);
    int result = 0;

    if (!folder)
        return sw_fail_errno(err, SW_E_IO, "cannot read the folder '%s'", here);
    if (depth > 256) {
        closedir(folder);
        return sw_fail(err, SW_E_IO, "'%s' is nested too deeply", here);
    }
    for (struct dirent *entry; result == 0 && (entry = readdir(folder));) {
        sw_autofree char *below = NULL;
        struct stat info;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        below = *relative ? sw_path_join(relative, entry->d_name) : sw_strdup(entry->d_name);
        if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0)
            continue;                              /* it went away while we looked */
        result = fn(context, below, &info);
        if (result == 0 && S_ISDIR(info.st_mode))
            result = walk_below(root, below, fn, context, depth + 1, err);
    }
    closedir(folder);
    return result;
}

int sw_walk(const char *root, sw_walk_fn *fn, void *context, struct sw_error *err)
{
    return walk_below(root, "", fn, context, 0, err);
}

static int copy_file(const char *from, const char *to, const struct stat *info, int64_t *bytes,
                     struct sw_error *err)
{
    sw_autofree char *beside = sw_format("%s.XXXXXX", to);
    sw_autofd int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    sw_autofd int out = -1;
    char piece[65536];
    const struct timespec times[2] = { info->st_atim, info->st_mtim };

    if (in < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot read '%s'", from);
    out = mkostemp(beside, O_CLOEXEC);
    if (out < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot write '%s'", to);
    for (;;) {
        ssize_t n = read(in, piece, sizeof piece);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            sw_fail_errno(err, SW_E_IO, "cannot read '%s'", from);
        else if (n > 0 && sw_write_all(out, piece, (size_t)n) < 0)
            n = sw_fail_errno(err, SW_E_IO, "cannot write '%s'", to);
        if (n < 0) {
            unlink(beside);
            return -1;
        }
        if (n == 0)
            break;
        *bytes += n;
    }
    if (fchmod(out, info->st_mode & 0777) < 0 || futimens(out, times) < 0 ||
        rename(beside, to) < 0) {
        sw_fail_errno(err, SW_E_IO, "cannot write '%s'", to);
        unlink(beside);
        return -1;
    }
    return 0;
}

struct file_copy {
    const char *from, *to;
    int64_t files, bytes;
    struct sw_error *err;
};

static int copy_one(void *context, const char *relative, const struct stat *info)
{
    struct file_copy *job = context;
    sw_autofree char *from = sw_path_join(job->from, relative);
    sw_autofree char *to = sw_path_join(job->to, relative);

    if (S_ISDIR(info->st_mode))
        return sw_mkdirs(to, 0777, job->err);
    if (S_ISLNK(info->st_mode)) {
        char target[4096];
        ssize_t n = readlink(from, target, sizeof target - 1);

        if (n < 0)
            return sw_fail_errno(job->err, SW_E_IO, "cannot read the link '%s'", from);
        target[n] = '\0';
        unlink(to);
        if (symlink(target, to) < 0)
            return sw_fail_errno(job->err, SW_E_IO, "cannot create the link '%s'", to);
        job->files++;
        return 0;
    }
    if (!S_ISREG(info->st_mode))
        return 0;                                  /* sockets, pipes, devices stay behind */
    job->files++;
    return copy_file(from, to, info, &job->bytes, job->err);
}

int sw_copy_tree(const char *from, const char *to, int64_t *files, int64_t *bytes,
                 struct sw_error *err)
{
    struct file_copy job = { .from = from, .to = to, .err = err };
    struct stat info;
    int result;

    if (stat(from, &info) < 0)
        return sw_fail_errno(err, errno == ENOENT ? SW_E_NOT_FOUND : SW_E_IO, "cannot read '%s'",
                             from);
    if (S_ISDIR(info.st_mode)) {
        if (sw_mkdirs(to, 0777, err) < 0)
            return -1;
        result = sw_walk(from, copy_one, &job, err);
    } else {
        job.files = 1;
        result = copy_file(from, to, &info, &job.bytes, err);
    }
    if (files)
        *files += job.files;
    if (bytes)
        *bytes += job.bytes;
    return result;
}

char *sw_path_join(const char *folder, const char *name)
{
    if (*name == '/')
        return sw_strdup(name);
    return sw_format("%s%s%s", folder, sw_text_ends(folder, "/") ? "" : "/", name);
}

char *sw_path_absolute(const char *path, const char *folder)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_autofree char *cwd = folder || *path == '/' ? NULL : getcwd(NULL, 0);
    sw_autofree char *whole = sw_path_join(folder ? folder : cwd ? cwd : "/", path);
    char *rest = whole;

    for (char *step; (step = strsep(&rest, "/"));) {
        if (*step == '\0' || strcmp(step, ".") == 0)
            continue;
        if (strcmp(step, "..") == 0) {
            char *slash = out.length ? strrchr(out.data, '/') : NULL;

            if (slash) {
                *slash = '\0';
                out.length = (size_t)(slash - out.data);
            }
            continue;
        }
        sw_buf_addf(&out, "/%s", step);
    }
    if (out.length == 0)
        sw_buf_add(&out, "/");
    return sw_buf_steal(&out);
}

char *sw_home(void)
{
    const char *home = getenv("HOME");
    struct passwd entry, *found = NULL;
    char room[4096];

    if (!sw_text_empty(home))
        return sw_strdup(home);
    if (getpwuid_r(getuid(), &entry, room, sizeof room, &found) == 0 && found &&
        !sw_text_empty(found->pw_dir))
        return sw_strdup(found->pw_dir);
    return NULL;
}

char *sw_path_home(const char *below)
{
    sw_autofree char *home = sw_home();

    return sw_path_join(home ? home : "/nonexistent", below);
}
