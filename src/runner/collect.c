/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.c - after the command: outputs to the destinations the job file names.
 *
 * Each file arrives whole or not at all (copied beside, then renamed). One output that fails
 * does not keep the others from arriving; the first failure is the one reported.
 */
#include "runner/runner.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

static int collect_one(const char *path, const char *to, struct sw_error *err)
{
    int64_t files = 0, bytes = 0;
    struct stat info;

    if (stat(path, &info) < 0)
        return 0;                      /* the command never made it: nothing to bring */
    if (!S_ISDIR(info.st_mode)) {
        const char *slash = strrchr(to, '/');
        sw_autofree char *folder = sw_strndup(to, slash > to ? (size_t)(slash - to) : 1);

        if (sw_mkdirs(folder, 0777, err) < 0)
            return -1;
    }
    if (sw_copy_tree(path, to, &files, &bytes, err) < 0)
        return sw_wrap(err, "cannot bring '%s' to '%s'", path, to);
    return 0;
}

int runner_collect(const struct sw_payload *payload, struct sw_error *err)
{
    size_t i;
    json_t *entry;
    int result = 0;

    json_array_foreach(payload->outputs, i, entry) {
        const char *path = sw_json_str(entry, "path"), *to = sw_json_str(entry, "to");
        struct sw_error why = { 0 };

        if (!path || sw_text_empty(to) || collect_one(path, to, &why) == 0)
            continue;
        if (result == 0 && err)
            *err = why;
        else
            fprintf(stderr, "slipway: %s\n", why.message);
        result = -1;
    }
    return result;
}
