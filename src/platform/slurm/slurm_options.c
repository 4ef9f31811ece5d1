/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_options.c - the `slurm:` block of a job file or profile, one row for each option.
 *
 * The first rows say how to reach the cluster, the rest how the job is put before Slurm. Names of
 * variables are those that scripts for the Python SDK already export. No site's account, partition
 * or folder is built in: what is not said is left to the cluster's own defaults.
 *
 * Pure.
 */
#include "platform/slurm/slurm_options.h"

#include "base/buf.h"
#include "base/text.h"
#include "net/ssh_options.h"

static const char *const transports[] = { "ssh", "local", NULL };
static const char *const containers[] = { "auto", "pyxis", "oci", "none", NULL };
static const char *const latests[] = { "reuse", "refresh", "digest", NULL };
static const char *const gpu_requests[] = { "gres", "gpus-per-node", NULL };
static const char *const readers[] = { "none", "group", "all", NULL };
static const char *const architectures[] = { "x86_64", "aarch64", NULL };

static const struct sw_option cosmos_fields[] = {
    { "policy_nodes", SW_WHOLE, SW_FILLS(struct slurm_cosmos, policy_nodes), .least = 1,
      .most = SLURM_NODES_MOST,
      .help = "number of nodes that train; the controller runs on the first" },
    { "rollout_nodes", SW_WHOLE, SW_FILLS(struct slurm_cosmos, rollout_nodes), .least = 0,
      .most = SLURM_NODES_MOST,
      .help = "number of nodes that generate" },
    { "controller_port", SW_WHOLE, SW_FILLS(struct slurm_cosmos, controller_port), .initial = "8082",
      .least = 1, .most = 65535,
      .help = "where the controller listens" },
    { 0 }
};

/* A row is named as the member that it fills. */
#define CONNECT(name, type) #name, type, SW_CONNECTION, SW_FILLS(struct slurm_connect_options, name)
#define JOB(name, type)     #name, type, SW_JOB, SW_FILLS(struct slurm_job_options, name)

