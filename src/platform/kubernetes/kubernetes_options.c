/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_options.c - the block `kubernetes:` of a job file or profile: the one table of its options.
 *
 * What gives a pod rights on its node or in the cluster (host paths, accounts, raw parts of the pod) may be
 * said by a job file and by the user's own profile, and not by the env.toml of a folder (core/trust.h).
 */
#include "platform/kubernetes/kubernetes_options.h"

static const char *const engines[] = { "auto", "job", "jobset", "pytorchjob", "trainjob", "mpijob", "volcano",
                                       "rayjob", NULL };
static const char *const arches[] = { "auto", "amd64", "arm64", NULL };
static const char *const runner_ways[] = { "config_map", "secret", "image", NULL };
static const char *const pull_policies[] = { "default", "always", "missing", "never", NULL };
static const char *const securities[] = { "auto", "restricted", "image", NULL };

/* A text alone is `source`. */
static const struct sw_option volume_fields[] = {
    { "source", SW_TEXT, .help = "pvc:NAME[/SUB], nfs:SERVER:/PATH, /PATH of the node, config_map:NAME, "
                                 "secret:NAME or empty" },
    { "pvc", SW_TEXT, .help = "name of a persistent volume claim" },
    { "host_path", SW_TEXT, .help = "path of the node" },
    { "nfs", SW_TEXT, .help = "SERVER:/PATH" },
    { "config_map", SW_TEXT, .help = "name of a ConfigMap, each key a file" },
    { "secret", SW_TEXT, .help = "name of a Secret, each key a file" },
    { "empty_dir", SW_FLAG, .help = "an empty folder that lives as long as the pod" },
    { "path", SW_TEXT, .help = "the folder below it that is mounted; all of it when not given" },
    { "read_only", SW_FLAG, .help = "the job cannot write there" },
    { 0 }
};

#define CONNECTION(member) SW_CONNECTION, SW_FILLS(struct k8s_connect_options, member)
#define JOB(member)        SW_JOB, SW_FILLS(struct k8s_job_options, member)

