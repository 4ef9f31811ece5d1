/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_keys.c - the keys of a job file, once.
 *
 * Validation, flags, `slipway schema`, docs/use/job-file.md (checked by a test) and the precedence
 * rules read these rows. A platform's block is not here: it is the platform's own table.
 * Every key changes what a platform is sent, or is refused: tests/unit/api/test_walk.c sets each one.
 */
#include "spec/spec.h"

#include "core/id.h"
#include "core/job_event.h"
#include "core/stop.h"

#define SECOND INT64_C(1000)
#define DAY    (86400 * SECOND)
#define MIB    (INT64_C(1) << 20)

static const char *const launchers[] = { "none", "torchrun", "mpi", "ray", NULL };
static const char *const world_sizes[] = { "nodes", "ranks", NULL };
static const char *const config_formats[] = { "yaml", "json", "toml", NULL };
static const char *const resumes[] = { "auto", "never", NULL };
static const char *const guard_actions[] = { "warn", "stop", NULL };
static const char *const retry_causes[] = {
    "node", "gpu", "network", "preempted", "image", "memory", "time", "storage", "user", "unknown",
    NULL
};

static const char *const annotation_formats[] = { "json", "jsonl", "csv", NULL };
static const char *const output_types[] = { "folder", "file", NULL };

static const struct sw_option selective_fields[] = {
    { "annotation", SW_TEXT, .required = true, .variables = true,
      .help = "the input that names them, as declared here" },
    { "keys", SW_TEXTS, .required = true, .help = "its fields that contain file names" },
    { "format", SW_CHOICE, .choices = annotation_formats,
      .help = "its format; default: by its file name" },
    { 0 }
};

static const struct sw_option input_fields[] = {
    { "from", SW_TEXT, .required = true, .variables = true, .help = "where it comes from: a path or a URI" },
    { "selective", SW_GROUP, .fields = selective_fields,
      .help = "fetch only the files that another input names" },
    { "extract", SW_FLAG, .help = "unpack archives; default: true for remote sources" },
    { 0 }
};

static const struct sw_option config_input_fields[] = {
    { "container_path", SW_TEXT, .variables = true,
      .help = "folder it is placed in; default: by its place" },
    { "selective", SW_GROUP, .fields = selective_fields,
      .help = "fetch only the files that another input names" },
    { "extract_to_parent", SW_FLAG, .help = "unpack an archive beside itself, without a folder" },
    { 0 }
};

static const struct sw_option config_output_fields[] = {
    { "type", SW_CHOICE, .choices = output_types, .initial = "folder",
      .help = "create only the folder of this file" },
    { "every", SW_DURATION, .least = SECOND, .help = "how often it is copied while the job runs" },
    { "exclude", SW_TEXTS, .help = "patterns of files to leave out" },
    { 0 }
};

static const struct sw_option output_fields[] = {
    { "to", SW_TEXT, .variables = true,
      .help = "where it goes: a path or a URI; {id} is the job's id, {split_id} its split" },
    { "every", SW_DURATION, .least = SECOND, .help = "how often it is copied while the job runs" },
    { "exclude", SW_TEXTS, .help = "patterns of files to leave out" },
    { 0 }
};

static const struct sw_option checkpoint_fields[] = {
    { "dir", SW_TEXT, .required = true, .variables = true,
      .help = "folder the job writes its checkpoints to" },
    { "resume", SW_CHOICE, .choices = resumes, .initial = "auto",
      .help = "whether a new attempt starts from the last checkpoint" },
    { 0 }
};

static const struct sw_option code_fields[] = {
    { "root", SW_TEXT, .initial = ".", .variables = true,
      .help = "folder of the code that is sent with the job" },
    { "include", SW_TEXTS, .help = "patterns of files to send; default: all" },
    { "exclude", SW_TEXTS, .help = "patterns of files to leave out" },
    { "recipe", SW_TEXT, .help = "of the folders below recipes/, the only one to send" },
    { 0 }
};

static const struct sw_option retry_fields[] = {
    { "max", SW_WHOLE, .most = 1000, .help = "maximum number of retries" },
    { "on", SW_TEXTS, .choices = retry_causes, .help = "causes that are retried" },
    { "wait", SW_DURATIONS, .help = "wait before a retry: a duration, or a growing range 30s..10m" },
    { "avoid_bad_nodes", SW_FLAG, .help = "avoid nodes that failed before" },
    { 0 }
};

