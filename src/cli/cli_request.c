/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_request.c - the flags that describe a job, shared by `run` and `plan`.
 *
 * Each flag is one row that names the key of the job file it sets; a new key needs one line
 * here at most, and --set reaches every key anyway. A value given by --env is written into the
 * store, so a variable that looks like a secret is refused and --secret suggested.
 */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

/* --set KEY=VALUE: the key is a path already. */
static int set_any(struct sw_request *request, const char *key, const char *pair,
                   struct sw_error *err)
{
    size_t length = strcspn(pair, "=");
    sw_autofree char *path = sw_strndup(pair, length);

    (void)key;
    if (!length || pair[length] != '=')
        return sw_fail(err, SW_E_USAGE, "--set: '%s' is not of the form KEY=VALUE", pair);
    return sw_request_set(request, path, pair + length + 1, err);
}

/* The words of such a name say it: NGC_API_KEY, HF_TOKEN; but not TOKENIZERS_PARALLELISM. */
static bool looks_secret(const char *name)
{
    static const char *const words[] = {
        "TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "APIKEY", "CREDENTIAL", "CREDENTIALS",
    };

    while (*name) {
        size_t length = strcspn(name, "_");
        sw_autofree char *word = sw_strndup(name, length);

        for (size_t i = 0; i < SW_COUNT(words); i++)
            if (sw_text_same_nocase(word, words[i]))
                return true;
        name += length + (name[length] == '_');
    }
    return false;
}

#define SHORTEST_SECRET 8     /* "SORT_KEY=name" is harmless */

/* --env NAME=VALUE, or NAME alone: the value is taken from our own environment. */
static int set_env(struct sw_request *request, const char *key, const char *pair,
                   struct sw_error *err)
{
    sw_autofree char *name = sw_strndup(pair, strcspn(pair, "="));
    const char *equals = strchr(pair, '=');
    const char *value = equals ? equals + 1 : getenv(name);
    sw_autofree char *whole = NULL;

    if (!value) {
        sw_fail(err, SW_E_USAGE, "--env %s: %s is not set in your environment", name, name);
        return sw_hint(err, "give it as --env %s=VALUE", name);
    }
    if (looks_secret(name) && strlen(value) >= SHORTEST_SECRET) {
        sw_fail(err, SW_E_USAGE, "--env %s: it looks like a secret, and --env is stored with the job",
                name);
        return sw_hint(err, "export %s and use --secret %s: its value is sent but not stored",
                       name, name);
    }
    whole = sw_format("%s=%s", name, value);
    return sw_request_set(request, key, whole, err);
}

/* --no-check and --no-watcher have no value of their own. */
static int set_false(struct sw_request *request, const char *key, const char *value,
                     struct sw_error *err)
{
    (void)value;
    return sw_request_set(request, key, "false", err);
}

static int set_id(struct sw_request *request, const char *key, const char *value,
                  struct sw_error *err)
{
    (void)key;
    return sw_request_id(request, value, err);
}

#define JOB_FLAG(name, letter, arg, help, ...) { name, letter, arg, help, __VA_ARGS__ }

