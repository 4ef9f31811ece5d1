/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_options.h - the `slurm:` block of a job file or profile in types, filled from its table.
 *
 * A list is a json_t: an array of texts, or one text. What is not said and has no default is NULL, 0 or
 * false.
 */
#ifndef SW_PLATFORM_SLURM_OPTIONS_H
#define SW_PLATFORM_SLURM_OPTIONS_H

#include "core/option.h"
#include "net/ssh.h"

enum slurm_transport { SLURM_SSH, SLURM_LOCAL };
enum slurm_container_kind { SLURM_CONTAINER_AUTO, SLURM_CONTAINER_PYXIS, SLURM_CONTAINER_OCI,
                            SLURM_CONTAINER_NONE };
enum slurm_gpu_request { SLURM_GPUS_BY_GRES, SLURM_GPUS_PER_NODE };
enum { SLURM_NODES_MOST = 4096 };

struct slurm_connect_options {
    enum slurm_transport transport;
    const json_t *hostname;
    const char *user;
    int port;
    struct sw_ssh_options ssh;
    const char *base_dir, *job_name_prefix;
};

struct slurm_job_options {
    int shared;                    /* 0: none, 1: group, 2: all */
    /* How it is queued. */
    const json_t *partition, *nodelist, *exclude, *mail_type;
    const char *account, *qos, *reservation, *constraint, *array, *dependency, *begin, *licenses, *comment,
               *mail_user;
    bool exclusive, requeue, use_timeout;
    int nice;
    int64_t signal_ahead;          /* ms */
    double time_hours, timeout_hours;
    /* What it gets. */
    enum slurm_gpu_request gpu_request;
    const char *gres, *mem, *arch, *mpi;
    int max_gpus_per_node, cpus_per_task, max_cpus_per_task;
    const json_t *sbatch_args, *srun_args, *setup_lines, *cosmos;
    /* What it runs in. */
    enum slurm_container_kind container;
    const json_t *container_mounts, *container_env;
    bool mount_home, remap_root, container_writable, image_entrypoint, registry_login;
    bool use_sqsh, require_sqsh, force_reconvert_latest;
    int sqsh_latest;               /* enum slurm_latest */
    const char *sqsh_cache_dir, *conversion_partition, *enroot_temp_path;
    int conversion_memory_gb, conversion_timeout_minutes;
    bool check;
};

struct slurm_cosmos {              /* the roles of Cosmos-RL */
    int policy_nodes;              /* 0: the job has no roles */
    int rollout_nodes;             /* -1: the rest */
    int controller_port;
};

extern const struct sw_option slurm_options[];
int slurm_job_options_fill(const json_t *options, struct slurm_job_options *out, struct sw_error *err);
int slurm_cosmos_fill(const struct slurm_job_options *options, struct slurm_cosmos *out,
                      struct sw_error *err);

/* The texts of a list with commas between; NULL: none. Owned. */
char *slurm_joined(const json_t *list);
/* Who may read what a job leaves, as a umask. Borrowed. */
const char *slurm_umask(const struct slurm_job_options *options);

#endif
