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
    { "annotation", SW_TEXT, .required = true,
      .help = "the input that names them, as it is declared here" },
    { "keys", SW_TEXTS, .required = true, .help = "fields of it that hold names of files" },
    { "format", SW_CHOICE, .choices = annotation_formats,
      .help = "how it is written; by its ending when not given" },
    { 0 }
};

static const struct sw_option input_fields[] = {
    { "from", SW_TEXT, .required = true, .help = "where it comes from: a path or a URI" },
    { "selective", SW_GROUP, .fields = selective_fields,
      .help = "of a folder, only the files that another input names" },
    { "extract", SW_FLAG, .help = "unpack archives; true for what comes from elsewhere" },
    { 0 }
};

static const struct sw_option config_input_fields[] = {
    { "container_path", SW_TEXT, .help = "folder it is put into; by its place when not given" },
    { "selective", SW_GROUP, .fields = selective_fields,
      .help = "of a folder, only the files that another input names" },
    { "extract_to_parent", SW_FLAG, .help = "unpack an archive beside itself, without a folder" },
    { 0 }
};

static const struct sw_option config_output_fields[] = {
    { "type", SW_CHOICE, .choices = output_types, .initial = "folder",
      .help = "of a file only the folder is made" },
    { "every", SW_DURATION, .least = SECOND, .help = "how often it is copied while the job runs" },
    { "exclude", SW_TEXTS, .help = "file patterns that stay behind" },
    { 0 }
};

static const struct sw_option output_fields[] = {
    { "to", SW_TEXT, .help = "where it goes: a path or a URI; {id} is the job's id, {split_id} its split" },
    { "every", SW_DURATION, .least = SECOND, .help = "how often it is copied while the job runs" },
    { "exclude", SW_TEXTS, .help = "file patterns that stay behind" },
    { 0 }
};

static const struct sw_option checkpoint_fields[] = {
    { "dir", SW_TEXT, .required = true, .help = "folder the job writes its checkpoints to" },
    { "resume", SW_CHOICE, .choices = resumes, .initial = "auto",
      .help = "whether a new attempt starts from the last checkpoint" },
    { 0 }
};

static const struct sw_option code_fields[] = {
    { "root", SW_TEXT, .initial = ".", .help = "folder of the code that travels with the job" },
    { "include", SW_TEXTS, .help = "what of it travels; all when not given" },
    { "exclude", SW_TEXTS, .help = "what of it stays behind" },
    { "recipe", SW_TEXT, .help = "of folders below recipes/, the one that travels" },
    { 0 }
};

static const struct sw_option retry_fields[] = {
    { "max", SW_WHOLE, .most = 1000, .help = "how many new attempts at most" },
    { "on", SW_TEXTS, .choices = retry_causes, .help = "which causes are tried again" },
    { "wait", SW_DURATIONS, .help = "pause before an attempt: a duration, or a growing range 30s..10m" },
    { "avoid_bad_nodes", SW_FLAG, .help = "keep away from nodes that failed before" },
    { 0 }
};

static const struct sw_option guard_fields[] = {
    { "no_output", SW_DURATION, .least = SECOND, .help = "the log stands still for so long" },
    { "idle_gpu", SW_DURATION, .least = SECOND, .help = "the GPUs do nothing for so long" },
    { "action", SW_CHOICE, .choices = guard_actions, .initial = "warn",
      .help = "what happens then" },
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
      .help = "what to tell of; complete, error and canceled when not given" },
    { 0 }
};

static const struct sw_option python_fields[] = {
    { "venv", SW_TEXT, .help = "folder of the virtual environment (with pyvenv.cfg)" },
    { "script", SW_TEXT, .required = true, .help = "script that its interpreter runs" },
    { "args", SW_TEXTS, .help = "arguments; {config_path}, {results_dir}, {job_id} are filled in" },
    { 0 }
};

