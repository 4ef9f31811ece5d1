/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_env.c - the table of a job's variables, and their values.
 *
 * WORLD_SIZE counts nodes, as TAO's entry point expects; `world_size: ranks` counts processes, as a plain
 * torch script expects. WORKER_ADDRS names all nodes but the first, as Lepton's own script does.
 */
#include "core/job_env.h"

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"

const struct sw_job_variable sw_job_variables[] = {
    { "NNODES", SW_VARIABLE_OURS, NULL, "how many nodes the job has" },
    { "NODE_RANK", SW_VARIABLE_OURS, NULL, "which of them this is, from 0" },
    { "NUM_GPU_PER_NODE", SW_VARIABLE_OURS, NULL, "GPUs of each node" },
    { "NPROC_PER_NODE", SW_VARIABLE_OURS, NULL, "processes of each node: one per GPU, at least 1" },
    { "WORLD_SIZE", SW_VARIABLE_OURS, NULL, "nodes, or with `world_size: ranks` all processes" },
    { "MASTER_ADDR", SW_VARIABLE_OURS, NULL, "address of the node with rank 0" },
    { "MASTER_PORT", SW_VARIABLE_YOURS, NULL, "29500, on the local platform a free port; `env:` may choose" },
    { "WORKER_ADDRS", SW_VARIABLE_OURS, NULL, "addresses of the other nodes, with commas between" },
    { "TAO_JOB_ID", SW_VARIABLE_OURS, NULL, "the job's id" },
    { "TAO_RESULTS_ROOT", SW_VARIABLE_OURS, NULL, "folder of results, for TAO's own programs" },
    { "TAO_API_RESULTS_DIR", SW_VARIABLE_OURS, NULL, "folder above the results" },
    { "SLIPWAY_JOB_ID", SW_VARIABLE_OURS, NULL, "the job's id" },
    { "SLIPWAY_ATTEMPT", SW_VARIABLE_OURS, NULL, "which attempt this is, from 1" },
    { "SLIPWAY_RESULTS_DIR", SW_VARIABLE_OURS, NULL, "the results folder, as `{results_dir}`" },
    { "SLIPWAY_SETUP_DIR", SW_VARIABLE_SETUP, NULL, "with `setup`: the folder for what it makes" },
    { "SPLIT_ID", SW_VARIABLE_SPLIT, NULL, "with `splits`: which of them this is, from 0" },
    { "SPLIT_COUNT", SW_VARIABLE_SPLIT, NULL, "with `splits`: how many there are" },
    { "CUDA_VISIBLE_DEVICES", SW_VARIABLE_GPUS, NULL, "the GPUs that the job has" },
    { "NVIDIA_VISIBLE_DEVICES", SW_VARIABLE_GPUS, NULL, "the GPUs that its container has" },
    { "PYTHONUNBUFFERED", SW_VARIABLE_DEFAULT, "1", "lines reach the log as they are printed" },
    { "NCCL_DEBUG", SW_VARIABLE_DEFAULT, "INFO", "NCCL's own messages, which `why` reads" },
    { "LOGLEVEL", SW_VARIABLE_DEFAULT, "INFO", "what TAO and torchrun print" },
    { "HF_HOME", SW_VARIABLE_DEFAULT, NULL, "cache of Hugging Face that jobs share, on a cluster" },
    { "PYTHONNOUSERSITE", SW_VARIABLE_INSIDE, "1", "no packages of the home folder" },
    { "PYTHONDONTWRITEBYTECODE", SW_VARIABLE_INSIDE, "1", "no __pycache__ in mounted folders" },
    { 0 }
};

static const char ours[] = "Slipway sets it and would override a value here";

static const struct sw_job_variable *find(const char *name)
{
    const struct sw_job_variable *row = sw_job_variables;

    while (row->name && strcmp(row->name, name) != 0)
        row++;
    return row->name ? row : NULL;
}

const char *sw_job_env_taken_by_splits(const char *name)
{
    const struct sw_job_variable *row = find(name);

    return row && row->kind == SW_VARIABLE_SPLIT ? ours : NULL;
}