static const struct sw_option guard_fields[] = {
    { "no_output", SW_DURATION, .least = SECOND, .help = "act when the log has been silent this long" },
    { "idle_gpu", SW_DURATION, .least = SECOND, .help = "act when the GPUs have been idle this long" },
    { "action", SW_CHOICE, .choices = guard_actions, .initial = "warn",
      .help = "what to do then" },
    { 0 }
};

static const struct sw_option hook_fields[] = {
    { "on_complete", SW_TEXT, .help = "shell command to run when the job is complete" },
    { "on_error", SW_TEXT, .help = "shell command to run when the job has failed for good" },
    { "on_canceled", SW_TEXT, .help = "shell command to run when the job was canceled" },
    { "on_epoch_milestone", SW_TEXT, .help = "shell command to run at every milestone" },
    { "on_status", SW_TEXT, .help = "shell command to run at every change of state" },
    { "epoch_milestone_interval", SW_WHOLE, .initial = "10", .least = 1, .most = 1000000,
      .help = "how many epochs make a milestone" },
    { 0 }
};

static const struct sw_option notify_fields[] = {
    { "webhook", SW_TEXT, .help = "URL that a JSON document is posted to; ${NAME} is taken from "
                                  "the environment" },
    { "command", SW_TEXT, .help = "shell command to run" },
    { "on", SW_TEXTS, .choices = sw_job_event_words,
      .help = "events to report; default: complete, error and canceled" },
    { 0 }
};

static const struct sw_option ray_cluster_fields[] = {
    { "name", SW_TEXT, .variables = true,
      .help = "run on this cluster, which is there (slipway ray up NAME), instead of one of its own" },
    { "version", SW_TEXT, .help = "version of Ray in the image, such as 2.60.0 (Kubernetes; else 2.52.0 is "
                                  "assumed)" },
    { "wait", SW_DURATION, .initial = "10m", .least = SECOND, .most = DAY,
      .help = "how long to wait until all nodes and GPUs have joined" },
    { "keep", SW_FLAG, .help = "run no command: the cluster stays until it is idle" },
    { "idle", SW_DURATION, .initial = "1h", .least = SECOND,
      .help = "with keep: it ends when no Ray job ran for this long" },
    { 0 }
};

static const struct sw_option python_fields[] = {
    { "venv", SW_TEXT, .variables = true, .help = "folder of the virtual environment (with pyvenv.cfg)" },
    { "script", SW_TEXT, .required = true, .variables = true, .help = "script that its interpreter runs" },
    { "args", SW_TEXTS, .help = "arguments; {config_path}, {results_dir}, {job_id} are filled in" },
    { 0 }
};

