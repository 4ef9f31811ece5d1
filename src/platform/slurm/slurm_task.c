/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_task.c - what every task runs: the entrypoint (slurm_task.sh), its environment and its payload.
 *
 * In a container the results folder is mounted at /results, as on Docker, whether the job file names it or
 * not; the work folder (inputs, code, config, the runner's notes) is never among the results. A folder that
 * the user mounts at /results is theirs, and the job's results stay under the base folder.
 *
 * An array has one payload for all its tasks and a folder for each. The payload holds a mark where the number
 * of the task belongs, and the batch script makes each task its own copy of it.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "core/command.h"
#include "core/job_env.h"
#include "core/mount.h"
#include "plan/entrypoint.h"
#include "plan/paths.h"
#include "plan/setup.h"

/* ---- folders as the job's own processes see them --------------------------------------------------- */

#define TASK_MARK "task-@"         /* behind the job's id, which no other text of a payload has there */

bool slurm_has_tasks(const struct slurm_job *job)
{
    return !sw_text_empty(job->options.array);
}

/* The files of an OCI bundle are no job's own: all that use it see the same. */
static bool has_own_root(const struct sw_plan *plan, const struct slurm_job_options *options)
{
    return plan->image && options->container != SLURM_CONTAINER_OCI &&
           options->container != SLURM_CONTAINER_NONE;
}

bool slurm_has_own_root(const struct slurm_job *job)
{
    return has_own_root(job->plan, &job->options);
}

bool slurm_rewrites_paths(const struct sw_plan *plan)
{
    struct slurm_job_options options;

    slurm_job_options_fill(plan->options, &options, NULL);
    return !has_own_root(plan, &options);
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

bool slurm_mounts_results(const struct slurm_job *job)
{
    return slurm_has_own_root(job) && !leads_to_results(job->plan->mounts) &&
           !leads_to_results(job->options.container_mounts);
}

static char *of_task(const struct slurm_job *job, const char *folder)
{
    return slurm_has_tasks(job) ? sw_format("%s/" TASK_MARK, folder) : sw_strdup(folder);
}

/* ---- the payload ------------------------------------------------------------------------------------ */

static void add_cosmos(json_t *env, const struct slurm_job *job)
{
    if (!job->options.cosmos)
        return;
    if (!json_object_get(env, "COSMOS_CACHE"))
        json_object_set_new(env, "COSMOS_CACHE", json_sprintf("%s/.cache/cosmos", job->names.base));
    if (!json_object_get(env, "CUDA_OVERRIDE_VERSION"))
        json_object_set_new(env, "CUDA_OVERRIDE_VERSION", json_string("12.8"));
}

/* What is known before a task runs; its defaults are the entrypoint's, which sees what is set already. */
json_t *slurm_environment(const struct slurm_job *job)
{
    json_t *env = sw_job_env_own(job->plan->env);
    sw_autofree char *results = sw_format("%s/results", job->names.base);

    add_cosmos(env, job);
    sw_job_env_add(&(struct sw_job_env){ .job_id = job->plan->job_id, .results_above = results }, env);
    return env;
}

/* What the cluster calls them. */
static json_t *paths_of(const json_t *entries)
{
    json_t *all = json_deep_copy(entries), *entry;
    size_t i;

    json_array_foreach(all, i, entry) {
        sw_autofree char *path = slurm_path_of(sw_json_str(entry, "from"));

        if (path)
            json_object_set_new(entry, "from", sw_json_text(path));
    }
    return all;
}

static void replace(json_t **place, json_t *value)
{
    json_decref(*place);
    *place = value;
}

/* Without a container `/data` and `/results` are not ours to make on a node: they become folders
 * of the job, as on the local platform. */
static void use_own_folders(struct sw_payload *payload, const struct slurm_job *job)
{
    sw_auto(sw_paths) struct sw_paths *paths =
        sw_paths_of_plan(job->plan, payload->scratch_dir, payload->results_dir);

    sw_paths_payload(paths, payload);
}

/* In a container of its own each rank has what is neither the job's results nor mounted. */
static void mark_own(struct sw_payload *payload, const struct slurm_job *job)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };

    replace(&payload->outputs, json_deep_copy(payload->outputs));
    if (sw_mounts_parse(job->plan->mounts, &mounts, NULL) == 0)
        sw_entrypoint_mark_own(payload->outputs, job->names.results, &mounts);
}

/* All nodes see the base folder, in a container, too. */
static void place_setup(struct sw_payload *payload, const struct slurm_job *job)
{
    sw_autofree char *own = sw_path_join(job->names.work, "setup");
    sw_autofree char *cache = sw_format("%s/.cache/setup", job->names.base);

    sw_setup_place(payload, &(struct sw_setup_place){ own, cache, slurm_has_own_root(job) });
}