const struct sw_option kubernetes_options[] = {
    { "kubeconfig", SW_TEXT, CONNECTION(kubeconfig),
      .help = "file that names clusters and users, or several with ':' (else KUBECONFIG, ~/.kube/config)" },
    { "context", SW_TEXT, CONNECTION(context), .env = "TAO_K8S_CONTEXT",
      .help = "context of the kubeconfig (else its current one)" },
    { "namespace", SW_TEXT, CONNECTION(namespace), .env = "TAO_K8S_NAMESPACE",
      .help = "namespace of the jobs (else the context's, else default)" },
    { "helper_image", SW_TEXT, CONNECTION(helper_image), .env = "SLIPWAY_K8S_HELPER_IMAGE",
      .help = "any image that nodes can pull, for short-lived pods that list files (else "
              "registry.k8s.io/pause:3.10)" },
    { "engine", SW_CHOICE, JOB(engine), .initial = "auto", .choices = engines,
      .help = "the kind of object that runs the job; auto: by launcher, nodes and what the cluster has" },
    { "arch", SW_CHOICE, JOB(arch), .initial = "auto", .choices = arches,
      .help = "processor of the nodes; auto: that of the nodes that fit" },
    { "runner", SW_CHOICE, JOB(runner), .initial = "config_map", .choices = runner_ways,
      .help = "how the runner gets into a pod: config_map, secret (noexec kubelets), or from an image" },
    { "runner_image", SW_TEXT, JOB(runner_image), .trust = SW_TRUST_PROFILE,
      .help = "image with /slipway-runner, for runner: image" },
    { "gpu_resource", SW_TEXT, JOB(gpu_resource), .initial = "nvidia.com/gpu",
      .help = "resource that counts GPUs, such as nvidia.com/mig-1g.10gb or amd.com/gpu" },
    { "autoscaler", SW_FLAG, JOB(autoscaler), .initial = "false",
      .help = "nodes are added when needed: submit a job even if it fits on none of today's nodes" },
    { "queue", SW_TEXT, JOB(queue), .help = "LocalQueue of Kueue, or queue of Volcano" },
    { "queue_priority", SW_TEXT, JOB(queue_priority), .help = "WorkloadPriorityClass of Kueue" },
    { "priority_class", SW_TEXT, JOB(priority_class), .help = "PriorityClass of the pods" },
    { "scheduler", SW_TEXT, JOB(scheduler), .help = "scheduler of the pods (else the cluster's default)" },
    { "service_account", SW_TEXT, JOB(service_account), .trust = SW_TRUST_PROFILE,
      .help = "service account of the pods, whose token they see; without it they see none" },
    { "runtime_class", SW_TEXT, JOB(runtime_class), .trust = SW_TRUST_PROFILE,
      .help = "RuntimeClass of the pods, such as nvidia" },
    { "image_pull_secret", SW_TEXT, JOB(image_pull_secret),
      .help = "Secret to pull the image with (else made from NGC_KEY or docker's logins)" },
    { "pull", SW_CHOICE, JOB(pull), .initial = "default", .choices = pull_policies,
      .help = "when the image is fetched: default (as the cluster does), always, missing, never" },
    { "ttl", SW_DURATION, JOB(ttl_ms), .initial = "7d",
      .help = "delete the objects this long after the job finishes (0: never); the job's own `keep` takes "
              "precedence" },
    { "ephemeral", SW_SIZE, JOB(ephemeral_bytes), .help = "disk of the node that each pod asks for" },
    { "security", SW_CHOICE, JOB(security), .initial = "auto", .choices = securities,
      .help = "restricted: as the Pod Security level of that name; auto: where the namespace demands it; "
              "image: never" },
    { "user", SW_TEXT, JOB(user), .help = "UID[:GID] that the pods run as (else the image's user)" },
    { "read_only", SW_FLAG, JOB(read_only), .initial = "false",
      .help = "the container's root is read-only; results, volumes and /tmp stay writable" },
    { "host_network", SW_FLAG, JOB(host_network), .initial = "false", .trust = SW_TRUST_PROFILE,
      .help = "the pods use the network of their node" },
    { "node_selector", SW_TEXT_MAP, JOB(node_selector), .help = "labels that a node must have" },
    { "tolerations", SW_FREE, JOB(tolerations),
      .help = "list of tolerations, as the Kubernetes API has them" },
    { "affinity", SW_FREE, JOB(affinity), .help = "affinity of the pods, as the Kubernetes API has it" },
    { "topology_spread", SW_FREE, JOB(topology_spread),
      .help = "list of topologySpreadConstraints, as the Kubernetes API has them" },
    { "resource_claims", SW_FREE, JOB(resource_claims), .trust = SW_TRUST_PROFILE,
      .help = "list of resourceClaims (DRA), as the Kubernetes API has them; the container uses all" },
    { "volumes", SW_MAP_OF, JOB(volumes), .fields = volume_fields, .trust = SW_TRUST_PROFILE,
      .help = "path in the container: pvc:NAME[/SUB], nfs:SERVER:/PATH, /PATH of the node, config_map:NAME, "
              "secret:NAME, empty" },
    { "requests", SW_TEXT_MAP, JOB(requests), .help = "more resources that a pod asks for, by name" },
    { "limits", SW_TEXT_MAP, JOB(limits), .help = "more limits of a pod, by name of the resource" },
    { "labels", SW_TEXT_MAP, JOB(labels), .help = "more labels of the job's object and its pods" },
    { "annotations", SW_TEXT_MAP, JOB(annotations),
      .help = "more annotations of the job's object and its pods" },
    { "security_context", SW_FREE, JOB(security_context), .trust = SW_TRUST_PROFILE,
      .help = "securityContext of the container; overrides `security`" },
    { "pod_security_context", SW_FREE, JOB(pod_security_context), .trust = SW_TRUST_PROFILE,
      .help = "securityContext of the pod; overrides `security`" },
    { "pod", SW_FREE, JOB(pod), .trust = SW_TRUST_PROFILE,
      .help = "more of the pod's spec; cannot change what the job sets itself" },
    { "runtime", SW_TEXT, JOB(runtime_ref), .initial = "torch-distributed",
      .help = "of engine trainjob: its ClusterTrainingRuntime" },
    { "master_port", SW_WHOLE, JOB(master_port), .initial = "29500", .least = 1, .most = 65535,
      .help = "port where the first of several nodes waits for the others" },
    { 0 }
};

struct k8s_connect_options k8s_connect_options(const json_t *options)
{
    struct k8s_connect_options out = { 0 };

    sw_options_read(kubernetes_options, options, SW_CONNECTION, &out);
    return out;
}

const char *k8s_arch_name(enum k8s_arch arch)
{
    return arch == K8S_ARCH_AUTO ? NULL : arches[arch];
}

struct k8s_job_options k8s_job_options(const json_t *options)
{
    struct k8s_job_options out = { 0 };

    sw_options_read(kubernetes_options, options, SW_JOB, &out);
    if (!out.gpu_resource)
        out.gpu_resource = "nvidia.com/gpu";
    return out;
}
