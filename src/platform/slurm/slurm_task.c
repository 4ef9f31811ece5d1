/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_task.c - what every task runs: the entrypoint, its environment and the letter to the runner.
 *
 * The rank is found inside the task: on the batch host SLURM_NODEID is 0 for everybody. Frameworks
 * that start their own workers must not believe that Slurm started them, so the variables by which
 * they would are taken away; SLURM_NODEID stays. The first rank that fails makes a link, which only
 * one can make: so the clocks of the nodes need not agree on who was first.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "core/command.h"
#include "core/job_env.h"
#include "plan/entrypoint.h"
#include "plan/paths.h"

/* What is known before a task runs; its defaults are the entrypoint's, which sees what is set already. */
json_t *slurm_environment(const struct slurm_job *job)
{
    json_t *env = sw_job_env_own(job->plan->env);
    sw_autofree char *results = sw_format("%s/results", job->names->base);

    slurm_cosmos_environment(env, job);
    sw_job_env_add(&(struct sw_job_env){ .job_id = job->plan->job_id, .results_above = results }, env);
    return env;
}

/* "slurm://host/path" in values is "/host/path" there (contract 4.3.4). */
static json_t *paths_of(const json_t *entries, const char *key)
{
    json_t *all = json_deep_copy(entries), *entry;
    size_t i;

    json_array_foreach(all, i, entry) {
        const char *from = sw_json_str(entry, key);

        if (from && sw_text_starts(from, "slurm://"))
            json_object_set_new(entry, key, json_sprintf("/%s", from + strlen("slurm://") +
                                                         (from[strlen("slurm://")] == '/')));
        else if (from && sw_text_starts(from, "lustre:///"))
            json_object_set_new(entry, key, sw_json_text(from + strlen("lustre://")));
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
static void use_own_folders(struct sw_payload *letter, const struct slurm_job *job)
{
    sw_auto(sw_paths) struct sw_paths *paths =
        sw_paths_of_plan(job->plan, letter->work_dir, letter->results_dir);

    sw_paths_payload(paths, letter);
}

/* In a container of its own each rank has what is neither the job's results nor mounted. */
static void mark_own(struct sw_payload *letter, const struct slurm_job *job)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };

    replace(&letter->outputs, json_deep_copy(letter->outputs));
    if (sw_mounts_parse(job->plan->mounts, &mounts, NULL) == 0)
        sw_entrypoint_mark_own(letter->outputs, job->names->results, &mounts);
}

struct sw_payload *slurm_letter(const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *letter = sw_entrypoint_payload(job->plan, err);

    if (!letter)
        return NULL;
    json_decref(letter->env);
    letter->env = slurm_environment(job);
    letter->redact = true;
    letter->time_grace_ms = job->shape->time_grace_ms;
    if (job->ca) {
        free(letter->ca);
        /* A task's own copy of the payload lies elsewhere. */
        letter->ca = sw_strdup(slurm_has_tasks(job->plan) ? job->ca : strrchr(job->ca, '/') + 1);
    }
    letter->work_dir = slurm_work_inside(job);
    letter->results_dir = slurm_results_inside(job);
    json_decref(letter->inputs);
    letter->inputs = paths_of(job->plan->inputs, "from");
    if (job->plan->code) {
        json_decref(letter->code);
        letter->code = sw_json_object(SW_STR("archive", job->names->code));
    }
    if (!slurm_has_own_root(job->plan))
        use_own_folders(letter, job);
    else if (job->shape->nodes > 1)
        mark_own(letter, job);
    if (job->plan->launcher == SW_LAUNCHER_TORCHRUN)
        sw_entrypoint_torchrun(letter, job->shape->nodes, job->shape->gpus);
    return sw_take(letter);
}

/* ---- the entrypoint ------------------------------------------------------------------------------ */

static const char rank_text[] =
    "NODE_RANK=${SLURM_NODEID:?this runs in a task of Slurm}\n"
    "export NODE_RANK\n"
    "slipway_name=$slipway_rank\n"
    "[ \"$slipway_rank\" != 0 ] || slipway_name=main\n"
    "exec >>\"$slipway_logs/$slipway_name${slipway_task:+.$slipway_task}.out\" 2>&1\n"
    "slipway_report=$slipway_own/rank-$slipway_rank.json\n";

