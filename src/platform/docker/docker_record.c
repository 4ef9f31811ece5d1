/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_record.c - how a job ended, kept where it survives its container.
 *
 * A runner's last report is also a file, one for each attempt and rank, in a folder of its own: of this
 * machine where the engine sees our files, else a volume of the job. So the output of a job cannot bury
 * it, and a container that was pruned, or removed by another store, does not make a finished job look
 * like one that was lost.
 *
 * "Not there" and "could not be read" are two answers: the first is 0 without a report, the second -1.
 *
 * The job can write into that folder: a file there is opened as what it is, bounded, and never through a
 * connection.
 */
#include "platform/docker/docker_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/report.h"

char *docker_end_volume(const char *id)
{
    return sw_format("slipway-%s-end", id);
}

char *docker_end_folder(const struct sw_connection *conn, const char *id)
{
    sw_autofree char *folder = docker_job_folder(conn, id);

    return sw_path_join(folder, "end");
}

/* ---- one report ------------------------------------------------------------------------------ */

/* 1: it was read, 0: there is none, -1: not by us. */
static int read_here(const char *folder, const char *name, json_t **report)
{
    sw_autofree char *path = sw_path_join(folder, name);
    sw_autofd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char text[SW_REPORT_MAX];
    struct stat info;
    ssize_t n;

    if (fd < 0)
        return errno == ENOENT || errno == ELOOP ? 0 : -1;
    if (fstat(fd, &info) < 0)
        return -1;
    if (!S_ISREG(info.st_mode) || info.st_size > (off_t)sizeof text)
        return 0;
    n = pread(fd, text, sizeof text, 0);
    if (n < 0)
        return -1;
    *report = sw_report_parse(text, (size_t)n);
    return *report != NULL;
}

static int read_there(struct docker_api *api, const char *container, const char *name,
                      json_t **report, struct sw_error *err)
{
    sw_autofree char *path = sw_format("%s/%s", DOCKER_ENDS, name), *text = NULL;
    size_t size = 0;

    if (docker_find_file(api, container, path, &text, &size, err) < 0)
        return -1;
    *report = text ? sw_report_parse(text, size) : NULL;
    return 0;
}

void docker_drop_beat(json_t **report)
{
    if (!*report || sw_report_is_last(*report))
        return;
    json_decref(*report);
    *report = NULL;
}

const char *docker_bound_ends(const json_t *container)
{
    const json_t *mount = docker_mount_of(container, "Destination", DOCKER_ENDS);

    return sw_text_same(sw_json_str(mount, "Type"), "bind") ? sw_json_str(mount, "Source") : NULL;
}

int docker_record_of(struct docker_api *api, const json_t *container, json_t **report, bool *kept,
                     struct sw_error *err)
{
    const char *bound = docker_bound_ends(container);
    char name[48];
    int here = -1;

    *report = NULL;
    *kept = docker_mount_of(container, "Destination", DOCKER_ENDS) != NULL;
    if (!*kept)
        return 0;
    snprintf(name, sizeof name, DOCKER_END_NAME, docker_label_number(container, LABEL_ATTEMPT, 1),
             docker_label_number(container, LABEL_RANK, 0));
    if (bound && api->endpoint.way == DOCKER_UNIX)
        here = read_here(bound, name, report);
    if (here < 0 && read_there(api, sw_json_str(container, "Id"), name, report, err) < 0)
        return -1;
    docker_drop_beat(report);
    return 0;
}

/* ---- a container that is gone ---------------------------------------------------------------- */

/* The folder of this machine with the job's records: bound into its containers, or filled by
 * docker_record_fetch(). Owned. */
static char *record_folder(const struct docker_job *job)
{
    const char *bound = sw_json_str(job->ref->details, "ends");

    return bound ? sw_strdup(bound) : docker_end_folder(job->conn, job->ref->id);
}

int docker_record_gone(const struct docker_job *job, int rank, json_t **report, struct sw_error *err)
{
    sw_autofree char *folder = record_folder(job), *path = NULL;
    sw_autofree char *volume = docker_end_volume(job->ref->id);
    char name[48];
    int here;

    *report = NULL;
    snprintf(name, sizeof name, DOCKER_END_NAME, job->ref->attempt, rank);
    path = sw_path_join(folder, name);
    if (!sw_file_exists(path) && !(job->api->endpoint.way == DOCKER_UNIX && sw_file_exists(folder)))
        return docker_is_there(job->api, sw_rest_path("/volumes/%s", volume), err);
    here = read_here(folder, name, report);
    if (here < 0)
        return sw_fail_errno(err, SW_E_UNREACHABLE, "cannot read how '%s' ended in '%s'", job->ref->id,
                             folder);
    docker_drop_beat(report);
    return 0;
}

/* Through a container that is never started, of an image with nothing in it. A rank that left no report gets
 * an empty file. */
static int fetch_files(const struct docker_job *job, const struct docker_containers *own,
                       const char *container, const char *folder, struct sw_error *err)
{
    int nodes = own->all.count ? own->all.count : docker_plan_nodes(job->ref);

    for (int rank = 0; rank < nodes; rank++) {
        sw_autofree char *there = sw_format(DOCKER_ENDS "/" DOCKER_END_NAME, job->ref->attempt, rank);
        sw_autofree char *here = sw_format("%s/" DOCKER_END_NAME, folder, job->ref->attempt, rank);
        sw_autofree char *text = NULL;
        size_t size = 0;

        if (!own->at[rank] &&
            (docker_find_file(job->api, container, there, &text, &size, err) < 0 ||
             sw_file_write(here, text ? text : "", size, 0600, err) < 0))
            return -1;
    }
    return 0;
}

int docker_record_fetch(const struct docker_job *job, const struct docker_containers *own,
                        struct sw_error *err)
{
    sw_autofree char *folder = record_folder(job), *volume = docker_end_volume(job->ref->id);
    sw_auto(docker_look) struct docker_look look = { 0 };

    if (sw_mkdirs(folder, 0700, err) < 0 ||
        docker_look_open(&look, job->api, json_pack("{s:[o]}", "Mounts", docker_render_volume(
            volume, DOCKER_ENDS, true, NULL)), err) < 0)
        return -1;
    return fetch_files(job, own, look.name, folder, err);
}
