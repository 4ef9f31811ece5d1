/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_env.h - the environment that every job finds, whatever platform it runs on.
 *
 * One table says which variables there are and whose word counts; one function gives their values. A
 * platform adds only the facts that it alone knows: addresses, ranks, folders. docs/use/job-file.md shows the
 * table to users, and a test compares.
 */
#ifndef SW_CORE_JOB_ENV_H
#define SW_CORE_JOB_ENV_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { SW_MASTER_PORT = 29500 };

enum sw_job_variable_kind {
    SW_VARIABLE_OURS,            /* as Slipway sets it; the job's `env` may not name it */
    SW_VARIABLE_YOURS,           /* as Slipway sets it, unless the job's `env` does */
    SW_VARIABLE_DEFAULT,         /* `value`, unless the job, the image or the machine has one */
    SW_VARIABLE_INSIDE,          /* the same, in a container only */
    SW_VARIABLE_GPUS,            /* which GPUs it sees: follows from `gpus`; `env` may not name it */
    SW_VARIABLE_SETUP,           /* of a job with `setup`, which sets it where it runs */
    SW_VARIABLE_SPLIT,           /* of a job with `splits`, whose plan has it in its environment */
};

struct sw_job_variable {
    const char *name;
    enum sw_job_variable_kind kind;
    const char *value;           /* of a default */
    const char *meaning;
};

/* Ends with a row without a name. */
extern const struct sw_job_variable sw_job_variables[];

/* Why the job's `env` may not name it: its value would be overridden. NULL: it may. Static. */
const char *sw_job_env_taken(const char *name);

/* The same for a job with `splits`. */
const char *sw_job_env_taken_by_splits(const char *name);

/* The job's own `env` without such names, which an older plan may hold. Owned; `env` may be NULL. */
json_t *sw_job_env_own(const json_t *env);

struct sw_job_env {              /* what is known; NULL, 0 or less than 0: set elsewhere */
    const char *job_id;
    int attempt;
    int nodes;                   /* 0: no rendezvous variable is set */
    int gpus_per_node;
    bool world_size_ranks;       /* WORLD_SIZE counts ranks instead of nodes */
    int node_rank;
    const char *master_addr, *worker_addrs;
    int master_port;             /* 0: SW_MASTER_PORT */
    const char *results_root, *results_above, *results_dir;
};

/* Adds to an object of texts what is known. */
void sw_job_env_add(const struct sw_job_env *known, json_t *env);
/* Adds the defaults that the object does not have. `hf_home`: NULL: none is set. */
void sw_job_env_defaults(bool container, const char *hf_home, json_t *env);
/* The same as shell text, for where only the job itself can tell what is set. Owned. */
char *sw_job_env_defaults_shell(bool container, const char *hf_home);
/* The names that are the same for all ranks or set before the rank is known, as a comma list. Owned. */
char *sw_job_env_names(void);

#endif