/* In an OCI bundle Slurm's words about the task are those of the batch script: the rank is our first
 * word (slurm_render.c), and the node follows from it. */
static const char bundle_text[] =
    "SLURM_NODEID=$1 SLURM_PROCID=$1 slipway_rank=$1\n"
    "IFS=,\n"
    "set -- $slipway_hosts\n"
    "unset IFS\n"
    "shift \"$slipway_rank\"\n"
    "SLURMD_NODENAME=$1\n"
    "PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}\n"
    "export SLURM_NODEID SLURM_PROCID SLURMD_NODENAME PATH\n";

/* With `launcher: mpi` every task is a process of the user's, and needs what Slurm says. */
static const char alone_text[] =
    "export SLURM_JOB_NAME=bash\n"
    "unset SLURM_NTASKS SLURM_NNODES SLURM_PROCID SLURM_LOCALID SLURM_NTASKS_PER_NODE \\\n"
    "    RANK LOCAL_RANK GROUP_RANK\n";

/* Another CUDA than the image's first one, where it is installed beside (contract 4.3.6, row 17). */
static const char cuda_text[] =
    "CUDA_HOME=$slipway_cuda CUDA_PATH=$slipway_cuda\n"
    "LD_LIBRARY_PATH=$slipway_cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n"
    "LIBRARY_PATH=$slipway_cuda/lib64${LIBRARY_PATH:+:$LIBRARY_PATH}\n"
    "CPATH=$slipway_cuda/include${CPATH:+:$CPATH}\n"
    "export CUDA_HOME CUDA_PATH LD_LIBRARY_PATH LIBRARY_PATH CPATH\n";

static void add_cuda(struct sw_buf *out, const struct slurm_job *job)
{
    sw_auto(json) json_t *env = slurm_environment(job);
    const char *version = sw_json_str(env, "CUDA_OVERRIDE_VERSION");
    sw_autofree char *folder = version ? sw_format("/usr/local/cuda-%s", version) : NULL;

    if (!folder)
        return;
    slurm_set(out, "slipway_cuda", folder);
    sw_buf_add(out, cuda_text);
}

/* The run before this one could only not bring its outputs (slurm_render.c): the command is not run again. */
static const char collect_text[] =
    "[ ! -e \"$slipway_own/collect\" ] || export SLIPWAY_COLLECT_ONLY=0\n";

/* Slurm signals every process of a step by itself, the runner among them: nothing is passed on to it from
 * here but a stop of ours, once. What ran away from the command has our mark in its environment; where
 * Slurm tracks processes by cgroups there is nothing left to find. */
static const char run_text[] =
    "export SLIPWAY_TASK=\"$SLURM_JOB_ID.$slipway_rank\"\n"
    "slipway_sweep() {\n"
    "    for slipway_file in $(grep -lszxF \"SLIPWAY_TASK=$SLIPWAY_TASK\" /proc/[0-9]*/environ 2>&-); do\n"
    "        slipway_file=${slipway_file#/proc/}\n"
    "        kill -KILL \"${slipway_file%/environ}\" 2>&-\n"
    "    done\n"
    "}\n"
    "slipway_child= slipway_told= slipway_how=\n"
    "slipway_stop() {\n"
    "    [ -n \"$slipway_child\" ] && [ -z \"$slipway_told\" ] || return 0\n"
    "    slipway_told=1\n"
    "    { read -r slipway_how <\"$slipway_own/stop\"; } 2>&-\n"
    "    case $slipway_how in time) kill -XCPU \"$slipway_child\" 2>&- ;; *) kill -QUIT "
    "\"$slipway_child\" 2>&- ;; esac\n"
    "}\n"
    "trap slipway_stop URG\n"
    "trap : TERM INT HUP USR1 USR2\n"
    "if [ -f \"$slipway_secrets\" ]; then\n"
    "    \"$slipway_runner\" all --report-only \"$slipway_report\" --secrets-fd 3 \"$slipway_letter\" "
    "3<\"$slipway_secrets\" &\n"
    "else\n"
    "    \"$slipway_runner\" all --report-only \"$slipway_report\" \"$slipway_letter\" &\n"
    "fi\n"
    "slipway_child=$!\n"
    "[ ! -e \"$slipway_own/stop\" ] || slipway_stop\n"
    "while :; do\n"
    "    wait \"$slipway_child\"\n"
    "    slipway_code=$?\n"
    "    kill -0 \"$slipway_child\" 2>&- || break\n"
    "done\n"
    "slipway_sweep\n"
    "! grep -qs '\"failed_peer\"' \"$slipway_report\" || slipway_told=peer\n"
    "[ \"$slipway_code\" = 0 ] || [ \"$slipway_told\" = peer ] || "
    "ln -s \"$slipway_rank\" \"$slipway_own/first\" 2>&-\n"
    "echo \"$slipway_code ${SLURMD_NODENAME:-$(hostname 2>&-)}\" >\"$slipway_own/rank-$slipway_rank\"\n"
    "[ -z \"$slipway_told\" ] || exit 0                # or srun would end the others, who still have "
    "their grace\n"
    "exit \"$slipway_code\"\n";

