/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive.c - an archive that arrived is unpacked once, whole or not at all.
 *
 * It is unpacked into a folder beside its place and then renamed, so no reader ever sees half of it.
 * A folder that is younger than its archive therefore is what was in it, and nothing else of ours needs
 * to lie among the user's data; a fresh download under the same name is younger, and unpacked again. In
 * a cache that others share, and where there is no such folder, a marker remembers which archive it was
 * (length and time). An archive whose members all lie in one folder of its own name loses that
 * level; a link that led to just that level would then lead out, so links are judged once more, as deep as
 * they are now.
 */
#include "runner/archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

static const char *const endings[] = {
    ".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tzst", ".zip",
};

static const char *ending_of(const char *path)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < SW_COUNT(endings); i++) {
        const char *at = length > strlen(endings[i]) ? path + length - strlen(endings[i]) : NULL;

        if (at && sw_text_same_nocase(at, endings[i]) && at[-1] != '/')
            return at;
    }
    return NULL;
}

bool archive_is(const char *path)
{
    return ending_of(path) != NULL;
}

char *archive_stem(const char *path)
{
    const char *ending = ending_of(path);

    return sw_strndup(path, ending ? (size_t)(ending - path) : strlen(path));
}

/* ---- the marker ---------------------------------------------------------------------------- */

static char *marker_text(const struct stat *archive)
{
    return sw_format("ok\n%lld %lld\n", (long long)archive->st_size,
                     (long long)archive->st_mtim.tv_sec);
}

static bool has_content(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    bool any = false;

    while (dir && !any && (entry = readdir(dir)))
        any = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return any;
}

/* A marker of the Python runner says only "ok": good when it is younger than the archive. */
static bool is_done(const char *marker, const struct stat *archive, const char *folder)
{
    sw_autofree char *text = sw_file_read(marker, 256, NULL, NULL), *mine = marker_text(archive);
    struct stat info;

    if (!text || !has_content(folder))
        return false;
    if (strcmp(text, mine) == 0)
        return true;
    return (strcmp(text, "ok") == 0 || strcmp(text, "ok\n") == 0) && stat(marker, &info) == 0 &&
           info.st_mtim.tv_sec >= archive->st_mtim.tv_sec;
}

/* ---- unpacking ----------------------------------------------------------------------------- */

static int unpack_members(int fd, const char *path, const struct sw_archive_visitor *visitor,
                          struct sw_error *err)
{
    sw_auto(sw_archive_stream) struct sw_archive_stream *stream = NULL;
    char head[4];

    if (pread(fd, head, 4, 0) == 4 && (memcmp(head, "PK\3\4", 4) == 0 ||
                                       memcmp(head, "PK\5\6", 4) == 0))
        return archive_read_zip(fd, visitor, err);
    stream = archive_stream_open(fd, path, err);
    return stream ? sw_archive_read_tar(stream, visitor, err) : -1;
}

static int unpack_to(const char *path, const char *folder,
                     void (*warn)(void *context, const char *text), void *warn_context,
                     struct sw_error *err)
{
    sw_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    sw_auto(sw_archive_place) struct sw_archive_place *place = NULL;
    struct sw_archive_visitor visitor;

    if (fd < 0)
        return sw_fail_errno(err, SW_E_NOT_FOUND, "cannot open the archive '%s'", path);
    place = sw_archive_place_open(folder, warn, warn_context, err);
    if (!place)
        return -1;
    visitor = sw_archive_place_visitor(place);
    return unpack_members(fd, path, &visitor, err) < 0 ? sw_wrap(err, "cannot unpack '%s'", path)
                                                       : 0;
}

/* The name of the only entry when it is a folder; NULL otherwise. */
static char *only_folder(const char *folder)
{
    sw_autofree char *found = NULL;
    DIR *dir = opendir(folder);
    struct dirent *entry;
    size_t count = 0;

    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            free(found);
            found = sw_strdup(entry->d_name);
            count++;
        }
    if (dir)
        closedir(dir);
    if (count == 1) {
        sw_autofree char *path = sw_path_join(folder, found);
        struct stat info;

        if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode))
            return sw_take(found);
    }
    return NULL;
}

struct warning {
    void (*warn)(void *context, const char *text);
    void *context;
};

struct judging {
    const char *root;
    const struct warning *warning;
    struct sw_error *err;
};