const struct cli_flag cli_job_flags[] = {
    JOB_FLAG("file", 'f', "FILE", "the job file; - reads standard input", .key = NULL),
    JOB_FLAG("platform", 'p', "NAME", "where to run (default: local)", .key = "platform",
             .set = sw_request_set),
    JOB_FLAG("name", 0, "NAME", "name of the job, the beginning of its id", .key = "name",
             .set = sw_request_set),
    JOB_FLAG("image", 0, "IMAGE", "container image", .key = "image", .set = sw_request_set),
    JOB_FLAG("model", 0, "MODEL", "model of a skill bank; with --action it gives image and command",
             .key = "model",
             .set = sw_request_set),
    JOB_FLAG("action", 0, "ACTION", "what to do with the model: train, evaluate, ...", .key = "action",
             .set = sw_request_set),
    JOB_FLAG("gpus", 0, "[TYPE:]N", "GPUs per node: 8 or H100:8; 0 for none", .key = "gpus",
             .set = sw_request_set),
    JOB_FLAG("nodes", 0, "N", "how many nodes", .key = "nodes", .set = sw_request_set),
    JOB_FLAG("split", 0, "N", "submit N such jobs, each with its own SPLIT_ID", .key = "splits",
             .set = sw_request_set),
    JOB_FLAG("cpus", 0, "N", "CPU cores per node", .key = "cpus", .set = sw_request_set),
    JOB_FLAG("mem", 0, "SIZE", "memory per node, such as 64GiB", .key = "memory",
             .set = sw_request_set, .also = "memory"),
    JOB_FLAG("shm", 0, "SIZE", "shared memory, such as 16GiB", .key = "shm",
             .set = sw_request_set),
    JOB_FLAG("time", 0, "DURATION", "time limit, such as 30m, 12h or 2d", .key = "time",
             .set = sw_request_set),
    JOB_FLAG("env", 0, "NAME[=VALUE]", "environment variable; NAME alone copies yours",
             .key = "env", .set = set_env, .many = true),
    JOB_FLAG("secret", 0, "NAME", "variable whose value is sent but never stored",
             .key = "secrets", .set = sw_request_set, .many = true),
    JOB_FLAG("input", 0, "PATH=URI", "fetch URI to PATH before the job starts", .key = "inputs",
             .set = sw_request_set, .many = true),
    JOB_FLAG("output", 0, "PATH[=DEST]", "results at PATH, sent to DEST at the end",
             .key = "outputs", .set = sw_request_set, .many = true),
    JOB_FLAG("mount", 0, "SRC:DST", "mount a folder, or a repository: git+URL@REF:DST",
             .key = "mounts", .set = sw_request_set, .many = true),
    JOB_FLAG("no-check", 0, NULL, "Slurm: submit without checking that inputs exist",
             .key = "slurm.check", .set = set_false),
    JOB_FLAG("no-watcher", 0, NULL, "start no process to watch it ('slipway help watcher')",
             .key = "watcher", .set = set_false),
    JOB_FLAG("label", 0, "KEY=VALUE", "label, for -l in other commands", .key = "labels",
             .set = sw_request_set, .many = true),
    JOB_FLAG("workdir", 0, "DIR", "where the command starts", .key = "workdir",
             .set = sw_request_set),
    JOB_FLAG("launcher", 0, "NAME", "none, torchrun, mpi or ray", .key = "launcher",
             .set = sw_request_set),
    JOB_FLAG("keep", 0, "DURATION", "how long to keep the job after it finishes", .key = "keep",
             .set = sw_request_set),
    JOB_FLAG("grace", 0, "DURATION", "time to save its work before it is killed", .key = "grace",
             .set = sw_request_set),
    JOB_FLAG("set", 0, "KEY=VALUE", "any key of the job file: slurm.partition=batch",
             .set = set_any, .many = true),
    JOB_FLAG("id", 0, "ID", "the job id; repeating it finds the same job", .set = set_id),
    { 0 }
};

static int find_file(struct sw_request *request, bool find, struct sw_error *err)
{
    bool found = false;

    if (find && sw_request_find(request, &found, err) < 0)
        return -1;
    if (found)
        return 0;
    if (find)
        sw_fail(err, SW_E_USAGE, "nothing to run: no job.yaml here");
    else
        sw_fail(err, SW_E_USAGE, "no job given; this command does not use ./job.yaml by itself");
    return sw_hint(err, "give a job file (-f FILE) or a command (-- COMMAND...)");
}

static int read_file(struct sw_request *request, const struct cli_args *args, bool find,
                     struct sw_error *err)
{
    const char *file = cli_given_value(args, "file");

    if (file && args->word_count)
        return sw_fail(err, SW_E_USAGE, "two job files given: '%s' and '%s'", file, args->words[0]);
    if (!file && args->word_count)
        file = args->words[0];
    if (!file && args->rest)
        return 0;
    if (!file)
        return find_file(request, find, err);
    if (sw_request_file(request, file, err) < 0) {
        if (err->code == SW_E_USAGE && sw_text_ends(file, ".py"))
            return sw_hint(err, "did you mean: slipway run -- python %s ?", file);
        if (args->word_count && !strpbrk(file, "./"))
            return sw_hint(err, "a command goes after '--': slipway run -- %s", args->words[0]);
        return -1;
    }
    return 0;
}

int cli_request_change(struct sw_request *request, const struct cli_args *args, struct sw_error *err)
{
    for (size_t i = 0; i < args->given_count; i++) {
        const struct cli_flag *flag = args->given[i].flag;

        if (flag->set && flag->set(request, flag->key, args->given[i].value, err) < 0)
            return -1;
    }
    if (args->rest && args->rest_count == 0)
        return sw_fail(err, SW_E_USAGE, "no command after '--'");
    return args->rest ? sw_request_argv(request, (int)args->rest_count, args->rest, err) : 0;
}

struct sw_request *cli_request(const struct cli_args *args, bool find, struct sw_error *err)
{
    sw_auto(sw_request) struct sw_request *request = sw_request_new();

    return read_file(request, args, find, err) < 0 || cli_request_change(request, args, err) < 0
               ? NULL : sw_take(request);
}

struct sw_request *cli_request_any(const struct cli_args *args, struct sw_error *err)
{
    sw_auto(sw_request) struct sw_request *request = sw_request_new();
    bool named = cli_given_value(args, "file") || args->word_count || args->rest, found;

    if (named)
        return cli_request(args, true, err);
    return sw_request_find(request, &found, err) < 0 || cli_request_change(request, args, err) < 0
               ? NULL : sw_take(request);
}
