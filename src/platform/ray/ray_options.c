/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_options.c - the block `ray:` of a job file or profile: the one table of its options.
 */
#include "platform/ray/ray_options.h"

#include "net/ssh_options.h"

static const char *const arches[] = { "auto", "x86_64", "aarch64", NULL };

#define CONNECTION(member) SW_CONNECTION, SW_FILLS(struct ray_connect_options, member)
#define JOB(member)        SW_JOB, SW_FILLS(struct ray_job_options, member)

const struct sw_option ray_options[] = {
    { "address", SW_TEXT, CONNECTION(address), .env = "RAY_ADDRESS",
      .help = "the cluster's dashboard: http[s]://HOST:PORT, ssh://[USER@]HOST[:PORT] for a head behind ssh, "
              "or k8s://NAMESPACE/SERVICE[:PORT]" },
    { "dashboard_port", SW_WHOLE, CONNECTION(dashboard_port), .initial = "8265", .least = 1, .most = 65535,
      .help = "port of the dashboard on the head's loopback address, for ssh:// addresses" },
    { "token_file", SW_TEXT, CONNECTION(token_file), .env = "RAY_AUTH_TOKEN_PATH",
      .help = "file with the cluster's token (else RAY_AUTH_TOKEN, or ~/.ray/auth_token)" },
    { "kubeconfig", SW_TEXT, CONNECTION(kubeconfig),
      .help = "kubeconfig file for k8s:// addresses (else as kubectl finds it)" },
    { "context", SW_TEXT, CONNECTION(context), .help = "context of the kubeconfig, for k8s:// addresses" },
    SW_SSH_OPTIONS_INTO(struct ray_connect_options, "RAY_SSH_KEY", "RAY_"),
    { "resources", SW_TEXT_MAP, JOB(resources),
      .help = "custom resources that the driver takes: NAME: AMOUNT" },
    { "labels", SW_TEXT_MAP, JOB(labels),
      .help = "labels of the node that the driver runs on: NAME: VALUE (Ray 2.49 and later)" },
    { "runtime_env", SW_FREE, JOB(runtime_env),
      .help = "more of Ray's runtime environment (pip, uv, config, ...); working_dir and env_vars are "
              "the job's own" },
    { "arch", SW_CHOICE, JOB(arch), .initial = "auto", .choices = arches,
      .help = "processor of the nodes; auto: the runners of all processors travel" },
    { "work_dir", SW_TEXT, JOB(work_dir), .initial = "/tmp",
      .help = "folder of the nodes for the job's files and results; storage that all nodes share, where "
              "results without `to` shall outlive the node" },
    { "start_limit", SW_DURATION, JOB(start_limit_ms), .initial = "15m", .least = 60000,
      .help = "how long the cluster may take to start the driver (its RAY_JOB_START_TIMEOUT_SECONDS)" },
    { "cluster_secrets", SW_TEXTS, JOB(cluster_secrets),
      .help = "variables with secrets that the nodes have already: nothing is sent, and the log shows "
              "no value of them" },
    { 0 }
};

struct ray_connect_options ray_connect_options(const json_t *options)
{
    struct ray_connect_options out = { 0 };

    sw_options_read(ray_options, options, SW_CONNECTION, &out);
    return out;
}

struct ray_job_options ray_job_options(const json_t *options)
{
    struct ray_job_options out = { 0 };

    sw_options_read(ray_options, options, SW_JOB, &out);
    return out;
}