const char *sw_job_env_taken(const char *name)
{
    /* By these a platform finds the processes of a job. */
    static const char *const marks[] = { "SLIPWAY_JOB_DIR", "SLIPWAY_TASK" };
    const struct sw_job_variable *row = find(name);

    if (row)
        return row->kind == SW_VARIABLE_OURS || row->kind == SW_VARIABLE_SETUP ? ours
               : row->kind == SW_VARIABLE_GPUS ? "the GPUs that a job sees follow from 'gpus' (and "
                                                 "local.gpu_ids), so a value here would be overridden"
                                               : NULL;
    for (size_t i = 0; i < SW_COUNT(marks); i++)
        if (strcmp(marks[i], name) == 0)
            return ours;
    return NULL;
}

json_t *sw_job_env_own(const json_t *env)
{
    json_t *own = json_object(), *value;
    const char *name;

    json_object_foreach((json_t *)env, name, value)
        if (!sw_job_env_taken(name))
            json_object_set(own, name, value);
    return own;
}

static void set_text(json_t *env, const char *name, const char *value)
{
    if (value)
        json_object_set_new(env, name, json_string(value));
}

static void set_number(json_t *env, const char *name, int value)
{
    json_object_set_new(env, name, json_sprintf("%d", value));
}

static void add_rendezvous(const struct sw_job_env *known, json_t *env)
{
    int per_node = known->gpus_per_node > 0 ? known->gpus_per_node : 1;

    set_number(env, "NNODES", known->nodes);
    if (known->node_rank >= 0)
        set_number(env, "NODE_RANK", known->node_rank);
    set_number(env, "NUM_GPU_PER_NODE", known->gpus_per_node);
    set_number(env, "NPROC_PER_NODE", per_node);
    set_number(env, "WORLD_SIZE", known->world_size_ranks ? known->nodes * per_node : known->nodes);
    set_text(env, "MASTER_ADDR", known->master_addr);
    if (!json_object_get(env, "MASTER_PORT"))
        set_number(env, "MASTER_PORT", known->master_port > 0 ? known->master_port : SW_MASTER_PORT);
    set_text(env, "WORKER_ADDRS", known->worker_addrs);
}

void sw_job_env_add(const struct sw_job_env *known, json_t *env)
{
    if (known->nodes > 0)
        add_rendezvous(known, env);
    set_text(env, "TAO_JOB_ID", known->job_id);
    set_text(env, "TAO_RESULTS_ROOT", known->results_root);
    set_text(env, "TAO_API_RESULTS_DIR", known->results_above);
    set_text(env, "SLIPWAY_JOB_ID", known->job_id);
    if (known->attempt > 0)
        set_number(env, "SLIPWAY_ATTEMPT", known->attempt);
    set_text(env, "SLIPWAY_RESULTS_DIR", known->results_dir);
}

/* NULL: the row is none of the defaults here. */
static const char *default_of(const struct sw_job_variable *row, bool container, const char *hf_home)
{
    if (row->kind != SW_VARIABLE_DEFAULT && (row->kind != SW_VARIABLE_INSIDE || !container))
        return NULL;
    return row->value ? row->value : hf_home;
}

void sw_job_env_defaults(bool container, const char *hf_home, json_t *env)
{
    for (const struct sw_job_variable *row = sw_job_variables; row->name; row++)
        if (!json_object_get(env, row->name))
            set_text(env, row->name, default_of(row, container, hf_home));
}

char *sw_job_env_defaults_shell(bool container, const char *hf_home)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    for (const struct sw_job_variable *row = sw_job_variables; row->name; row++) {
        const char *value = default_of(row, container, hf_home);

        if (!value)
            continue;
        sw_buf_addf(&out, "[ -n \"${%s+set}\" ] || export %s=", row->name, row->name);
        sw_buf_add_quoted(&out, value);
        sw_buf_add_char(&out, '\n');
    }
    return sw_buf_steal(&out);
}

char *sw_job_env_names(void)
{
    sw_auto(json) json_t *env = json_object();
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *name;
    json_t *value;

    sw_job_env_add(&(struct sw_job_env){ .nodes = 1, .node_rank = -1, .master_addr = "", .worker_addrs = "",
                                         .job_id = "", .attempt = 1 }, env);
    json_object_foreach(env, name, value)
        sw_buf_addf(&out, "%s%s", out.length ? "," : "", name);
    return sw_buf_steal(&out);
}