static int judge_link(void *context, const char *relative, const struct stat *info)
{
    const struct judging *judging = context;
    sw_autofree char *path = sw_path_join(judging->root, relative);
    char target[4096];
    ssize_t length;

    if (!S_ISLNK(info->st_mode))
        return 0;
    length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    if (length > 0 && sw_archive_link_stays_inside(relative, target))
        return 0;
    if (judging->warning->warn) {
        sw_autofree char *text = sw_format("'%s' in the archive is left out: it is a link that "
                                           "leads out of its folder", relative);

        judging->warning->warn(judging->warning->context, text);
    }
    return unlink(path) < 0 ? sw_fail_errno(judging->err, SW_E_IO, "cannot remove '%s'", path) : 0;
}

static int put_in_place(const char *unpacked, const char *folder, const struct warning *warning,
                        struct sw_error *err)
{
    const char *slash = strrchr(folder, '/');
    sw_autofree char *top = only_folder(unpacked);
    sw_autofree char *inner = top && strcmp(top, slash ? slash + 1 : folder) == 0
                                  ? sw_path_join(unpacked, top) : NULL;
    struct judging judging = { inner, warning, err };

    if ((inner && sw_walk(inner, judge_link, &judging, err) != 0) || sw_remove_tree(folder, err) < 0)
        return -1;
    if (rename(inner ? inner : unpacked, folder) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot put '%s' in place", folder);
    if (inner)
        rmdir(unpacked);
    return 0;
}

/* Put in place after the archive came. */
static bool is_younger(const char *folder, const struct stat *archive)
{
    const struct timespec *came = &archive->st_ctim;
    struct stat info;

    return lstat(folder, &info) == 0 && has_content(folder) &&
           (info.st_ctim.tv_sec > came->tv_sec ||
            (info.st_ctim.tv_sec == came->tv_sec && info.st_ctim.tv_nsec >= came->tv_nsec));
}

bool archive_is_unpacked(const char *path, bool into_parent, const char *marker)
{
    sw_autofree char *beside = sw_format("%s.extracted", path), *stem = archive_stem(path);
    sw_autofree char *parent = sw_path_absolute("..", path);
    const char *folder = into_parent ? parent : stem;
    struct stat info;

    return stat(path, &info) == 0 &&
           (is_done(marker ? marker : beside, &info, folder) ||
            (!into_parent && !marker && is_younger(folder, &info)));
}

/* What a process that died was unpacking. We hold the archive's lease, so no other process unpacks it now. */
static void remove_unfinished(const char *stem)
{
    sw_autofree char *parent = sw_path_absolute("..", stem);
    sw_autofree char *begins = sw_format("%s.unpacking-", strrchr(stem, '/') ? strrchr(stem, '/') + 1
                                                                            : stem);
    DIR *dir = opendir(parent);

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *number = entry->d_name + strlen(begins);

        if (strncmp(entry->d_name, begins, strlen(begins)) == 0 && *number &&
            number[strspn(number, "0123456789")] == '\0') {
            sw_autofree char *left = sw_path_join(parent, entry->d_name);

            sw_remove_tree(left, NULL);
        }
    }
    if (dir)
        closedir(dir);
}

int archive_unpack(const char *path, bool into_parent, const char *marker,
                   void (*warn)(void *context, const char *text), void *warn_context,
                   struct sw_error *err)
{
    sw_autofree char *stem = archive_stem(path);
    sw_autofree char *beside = sw_format("%s.unpacking-%d", stem, (int)getpid());
    sw_autofree char *parent = sw_path_absolute("..", path), *done = NULL;
    const struct warning warning = { warn, warn_context };
    struct stat info;
    int result;

    if (stat(path, &info) < 0)
        return sw_fail_errno(err, SW_E_NOT_FOUND, "cannot open the archive '%s'", path);
    if (archive_is_unpacked(path, into_parent, marker))
        return 0;
    if (into_parent) {
        result = unpack_to(path, parent, warn, warn_context, err);
    } else {
        remove_unfinished(stem);
        result = unpack_to(path, beside, warn, warn_context, err) < 0
                     ? -1 : put_in_place(beside, stem, &warning, err);
        if (result < 0)
            sw_remove_tree(beside, NULL);
    }
    done = marker_text(&info);
    return result < 0 || !marker ? result : sw_file_write(marker, done, strlen(done), 0644, err);
}

int archive_unpack_into(const char *path, const char *folder, struct sw_error *err)
{
    return unpack_to(path, folder, NULL, NULL, err);
}
