/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_results.c - a job's results as a folder of this machine, wherever the engine has them.
 *
 * What is bound here already is here. What is in a volume, or on another machine, is brought out of
 * the container: into a file first, then unpacked beside, then put in place whole. Once the job is
 * over it is brought once, for each attempt.
 */
#include "platform/docker/docker_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "core/archive.h"

struct from_file {
    struct sw_archive_stream stream;
    int fd;
};

static ssize_t read_file(struct sw_archive_stream *stream, void *bytes, size_t length,
                         struct sw_error *err)
{
    struct from_file *file = (struct from_file *)stream;
    ssize_t n;

    do
        n = read(file->fd, bytes, length);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? n : sw_fail_errno(err, SW_E_IO, "cannot read the engine's answer");
}

struct to_file {
    int fd;
    int trouble;                     /* why it takes no more: ENOSPC */
};

static int to_file(void *context, const struct sw_http_reply *so_far, const char *bytes,
                   size_t length)
{
    struct to_file *file = context;

    (void)so_far;
    if (sw_write_all(file->fd, bytes, length) == 0)
        return 0;
    file->trouble = errno;
    return -1;
}

/* What the engine has at `url`, into a file. */
static int download(struct docker_api *api, const char *url, int fd, const char *folder,
                    struct sw_error *err)
{
    struct to_file file = { .fd = fd };

    if (docker_ask(api, &(struct sw_rest_call){ .path = url, .sink = to_file, .sink_context = &file,
                                                .stall_ms = DOCKER_LONG_MS }, NULL, err) == 0)
        return 0;
    if (!file.trouble)
        return -1;
    errno = file.trouble;
    return sw_fail_errno(err, SW_E_IO, "cannot store what the engine sends in '%s'", folder);
}

/* Everything below `path` of the container, into `folder`. */
static int bring(const struct sw_connection *conn, struct docker_api *api, const char *container,
                 const char *path, const char *folder, struct sw_error *err)
{
    sw_autofree char *url = docker_archive_path(container, path);
    sw_auto(sw_archive_place) struct sw_archive_place *place = NULL;
    struct from_file file = { .stream.read = read_file };
    sw_autofd int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    struct sw_archive_visitor visitor;

    if (fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot create a file in '%s'", folder);
    if (download(api, url, fd, folder, err) < 0)
        return -1;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot read the engine's answer");
    file.fd = fd;
    place = sw_archive_place_open(folder, docker_of(conn)->warn, docker_of(conn)->warn_context, err);
    if (!place)
        return -1;
    visitor = sw_archive_place_visitor(place);
    return sw_archive_read_tar(&file.stream, &visitor, err);
}

static int replace(const char *incoming, const char *name, const char *results,
                   struct sw_error *err)
{
    sw_autofree char *made = sw_path_join(incoming, name);

    if (sw_remove_tree(results, err) < 0)
        return -1;
    return rename(made, results) == 0
               ? 0 : sw_fail_errno(err, SW_E_IO, "cannot put the results at '%s'", results);
}

static int bring_home(struct sw_connection *conn, struct docker_api *api, const json_t *inspected,
                      const struct sw_jobref *job, const char *results, struct sw_error *err)
{
    const json_t *env = json_object_get(json_object_get(inspected, "Config"), "Env");
    sw_autofree char *folder = docker_job_folder(conn, job->id);
    sw_autofree char *incoming = sw_path_join(folder, "incoming");
    const char *said = docker_variable(env, "SLIPWAY_RESULTS_DIR");
    const char *path = said ? said : DOCKER_RESULTS;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    int result;

    if (sw_remove_tree(incoming, err) < 0 || sw_mkdirs(incoming, 0700, err) < 0)
        return -1;
    result = bring(conn, api, sw_json_str(inspected, "Id"), path, incoming, err);
    if (result == 0)
        result = replace(incoming, name, results, err);
    sw_remove_tree(incoming, NULL);
    return result;
}

char *docker_results_dir(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = NULL;
    sw_auto(json) json_t *list = NULL, *inspected = NULL;
    sw_autofree char *folder = docker_job_folder(conn, job->id), *bound = NULL;
    sw_autofree char *results = sw_path_join(folder, "results");
    sw_autofree char *brought = sw_format("%s/brought-%d", folder, job->attempt);

    if (sw_file_exists(brought))
        return sw_take(results);
    api = docker_borrow(conn, err);
    list = docker_list(api, job->id, err);
    if (list && json_array_size(list) == 0)
        sw_fail(err, SW_E_NOT_FOUND, "the engine has no container of '%s' any more", job->id);
    if (json_array_size(list) == 0 ||
        !(inspected = docker_inspect(api, sw_json_str(docker_newest(list), "Id"), err)))
        return NULL;
    bound = docker_bound_results(conn, inspected, job->id);
    if (bound)
        return sw_take(bound);
    if (bring_home(conn, api, inspected, job, results, err) < 0) {
        sw_wrap(err, "cannot copy the results of '%s'", job->id);
        return NULL;
    }
    if (docker_is_over(sw_json_str(json_object_get(inspected, "State"), "Status")))
        sw_file_write(brought, "", 0, 0600, NULL);
    return sw_take(results);
}
