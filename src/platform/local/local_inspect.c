/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_inspect.c - what the folders hold besides the state: logs, ranks, evidence, results, a job
 * by its id alone, all jobs; and what this machine has.
 *
 * A rank's log is a plain file. Beside it the supervisor keeps an index of times (kit/log_index.h).
 */
#include "platform/local/local_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/folder.h"
#include "core/id.h"
#include "core/state.h"
#include "platform/kit/log.h"
#include "platform/kit/log_index.h"
#include "platform/local/local_gpu.h"
#include "platform/local/local_room.h"

/* ---- logs ------------------------------------------------------------------------------------ */

enum {
    MTIME_SLACK_MS = 1000,           /* between our clock and the one that stamps files */
};

static int open_beside(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       const char *ending)
{
    sw_autofree char *folder = local_attempt_folder(conn, job->id, job->attempt);
    sw_autofree char *path = sw_format("%s/logs/%d.%s", folder, replica < 0 ? 0 : replica, ending);

    return open(path, O_RDONLY | O_CLOEXEC);
}

/* There is no file: the rank wrote nothing yet, or the attempt's folder was removed by hand. */
static ssize_t no_log(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_autofree char *folder = local_attempt_folder(conn, job->id, job->attempt);

    if (!job->finished || sw_file_exists(folder))
        return 0;
    return sw_fail(err, SW_E_NOT_FOUND, "the log is gone: '%s' was removed", folder);
}

ssize_t local_log_read(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       int64_t offset, char *bytes, size_t size, struct sw_error *err)
{
    sw_autofd int fd = open_beside(conn, job, replica, "log");
    ssize_t n;

    if (fd < 0)
        return errno == ENOENT
                   ? no_log(conn, job, err)
                   : sw_fail_errno(err, SW_E_IO, "cannot read the log of '%s'", job->id);
    do
        n = pread(fd, bytes, size, offset);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? n : sw_fail_errno(err, SW_E_IO, "cannot read the log of '%s'", job->id);
}

static int stat_log(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                    struct stat *info, struct sw_error *err)
{
    sw_autofd int fd = open_beside(conn, job, replica, "log");

    *info = (struct stat){ 0 };
    if (fd < 0 ? errno != ENOENT : fstat(fd, info) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot read the log of '%s'", job->id);
    return 0;
}

int local_log_size(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t *size,
                   struct sw_error *err)
{
    struct stat info;

    if (stat_log(conn, job, replica, &info, err) < 0)
        return -1;
    *size = info.st_size;
    return 0;
}

static int64_t modified_ms(const struct stat *info)
{
    return (int64_t)info->st_mtim.tv_sec * 1000 + info->st_mtim.tv_nsec / 1000000;
}

int64_t local_last_output_ms(const char *folder, int ranks)
{
    int64_t newest = 0;

    for (int rank = 0; rank < ranks && rank < LOCAL_REPLICAS_MAX; rank++) {
        sw_autofree char *path = sw_format("%s/logs/%d.log", folder, rank);
        struct stat info;
        int64_t at;

        if (stat(path, &info) < 0 || info.st_size == 0)
            continue;
        at = modified_ms(&info);
        if (at > newest)
            newest = at;
    }
    return newest;
}

int local_log_time(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t offset,
                   int64_t *at_ms, int64_t *until, struct sw_error *err)
{
    struct stat info;
    sw_autofd int index = -1;

    /* The size first: a byte that is in the file by now has its line in the index. */
    if (stat_log(conn, job, replica, &info, err) < 0)
        return -1;
    index = open_beside(conn, job, replica, "idx");
    sw_log_index_time(index, offset, info.st_size, at_ms, until);
    return 0;
}

int local_log_since(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t at_ms,
                    int64_t *offset, struct sw_error *err)
{
    struct stat info;
    struct sw_log_moment earlier, first;
    sw_autofd int index = -1;

    if (stat_log(conn, job, replica, &info, err) < 0)
        return -1;
    index = open_beside(conn, job, replica, "idx");
    if (sw_log_index_since(index, at_ms, &first, &earlier))
        *offset = first.offset;
    else if (modified_ms(&info) + MTIME_SLACK_MS < at_ms ||
             (earlier.ends > 0 && modified_ms(&info) < earlier.at_ms + MTIME_SLACK_MS))
        *offset = info.st_size;
    else                           /* the file was written since then, but the index does not say what */
        *offset = earlier.offset;
    return 0;
}

/* ---- ranks, evidence ----------------------------------------------------------------------- */

static json_t *newest_record(struct sw_connection *conn, const struct sw_jobref *job)
{
    sw_autofree char *folder = local_attempt_folder(conn, job->id, job->attempt);
    json_t *record = local_record_read(folder, LOCAL_EXIT);

    return record ? record : local_record_read(folder, LOCAL_STATUS);
}

json_t *local_replicas(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(json) json_t *record = newest_record(conn, job);
    json_t *all = json_deep_copy(json_object_get(record, "replicas")), *one;
    char host[128];
    size_t i;

    (void)err;
    local_host_name(host);
    json_array_foreach(all, i, one)
        json_object_set_new(one, "node", sw_json_text(host));
    return all ? all : json_array();
}

void local_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                    struct sw_evidence *out,
                    size_t count, int64_t deadline_ms)
{
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++) {
        sw_auto(json) json_t *record = newest_record(conn, &seen[i]->job);

        out[i].facts = json_deep_copy(json_object_get(record, "facts"));
        out[i].log_tail = sw_log_tail(&(struct sw_log){ &sw_platform_local, conn, &seen[i]->job,
                                                        seen[i]->failed_replica }, NULL);
    }
}

