/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_options.c - the block `lepton:` of a job file or profile: the one table of its options.
 */
#include "platform/lepton/lepton_options.h"

static const char *const arches[] = { "auto", "x86_64", "aarch64", NULL };
static const char *const visibilities[] = { "private", "public", NULL };
static const char *const stuck_ways[] = { "suggest", "resubmit", NULL };
static const char *const priorities[] = { "low-1000", "low-2000", "low-3000", "mid-4000", "mid-5000",
                                          "mid-6000", "high-7000", "high-8000", "high-9000", NULL };

/* A text alone is `source`. */
static const struct sw_option volume_fields[] = {
    { "source", SW_TEXT, .help = "VOLUME or VOLUME/PATH; /PATH: of the volume that is chosen "
                                 "automatically" },
    { "read_only", SW_FLAG, .help = "the job cannot write there" },
    { 0 }
};

#define CONNECTION(member) SW_CONNECTION, SW_FILLS(struct lepton_connect_options, member)
#define JOB(member)        SW_JOB, SW_FILLS(struct lepton_job_options, member)

const struct sw_option lepton_options[] = {
    { "workspace", SW_TEXT, CONNECTION(workspace), .env = "LEPTON_WORKSPACE_ID",
      .help = "id of the workspace (else the current one of the official client's login)" },
    { "url", SW_TEXT, CONNECTION(url), .env = "LEPTON_WORKSPACE_URL",
      .help = "address of the workspace's API (else that of DGX Cloud Lepton)" },
    { "origin", SW_TEXT, CONNECTION(origin), .env = "LEPTON_WORKSPACE_ORIGIN_URL",
      .help = "header Origin of each request (else scheme and host of an address with 'dgxc' in it)" },
    { "node_group", SW_TEXT, JOB(node_group), .env = "LEPTON_NODE_GROUP",
      .help = "dedicated node group, by name or id (else shared machines, which may be taken back)" },
    { "resource_shape", SW_TEXT, JOB(resource_shape),
      .help = "shape of each node (else the smallest of the node group with the GPUs, CPUs and memory)" },
    { "arch", SW_CHOICE, JOB(arch), .initial = "auto", .choices = arches,
      .help = "processor of the nodes; auto: by the shape's accelerator" },
    { "volumes", SW_MAP_OF, JOB(volumes), .fields = volume_fields,
      .help = "path in the container: VOLUME[/PATH] of the node group; not given: lustre, else "
              "filestore, else "
              "the first, at /mnt/VOLUME; {}: none" },
    { "cache_inputs", SW_FLAG, JOB(cache_inputs), .initial = "true",
      .help = "keep s3:// inputs on the first mount for the next jobs; used while the source is the same" },
    { "visibility", SW_CHOICE, JOB(visibility), .initial = "private", .choices = visibilities,
      .help = "who in the workspace can see the job" },
    { "image_pull_secret", SW_TEXT, JOB(image_pull_secret),
      .help = "pull secret of the workspace, by name or id (else made from NGC_KEY or docker's logins)" },
    { "priority", SW_CHOICE, JOB(priority), .choices = priorities,
      .help = "priority class, for a node group with quotas (else the group's default)" },
    { "preemptible", SW_FLAG, JOB(preemptible), .initial = "false",
      .help = "jobs of higher priority may take its machines" },
    { "can_preempt", SW_FLAG, JOB(can_preempt), .initial = "false",
      .help = "it may take machines of preemptible jobs" },
    { "reservation", SW_TEXT, JOB(reservation), .help = "id of a reservation of the node group" },
    { "burst", SW_FLAG, JOB(burst), .initial = "false", .help = "it may use other reservations, too" },
    { "allowed_nodes", SW_TEXTS, JOB(allowed_nodes), .help = "nodes of the node group that it may use" },
    { "ttl", SW_DURATION, JOB(ttl_ms), .initial = "72h",
      .help = "Lepton archives the job this long after it finishes; the job's own `keep` takes "
              "precedence" },
    { "stuck", SW_CHOICE, JOB(stuck), .initial = "suggest", .choices = stuck_ways,
      .help = "a job that cannot start: only report it, or stop it and retry on other nodes" },
    { "stuck_after", SW_DURATION, JOB(stuck_after_ms), .initial = "15m", .least = 60000,
      .help = "how long it may wait for capacity, a mount or a healthy node" },
    { 0 }
};

struct lepton_connect_options lepton_connect_options(const json_t *options)
{
    struct lepton_connect_options out = { 0 };

    sw_options_read(lepton_options, options, SW_CONNECTION, &out);
    return out;
}

struct lepton_job_options lepton_job_options(const json_t *options)
{
    struct lepton_job_options out = { 0 };

    sw_options_read(lepton_options, options, SW_JOB, &out);
    return out;
}
