/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_look.c - reading a job: its ranks, the evidence of its failure, its results, and the job
 * itself by nothing but its id. Its log is read by local_log.c.
 */
#include "platform/local/local_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#include "base/file.h"
#include "core/state.h"
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
        out[i].log_tail = local_log_tail(conn, &seen[i]->job, seen[i]->failed_replica);
    }
}

/* ---- results, adopt, inventory -------------------------------------------------------------- */

char *local_results_dir(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_autofree char *folder = local_attempt_folder(conn, job->id, job->attempt);
    sw_auto(json) json_t *launch = local_record_read(folder, LOCAL_LAUNCH);
    const char *told = sw_json_str(launch, "results_dir");

    if (!told)
        told = sw_json_str(job->details, "results_dir");
    if (told)
        return sw_strdup(told);
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
    local_receipt(receipt, folder, results ? results : "");
    json_object_set_new(receipt->details, "attempt", json_integer(attempt));
    receipt->trusted = true;             /* it lies in our own closed folder, and the job is our user */
    *plan = sw_take(stored);
    return 0;
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
        json_array_append_new(list, gpu_json(&gpus[i], conn->state_dir));
    return sw_json_object(SW_STR("node", host), SW_INT("cpus", sysconf(_SC_NPROCESSORS_ONLN)),
                          SW_INT("memory_bytes", (json_int_t)info.totalram * info.mem_unit),
                          SW_SUB("gpus", list));
}
