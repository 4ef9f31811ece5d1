/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_options.c - the block `docker:` of a job file or profile: the one table of its options.
 */
#include "platform/docker/docker_options.h"

#include "base/text.h"
#include "net/ssh_options.h"

static const char *const pull_policies[] = { "always", "missing", "never", NULL };
static const char *const run_as[] = { "auto", "me", "image", NULL };
static const char *const results_ways[] = { "auto", "bind", "volume", NULL };
static const char *const entrypoints[] = { "keep", "drop", NULL };
static const char *const tls_ways[] = { "auto", "none", "verify", "any", NULL };

#define CONNECTION(member) SW_CONNECTION, SW_FILLS(struct docker_connect_options, member)
#define JOB(member)        SW_JOB, SW_FILLS(struct docker_job_options, member)

const struct sw_option docker_options[] = {
    { "host", SW_TEXT, CONNECTION(host), .help = "the engine: unix://, tcp:// or ssh:// address "
                               "(else DOCKER_HOST, the docker context, the usual sockets)" },
    { "context", SW_TEXT, CONNECTION(context), .help = "docker context that names the engine" },
    { "tls", SW_CHOICE, CONNECTION(tls), .initial = "auto", .choices = tls_ways,
      .help = "of tcp:// engines: none, verify, any certificate; auto: as DOCKER_TLS_VERIFY says" },
    { "certificates", SW_TEXT, CONNECTION(certificates),
      .help = "folder with ca.pem, cert.pem and key.pem (else DOCKER_CERT_PATH, the context's own)" },
    SW_SSH_OPTIONS_INTO(struct docker_connect_options, "DOCKER_SSH_KEY", "DOCKER_"),
    { "pull", SW_CHOICE, JOB(pull), .initial = "missing", .env = "DOCKER_PULL_POLICY",
      .choices = pull_policies, .help = "when the image is fetched: always, missing, never" },
    { "network", SW_TEXT, JOB(network), .initial = "tao_default", .env = "DOCKER_NETWORK",
      .help = "network of the containers; made when it is missing" },
    { "mounts", SW_TEXTS, JOB(mounts), .trust = SW_TRUST_PROFILE,
      .help = "SOURCE:TARGET[:ro] as seen from the engine; a source without slash is a volume" },
    { "results", SW_CHOICE, JOB(results), .initial = "auto", .choices = results_ways,
      .help = "where results are: in a folder of this machine (bind), or a volume of the engine" },
    { "user", SW_TEXT, JOB(user), .help = "UID[:GID] or name that the container runs as" },
    { "run_as", SW_CHOICE, JOB(run_as), .initial = "auto", .choices = run_as,
      .help = "without user: me, the image's user, or (auto) me when results are bound" },
    { "entrypoint", SW_CHOICE, JOB(entrypoint), .initial = "keep", .choices = entrypoints,
      .help = "the image's ENTRYPOINT starts the command (keep), or is left out (drop)" },
    { "gpu_ids", SW_TEXTS, JOB(gpu_ids), .help = "GPUs to choose from, by number or UUID; all: every one" },
    { "gpu_devices", SW_TEXTS, CONNECTION(gpu_devices), .env = "SLIPWAY_DOCKER_GPUS",
      .help = "GPUs the engine has, where it cannot be found out" },
    { "share_gpus", SW_FLAG, JOB(share_gpus), .initial = "false",
      .help = "use GPUs that other jobs have, instead of waiting until they are free" },
    { "runtime", SW_TEXT, JOB(runtime), .trust = SW_TRUST_PROFILE,
      .help = "OCI runtime of the engine, such as nvidia" },
    { "ipc", SW_TEXT, JOB(ipc), .help = "IPC mode: private, shareable, host, container:NAME" },
    { "ulimits", SW_TEXT_MAP, JOB(ulimits),
      .help = "limits NAME: N or SOFT:HARD (with GPUs memlock -1 and stack 64 MiB are usual)" },
    { "read_only", SW_FLAG, JOB(read_only), .initial = "false",
      .help = "the container's root is read-only; results and mounts stay writable" },
    { "auto_remove", SW_FLAG, JOB(auto_remove), .initial = "false", .env = "DOCKER_AUTO_REMOVE",
      .help = "remove the containers when the job is over, and its logs and results are kept here" },
    { "log_driver", SW_TEXT, JOB(log_driver), .initial = "local",
      .help = "log driver of the containers; engine: the engine's own default" },
    { "host_config", SW_FREE, JOB(host_config), .trust = SW_TRUST_PROFILE,
      .help = "more of the Engine API's HostConfig; cannot change what the job itself says" },
    { 0 }
};

struct docker_connect_options docker_connect_options(const json_t *options)
{
    struct docker_connect_options out = { 0 };

    sw_options_fill(docker_options, options, SW_CONNECTION, &out, NULL);
    return out;
}

struct docker_job_options docker_job_options(const json_t *options)
{
    struct docker_job_options out = { 0 };
    const char **texts[] = { &out.network, &out.user, &out.runtime, &out.ipc, &out.log_driver };

    sw_options_fill(docker_options, options, SW_JOB, &out, NULL);
    for (size_t i = 0; i < SW_COUNT(texts); i++)
        if (sw_text_empty(*texts[i]))
            *texts[i] = NULL;
    return out;
}