/* ---- results, adopt, jobs, inventory -------------------------------------------------------- */

char *local_results_dir(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_autofree char *folder = local_attempt_folder(conn, job->id, job->attempt);
    sw_auto(json) json_t *launch = local_record_read(folder, LOCAL_LAUNCH);
    const char *results = sw_json_str(launch, "results_dir");

    if (!results)
        results = sw_json_str(job->details, "results_dir");
    if (results)
        return sw_strdup(results);
    sw_fail(err, SW_E_NOT_FOUND, "'%s' no longer exists on this machine", job->id);
    return NULL;
}

/* One that is announced has no more than a folder. */
static int newest_begun(const struct sw_connection *conn, const char *id)
{
    int newest = local_newest_attempt(conn, id);

    return newest > 1 ? local_attempt_now(conn, id, newest) : newest;
}

int local_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *receipt,
                struct sw_error *err)
{
    int attempt = newest_begun(conn, id);
    sw_autofree char *folder = local_attempt_folder(conn, id, attempt);
    sw_auto(json) json_t *stored = attempt ? local_record_read(folder, LOCAL_PLAN) : NULL;
    sw_auto(json) json_t *launch = attempt ? local_record_read(folder, LOCAL_LAUNCH) : NULL;
    const char *results = sw_json_str(launch, "results_dir");

    if (!stored || !local_has_begun(folder))
        return sw_fail(err, SW_E_NOT_FOUND, "no job '%s' on this machine", id);
    local_submission(receipt, folder, results ? results : "");
    json_object_set_new(receipt->details, "attempt", json_integer(attempt));
    receipt->trusted = true;             /* it lies in our own closed folder, and the job is our user */
    *plan = sw_take(stored);
    return 0;
}

static json_t *row_of(struct sw_connection *conn, const char *id)
{
    sw_autofree char *folder = local_attempt_folder(conn, id, newest_begun(conn, id));
    sw_auto(json) json_t *over = local_record_read(folder, LOCAL_EXIT);
    sw_auto(json) json_t *status = over ? NULL : local_record_read(folder, LOCAL_STATUS);
    const char *state = local_next(over) ? sw_state_name(SW_PENDING)
                                         : sw_json_str(over ? over : status, "state");
    struct passwd entry, *user = NULL;
    struct stat info;
    char room[1024];

    if (stat(folder, &info) < 0)
        return NULL;
    getpwuid_r(info.st_uid, &entry, room, sizeof room, &user);
    return sw_json_object(SW_STR("id", id), SW_STR("state", state ? state : sw_state_name(SW_UNKNOWN)),
                          SW_STR_OPT("owner", user ? user->pw_name : NULL),
                          SW_INT("created_ms", (json_int_t)info.st_mtim.tv_sec * 1000));
}

json_t *local_jobs(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(json) json_t *names = sw_folder_names(local_of(conn)->root, NULL);
    json_t *rows = json_array(), *name, *row;
    size_t i;

    (void)err;
    json_array_foreach(names, i, name)
        if (sw_id_valid(json_string_value(name)) &&
            local_newest_attempt(conn, json_string_value(name)) > 0 &&
            (row = row_of(conn, json_string_value(name))))
            json_array_append_new(rows, row);
    return rows;
}

static json_t *gpu_json(const struct sw_gpu *gpu, const char *state_dir)
{
    char id[SW_ID_SIZE] = "";
    bool held = gpu_holder(gpu, getenv("SLIPWAY_GPU_LEASE_DIR"), state_dir, id);
    const char *holder = held ? id : NULL;

    return sw_json_object(SW_INT("index", gpu->index), SW_STR("uuid", gpu->uuid),
                          SW_STR("name", gpu->name), SW_INT("memory_bytes", gpu->memory_bytes),
                          SW_INT("memory_used_bytes", gpu->memory_used_bytes),
                          SW_INT("busy_percent", gpu->busy_percent), SW_BOOL("free", !held),
                          SW_STR_OPT("job", holder));
}

json_t *local_inventory(struct sw_connection *conn, struct sw_error *err)
{
    struct sw_gpu gpus[SW_GPU_MAX];
    int count = sw_gpu_list(gpus, SW_GPU_MAX);
    json_t *list = json_array();
    struct room machine = room_of_machine();
    char host[128];

    (void)err;
    local_host_name(host);
    for (int i = 0; i < count; i++)
        json_array_append_new(list, gpu_json(&gpus[i], local_of(conn)->state_dir));
    return sw_json_object(SW_STR("node", host), SW_INT("cpus", (json_int_t)machine.cpus),
                          SW_INT("memory_bytes", machine.memory_bytes),
                          SW_SUB("gpus", list));
}
