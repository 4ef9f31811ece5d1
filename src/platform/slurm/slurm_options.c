/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_options.c - the `slurm:` block of a job file or profile, once.
 *
 * The first rows say how to reach the cluster, the rest how the job is put before Slurm. Names of
 * variables are those that scripts for the Python SDK already export. No site's account, partition
 * or folder is built in: what is not said is left to the cluster's own defaults.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include "base/text.h"
#include "net/ssh_options.h"

static const char *const transports[] = { "ssh", "local", NULL };
static const char *const containers[] = { "auto", "pyxis", "oci", "none", NULL };
static const char *const latests[] = { "reuse", "refresh", "digest", NULL };
static const char *const gpu_requests[] = { "gres", "gpus-per-node", NULL };
static const char *const readers[] = { "none", "group", "all", NULL };
static const char *const architectures[] = { "x86_64", "aarch64", NULL };

static const struct sw_option cosmos_fields[] = {
    { "policy_nodes", SW_WHOLE, .least = 1, .most = SLURM_NODES_MOST,
      .help = "how many of the nodes train; the controller runs on the first of them" },
    { "rollout_nodes", SW_WHOLE, .least = 0, .most = SLURM_NODES_MOST,
      .help = "how many of the nodes generate" },
    { "controller_port", SW_WHOLE, .initial = "8082", .least = 1, .most = 65535,
      .help = "where the controller listens" },
    { 0 }
};

