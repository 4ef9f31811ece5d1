/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_job.c - one attempt on this machine: its folders, and its plan with `mounts:` as inputs.
 *
 * A mounted folder is a link in the job's folder, and every mention of its target is rewritten, as
 * with inputs (docs/decisions/0005-container-paths-on-local.md). A repository is cloned into
 * <state_dir>/git first. The job may write there: "ro" needs a container.
 */
#include "platform/local/local_internal.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/text.h"
#include "plan/mounts.h"

/* The folder it comes from, owned. Before it is cloned, a repository only has a name. */
static char *source_of(const struct sw_mount *mount, const char *cache, const char *folder,
                       enum local_mounts use, struct sw_error *err)
{
    sw_autofree char *name = NULL, *own = NULL;

    if (mount->kind == SW_MOUNT_PATH)
        return sw_strdup(mount->source);
    if (use == LOCAL_MOUNTS_CLONE)
        return sw_mount_clone(mount, cache, folder, err);
    own = sw_mount_own(mount, folder);
    if (own)
        return sw_take(own);
    name = sw_mount_clone_name(mount);
    return sw_format("%s/%s-%s", cache, name, sw_mount_is_commit(mount) ? mount->ref : "COMMIT");
}

static int add_mounts(struct local_job *job, const struct sw_connection *conn, enum local_mounts use,
                      struct sw_error *err)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };
    sw_autofree char *cache = sw_format("%s/git", local_of(conn)->state_dir);
    sw_autofree char *folder = sw_format("%s/%s/mounts", local_of(conn)->root, job->plan.job_id);

    if (sw_mounts_parse(job->plan.mounts, &mounts, err) < 0)
        return -1;
    for (size_t i = 0; i < mounts.count; i++) {
        sw_autofree char *source = NULL;

        if (use == LOCAL_MOUNTS_CHECK && mounts.items[i].kind == SW_MOUNT_GIT)
            continue;
        source = source_of(&mounts.items[i], cache, folder, use, err);
        if (!source)
            return -1;
        json_array_append_new(job->plan.inputs, sw_json_object(SW_STR("path", mounts.items[i].target),
                                                               SW_STR("from", source)));
    }
    return 0;
}

/* The attempt that only collects works in the folder of the attempt that ran the command. */
static char *work_dir(const struct sw_connection *conn, const struct sw_plan *plan, int attempt)
{
    sw_autofree char *folder = local_attempt_folder(conn, plan->job_id, attempt);

    while (plan->only_collect && attempt > 1) {
        sw_autofree char *before = local_attempt_folder(conn, plan->job_id, --attempt);
        sw_auto(json) json_t *launch = local_record_read(before, LOCAL_LAUNCH);

        free(folder);
        folder = sw_take(before);
        if (!json_object_get(launch, "command_exit"))
            break;
    }
    return sw_path_join(folder, "work");
}

static char *results_dir(const struct sw_connection *conn, const struct local_job *job)
{
    const char *asked = job->options.results_dir;
    sw_autofree char *folder = sw_text_empty(asked) ? NULL
                                                    : sw_path_absolute(asked, job->plan.base_dir);

    return folder ? sw_path_join(folder, job->plan.job_id)
                  : sw_format("%s/%s/results", local_of(conn)->root, job->plan.job_id);
}

int local_job_init(struct local_job *job, const struct sw_connection *conn, const struct sw_plan *plan,
                   int attempt, enum local_mounts use, struct sw_error *err)
{
    *job = (struct local_job){ .plan = *plan };
    job->plan.inputs = plan->inputs ? json_deep_copy(plan->inputs) : json_array();
    if (sw_options_fill(local_options, plan->options, SW_JOB, &job->options, err) < 0)
        return -1;
    job->folder = local_attempt_folder(conn, plan->job_id, attempt);
    job->work_dir = work_dir(conn, plan, attempt);
    job->results_dir = results_dir(conn, job);
    return add_mounts(job, conn, use, err);
}

void local_job_done(struct local_job *job)
{
    json_decref(job->plan.inputs);
    free(job->folder);
    free(job->work_dir);
    free(job->results_dir);
}
