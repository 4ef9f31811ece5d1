/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_places.c - the folders of a job as its own processes see them: results and work.
 *
 * In a container the results folder is mounted at /results, as on Docker, whether the job file names
 * it or not; the work folder (inputs, code, config, the runner's notes) is never among the results.
 * A folder that the user mounts at /results is theirs, and the job's results stay under the base folder.
 *
 * An array has one payload for all its tasks and a folder for each. The payload holds a mark where
 * the number of the task belongs, and the batch script makes each task its own copy of it.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/text.h"
#include "core/mount.h"
#include "plan/paths.h"

#define TASK_MARK "task-@"         /* behind the job's id, which no other text of a payload has there */

bool slurm_has_tasks(const struct sw_plan *plan)
{
    return !sw_text_empty(sw_json_str(plan->options, "array"));
}

/* The files of an OCI bundle are no job's own: all that use it see the same. */
bool slurm_has_own_root(const struct sw_plan *plan)
{
    return plan->image && !slurm_in_bundle(plan) &&
           !sw_text_same(sw_json_str(plan->options, "container"), "none");
}

bool slurm_rewrites_paths(const struct sw_plan *plan)
{
    return !slurm_has_own_root(plan);
}

static bool leads_to_results(const json_t *texts)
{
    size_t i;
    json_t *text;

    json_array_foreach(texts, i, text) {
        sw_auto(sw_mount) struct sw_mount mount = { 0 };

        if (sw_mount_parse(json_string_value(text), &mount, NULL) == 0 &&
            strcmp(mount.target, SW_RESULTS) == 0)
            return true;
    }
    return false;
}

bool slurm_mounts_results(const struct sw_plan *plan)
{
    return slurm_has_own_root(plan) && !leads_to_results(plan->mounts) &&
           !leads_to_results(json_object_get(plan->options, "container_mounts"));
}

static char *of_task(const struct slurm_job *job, const char *folder)
{
    return slurm_has_tasks(job->plan) ? sw_format("%s/" TASK_MARK, folder) : sw_strdup(folder);
}

char *slurm_results_inside(const struct slurm_job *job)
{
    return slurm_mounts_results(job->plan) ? sw_strdup(SW_RESULTS)
                                           : of_task(job, job->names->results);
}

char *slurm_work_inside(const struct slurm_job *job)
{
    return of_task(job, job->names->work);
}

void slurm_task_letter(struct sw_buf *out, const struct slurm_job *job)
{
    if (!slurm_has_tasks(job->plan))
        return;
    sw_buf_addf(out, "sed \"s|/%s/" TASK_MARK "|/%s/task-$slipway_task|g\" ", job->plan->job_id,
                job->plan->job_id);
    sw_buf_add_quoted(out, job->names->letter);
    sw_buf_add(out, " >\"$slipway_own/letter.json\" || exit 74\n");
}
