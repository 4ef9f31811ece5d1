/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.c - one input to its path: linked, taken from the shared cache, or transferred.
 *
 * What lies on this machine (or on a file system it shares) is linked, not copied: a data set is
 * used where it is. Everything else goes through the transfer engine, which skips what is there
 * already and whole. A lease beside the target keeps two nodes from fetching the same thing onto a
 * file system they share.
 */
#include "runner/runner.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "runner/archive.h"
#include "runner/lease.h"

char *runner_local_path(const char *uri)
{
    struct sw_uri parts = { 0 };
    const struct sw_storage *storage;
    char *path = NULL;

    if (!sw_uri_is_remote(uri))
        return sw_strdup(uri);
    if (sw_uri_parse(uri, &parts, NULL) < 0)
        return NULL;
    storage = sw_storage_find(parts.scheme, NULL);
    if (storage && storage->local)
        path = storage->path(&parts, NULL);
    sw_uri_done(&parts);
    return path;
}

static int link_to(const char *from, const char *path, struct sw_error *err)
{
    sw_autofree char *folder = runner_folder_of(path);
    struct stat info;

    if (stat(from, &info) < 0)
        return sw_fail_errno(err, SW_E_NOT_FOUND, "input '%s'", from);
    if (sw_mkdirs(folder, 0777, err) < 0)
        return -1;
    if (symlink(from, path) == 0)
        return 0;
    if (errno == EEXIST && lstat(path, &info) == 0 && S_ISLNK(info.st_mode) &&
        unlink(path) == 0 && symlink(from, path) == 0)
        return 0;
    return sw_fail_errno(err, SW_E_IO, "cannot link the input '%s' to '%s'", from, path);
}

static void warn(void *context, const char *text)
{
    (void)context;
    runner_log("%s", text);
}

/* ---- archives ------------------------------------------------------------------------------ */

/* In the cache other jobs look for it beside the archive; else it is ours. Owned; NULL: none. */
static char *marker_of(const struct runner *runner, const char *path, bool into_parent)
{
    const char *mount = runner->payload->cache_dir;
    char hash[SW_DIGEST_HEX];

    if (mount && sw_text_starts(path, mount))
        return sw_format("%s.extracted", path);
    if (!into_parent)
        return NULL;
    sw_sha256_hex(path, strlen(path), hash);
    return runner_state_path(runner, hash);
}

/* Others may unpack the same archive at this moment, where the folder is shared. */
static int unpack_one(const struct runner *runner, const char *path, bool into_parent,
                      struct sw_error *err)
{
    sw_autofree char *marker = marker_of(runner, path, into_parent);
    sw_autofree char *folder = runner_folder_of(path), *lock = NULL;
    const char *base = strrchr(path, '/');
    sw_auto(lease) struct lease *lease = NULL;

    if (archive_is_unpacked(path, into_parent, marker))
        return 0;
    lock = sw_format("%s/.%s.slipway-lock", folder, base ? base + 1 : path);
    if (lease_take(lock, NULL, &lease, err) < 0)
        return -1;
    return archive_unpack(path, into_parent, marker, warn, NULL, err);
}

struct unpack_all {
    const struct runner *runner;
    const char *folder;
    struct sw_error *err;
};

static int unpack_found(void *context, const char *relative, const struct stat *info)
{
    const struct unpack_all *all = context;
    sw_autofree char *path = sw_path_join(all->folder, relative);

    if (!S_ISREG(info->st_mode) || !archive_is(relative))
        return 0;
    return unpack_one(all->runner, path, false, all->err);
}

/* The path of what was fetched, after archives were unpacked. */
static char *unpacked(const struct runner *runner, const struct runner_fetch_request *request, char *path,
                      bool is_folder, struct sw_error *err)
{
    sw_autofree char *mine = path;
    struct unpack_all all = { runner, path, err };

    if (!request->extract)
        return sw_take(mine);
    if (is_folder)
        return sw_walk(mine, unpack_found, &all, err) == 0 ? sw_take(mine) : NULL;
    if (!archive_is(mine))
        return sw_take(mine);
    if (unpack_one(runner, mine, request->extract_to_parent, err) < 0)
        return NULL;
    return request->extract_to_parent ? runner_folder_of(mine) : archive_stem(mine);
}