struct sw_payload *slurm_payload(const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = sw_entrypoint_payload(job->plan, err);

    if (!payload)
        return NULL;
    json_decref(payload->env);
    payload->env = slurm_environment(job);
    payload->redact = true;
    payload->time_grace_ms = job->shape.time_grace_ms;
    if (job->ca) {
        free(payload->ca);
        /* A task's own copy of the payload lies elsewhere. */
        payload->ca = sw_strdup(slurm_has_tasks(job) ? job->ca : strrchr(job->ca, '/') + 1);
    }
    payload->scratch_dir = of_task(job, job->names.work);
    payload->results_dir = slurm_mounts_results(job) ? sw_strdup(SW_RESULTS)
                                                     : of_task(job, job->names.results);
    json_decref(payload->inputs);
    payload->inputs = paths_of(job->plan->inputs);
    if (job->plan->code) {
        json_decref(payload->code);
        payload->code = sw_json_object(SW_STR("archive", job->names.code));
    }
    place_setup(payload, job);
    if (!slurm_has_own_root(job))
        use_own_folders(payload, job);
    else if (job->shape.nodes > 1)
        mark_own(payload, job);
    if (job->plan->launcher == SW_LAUNCHER_TORCHRUN)
        sw_entrypoint_torchrun(payload, job->shape.nodes, job->shape.gpus);
    if (job->plan->launcher == SW_LAUNCHER_RAY)
        sw_entrypoint_ray(payload, job->plan);
    return sw_take(payload);
}

/* ---- the entrypoint ------------------------------------------------------------------------------ */

/* A function, so that what is set already is seen when it runs. */
static void add_defaults(struct sw_buf *out, const struct slurm_job *job)
{
    bool inside = job->plan->image && job->options.container != SLURM_CONTAINER_NONE;
    sw_autofree char *hf_home = sw_format("%s/.cache/huggingface", job->names.base);
    sw_autofree char *text = sw_job_env_defaults_shell(inside, hf_home);

    sw_buf_addf(out, "slipway_defaults() {\n%s}\n", text);
}

static void add_roles(struct sw_buf *out, const struct slurm_job *job)
{
    slurm_set_flag(out, "slipway_roles", job->options.cosmos);
    if (!job->options.cosmos)
        return;
    slurm_set_number(out, "TOTAL_NODES", job->shape.nodes);
    slurm_set_number(out, "NUM_POLICY_NODES", job->cosmos.policy_nodes);
    slurm_set_number(out, "NUM_ROLLOUT_NODES", job->shape.nodes - job->cosmos.policy_nodes);
    slurm_set_number(out, "CONTROLLER_PORT", job->cosmos.controller_port);
    slurm_text_add(out, SLURM_TEXT_ROLES);
}

static void add_cuda(struct sw_buf *out, const struct slurm_job *job)
{
    sw_auto(json) json_t *env = slurm_environment(job);
    const char *version = sw_json_str(env, "CUDA_OVERRIDE_VERSION");
    sw_autofree char *folder = version ? sw_format("/usr/local/cuda-%s", version) : NULL;

    slurm_set(out, "slipway_cuda", folder);
}

void slurm_entrypoint(struct sw_buf *out, const struct slurm_job *job)
{
    sw_autofree char *results = sw_format("%s/results", job->names.base);
    bool mpi = job->plan->launcher == SW_LAUNCHER_MPI;

    sw_buf_addf(out, "#!/bin/sh\n# Job %s: what each task runs. Made by slipway.\n", job->plan->job_id);
    sw_buf_addf(out, "umask %s\n", slurm_umask(&job->options));
    slurm_set(out, "slipway_id", job->plan->job_id);
    slurm_set(out, "slipway_payload", job->names.payload);
    slurm_set(out, "slipway_secrets", job->names.secrets);
    slurm_set(out, "slipway_ranks", slurm_in_bundle(job) ? "bundle" : mpi ? "process" : "node");
    slurm_set(out, "slipway_results_root", results);
    slurm_set(out, "slipway_results_inside", slurm_mounts_results(job) ? SW_RESULTS : NULL);
    slurm_set_flag(out, "slipway_alone", !job->options.cosmos && !mpi);
    sw_buf_add(out, "slipway_collect_only=");
    if (job->plan->only_collect)
        sw_buf_add_number(out, job->plan->command_exit);
    sw_buf_add_char(out, '\n');
    add_cuda(out, job);
    add_roles(out, job);
    add_defaults(out, job);
    slurm_text_add(out, SLURM_TEXT_TASK);
}