const struct sw_option slurm_options[] = {
    /* How to reach it. */
    { "transport", SW_CHOICE, SW_CONNECTION, .choices = transports, .initial = "ssh",
      .env = "SLURM_TRANSPORT",
      .help = "ssh, or local when this is the login node" },
    { "hostname", SW_TEXTS, SW_CONNECTION, .env = "SLURM_HOSTNAME",
      .help = "login hosts, tried in this order" },
    { "user", SW_TEXT, SW_CONNECTION, .env = "SLURM_USER", .help = "user on the login host" },
    { "port", SW_WHOLE, SW_CONNECTION, .least = 1, .most = 65535, .help = "port of the login host" },
    SW_SSH_OPTIONS("SSH_KEY_PATH", "SLURM_"),
    { "base_dir", SW_TEXT, SW_CONNECTION, .env = "SLURM_BASE_RESULTS_DIR",
      .help = "folder on the cluster's shared file system that holds everything of ours" },
    { "job_name_prefix", SW_TEXT, SW_CONNECTION, .initial = "tao-job-",
      .help = "the job's name in the queue is this and its id" },

    { "shared", SW_CHOICE, .choices = readers, .initial = "none", .env = "SLURM_SHARED",
      .help = "who besides you may read a job's results, logs and work folder on the cluster" },

    /* How it is queued. */
    { "partition", SW_TEXTS, .env = "SLURM_PARTITION",
      .help = "queues to choose from; the cluster's default when not given" },
    { "account", SW_TEXT, .env = "SLURM_ACCOUNT",
      .help = "account that is charged; found by asking the cluster when it wants one" },
    { "qos", SW_TEXT, .env = "SLURM_QOS", .help = "quality of service" },
    { "reservation", SW_TEXT, .env = "SLURM_RESERVATION", .help = "reservation to run in" },
    { "constraint", SW_TEXT, .help = "features that the nodes must have" },
    { "nodelist", SW_TEXTS, .help = "nodes to run on" },
    { "exclude", SW_TEXTS, .help = "nodes to keep away from" },
    { "exclusive", SW_FLAG, .help = "whole nodes; also when all GPUs of a node are asked for" },
    { "array", SW_TEXT, .help = "tasks of a job array, such as 0-15%4" },
    { "dependency", SW_TEXT, .help = "what must happen before: afterok:JOB, our id or Slurm's number" },
    { "begin", SW_TEXT, .help = "not before this time, such as now+1hour" },
    { "licenses", SW_TEXT, .help = "licenses it needs" },
    { "nice", SW_WHOLE, .least = -1000000, .most = 1000000, .help = "lower its priority by this" },
    { "comment", SW_TEXT, .help = "free text, shown behind our own mark" },
    { "mail_user", SW_TEXT, .env = "SLURM_MAIL_USER", .help = "whom Slurm writes to" },
    { "mail_type", SW_TEXTS, .initial = "ALL", .help = "about what" },
    { "requeue", SW_FLAG, .initial = "true", .env = "SLURM_USE_REQUEUE",
      .help = "start again after a node failed or the job was preempted" },
    { "signal_ahead", SW_DURATION, .initial = "2m", .least = 0, .most = 3600000,
      .help = "how long before the time limit the command gets TERM to save its work" },
    { "time_hours", SW_NUMBER, .initial = "4", .env = "SLURM_TIME_HOURS",
      .help = "wall clock limit in hours when the job gives no `time`" },
    { "use_timeout", SW_FLAG, .initial = "true", .env = "SLURM_USE_TIMEOUT",
      .help = "end the command ourselves shortly before Slurm would" },
    { "timeout_hours", SW_NUMBER, .env = "SLURM_TIMEOUT_HOURS",
      .help = "after how many hours that happens, when it is to be earlier" },

    /* What it gets. */
    { "gpu_request", SW_CHOICE, .choices = gpu_requests, .initial = "gres",
      .help = "how GPUs are asked for" },
    { "gres", SW_TEXT, .help = "generic resources in Slurm's own words, instead of GPUs" },
    { "max_gpus_per_node", SW_WHOLE, .initial = "8", .env = "SLURM_MAX_GPUS_PER_NODE",
      .least = 1, .most = 1024, .help = "GPUs of a whole node: so many or more are exclusive" },
    { "cpus_per_task", SW_WHOLE, .env = "SLURM_CPUS_PER_TASK", .least = 1, .most = 4096,
      .help = "CPUs per task; 16 per GPU when there are GPUs and nothing is said" },
    { "max_cpus_per_task", SW_WHOLE, .initial = "128", .env = "SLURM_MAX_CPUS_PER_TASK",
      .least = 1, .most = 4096, .help = "most CPUs that 16 per GPU may become" },
    { "mem", SW_TEXT, .help = "memory per node in Slurm's own words; 0 is all of it" },
    { "arch", SW_CHOICE, .choices = architectures,
      .help = "processors of the compute nodes; asked from the cluster when not given" },
    { "sbatch_args", SW_TEXTS, .trust = SW_TRUST_PROFILE,
      .help = "further lines for sbatch, such as --segment=16" },
    { "srun_args", SW_TEXTS, .trust = SW_TRUST_PROFILE, .help = "further words for srun" },
    { "setup", SW_TEXTS, .trust = SW_TRUST_PROFILE,
      .help = "shell lines on the first node before the job starts" },
    { "mpi", SW_TEXT, .trust = SW_TRUST_PROFILE, .initial = "pmix",
      .help = "what srun offers with `launcher: mpi`" },
    { "cosmos", SW_GROUP, .fields = cosmos_fields,
      .help = "roles of Cosmos-RL: which nodes train and which generate" },

    /* What it runs in. */
    { "container", SW_CHOICE, .choices = containers, .initial = "auto",
      .help = "what runs the image; auto: Pyxis when the job names an image" },
    { "container_mounts", SW_TEXTS, .trust = SW_TRUST_PROFILE, .env = "SLURM_CONTAINER_MOUNTS",
      .help = "what every container sees besides the job's own `mounts`: SRC:DST" },
    { "mount_home", SW_FLAG, .trust = SW_TRUST_PROFILE, .initial = "false",
      .help = "the container sees the home folder" },
    { "remap_root", SW_FLAG, .initial = "false", .help = "the user is root in the container" },
    { "container_writable", SW_FLAG, .initial = "true", .help = "the image's files may change" },
    { "image_entrypoint", SW_FLAG, .initial = "false",
      .help = "the image's own entry point runs before the command" },
    { "container_env", SW_TEXTS, .trust = SW_TRUST_PROFILE,
      .help = "variables whose value on the host wins over the image's" },
    { "registry_login", SW_FLAG, .trust = SW_TRUST_PROFILE, .initial = "false",
      .help = "keep the registry's password (NGC_KEY, DOCKER_PASSWORD) in enroot's .credentials there" },
    { "use_sqsh", SW_FLAG, .initial = "true", .env = "SLURM_USE_SQSH",
      .help = "convert the image once and keep it on the shared file system" },
    { "require_sqsh", SW_FLAG, .initial = "false", .env = "SLURM_REQUIRE_SQSH",
      .help = "a conversion that fails ends the job instead of pulling on every node" },
    { "force_reconvert_latest", SW_FLAG, .initial = "false",
      .env = "SLURM_FORCE_RECONVERT_LATEST", .help = "convert `:latest` images anew every time" },
    { "sqsh_latest", SW_CHOICE, .choices = latests, .initial = "reuse",
      .help = "what a converted `:latest` is worth: any, one made after the submit, or the tag's "
              "own digest" },
    { "sqsh_cache_dir", SW_TEXT, .trust = SW_TRUST_PROFILE, .env = "SLURM_SQSH_CACHE_DIR",
      .help = "where converted images are kept; the base folder when not given" },
    { "conversion_partition", SW_TEXT, .env = "SLURM_CONVERSION_PARTITION",
      .help = "partition for a job of its own that converts the image; the job itself does when not given" },
    { "conversion_memory_gb", SW_WHOLE, .initial = "32", .least = 1, .most = 4096,
      .env = "SLURM_CONVERSION_MEMORY_GB", .help = "memory of that job" },
    { "conversion_timeout_minutes", SW_WHOLE, .initial = "30", .least = 1, .most = 1440,
      .env = "SLURM_CONVERSION_TIMEOUT_MINUTES", .help = "how long that may take" },
    { "enroot_temp_path", SW_TEXT, .trust = SW_TRUST_PROFILE, .env = "SLURM_ENROOT_TEMP_PATH",
      .help = "where enroot unpacks meanwhile" },

    { "check", SW_FLAG, .initial = "true",
      .help = "test on the login host that every input exists before submitting" },
    { 0 }
};

const char *slurm_umask(const json_t *options)
{
    const char *said = sw_json_str(options, "shared");

    return sw_text_same(said, "group") ? "027" : sw_text_same(said, "all") ? "022" : "077";
}

char *slurm_joined(const json_t *options, const char *key)
{
    const json_t *list = json_object_get(options, key);
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