/* ---- transfers ----------------------------------------------------------------------------- */

static int transfer(struct runner *runner, const struct runner_fetch_request *request, const char *to,
                    bool is_folder, struct sw_error *err)
{
    const struct sw_copy_rules rules = {
        .recursive = is_folder, .only = request->only, .only_count = request->only_count };
    struct sw_copy_report report = { 0 };
    sw_autofree char *folder = runner_folder_of(to), *lock = NULL;
    sw_auto(lease) struct lease *lease = NULL;
    const char *base = strrchr(to, '/');
    int result;

    if (sw_mkdirs(folder, 0777, err) < 0)
        return -1;
    lock = sw_format("%s/.%s.slipway-lock", folder, base ? base + 1 : to);
    if (lease_take(lock, NULL, &lease, err) < 0)
        return -1;
    result = runner_copy_counted(runner, RUNNER_IN, request->uri, to, &rules, &report, err);
    if (result == 0)
        runner_log("input %s: %lld file%s, %lld bytes fetched, %lld already here", request->uri,
                   (long long)report.files, sw_text_plural((double)report.files),
                   (long long)report.bytes, (long long)report.same);
    return result;
}

static char *fetch_remote(struct runner *runner, const struct runner_fetch_request *request,
                          struct sw_error *err)
{
    sw_auto(sw_object) struct sw_object object = { 0 };
    sw_autofree char *to = NULL, *path = NULL, *name = sw_uri_name(request->uri);
    bool is_folder;

    if (!runner_transfers(runner, err) || sw_transfer_stat(runner->client, request->uri, &object, err) < 0)
        return NULL;
    if (object.kind == SW_OBJECT_NONE)
        return sw_null(sw_fail(err, SW_E_NOT_FOUND, "nothing at '%s'", request->uri));
    is_folder = object.kind == SW_OBJECT_FOLDER;
    if (runner->payload->cache_dir && sw_text_starts(request->uri, "s3://") && !request->no_cache) {
        struct sw_error why = { 0 };

        path = runner_cache_fetch(runner, request, &object, &why);
        if (path)
            return unpacked(runner, request, sw_take(path), is_folder, err);
        if (why.code != SW_E_UNSUPPORTED) {
            if (err)
                *err = why;
            return NULL;
        }
        runner_log("the shared cache is not used: %s", why.message);
    }
    to = request->into && !is_folder ? sw_path_join(request->to, name)
                                  : sw_strdup(request->to);
    if (transfer(runner, request, to, is_folder, err) < 0)
        return NULL;
    return unpacked(runner, request, sw_take(to), is_folder, err);
}

/* What is unpacked lies beside the link, not beside the user's data. */
static char *fetch_local(const struct runner *runner, const struct runner_fetch_request *request,
                         const char *from, struct sw_error *err)
{
    struct stat info;
    bool is_file = stat(from, &info) == 0 && S_ISREG(info.st_mode);
    sw_autofree char *to = request->into && is_file ? sw_path_join(request->to, sw_uri_last(from))
                                                 : sw_strdup(request->to);

    if (link_to(from, to, err) < 0)
        return NULL;
    return is_file ? unpacked(runner, request, sw_take(to), false, err) : sw_take(to);
}

char *runner_fetch(struct runner *runner, const struct runner_fetch_request *request, struct sw_error *err)
{
    sw_autofree char *from = runner_local_path(request->uri), *path = NULL;

    if (runner->payload->only_data) {
        runner_try_input(runner, request->uri);
        return sw_strdup(request->to);
    }
    if (from)
        return fetch_local(runner, request, from, err);
    path = fetch_remote(runner, request, err);
    if (!path)
        return sw_null(sw_wrap(err, "cannot fetch the input '%s'", request->uri));
    return sw_take(path);
}
