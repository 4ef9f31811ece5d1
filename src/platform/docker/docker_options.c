/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_options.c - the block `docker:` of a job file or profile: the one table of its options.
 */
#include "platform/docker/docker_options.h"

#include "base/text.h"
#include "net/ssh_options.h"

const char *const docker_pull_policies[] = { "always", "missing", "never", NULL };
const char *const docker_run_as[] = { "auto", "me", "image", NULL };
const char *const docker_results_ways[] = { "auto", "bind", "volume", NULL };
const char *const docker_entrypoints[] = { "keep", "drop", NULL };
static const char *const tls_ways[] = { "auto", "none", "verify", "any", NULL };

#define CONNECTION(member) SW_CONNECTION, SW_FILLS(struct docker_connect_options, member)

const struct sw_option docker_options[] = {
    { "host", SW_TEXT, CONNECTION(host), .help = "the engine: unix://, tcp:// or ssh:// address "
                               "(else DOCKER_HOST, the docker context, the usual sockets)" },
    { "context", SW_TEXT, CONNECTION(context), .help = "docker context that names the engine" },
    { "tls", SW_CHOICE, CONNECTION(tls), .initial = "auto", .choices = tls_ways,
      .help = "of tcp:// engines: none, verify, any certificate; auto: as DOCKER_TLS_VERIFY says" },
    { "certificates", SW_TEXT, CONNECTION(certificates),
      .help = "folder with ca.pem, cert.pem and key.pem (else DOCKER_CERT_PATH, the context's own)" },
    SW_SSH_OPTIONS_INTO(struct docker_connect_options, "DOCKER_SSH_KEY", "DOCKER_"),
    DOCKER_GPU_OPTION(struct docker_connect_options, gpu_devices),
    DOCKER_JOB_OPTIONS(struct docker_job_options, ),
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