const struct sw_option slurm_options[] = {
    /* How to reach it. */
    { CONNECT(transport, SW_CHOICE), .choices = transports, .initial = "ssh",
      .env = "SLURM_TRANSPORT",
      .help = "ssh, or local when this is the login node" },
    { CONNECT(hostname, SW_TEXTS), .env = "SLURM_HOSTNAME",
      .help = "login hosts, tried in this order" },
    { CONNECT(user, SW_TEXT), .env = "SLURM_USER", .help = "user on the login host" },
    { CONNECT(port, SW_WHOLE), .least = 1, .most = 65535, .help = "port of the login host" },
    SW_SSH_OPTIONS_INTO(struct slurm_connect_options, "SSH_KEY_PATH", "SLURM_"),
    { CONNECT(base_dir, SW_TEXT), .env = "SLURM_BASE_RESULTS_DIR",
      .help = "folder on the cluster's shared file system for all files of jobs" },
    { CONNECT(job_name_prefix, SW_TEXT), .initial = "tao-job-",
      .help = "the job's name in the queue is this and its id" },

    { JOB(shared, SW_CHOICE), .choices = readers, .initial = "none", .env = "SLURM_SHARED",
      .help = "who else may read a job's results, logs and work folder on the cluster" },

    /* How it is queued. */
    { JOB(partition, SW_TEXTS), .env = "SLURM_PARTITION",
      .help = "partitions to choose from; default: the cluster's" },
    { JOB(account, SW_TEXT), .env = "SLURM_ACCOUNT",
      .help = "account to charge; default: asked from the cluster if it requires one" },
    { JOB(qos, SW_TEXT), .env = "SLURM_QOS", .help = "quality of service" },
    { JOB(reservation, SW_TEXT), .env = "SLURM_RESERVATION", .help = "reservation to run in" },
    { JOB(constraint, SW_TEXT), .help = "features that the nodes must have" },
    { JOB(nodelist, SW_TEXTS), .help = "nodes to run on" },
    { JOB(exclude, SW_TEXTS), .help = "nodes to avoid" },
    { JOB(exclusive, SW_FLAG), .help = "whole nodes; also when all GPUs of a node are requested" },
    { JOB(array, SW_TEXT), .help = "tasks of a job array, such as 0-15%4" },
    { JOB(dependency, SW_TEXT), .help = "what must finish first: afterok:JOB, by Slipway's id or Slurm's "
                                        "number" },
    { JOB(begin, SW_TEXT), .help = "not before this time, such as now+1hour" },
    { JOB(licenses, SW_TEXT), .help = "licenses it needs" },
    { JOB(nice, SW_WHOLE), .least = -1000000, .most = 1000000, .help = "lower its priority by this" },
    { JOB(comment, SW_TEXT), .help = "free text, shown after Slipway's mark" },
    { JOB(mail_user, SW_TEXT), .env = "SLURM_MAIL_USER", .help = "whom Slurm writes to" },
    { JOB(mail_type, SW_TEXTS), .initial = "ALL", .help = "about what" },
    { JOB(requeue, SW_FLAG), .initial = "true", .env = "SLURM_USE_REQUEUE",
      .help = "start again after a node failed or the job was preempted" },
    { JOB(signal_ahead, SW_DURATION), .initial = "2m", .least = 0, .most = 3600000,
      .help = "how long before the time limit the command gets TERM to save its work" },
    { JOB(time_hours, SW_NUMBER), .initial = "4", .env = "SLURM_TIME_HOURS",
      .help = "wall clock limit in hours when the job gives no `time`" },
    { JOB(use_timeout, SW_FLAG), .initial = "true", .env = "SLURM_USE_TIMEOUT",
      .help = "end the command shortly before Slurm would" },
    { JOB(timeout_hours, SW_NUMBER), .env = "SLURM_TIMEOUT_HOURS",
      .help = "after how many hours, if earlier" },

    /* What it gets. */
    { JOB(gpu_request, SW_CHOICE), .choices = gpu_requests, .initial = "gres",
      .help = "how GPUs are requested" },
    { JOB(gres, SW_TEXT), .help = "generic resources in Slurm's syntax, instead of GPUs" },
    { JOB(max_gpus_per_node, SW_WHOLE), .initial = "8", .env = "SLURM_MAX_GPUS_PER_NODE",
      .least = 1, .most = 1024, .help = "GPUs of a whole node: so many or more are exclusive" },
    { JOB(cpus_per_task, SW_WHOLE), .env = "SLURM_CPUS_PER_TASK", .least = 1, .most = 4096,
      .help = "CPUs per task; default: 16 per GPU" },
    { JOB(max_cpus_per_task, SW_WHOLE), .initial = "128", .env = "SLURM_MAX_CPUS_PER_TASK",
      .least = 1, .most = 4096, .help = "upper limit of 16 per GPU" },
    { JOB(mem, SW_TEXT), .help = "memory per node in Slurm's syntax; 0 is all of it" },
    { JOB(arch, SW_CHOICE), .choices = architectures,
      .help = "processors of the compute nodes; default: asked from the cluster" },
    { JOB(sbatch_args, SW_TEXTS), .trust = SW_TRUST_PROFILE,
      .help = "more lines for sbatch, such as --segment=16" },
    { JOB(srun_args, SW_TEXTS), .trust = SW_TRUST_PROFILE, .help = "more arguments for srun" },
    { JOB(setup_lines, SW_TEXTS), .trust = SW_TRUST_PROFILE,
      .help = "shell lines of the batch script, on the first node before the tasks start" },
    { JOB(mpi, SW_TEXT), .trust = SW_TRUST_PROFILE, .initial = "pmix",
      .help = "what srun offers with `launcher: mpi`" },
    { JOB(cosmos, SW_GROUP), .fields = cosmos_fields,
      .help = "roles of Cosmos-RL: which nodes train and which generate" },

    /* What it runs in. */
    { JOB(container, SW_CHOICE), .choices = containers, .initial = "auto",
      .help = "what runs the image; auto: Pyxis when the job names an image" },
    { JOB(container_mounts, SW_TEXTS), .trust = SW_TRUST_PROFILE, .env = "SLURM_CONTAINER_MOUNTS",
      .help = "what every container sees besides the job's own `mounts`: SRC:DST" },
    { JOB(mount_home, SW_FLAG), .trust = SW_TRUST_PROFILE, .initial = "false",
      .help = "the container sees the home folder" },
    { JOB(remap_root, SW_FLAG), .initial = "false", .help = "the user is root in the container" },
    { JOB(container_writable, SW_FLAG), .initial = "true", .help = "the image's files may change" },
    { JOB(image_entrypoint, SW_FLAG), .initial = "false",
      .help = "the image's own entry point runs before the command" },
    { JOB(container_env, SW_TEXTS), .trust = SW_TRUST_PROFILE,
      .help = "variables whose value on the host overrides the image's" },
    { JOB(registry_login, SW_FLAG), .trust = SW_TRUST_PROFILE, .initial = "false",
      .help = "keep the registry's password (NGC_KEY, DOCKER_PASSWORD) in enroot's .credentials there" },
    { JOB(use_sqsh, SW_FLAG), .initial = "true", .env = "SLURM_USE_SQSH",
      .help = "convert the image once and store it on the shared file system" },
    { JOB(require_sqsh, SW_FLAG), .initial = "false", .env = "SLURM_REQUIRE_SQSH",
      .help = "a conversion that fails ends the job instead of pulling on every node" },
    { JOB(force_reconvert_latest, SW_FLAG), .initial = "false",
      .env = "SLURM_FORCE_RECONVERT_LATEST", .help = "convert `:latest` images anew every time" },
    { JOB(sqsh_latest, SW_CHOICE), .choices = latests, .initial = "reuse",
      .help = "when a converted `:latest` is used: any, one made after the submit, or by the tag's "
              "digest" },
    { JOB(sqsh_cache_dir, SW_TEXT), .trust = SW_TRUST_PROFILE, .env = "SLURM_SQSH_CACHE_DIR",
      .help = "where converted images are stored; default: the base folder" },
    { JOB(conversion_partition, SW_TEXT), .env = "SLURM_CONVERSION_PARTITION",
      .help = "partition for a separate job that converts the image; default: the job itself converts it" },
    { JOB(conversion_memory_gb, SW_WHOLE), .initial = "32", .least = 1, .most = 4096,
      .env = "SLURM_CONVERSION_MEMORY_GB", .help = "memory of that job" },
    { JOB(conversion_timeout_minutes, SW_WHOLE), .initial = "30", .least = 1, .most = 1440,
      .env = "SLURM_CONVERSION_TIMEOUT_MINUTES", .help = "how long that may take" },
    { JOB(enroot_temp_path, SW_TEXT), .trust = SW_TRUST_PROFILE, .env = "SLURM_ENROOT_TEMP_PATH",
      .help = "where enroot unpacks meanwhile" },

    { JOB(check, SW_FLAG), .initial = "true",
      .help = "check on the login host that every input exists before submitting" },
    { 0 }
};

