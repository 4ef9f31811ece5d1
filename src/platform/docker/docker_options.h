/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_options.h - what users may say in the block `docker:`, as typed structs.
 */
#ifndef SW_PLATFORM_DOCKER_OPTIONS_H
#define SW_PLATFORM_DOCKER_OPTIONS_H

#include "core/option.h"
#include "net/ssh.h"

enum docker_tls { DOCKER_TLS_AUTO, DOCKER_TLS_NONE, DOCKER_TLS_CHECKED, DOCKER_TLS_ANY };

struct docker_connect_options {      /* texts and documents are borrowed */
    const char *host, *context;
    enum docker_tls tls;
    const char *certificates;        /* a folder */
    struct sw_ssh_options ssh;       /* of ssh:// engines; host and user come from the address */
    const json_t *gpu_devices;
};

enum docker_pull_policy { DOCKER_PULL_ALWAYS, DOCKER_PULL_MISSING, DOCKER_PULL_NEVER };
enum docker_results_at { DOCKER_RESULTS_AUTO, DOCKER_RESULTS_BIND, DOCKER_RESULTS_VOLUME };
enum docker_run_as { DOCKER_RUN_AUTO, DOCKER_RUN_AS_ME, DOCKER_RUN_AS_IMAGE };
enum docker_entrypoint { DOCKER_ENTRYPOINT_KEEP, DOCKER_ENTRYPOINT_DROP };

struct docker_job_options {          /* likewise; "" is NULL */
    enum docker_pull_policy pull;
    const char *network, *user, *runtime, *ipc, *log_driver;
    enum docker_results_at results;
    enum docker_run_as run_as;
    enum docker_entrypoint entrypoint;
    const json_t *mounts;            /* plan->mounts has them, with those of the job file */
    const json_t *gpu_ids, *ulimits, *host_config;
    bool share_gpus, read_only, auto_remove;
};

extern const struct sw_option docker_options[];

/* `options`: the block of a plan or of a profile; may be NULL. A damaged value counts as not given. */
struct docker_connect_options docker_connect_options(const json_t *options);
struct docker_job_options docker_job_options(const json_t *options);

#endif