const struct sw_option sw_spec_keys[] = {
    { "name", SW_TEXT, .flag = "name", .variables = true, .help = "name of the job; its id begins with it" },
    { "image", SW_TEXT, .flag = "image", .variables = true, .help = "container image to run in" },
    { "model", SW_TEXT, .flag = "model", .trust = SW_TRUST_PROFILE, .variables = true,
      .help = "model of a skill bank: with `action` it gives image, command, config_format, inputs and "
              "outputs" },
    { "action", SW_TEXT, .flag = "action", .trust = SW_TRUST_PROFILE, .variables = true,
      .help = "what to do with the model: train, evaluate, export, ..." },
    { "command", SW_TEXT, .trust = SW_TRUST_PROFILE,
      .help = "shell command to run; {config_path}, {results_dir}, {job_id} are filled in" },
    { "argv", SW_TEXTS, .flag = "", .trust = SW_TRUST_PROFILE,
      .help = "the command as separate words, run without a shell" },
    { "args", SW_FREE, .trust = SW_TRUST_PROFILE, .as_written = true,
      .help = "options for the command: a mapping, each becomes --NAME VALUE" },
    { "flags", SW_TEXTS, .trust = SW_TRUST_PROFILE,
      .help = "options without a value: each becomes --NAME" },
    { "python", SW_GROUP, .trust = SW_TRUST_PROFILE, .fields = python_fields,
      .help = "a Python script in a virtual environment instead of a command" },
    { "setup", SW_TEXTS, .trust = SW_TRUST_PROFILE,
      .help = "shell commands that run before the command, once on each node; what they put into "
              "$SLIPWAY_SETUP_DIR is kept for jobs with the same setup, where there is room" },
    { "gpus", SW_GPUS, .flag = "gpus", .initial = "0",
      .help = "GPUs per node: COUNT or TYPE:COUNT; 0 is CPU only" },
    { "nodes", SW_WHOLE, .flag = "nodes", .initial = "1", .least = 1, .most = 4096,
      .help = "how many nodes" },
    { "splits", SW_WHOLE, .flag = "split", .least = 1, .most = SW_SPLITS_MAX,
      .help = "submit this many such jobs, each with its own SPLIT_ID" },
    { "cpus", SW_NUMBER, .flag = "cpus", .help = "CPU cores per node" },
    { "memory", SW_SIZE, .flag = "mem", .least = MIB, .help = "main memory per node" },
    { "shm", SW_SIZE, .flag = "shm", .least = MIB, .help = "size of /dev/shm" },
    { "time", SW_DURATION, .flag = "time", .least = SECOND, .help = "wall clock limit" },
    { "launcher", SW_CHOICE, .flag = "launcher", .choices = launchers, .initial = "none",
      .help = "what starts the processes on each node" },
    { "ray_cluster", SW_GROUP, .fields = ray_cluster_fields,
      .help = "with `launcher: ray`: how the cluster of the job begins and ends" },
    { "world_size", SW_CHOICE, .choices = world_sizes, .initial = "nodes",
      .help = "what WORLD_SIZE counts" },
    { "env", SW_TEXT_MAP, .flag = "env", .variables = true, .help = "environment variables of the command" },
    { "secrets", SW_TEXTS, .flag = "secret", .unites = true,
      .help = "names of environment variables whose values are passed on as secrets" },
    { "inputs", SW_MAP_OF, .trust = SW_TRUST_PROFILE, .fields = input_fields, .flag = "input",
      .help = "path in the job: where it comes from" },
    { "config", SW_FREE, .help = "nested document, written at {config_path}" },
    { "config_format", SW_CHOICE, .choices = config_formats, .initial = "yaml",
      .help = "how the config is written" },
    { "config_inputs", SW_MAP_OF, .fields = config_input_fields, .list_shorthand = true,
      .help = "places of config, or names of args, that are inputs, and how they are fetched" },
    { "config_outputs", SW_MAP_OF, .fields = config_output_fields, .list_shorthand = true,
      .help = "places of config, or names of args, that the job writes to" },
    { "cache", SW_TEXT, .trust = SW_TRUST_PROFILE, .variables = true,
      .help = "folder that jobs share: s3://BUCKET/KEY is kept as CACHE/BUCKET/KEY" },
    { "outputs", SW_MAP_OF, .trust = SW_TRUST_PROFILE, .fields = output_fields, .variables = true,
      .flag = "output", .list_shorthand = true,
      .help = "path in the job: where it goes; or a plain list of paths" },
    { "checkpoint", SW_GROUP, .fields = checkpoint_fields,
      .help = "where checkpoints are, and whether to resume" },
    { "code", SW_GROUP, .trust = SW_TRUST_PROFILE, .fields = code_fields,
      .help = "code that is sent with the job" },
    { "mounts", SW_TEXTS, .trust = SW_TRUST_PROFILE, .flag = "mount", .variables = true,
      .help = "folders to mount, SOURCE:TARGET[:FLAGS], or repositories, git+URL@REF:TARGET" },
    { "retry", SW_GROUP, .fields = retry_fields, .help = "when and how often to retry" },
    { "guard", SW_GROUP, .fields = guard_fields, .help = "detect a job that makes no progress" },
    { "hooks", SW_GROUP, .trust = SW_TRUST_ALWAYS, .fields = hook_fields,
      .help = "commands to run where the job is watched, with the job in their environment" },
    { "notify", SW_GROUP, .trust = SW_TRUST_ALWAYS, .fields = notify_fields,
      .help = "where changes of the job are reported" },
    { "watcher", SW_FLAG, .initial = "true", .flag = "no-watcher",
      .help = "start a process that watches a detached job when it needs one" },
    { "labels", SW_TEXT_MAP, .flag = "label", .variables = true, .help = "labels to select jobs by" },
    { "platform", SW_TEXTS, .flag = "platform", .env = "SLIPWAY_PLATFORM",
      .help = "where to run: one name, or an ordered list of them" },
    { "workdir", SW_TEXT, .flag = "workdir", .trust = SW_TRUST_PROFILE, .variables = true,
      .help = "folder the command runs in" },
    { "grace", SW_DURATION, .flag = "grace", .initial = SW_GRACE, .most = DAY,
      .help = "time between TERM and KILL when the job is stopped" },
    { "keep", SW_DURATION, .flag = "keep", .least = SECOND,
      .help = "how long files are kept after the job finishes; default: forever" },
    { 0 }
};
