/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_inspect.c - what the folders hold besides the state: ranks, evidence, results, a job by its id
 * alone, all jobs; and what this machine has. local_log.c reads logs.
 */
#include "platform/local/local_internal.h"

#include <dirent.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "base/file.h"
#include "core/id.h"
#include "core/state.h"
#include "platform/kit/log.h"
#include "platform/local/local_gpu.h"

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
    sw_fail(err, SW_E_NOT_FOUND, "nothing is left of '%s' on this machine", job->id);
    return NULL;
}

int local_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *receipt,
                struct sw_error *err)
{
    int attempt = local_newest_attempt(conn, id);
    sw_autofree char *folder = local_attempt_folder(conn, id, attempt);
    sw_auto(json) json_t *stored = attempt ? local_record_read(folder, LOCAL_PLAN) : NULL;
    sw_auto(json) json_t *launch = attempt ? local_record_read(folder, LOCAL_LAUNCH) : NULL;
    const char *results = sw_json_str(launch, "results_dir");

    if (!stored || (!local_has(folder, LOCAL_SUPERVISOR) && !local_has(folder, LOCAL_EXIT)))
        return sw_fail(err, SW_E_NOT_FOUND, "there is no job '%s' on this machine", id);
    local_submission(receipt, folder, results ? results : "");
    json_object_set_new(receipt->details, "attempt", json_integer(attempt));
    receipt->trusted = true;             /* it lies in our own closed folder, and the job is our user */
    *plan = sw_take(stored);
    return 0;
}

static json_t *row_of(struct sw_connection *conn, const char *id)
{
    sw_autofree char *folder = local_attempt_folder(conn, id, local_newest_attempt(conn, id));
    sw_auto(json) json_t *over = local_record_read(folder, LOCAL_EXIT);
    sw_auto(json) json_t *status = over ? NULL : local_record_read(folder, LOCAL_STATUS);
    const char *state = sw_json_str(over ? over : status, "state");
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
    json_t *rows = json_array(), *row;
    DIR *folders = opendir(local_of(conn)->root);

    (void)err;
    for (struct dirent *entry; folders && (entry = readdir(folders));)
        if (sw_id_valid(entry->d_name) && local_newest_attempt(conn, entry->d_name) > 0 &&
            (row = row_of(conn, entry->d_name)))
            json_array_append_new(rows, row);
    if (folders)
        closedir(folders);
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
    struct sysinfo info = { 0 };
    char host[128];

    (void)err;
    sysinfo(&info);
    local_host_name(host);
    for (int i = 0; i < count; i++)
        json_array_append_new(list, gpu_json(&gpus[i], local_of(conn)->state_dir));
    return sw_json_object(SW_STR("node", host), SW_INT("cpus", sysconf(_SC_NPROCESSORS_ONLN)),
                          SW_INT("memory_bytes", (json_int_t)info.totalram * info.mem_unit),
                          SW_SUB("gpus", list));
}