const struct sw_option sw_spec_keys[] = {
    { "name", SW_TEXT, .flag = "name", .help = "what the job is called; its id begins with it" },
    { "image", SW_TEXT, .flag = "image", .help = "container image to run in" },
    { "command", SW_TEXT, .trust = SW_TRUST_PROFILE,
      .help = "shell text to run; {config_path}, {results_dir}, {job_id} are filled in" },
    { "argv", SW_TEXTS, .flag = "", .trust = SW_TRUST_PROFILE,
      .help = "the command as separate words, run without a shell" },
    { "args", SW_FREE, .trust = SW_TRUST_PROFILE,
      .help = "options for the command: a map, each becomes --NAME VALUE" },
    { "flags", SW_TEXTS, .trust = SW_TRUST_PROFILE,
      .help = "options without a value: each becomes --NAME" },
    { "python", SW_GROUP, .trust = SW_TRUST_PROFILE, .fields = python_fields,
      .help = "a Python script in a virtual environment instead of a command" },
    { "gpus", SW_GPUS, .flag = "gpus", .initial = "0",
      .help = "GPUs per node: COUNT or TYPE:COUNT; 0 is CPU only" },
    { "nodes", SW_WHOLE, .flag = "nodes", .initial = "1", .least = 1, .most = 4096,
      .help = "how many nodes" },
    { "splits", SW_WHOLE, .flag = "split", .least = 1, .most = SW_SPLITS_MAX,
      .help = "how many jobs like this one, each with its SPLIT_ID" },
    { "cpus", SW_NUMBER, .flag = "cpus", .help = "CPU cores per node" },
    { "memory", SW_SIZE, .flag = "mem", .least = MIB, .help = "main memory per node" },
    { "shm", SW_SIZE, .flag = "shm", .least = MIB, .help = "size of /dev/shm" },
    { "time", SW_DURATION, .flag = "time", .least = SECOND, .help = "wall clock limit" },
    { "launcher", SW_CHOICE, .flag = "launcher", .choices = launchers, .initial = "none",
      .help = "what starts the processes on each node" },
    { "world_size", SW_CHOICE, .choices = world_sizes, .initial = "nodes",
      .help = "what WORLD_SIZE counts" },
    { "env", SW_TEXT_MAP, .flag = "env", .help = "environment variables of the command" },
    { "secrets", SW_TEXTS, .flag = "secret", .unites = true,
      .help = "names of environment variables whose values are handed over safely" },
    { "inputs", SW_MAP_OF, .trust = SW_TRUST_PROFILE, .fields = input_fields, .flag = "input",
      .help = "path in the job: where it comes from" },
    { "config", SW_FREE, .help = "nested document, written at {config_path}" },
    { "config_format", SW_CHOICE, .choices = config_formats, .initial = "yaml",
      .help = "how the config is written" },
    { "config_inputs", SW_MAP_OF, .fields = config_input_fields, .list_shorthand = true,
      .help = "places of config, or names of args, that are inputs, and how they are fetched" },
    { "config_outputs", SW_MAP_OF, .fields = config_output_fields, .list_shorthand = true,
      .help = "places of config, or names of args, that the job writes to" },
    { "cache", SW_TEXT, .trust = SW_TRUST_PROFILE,
      .help = "folder that jobs share: s3://BUCKET/KEY is kept as CACHE/BUCKET/KEY" },
    { "outputs", SW_MAP_OF, .trust = SW_TRUST_PROFILE, .fields = output_fields,
      .flag = "output", .list_shorthand = true,
      .help = "path in the job: where it goes; or a plain list of paths" },
    { "checkpoint", SW_GROUP, .fields = checkpoint_fields,
      .help = "where checkpoints are, and whether to resume" },
    { "code", SW_GROUP, .trust = SW_TRUST_PROFILE, .fields = code_fields,
      .help = "code that travels with the job" },
    { "mounts", SW_TEXTS, .trust = SW_TRUST_PROFILE, .flag = "mount",
      .help = "folders to mount, SOURCE:TARGET[:FLAGS], or repositories, git+URL@REF:TARGET" },
    { "retry", SW_GROUP, .fields = retry_fields, .help = "when and how often to try again" },
    { "guard", SW_GROUP, .fields = guard_fields, .help = "watch for a job that stands still" },
    { "hooks", SW_GROUP, .trust = SW_TRUST_ALWAYS, .fields = hook_fields,
      .help = "commands to run where the job is watched, with the job in their environment" },
    { "notify", SW_GROUP, .trust = SW_TRUST_ALWAYS, .fields = notify_fields,
      .help = "where the job's changes are posted" },
    { "watcher", SW_FLAG, .initial = "true", .flag = "no-watcher",
      .help = "a process looks after the job when it is left alone and needs that" },
    { "labels", SW_TEXT_MAP, .flag = "label", .help = "labels to select jobs by" },
    { "platform", SW_TEXTS, .flag = "platform", .env = "SLIPWAY_PLATFORM",
      .help = "where to run: one name, or an ordered list of them" },
    { "workdir", SW_TEXT, .flag = "workdir", .trust = SW_TRUST_PROFILE,
      .help = "folder the command runs in" },
    { "grace", SW_DURATION, .flag = "grace", .initial = SW_GRACE, .most = DAY,
      .help = "time between TERM and KILL when the job is stopped" },
    { "keep", SW_DURATION, .flag = "keep", .least = SECOND,
      .help = "how long files are kept after the end; for ever when not given" },
    { 0 }
};
