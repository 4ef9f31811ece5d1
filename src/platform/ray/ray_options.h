/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_options.h - the block `ray:` as two structs: which cluster, and what a job wants there.
 */
#ifndef SW_PLATFORM_RAY_OPTIONS_H
#define SW_PLATFORM_RAY_OPTIONS_H

#include "core/option.h"
#include "net/ssh.h"

struct ray_connect_options {         /* texts are borrowed from the options; NULL: not given */
    const char *address, *token_file, *kubeconfig, *context;
    int64_t dashboard_port;
    struct sw_ssh_options ssh;
};

struct ray_job_options {             /* the same */
    const char *arch, *work_dir;
    const json_t *resources, *labels, *runtime_env, *cluster_secrets;
    int64_t start_limit_ms;
};

extern const struct sw_option ray_options[];

struct ray_connect_options ray_connect_options(const json_t *options);
struct ray_job_options ray_job_options(const json_t *options);

#endif