static void add_defaults(struct sw_buf *out, const struct slurm_job *job)
{
    bool inside = job->plan->image && !sw_text_same(sw_json_str(job->plan->options, "container"), "none");
    sw_autofree char *hf_home = sw_format("%s/.cache/huggingface", job->names->base);
    sw_autofree char *text = sw_job_env_defaults_shell(inside, hf_home);

    sw_buf_add(out, text);
}

/* TAO_RESULTS_ROOT is the contract's: the folder that the job's own is in; of a task, its own. */
static void add_results(struct sw_buf *out, const struct slurm_job *job)
{
    sw_autofree char *root = sw_format("%s/results", job->names->base);

    sw_buf_add(out, "TAO_RESULTS_ROOT=");
    sw_buf_add_quoted(out, root);
    if (slurm_has_tasks(job->plan))
        sw_buf_addf(out, "/%s/task-$slipway_task", job->plan->job_id);
    sw_buf_add(out, "\nSLIPWAY_RESULTS_DIR=");
    if (slurm_mounts_results(job->plan))
        sw_buf_add(out, SW_RESULTS);
    else
        sw_buf_addf(out, "$TAO_RESULTS_ROOT%s%s", slurm_has_tasks(job->plan) ? "" : "/",
                    slurm_has_tasks(job->plan) ? "" : job->plan->job_id);
    sw_buf_add(out, "\nexport TAO_RESULTS_ROOT SLIPWAY_RESULTS_DIR\n");
}

void slurm_entrypoint(struct sw_buf *out, const struct slurm_job *job)
{
    sw_buf_addf(out, "#!/bin/sh\n# Job %s: what each task runs. Made by slipway.\n",
                job->plan->job_id);
    sw_buf_addf(out, "umask %s\n", slurm_umask(job->plan->options));
    if (slurm_has_tasks(job->plan))
        sw_buf_add(out, "slipway_letter=$slipway_own/letter.json\n");
    else
        slurm_set(out, "slipway_letter", job->names->letter);
    slurm_set(out, "slipway_secrets", job->names->secrets);
    sw_buf_add(out, slurm_in_bundle(job->plan)              ? bundle_text
                    : job->plan->launcher == SW_LAUNCHER_MPI ? "slipway_rank=$SLURM_PROCID\n"
                                                             : "slipway_rank=$SLURM_NODEID\n");
    sw_buf_add(out, rank_text);
    add_defaults(out, job);
    add_results(out, job);
    if (!json_object_get(job->plan->options, "cosmos") && job->plan->launcher != SW_LAUNCHER_MPI)
        sw_buf_add(out, alone_text);
    if (job->plan->only_collect)
        sw_buf_addf(out, "export SLIPWAY_COLLECT_ONLY=%d\n", job->plan->command_exit);
    sw_buf_add(out, collect_text);
    slurm_cosmos_roles(out, job);
    add_cuda(out, job);
    sw_buf_add(out, run_text);
}
