/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_familiar.c - keys that people know from other tools, and what a job file calls them.
 *
 * A word of sbatch, SkyPilot, dstack, NeMo-Run or TAO is not a spelling mistake: the nearest spelling of
 * `run` leads nowhere. `slipway init --from` translates whole files.
 */
#include "spec/spec_internal.h"

#include <string.h>

#include "base/text.h"

static const struct {
    const char *word, *key;
    const char *instead;             /* said in place of the key; or NULL */
} familiar[] = {
    { "accelerator", "gpus" }, { "accelerators", "gpus" }, { "gpu_count", "gpus" },
    { "gpus_per_node", "gpus" }, { "num_gpus", "gpus" },
    { "resources", "gpus", "gpus, cpus and memory are keys of their own here" },
    { "nnodes", "nodes" }, { "num_nodes", "nodes" }, { "replicas", "nodes" },
    { "ntasks", "launcher", "the command starts once on each node, and 'launcher' starts more" },
    { "ntasks_per_node", "launcher", "the command starts once on each node, and 'launcher' starts more" },
    { "cpu", "cpus" }, { "cpus_per_task", "cpus" }, { "num_cpus", "cpus" },
    { "mem", "memory" }, { "ram", "memory" }, { "shm_size", "shm" }, { "shared_memory_size", "shm" },
    { "max_duration", "time" }, { "time_limit", "time" }, { "timeout", "time" }, { "walltime", "time" },
    { "env_vars", "env" }, { "environment", "env" }, { "envs", "env" },
    { "container_image", "image" }, { "docker_image", "image" }, { "image_id", "image" },
    { "cmd", "command" }, { "commands", "command" }, { "entrypoint", "command" }, { "run", "command" },
    { "script", "command" },
    { "data", "inputs" }, { "datasets", "inputs" }, { "file_mounts", "inputs" }, { "storage", "inputs" },
    { "artifacts", "outputs" }, { "output", "outputs" }, { "results", "outputs" },
    { "container_mounts", "mounts" }, { "volume_mounts", "mounts" }, { "volumes", "mounts" },
    { "chdir", "workdir" }, { "cwd", "workdir" }, { "working_dir", "workdir" },
    { "job_name", "name" }, { "title", "name" },
    { "backend", "platform" }, { "backends", "platform" }, { "cloud", "platform" },
    { "executor", "platform" }, { "infra", "platform" },
    { "tags", "labels" },
    { "job_recovery", "retry" }, { "max_retries", "retry.max" }, { "retries", "retry.max" },
    { "files", "code" }, { "packager", "code" }, { "repos", "code" },
    { "checkpoint_dir", "checkpoint" },
    { "network_arch", "model" },
};

char *spec_familiar(const char *word)
{
    for (size_t i = 0; i < SW_COUNT(familiar); i++) {
        if (strcmp(familiar[i].word, word) != 0)
            continue;
        return familiar[i].instead
                   ? sw_format(" (%s: slipway help job %s)", familiar[i].instead, familiar[i].key)
                   : sw_format(" (use '%s': slipway help job %s)", familiar[i].key, familiar[i].key);
    }
    return NULL;
}
