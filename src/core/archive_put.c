/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_put.c - an archive becomes one file or folder, whole or not at all (archive.h).
 *
 * It is unpacked into a new folder beside its place, which nothing leads out of (archive_place.c), and gets
 * its name when it is complete. Called on both sides of `slipway cp`: by the client for what a job sends, by
 * the runner for what a job receives.
 */
#include "core/archive.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { PIECE = 64 * 1024, DEPTH_MAX = 200 };

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

/* ---- the members, followed -------------------------------------------------------------------- */

struct followed {                      /* a visitor that reports what it passes to another */
    struct sw_archive_visitor inner;
    const struct sw_archive_watch *watch;
};

static int report(const struct followed *to, const struct sw_archive_member *member, size_t length,
                  struct sw_error *err)
{
    return to->watch->part ? to->watch->part(to->watch->context, member, length, err) : 0;
}

static int follow_member(void *context, const struct sw_archive_member *member, struct sw_error *err)
{
    const struct followed *to = context;

    return report(to, member, 0, err) < 0 ? -1 : to->inner.member(to->inner.context, member, err);
}

static int follow_data(void *context, const void *bytes, size_t length, struct sw_error *err)
{
    const struct followed *to = context;

    return report(to, NULL, length, err) < 0 ? -1 : to->inner.data(to->inner.context, bytes, length, err);
}

static int follow_end(void *context, struct sw_error *err)
{
    const struct followed *to = context;

    return to->inner.end(to->inner.context, err);
}

/* A sender fills the last block behind the end of the archive: it must not find its reader gone. */
static int read_rest(struct sw_archive_stream *stream, const struct followed *to, struct sw_error *err)
{
    sw_autofree char *bytes = sw_alloc(PIECE);
    ssize_t n;

    while ((n = stream->read(stream, bytes, PIECE, err)) > 0)
        if (report(to, NULL, 0, err) < 0)
            return -1;
    return (int)n;
}

static int unpack_into(struct sw_archive_stream *stream, const char *folder,
                       const struct sw_archive_watch *watch, struct sw_error *err)
{
    sw_auto(sw_archive_place) struct sw_archive_place *place =
        sw_archive_place_open(folder, watch->warn, watch->warn_context, err);
    struct followed followed = { .watch = watch };
    const struct sw_archive_visitor visitor = { follow_member, follow_data, follow_end, &followed };

    if (!place)
        return -1;
    followed.inner = sw_archive_place_visitor(place);
    return sw_archive_read_tar(stream, &visitor, err) < 0 ? -1 : read_rest(stream, &followed, err);
}

int sw_archive_put(struct sw_archive_stream *stream, const char *root, const char *name, const char *to,
                   const struct sw_archive_watch *watch, char **made, struct sw_error *err)
{
    sw_autofree char *target = is_folder(to) ? sw_path_join(to, name) : sw_path_absolute(to, NULL);
    sw_autofree char *beside = sw_format("%s.slipway-XXXXXX", target), *unpacked = NULL;
    int result;

    if (!mkdtemp(beside))
        return sw_fail_errno(err, SW_E_IO, "cannot make a folder beside '%s'", target);
    unpacked = sw_path_join(beside, root);
    result = unpack_into(stream, beside, watch, err);
    if (result == 0 && faccessat(AT_FDCWD, unpacked, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        result = sw_fail(err, SW_E_NOT_FOUND, "nothing of that name was sent");
    if (result == 0)
        result = put_in_place(unpacked, target, 0, err);
    sw_remove_tree(beside, NULL);
    if (result == 0 && made)
        *made = sw_take(target);
    return result;
}
