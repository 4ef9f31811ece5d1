/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_logs.c - Ray's own logs of this rank, into the results, when the job failed.
 *
 * They are what says why an actor died or a node did not join, and Ray's folder is removed with the cluster.
 * The last part of each is kept, without secrets: what a user's program prints on a worker lies there, too.
 */
#include "runner/ray.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"

enum { PART_MAX = 1024 * 1024, FILES_MAX = 200 };

/* The end of a file, owned; NULL: it is empty, or no plain file. */
static char *end_of(const char *path, size_t *length)
{
    sw_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    sw_autofree char *text = NULL;
    struct stat info;
    ssize_t n;

    if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
        return NULL;
    text = sw_alloc(PART_MAX);
    n = pread(fd, text, PART_MAX, info.st_size > PART_MAX ? info.st_size - PART_MAX : 0);
    *length = n > 0 ? (size_t)n : 0;
    return n > 0 ? sw_take(text) : NULL;
}

static bool keep_one(const char *from, const char *to)
{
    sw_auto(sw_redactor) struct sw_redactor *redactor = runner_redactor_new();
    sw_auto(sw_buf) struct sw_buf clean = SW_BUF_INIT;
    size_t length = 0;
    sw_autofree char *text = end_of(from, &length);

    if (!text)
        return false;
    if (redactor) {
        sw_redactor_feed(redactor, text, length, &clean);
        sw_redactor_flush(redactor, &clean);
    }
    return sw_file_write(to, redactor ? clean.data : text, redactor ? clean.length : length, 0644, NULL) == 0;
}

/* Where they stay, or where the last sync finds them. Owned. */
static char *place_of(struct runner *runner)
{
    const struct runner_scratch *scratch = &runner->scratch;
    const char *above = scratch->kind == RUNNER_MOUNT ? scratch->results_root : scratch->work_dir;

    return sw_format("%s/ray-logs/rank-%d", above, scratch->rank);
}

/* Those of the newest session; how many. */
static size_t keep_session(const char *folder, const char *to)
{
    sw_autofree char *logs = sw_format("%s" RAY_TEMP "/session_latest/logs", folder);
    sw_auto(json) json_t *names = sw_folder_names(logs, NULL);
    size_t kept = 0, i;
    json_t *name;

    json_array_foreach(names, i, name) {
        sw_autofree char *from = sw_path_join(logs, json_string_value(name));
        sw_autofree char *own = sw_path_join(to, json_string_value(name));

        kept += kept < FILES_MAX && keep_one(from, own);
    }
    return kept;
}

void ray_logs_keep(struct runner *runner, const char *folder, const char *also)
{
    sw_autofree char *to = place_of(runner), *start = sw_format("%s/ray-start.log", folder);
    sw_autofree char *start_to = sw_format("%s/ray-start.log", to);
    size_t kept;

    if (sw_mkdirs(to, 0755, NULL) < 0)
        return;
    kept = keep_one(start, start_to);
    kept += keep_session(folder, to) + (also ? keep_session(also, to) : 0);
    if (kept)
        runner_log("Ray's logs of this rank are in %s", to);
    else
        rmdir(to);
}
