/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_options.c - the block `brev:` of a job file or profile: the one table of its options. What a job may
 * say about its containers is Docker's part of it.
 */
#include "platform/brev/brev_internal.h"

#include "base/text.h"

#define CONNECTION(member) SW_CONNECTION, SW_FILLS(struct brev_connect_options, member)
#define JOB(member)        SW_JOB, SW_FILLS(struct brev_job_options, member)

const struct sw_option brev_options[] = {
    { "cli", SW_TEXT, CONNECTION(cli), .initial = "brev", .env = "BREV_CLI", .trust = SW_TRUST_PROFILE,
      .help = "the brev program" },
    { "login", SW_TEXT, CONNECTION(login),
      .help = "name of a separate login, made from BREV_API_TOKEN; own: that of `brev login`" },
    { "organization", SW_TEXT, CONNECTION(organization), .env = "BREV_ORGANIZATION",
      .help = "organisation, by name or id; otherwise the active one" },
    { "instance_id", SW_TEXT, JOB(instance_id), .env = "BREV_INSTANCE_ID",
      .help = "instance to use, by id or name" },
    { "pool", SW_TEXT, JOB(pool),
      .help = "use an instance whose name begins so; one is created when there is none" },
    { "pool_size", SW_WHOLE, JOB(pool_size), .initial = "1", .least = 1, .most = 64,
      .help = "create instances of the pool up to this number while all of them are in use" },
    { "types", SW_TEXTS, JOB(types),
      .help = "instance types to create, tried in this order; otherwise the cheapest with the job's GPUs" },
    { "ready_timeout", SW_DURATION, JOB(ready_ms), .initial = "10m",
      .help = "how long a new instance may take until it can be used" },
    { "delete_after", SW_FLAG, JOB(delete_after), .initial = "false",
      .help = "delete the instance created for the job when the job finishes" },
    { "socket", SW_TEXT, CONNECTION(socket), .env = "BREV_DOCKER_SOCKET",
      .help = "socket of the Docker engine on the instance; otherwise the usual one" },
    { "connect_timeout", SW_DURATION, CONNECTION(connect_ms), .initial = "20s",
      .help = "how long an instance may take to accept ssh" },
    { "keep_connection", SW_DURATION, CONNECTION(keep_ms), .initial = "10m", .env = "BREV_KEEP_CONNECTION",
      .help = "how long an idle ssh login stays for the next command" },
    DOCKER_GPU_OPTION(struct brev_connect_options, gpu_devices),
    DOCKER_JOB_OPTIONS(struct brev_job_options, docker.),
    { 0 }
};

struct brev_connect_options brev_connect_options(const json_t *options)
{
    struct brev_connect_options out = { 0 };
    const char **texts[] = { &out.login, &out.organization, &out.socket };

    sw_options_fill(brev_options, options, SW_CONNECTION, &out, NULL);
    for (size_t i = 0; i < SW_COUNT(texts); i++)
        if (sw_text_empty(*texts[i]))
            *texts[i] = NULL;
    return out;
}

struct brev_job_options brev_job_options(const json_t *options)
{
    struct brev_job_options out = { 0 };

    sw_options_fill(brev_options, options, SW_JOB, &out, NULL);
    if (sw_text_empty(out.instance_id))
        out.instance_id = NULL;
    if (sw_text_empty(out.pool))
        out.pool = NULL;
    return out;
}
