/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.c - after the command: outputs to the destinations the job file names.
 *
 * Each file arrives whole or not at all (copied beside, then renamed). One output that fails
 * does not keep the others from arriving; the first failure is the one reported.
 */
#include "runner/runner.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

struct bringing {
    const char *from, *to;
    const json_t *exclude;
    struct sw_error *err;
};

/* "*" also matches slashes, as users of such lists expect ("*.tmp" is meant everywhere); a
 * pattern that ends in a slash means the folder and all in it. */
static bool is_excluded(const json_t *patterns, const char *relative)
{
    const char *slash = strrchr(relative, '/');
    size_t i;
    json_t *one;

    json_array_foreach(patterns, i, one) {
        const char *pattern = json_string_value(one);
        size_t length = pattern ? strlen(pattern) : 0;

        if (length == 0)
            continue;
        if (pattern[length - 1] == '/' && strncmp(relative, pattern, length) == 0)
            return true;
        if (fnmatch(pattern, relative, 0) == 0 ||
            fnmatch(pattern, slash ? slash + 1 : relative, 0) == 0)
            return true;
    }
    return false;
}

static int bring_one(void *context, const char *relative, const struct stat *info)
{
    const struct bringing *all = context;
    sw_autofree char *from = sw_path_join(all->from, relative);
    sw_autofree char *to = sw_path_join(all->to, relative);
    char target[4096];
    ssize_t n;

    if (is_excluded(all->exclude, relative))
        return 0;
    if (S_ISREG(info->st_mode)) {
        const char *slash = strrchr(to, '/');
        sw_autofree char *folder = sw_strndup(to, (size_t)(slash - to));

        return sw_mkdirs(folder, 0777, all->err) < 0 ? -1
                                                     : sw_copy_tree(from, to, NULL, NULL, all->err);
    }
    if (S_ISDIR(info->st_mode))
        return json_array_size(all->exclude) ? 0 : sw_mkdirs(to, 0777, all->err);
    if (!S_ISLNK(info->st_mode))
        return 0;
    n = readlink(from, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    unlink(to);
    return n > 0 && symlink(target, to) == 0
               ? 0
               : sw_fail_errno(all->err, SW_E_IO, "cannot make the link '%s'", to);
}

static int collect_one(const char *path, const char *to, const json_t *exclude,
                       struct sw_error *err)
{
    struct bringing all = { path, to, exclude, err };
    struct stat info;
    int result;

    if (stat(path, &info) < 0)
        return 0;                      /* the command never made it: nothing to bring */
    if (S_ISDIR(info.st_mode)) {
        result = sw_mkdirs(to, 0777, err) < 0 ? -1 : sw_walk(path, bring_one, &all, err);
    } else {
        const char *slash = strrchr(to, '/');
        sw_autofree char *folder = sw_strndup(to, slash > to ? (size_t)(slash - to) : 1);

        result = sw_mkdirs(folder, 0777, err) < 0 ? -1 : sw_copy_tree(path, to, NULL, NULL, err);
    }
    return result == 0 ? 0 : sw_wrap(err, "cannot bring '%s' to '%s'", path, to);
}

int runner_collect(const struct sw_payload *payload, struct sw_error *err)
{
    size_t i;
    json_t *entry;
    int result = 0;

    json_array_foreach(payload->outputs, i, entry) {
        const char *path = sw_json_str(entry, "path"), *to = sw_json_str(entry, "to");
        struct sw_error why = { 0 };

        if (!path || sw_text_empty(to) ||
            collect_one(path, to, json_object_get(entry, "exclude"), &why) == 0)
            continue;
        if (result == 0 && err)
            *err = why;
        else
            fprintf(stderr, "slipway: %s\n", why.message);
        result = -1;
    }
    return result;
}
