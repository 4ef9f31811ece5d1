/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_options.c - the block `runai:` (or `dgxcloud:`) of a job file or profile: the one table of its
 * options.
 *
 * Names that NeMo-Run's profiles have (base_url, project_name, client_id, kube_apiserver_url,
 * dgxcloud_max_args_chars) are kept, so that such a profile works as it is. The secrets of an account
 * may stand in a user's own profile, and are never part of a job.
 */
#include "platform/runai/runai_options.h"

static const char *const arches[] = { "x86_64", "aarch64", NULL };
static const char *const pulls[] = { "default", "always", "missing", "never", NULL };
static const char *const priorities[] = { "very-low", "low", "medium-low", "medium", "medium-high", "high",
                                          "very-high", NULL };
static const char *const preemptibilities[] = { "preemptible", "non-preemptible", NULL };

/* A text alone is `source`. */
static const struct sw_option volume_fields[] = {
    { "source", SW_TEXT, .required = true,
      .help = "pvc:NAME, nfs:SERVER:/PATH, s3:BUCKET, config_map:NAME, secret:NAME, empty, /PATH of a node" },
    { "read_only", SW_FLAG, .help = "the job cannot write there (pvc, nfs, node)" },
    { "size", SW_TEXT, .help = "size of a pvc created and deleted with this job: 100Gi" },
    { "storage_class", SW_TEXT, .help = "of such a pvc" },
    { "url", SW_TEXT, .help = "endpoint of s3 (else Amazon's)" },
    { "access_key", SW_TEXT, .help = "Kubernetes secret with AccessKeyId and SecretKey, for s3" },
    { "sub_path", SW_TEXT, .help = "the key of a config_map that is mounted as a file" },
    { 0 }
};

#define CONNECTION(member) SW_CONNECTION, SW_FILLS(struct runai_connect_options, member)
#define ACCOUNT(member)    SW_ACCOUNT, SW_FILLS(struct runai_account_options, member)
#define JOB(member)        SW_JOB, SW_FILLS(struct runai_job_options, member)

const struct sw_option runai_options[] = {
    { "base_url", SW_TEXT, CONNECTION(base_url), .env = "RUNAI_BASE_URL",
      .help = "control plane, such as https://company.run.ai/api/v1" },
    { "project_name", SW_TEXT, CONNECTION(project), .env = "RUNAI_PROJECT", .help = "project of the jobs" },
    { "cluster", SW_TEXT, CONNECTION(cluster), .env = "RUNAI_CLUSTER",
      .help = "name or uuid of the cluster, where several have a project of that name" },
    { "kube_apiserver_url", SW_TEXT, CONNECTION(kube_apiserver_url), .env = "RUNAI_KUBE_APISERVER_URL",
      .help = "the cluster's Kubernetes API, for logs; it must take run:ai's tokens" },
    { "kubeconfig", SW_TEXT, CONNECTION(kubeconfig),
      .help = "file that leads to the same Kubernetes API with a user of its own, for logs" },
    { "kube_context", SW_TEXT, CONNECTION(kube_context),
      .help = "context of that file (else its current one)" },
    { "client_id", SW_TEXT, ACCOUNT(client_id),
      .help = "access key or service account (else RUNAI_CLIENT_ID)" },
    { "client_secret", SW_TEXT, ACCOUNT(client_secret), .help = "its secret (else RUNAI_CLIENT_SECRET)" },
    { "app_id", SW_TEXT, ACCOUNT(app_id), .help = "legacy application (else RUNAI_APP_ID)" },
    { "app_secret", SW_TEXT, ACCOUNT(app_secret), .help = "its secret (else RUNAI_APP_SECRET)" },
    { "arch", SW_CHOICE, JOB(arch), .initial = "x86_64", .choices = arches,
      .help = "processor of the nodes" },
    { "gpu_portion", SW_NUMBER, JOB(gpu_portion), .help = "part of each GPU, above 0 and at most 1" },
    { "gpu_portion_limit", SW_NUMBER, JOB(gpu_portion_limit), .help = "most that it may use of each GPU" },
    { "gpu_memory", SW_SIZE, JOB(gpu_memory_bytes), .help = "memory of each GPU, instead of a portion" },
    { "gpu_memory_limit", SW_SIZE, JOB(gpu_memory_limit_bytes),
      .help = "most memory that it may use of each GPU" },
    { "node_pools", SW_TEXTS, JOB(node_pools),
      .help = "node pools, tried in this order (else the project's)" },
    { "node_type", SW_TEXT, JOB(node_type), .help = "value of the label run.ai/type that a node must have" },
    { "priority", SW_CHOICE, JOB(priority), .choices = priorities,
      .help = "priority class (else the type's)" },
    { "preemptibility", SW_CHOICE, JOB(preemptibility), .choices = preemptibilities,
      .help = "whether it may exceed the project's quota and be preempted (else by priority)" },
    { "large_shm", SW_FLAG, JOB(large_shm), .initial = "true",
      .help = "raise /dev/shm from 64 MiB to the memory of the node" },
    { "volumes", SW_MAP_OF, JOB(volumes), .fields = volume_fields, .trust = SW_TRUST_PROFILE,
      .help = "path in the container: pvc:NAME, nfs:SERVER:/PATH, s3:BUCKET, config_map:NAME, secret:NAME, "
              "empty, or /PATH of the node" },
    { "extended_resources", SW_TEXT_MAP, JOB(extended_resources),
      .help = "more resources of each node by name, such as RDMA devices" },
    { "tolerations", SW_FREE, JOB(tolerations), .help = "list of tolerations, as the run:ai API has them" },
    { "security", SW_FREE, JOB(security), .trust = SW_TRUST_PROFILE,
      .help = "security settings (runAsUid, capabilities, hostNetwork), as the run:ai API has them" },
    { "labels", SW_TEXT_MAP, JOB(labels), .help = "more labels of the workload and its pods" },
    { "annotations", SW_TEXT_MAP, JOB(annotations), .help = "more annotations of the workload and its pods" },
    { "image_pull_secret", SW_TEXT, JOB(image_pull_secret),
      .help = "Kubernetes secret to pull the image with (else made from NGC_KEY or docker's logins)" },
    { "pull", SW_CHOICE, JOB(pull), .initial = "default", .choices = pulls,
      .help = "when the image is fetched: default (as the cluster does), always, missing, never" },
    { "ttl", SW_DURATION, JOB(ttl_ms), .initial = "7d", .least = 1000,
      .help = "run:ai deletes the workload this long after it finishes; the job's own `keep` takes "
              "precedence" },
    { "master_port", SW_WHOLE, JOB(master_port), .initial = "29500", .least = 1, .most = 65535,
      .help = "port where the first of several nodes waits for the others" },
    { "dgxcloud_max_args_chars", SW_WHOLE, JOB(max_args), .initial = "9500", .least = 1, .most = 1000000,
      .help = "maximum length of the workload's args on this control plane" },
    { 0 }
};

struct runai_connect_options runai_connect_options(const json_t *options)
{
    struct runai_connect_options out = { 0 };

    sw_options_read(runai_options, options, SW_CONNECTION, &out);
    return out;
}

struct runai_account_options runai_account_options(const json_t *options)
{
    struct runai_account_options out = { 0 };

    sw_options_read(runai_options, options, SW_ACCOUNT, &out);
    return out;
}

struct runai_job_options runai_job_options(const json_t *options)
{
    struct runai_job_options out = { 0 };

    sw_options_read(runai_options, options, SW_JOB, &out);
    return out;
}

const char *runai_arch_name(enum runai_arch arch)
{
    return arches[arch];
}