int slurm_job_options_fill(const json_t *options, struct slurm_job_options *out, struct sw_error *err)
{
    *out = (struct slurm_job_options){ 0 };
    return sw_options_fill(slurm_options, options, SW_JOB, out, err);
}

int slurm_cosmos_fill(const struct slurm_job_options *options, struct slurm_cosmos *out,
                      struct sw_error *err)
{
    *out = (struct slurm_cosmos){ 0 };
    if (!options->cosmos)
        return 0;
    if (sw_options_fill(cosmos_fields, options->cosmos, SW_JOB, out, err) < 0)
        return sw_wrap(err, "slurm.cosmos");
    if (out->policy_nodes == 0)
        out->policy_nodes = 1;
    if (!json_object_get(options->cosmos, "rollout_nodes"))
        out->rollout_nodes = -1;                 /* the rest */
    return 0;
}

const char *slurm_umask(const struct slurm_job_options *options)
{
    static const char *const masks[] = { "077", "027", "022" };

    return masks[options->shared];
}

char *slurm_joined(const json_t *list)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    size_t i;
    json_t *one;

    if (json_is_string(list))
        return sw_text_empty(json_string_value(list)) ? NULL : sw_strdup(json_string_value(list));
    json_array_foreach(list, i, one)
        if (json_is_string(one))
            sw_buf_addf(&out, "%s%s", out.length ? "," : "", json_string_value(one));
    return out.length ? sw_buf_steal(&out) : NULL;
}
