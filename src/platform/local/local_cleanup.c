/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_cleanup.c - removing what is left of a job that is over. local_cancel.c stops one that is not.
 */
#include "platform/local/local_internal.h"

#include <string.h>

#include "base/file.h"

int local_refuse_elsewhere(const char *folder, const char *id, struct sw_error *err)
{
    char host[128];

    if (!local_is_elsewhere(folder, host))
        return 0;
    sw_fail(err, SW_E_UNREACHABLE, "'%s' cannot be reached from here: it runs on '%s'", id, host);
    return sw_hint(err, "this machine shares its folder only; do it on '%s'", host);
}

static int refuse_while_running(struct sw_connection *conn, const char *id, struct sw_error *err)
{
    for (int attempt = local_newest_attempt(conn, id); attempt > 0; attempt--) {
        sw_autofree char *folder = local_attempt_folder(conn, id, attempt);
        sw_auto(json) json_t *lost = NULL;

        if (local_refuse_elsewhere(folder, id, err) < 0)
            return -1;
        if (local_lock_held(folder) && !local_has(folder, LOCAL_EXIT)) {
            sw_fail(err, SW_E_CONFLICT, "'%s' still runs", id);
            return sw_hint(err, "cancel it first: `slipway cancel %s`", id);
        }
        if (local_has(folder, LOCAL_SUPERVISOR) && !local_has(folder, LOCAL_EXIT))
            lost = local_declare_lost(folder);
    }
    return 0;
}

static char *results_outside(const char *folder, int attempt)
{
    sw_autofree char *where = sw_format("%s/attempt-%d", folder, attempt);
    sw_auto(json) json_t *launch = local_record_read(where, LOCAL_LAUNCH);
    const char *results = sw_json_str(launch, "results_dir");

    return results && strncmp(results, folder, strlen(folder)) != 0 ? sw_strdup(results) : NULL;
}

static int remove_one(struct sw_connection *conn, const struct sw_jobref *job, bool keep_results,
                      struct sw_error *err)
{
    sw_autofree char *folder = local_job_folder(conn, job->id);
    sw_autofree char *outside = NULL;
    int newest = local_newest_attempt(conn, job->id);

    if (refuse_while_running(conn, job->id, err) < 0)
        return -1;
    outside = results_outside(folder, newest);
    for (int attempt = newest; attempt > 0; attempt--) {
        sw_autofree char *below = local_attempt_folder(conn, job->id, attempt);

        if (sw_remove_tree(below, err) < 0)
            return -1;
    }
    if (keep_results)
        return 0;
    if (outside && sw_remove_tree(outside, err) < 0)
        return -1;
    return sw_remove_tree(folder, err);
}

void local_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                   bool keep_results, int64_t deadline_ms)
{
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++)
        jobs[i].result = remove_one(conn, jobs[i].job, keep_results, &jobs[i].err);
}
