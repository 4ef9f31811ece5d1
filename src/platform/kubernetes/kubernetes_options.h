/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_options.h - what users may say in the block `kubernetes:`, as typed structs.
 */
#ifndef SW_PLATFORM_KUBERNETES_OPTIONS_H
#define SW_PLATFORM_KUBERNETES_OPTIONS_H

#include "core/option.h"

struct k8s_connect_options {         /* texts are borrowed; "" is NULL */
    const char *kubeconfig;          /* one path, or several with ':'; NULL: KUBECONFIG, ~/.kube/config */
    const char *context, *namespace;
    const char *helper_image;        /* for short pods that show files */
};

enum k8s_engine_choice { K8S_AUTO, K8S_JOB, K8S_JOBSET, K8S_PYTORCHJOB, K8S_TRAINJOB, K8S_MPIJOB,
                         K8S_VOLCANO, K8S_RAYJOB };
enum k8s_runner_way { K8S_RUNNER_CONFIG_MAP, K8S_RUNNER_SECRET, K8S_RUNNER_IMAGE };
enum k8s_security { K8S_SECURITY_AUTO, K8S_SECURITY_RESTRICTED, K8S_SECURITY_IMAGE };
enum k8s_arch { K8S_ARCH_AUTO, K8S_ARCH_AMD64, K8S_ARCH_ARM64 };
enum k8s_pull_policy { K8S_PULL_DEFAULT, K8S_PULL_ALWAYS, K8S_PULL_MISSING, K8S_PULL_NEVER };

struct k8s_job_options {             /* likewise */
    enum k8s_engine_choice engine;
    enum k8s_arch arch;
    enum k8s_runner_way runner;
    const char *runner_image;        /* with runner: image; an init container copies its /slipway-runner */
    const char *gpu_resource;        /* "nvidia.com/gpu"; "nvidia.com/mig-1g.10gb", "amd.com/gpu" */
    bool autoscaler;                 /* nodes may be added: what does not fit on today's is sent, too */
    const char *queue;               /* Kueue's LocalQueue, or Volcano's queue */
    const char *queue_priority;      /* Kueue's WorkloadPriorityClass */
    const char *priority_class, *scheduler, *service_account, *runtime_class;
    const char *image_pull_secret;   /* NULL: made from NGC_KEY or docker's logins where there is one */
    enum k8s_pull_policy pull;
    int64_t ttl_ms;                  /* the Job goes so long after its end; 0: never */
    int64_t ephemeral_bytes;         /* ephemeral storage requested; 0: none */
    enum k8s_security security;
    const char *user;                /* UID[:GID]; NULL: the image's */
    bool read_only;                  /* the container's root */
    bool host_network;
    const json_t *node_selector;     /* texts by name */
    const json_t *tolerations, *affinity, *topology_spread, *resource_claims;   /* as the API has them */
    const json_t *volumes;           /* by path in the container (kubernetes_volumes.c) */
    const json_t *requests, *limits; /* more resources, by name */
    const json_t *labels, *annotations;     /* of pods and of the Job */
    const json_t *security_context, *pod_security_context;    /* as the API has them; override `security` */
    const json_t *pod;               /* more of the pod's spec; cannot change what the job itself says */
    const char *runtime_ref;         /* TrainJob's runtime: "torch-distributed" */
    int master_port;
};

extern const struct sw_option kubernetes_options[];

/* `options`: the block of a plan or of a profile; may be NULL. A damaged value counts as not given. */
struct k8s_connect_options k8s_connect_options(const json_t *options);
struct k8s_job_options k8s_job_options(const json_t *options);
const char *k8s_arch_name(enum k8s_arch arch);       /* "amd64"; NULL: auto */

#endif
