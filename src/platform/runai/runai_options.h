/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_options.h - the options of this platform, typed. All texts and documents are borrowed from the
 * options that they were read from.
 */
#ifndef SW_PLATFORM_RUNAI_OPTIONS_H
#define SW_PLATFORM_RUNAI_OPTIONS_H

#include "core/option.h"

struct runai_connect_options {
    const char *base_url, *project, *cluster;
    const char *kube_apiserver_url, *kubeconfig, *kube_context;
};

struct runai_account_options {           /* who asks; each may come from a variable instead */
    const char *client_id, *client_secret;
    const char *app_id, *app_secret;     /* of older control planes */
};

enum runai_arch { RUNAI_X86_64, RUNAI_AARCH64 };
enum runai_pull { RUNAI_PULL_DEFAULT, RUNAI_PULL_ALWAYS, RUNAI_PULL_MISSING, RUNAI_PULL_NEVER };

struct runai_job_options {
    unsigned arch, pull;                 /* enum runai_arch, enum runai_pull */
    double gpu_portion, gpu_portion_limit;           /* 0: not said */
    int64_t gpu_memory_bytes, gpu_memory_limit_bytes;
    const char *node_type, *priority, *preemptibility, *image_pull_secret;
    const json_t *node_pools, *volumes, *extended_resources, *tolerations, *security;
    const json_t *labels, *annotations;
    bool large_shm;
    int master_port, max_args;
    int64_t ttl_ms;
};

extern const struct sw_option runai_options[];

struct runai_connect_options runai_connect_options(const json_t *options);
struct runai_account_options runai_account_options(const json_t *options);
struct runai_job_options runai_job_options(const json_t *options);
const char *runai_arch_name(enum runai_arch arch);       /* "x86_64" */

#endif
