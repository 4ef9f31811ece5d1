/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbatch_options.c - the options of sbatch and srun (and of Pyxis), and what becomes of each.
 *
 * One row per option. An option with neither a key nor a reason is one that only Slurm understands: it is
 * handed to sbatch or srun as it is (slurm.sbatch_args, slurm.srun_args). Nodes, tasks, CPUs and GPUs decide
 * one another, so they are gathered and settled at the end.
 *
 * Pure.
 */
#include "translate/translate_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "core/slurm_time.h"

enum value_kind { VALUE, MAYBE, NONE };
#define LOG_WHY "the log is kept with the job: slipway logs JOB"
#define SUBMIT_WHY "slipway submits the job and watches it"
#define VARIABLES_WHY "a job's variables are those of 'env' and 'secrets'"

struct sbatch_word {
    struct translating *at;
    struct sbatch_shape *shape;
    int line;
    const char *what, *value;          /* value: NULL where there is none */
};

struct sbatch_option {
    const char *name;
    char letter;
    enum value_kind kind;
    const char *key;
    void (*take)(const struct sbatch_word *word);
    const char *why;
};

void sbatch_shape_done(struct sbatch_shape *shape)
{
    free(shape->gpus);
    free(shape->gpus_per_node);
    free(shape->gpus_per_task);
    *shape = (struct sbatch_shape){ 0 };
}

/* ---- values ---------------------------------------------------------------------------------------- */

static void set(const struct sbatch_word *word, const char *key, const char *text)
{
    translate_set(word->at, word->line, word->what, key, text);
}

static void leave_out(const struct sbatch_word *word, const char *why)
{
    translate_leave_out(word->at, word->line, word->what, why);
}

/* "a,b" at a key that is a list. */
static void take_list(const struct sbatch_word *word, const char *key)
{
    for (const char *part = word->value; *part;) {
        size_t length = strcspn(part, ",");
        sw_autofree char *one = sw_strndup(part, length);

        if (*one)
            set(word, key, one);
        part += length + (part[length] == ',');
    }
}

static void take_partition(const struct sbatch_word *word) { take_list(word, "slurm.partition"); }
static void take_mail_type(const struct sbatch_word *word) { take_list(word, "slurm.mail_type"); }
static void take_mounts(const struct sbatch_word *word) { take_list(word, "mounts"); }

static void take_time(const struct sbatch_word *word)
{
    int64_t ms = 0;
    char text[32];

    if (!sw_slurm_time_parse(word->value, &ms) || ms == 0) {
        leave_out(word, "no limit can be asked for: 'time' is a duration");
        return;
    }
    sw_duration_format(ms, text);
    set(word, "time", text);
}

static void take_memory(const struct sbatch_word *word)
{
    sw_autofree char *size = translate_size(word->value, "MiB");
    bool all = strspn(word->value, "0") == strlen(word->value);

    if (all)
        set(word, "slurm.mem", "0");                  /* all of the node's */
    else
        set(word, size ? "memory" : "slurm.mem", size ? size : word->value);
}

static void take_exclusive(const struct sbatch_word *word)
{
    set(word, "slurm.exclusive", "true");
    if (word->value && strcmp(word->value, "exclusive") != 0 && strcmp(word->value, "true") != 0)
        leave_out(word, "whole nodes are asked for instead");
}

static void take_requeue(const struct sbatch_word *word) { set(word, "slurm.requeue", "true"); }
static void take_no_home(const struct sbatch_word *word) { set(word, "slurm.mount_home", "false"); }
static void take_no_requeue(const struct sbatch_word *word) { set(word, "slurm.requeue", "false"); }

/* "B:USR1@120": only TERM is sent here, and when. */
static void take_signal(const struct sbatch_word *word)
{
    const char *at = strchr(word->value, '@'), *name = strchr(word->value, ':');
    size_t length;
    sw_autofree char *ahead = at ? sw_format("%ss", at + 1) : NULL;

    name = name && (!at || name < at) ? name + 1 : word->value;
    name = sw_text_starts(name, "SIG") ? name + 3 : name;
    length = strcspn(name, "@");
    if (ahead)
        set(word, "slurm.signal_ahead", ahead);
    if ((length != 4 || strncmp(name, "TERM", 4) != 0) && (length != 2 || strncmp(name, "15", 2) != 0))
        leave_out(word, "the command gets TERM before the time limit, and no other signal");
}

/* "ALL,A=1,B": a job's variables are named. */
static void take_export(const struct sbatch_word *word)
{
    for (const char *part = word->value; *part;) {
        size_t length = strcspn(part, ",");
        sw_autofree char *one = sw_strndup(part, length);
        char *equals = strchr(one, '=');

        if (equals) {
            *equals = '\0';
            translate_env(word->at, word->line, one, one, equals + 1);
        } else if (*one && !sw_text_same_nocase(one, "NONE") && !sw_text_same_nocase(one, "NIL")) {
            sw_autofree char *what = sw_format("--export=%s", one);

            translate_leave_out(word->at, word->line, what, VARIABLES_WHY);
        }
        part += length + (part[length] == ',');
    }
}

static void take_mpi(const struct sbatch_word *word)
{
    word->shape->mpi = true;
    set(word, "slurm.mpi", word->value);
    set(word, "launcher", "mpi");
}

/* ---- nodes, tasks, GPUs ------------------------------------------------------------------------------ */

static bool take_count(const struct sbatch_word *word, long *count, int *line)
{
    char *end = NULL;
    long value = strtol(word->value, &end, 10);

    if (end == word->value || value < 1 || value > 1000000) {
        leave_out(word, "this is not a number above 0");
        return false;
    }
    if (*end)
        leave_out(word, "of a range, the least is asked for");
    if (*count == 0) {
        *count = value;
        *line = word->line;
    }
    return true;
}

static void take_nodes(const struct sbatch_word *word)
{
    take_count(word, &word->shape->nodes, &word->shape->nodes_line);
}

static void take_tasks(const struct sbatch_word *word)
{
    take_count(word, &word->shape->tasks, &word->shape->tasks_line);
}

static void take_tasks_per_node(const struct sbatch_word *word)
{
    take_count(word, &word->shape->tasks_per_node, &word->shape->tasks_line);
}

static void take_cpus(const struct sbatch_word *word)
{
    int line;

    take_count(word, &word->shape->cpus_per_task, &line);
}

static void keep_gpus(const struct sbatch_word *word, char **into, const char *text)
{
    if (*into)
        return;
    *into = sw_strdup(text);
    word->shape->gpus_line = word->line;
}

static void take_gpus(const struct sbatch_word *word)
{
    keep_gpus(word, &word->shape->gpus, word->value);
}

static void take_gpus_per_node(const struct sbatch_word *word)
{
    keep_gpus(word, &word->shape->gpus_per_node, word->value);
}

static void take_gpus_per_task(const struct sbatch_word *word)
{
    keep_gpus(word, &word->shape->gpus_per_task, word->value);
}

/* "gpu:a100:4", "gpu:4", "gpu": per node. With anything else in it, the whole is handed to Slurm. */
static void take_gres(const struct sbatch_word *word)
{
    const char *text = sw_text_starts(word->value, "gres/") ? word->value + 5 : word->value;
    const char *colon = strchr(text, ':');

    if (strchr(text, ',') || strchr(text, '(') || strncmp(text, "gpu", 3) != 0 ||
        (text[3] && text[3] != ':')) {
        set(word, "slurm.gres", word->value);
        return;
    }
    keep_gpus(word, &word->shape->gpus_per_node, colon ? colon + 1 : "1");
}

/* "a100:4" -> "a100", 4; "a100" is one of them. */
static long split_gpus(const char *text, char **type)
{
    const char *colon = strrchr(text, ':'), *number = colon ? colon + 1 : text;
    char *end = NULL;
    long count = strtol(number, &end, 10);
    bool counted = end != number && *end == '\0';

    *type = counted ? colon ? sw_strndup(text, (size_t)(colon - text)) : NULL : sw_strdup(text);
    return counted ? count : 1;
}

static void settle_gpus(struct translating *at, const struct sbatch_shape *shape, long nodes, long tasks,
                        long *per_node)
{
    const char *text = shape->gpus_per_node ? shape->gpus_per_node
                       : shape->gpus        ? shape->gpus
                                            : shape->gpus_per_task;
    sw_autofree char *type = NULL, *gpus = NULL;
    long count = text ? split_gpus(text, &type) : 0;

    *per_node = 0;
    if (!text)
        return;
    if (!shape->gpus_per_node && shape->gpus && nodes > 0 && count % nodes == 0)
        count /= nodes;
    else if (!shape->gpus_per_node && shape->gpus && nodes > 0)
        translate_leave_out(at, shape->gpus_line, text, "the GPUs of a job are the same number on each node");
    else if (!shape->gpus_per_node && !shape->gpus)
        count *= tasks > 0 && tasks < 10000 ? tasks : 1;
    gpus = type && count > 0 ? sw_format("%s:%ld", type, count) : sw_format("%ld", count);
    if (translate_set(at, shape->gpus_line, text, "gpus", gpus))
        *per_node = count;
}

static void settle_tasks(struct translating *at, const struct sbatch_shape *shape, long tasks, long gpus)
{
    sw_autofree char *what = sw_format("%ld tasks per node", tasks);

    if (tasks <= 1)
        return;
    if (shape->srun && tasks == gpus) {
        translate_set(at, shape->tasks_line, what, "launcher", "mpi");
        if (!shape->mpi)
            translate_set(at, shape->tasks_line, what, "slurm.mpi", "none");
        return;
    }
    translate_leave_out(at, shape->tasks_line, what,
                        "the command is started once on each node; 'launcher: mpi' starts it once per GPU");
}

void sbatch_shape_settle(struct translating *at, const struct sbatch_shape *shape)
{
    long nodes = shape->nodes > 0 ? shape->nodes : 1, gpus = 0;
    long tasks = shape->tasks_per_node > 0 ? shape->tasks_per_node : (shape->tasks + nodes - 1) / nodes;
    sw_autofree char *nodes_text = sw_format("%ld", nodes);
    sw_autofree char *cpus = sw_format("%ld", shape->cpus_per_task * (tasks > 0 ? tasks : 1));

    if (shape->nodes > 0)
        translate_set(at, shape->nodes_line, nodes_text, "nodes", nodes_text);
    settle_gpus(at, shape, nodes, tasks, &gpus);
    settle_tasks(at, shape, tasks, gpus);
    if (shape->cpus_per_task > 0)
        translate_set(at, shape->tasks_line, cpus, "cpus", cpus);
}

/* ---- the options -------------------------------------------------------------------------------------- */

static const struct sbatch_option options[] = {
    { "account", 'A', VALUE, .key = "slurm.account" },
    { "array", 'a', VALUE, .key = "slurm.array" },
    { "begin", 'b', VALUE, .key = "slurm.begin" },
    { "chdir", 'D', VALUE, .key = "workdir" },
    { "comment", 0, VALUE, .key = "slurm.comment" },
    { "constraint", 'C', VALUE, .key = "slurm.constraint" },
    { "container-env", 0, VALUE, .key = "slurm.container_env" },
    { "container-image", 0, VALUE, .key = "image" },
    { "container-mount-home", 0, NONE, .key = "slurm.mount_home" },
    { "container-mounts", 0, VALUE, .take = take_mounts },
    { "container-remap-root", 0, NONE, .key = "slurm.remap_root" },
    { "container-workdir", 0, VALUE, .key = "workdir" },
    { "container-writable", 0, NONE, .key = "slurm.container_writable" },
    { "container-name", 0, VALUE, .why = "the container's name is Slipway's" },
    { "container-save", 0, VALUE, .why = "what a job changes in its container is not kept" },
    { "no-container-mount-home", 0, NONE, .take = take_no_home },
    { "cpus-per-task", 'c', VALUE, .take = take_cpus },
    { "dependency", 'd', VALUE, .key = "slurm.dependency" },
    { "exclude", 'x', VALUE, .key = "slurm.exclude" },
    { "exclusive", 0, MAYBE, .take = take_exclusive },
    { "export", 0, VALUE, .take = take_export },
    { "export-file", 0, VALUE, .why = VARIABLES_WHY },
    { "gpus", 'G', VALUE, .take = take_gpus },
    { "gpus-per-node", 0, VALUE, .take = take_gpus_per_node },
    { "gpus-per-task", 0, VALUE, .take = take_gpus_per_task },
    { "gres", 0, VALUE, .take = take_gres },
    { "job-name", 'J', VALUE, .key = "name" },
    { "licenses", 'L', VALUE, .key = "slurm.licenses" },
    { "mail-type", 0, VALUE, .take = take_mail_type },
    { "mail-user", 0, VALUE, .key = "slurm.mail_user" },
    { "mem", 0, VALUE, .take = take_memory },
    { "mpi", 0, VALUE, .take = take_mpi },
    { "nice", 0, MAYBE, .key = "slurm.nice" },
    { "no-requeue", 0, NONE, .take = take_no_requeue },
    { "nodelist", 'w', VALUE, .key = "slurm.nodelist" },
    { "nodes", 'N', VALUE, .take = take_nodes },
    { "ntasks", 'n', VALUE, .take = take_tasks },
    { "ntasks-per-node", 0, VALUE, .take = take_tasks_per_node },
    { "partition", 'p', VALUE, .take = take_partition },
    { "qos", 'q', VALUE, .key = "slurm.qos" },
    { "requeue", 0, NONE, .take = take_requeue },
    { "reservation", 0, VALUE, .key = "slurm.reservation" },
    { "signal", 0, VALUE, .take = take_signal },
    { "time", 't', VALUE, .take = take_time },

    { "error", 'e', VALUE, .why = LOG_WHY },
    { "input", 'i', VALUE, .why = "a job has no standard input" },
    { "open-mode", 0, VALUE, .why = LOG_WHY },
    { "output", 'o', VALUE, .why = LOG_WHY },
    { "label", 'l', NONE, .why = LOG_WHY },
    { "unbuffered", 'u', NONE, .why = LOG_WHY },
    { "clusters", 'M', VALUE, .why = "the cluster is the one of slurm.hostname" },
    { "get-user-env", 0, MAYBE, .why = VARIABLES_WHY },
    { "gid", 0, VALUE, .why = SUBMIT_WHY },
    { "uid", 0, VALUE, .why = SUBMIT_WHY },
    { "parsable", 0, NONE, .why = SUBMIT_WHY },
    { "quiet", 'Q', NONE, .why = SUBMIT_WHY },
    { "test-only", 0, NONE, .why = "'slipway preflight' asks Slurm without submitting" },
    { "verbose", 'v', NONE, .why = SUBMIT_WHY },
    { "wait", 'W', NONE, .why = "'slipway wait JOB' waits for its end" },
    { "wrap", 0, VALUE, .why = "the command is that of the script" },

    { "acctg-freq", 0, VALUE }, { "batch", 0, VALUE }, { "bb", 0, VALUE }, { "bbf", 0, VALUE },
    { "contiguous", 0, NONE }, { "core-spec", 'S', VALUE }, { "cores-per-socket", 0, VALUE },
    { "cpu-bind", 0, VALUE }, { "cpu-freq", 0, VALUE }, { "cpus-per-gpu", 0, VALUE },
    { "deadline", 0, VALUE }, { "delay-boot", 0, VALUE }, { "distribution", 'm', VALUE },
    { "exact", 0, NONE }, { "extra", 0, VALUE }, { "extra-node-info", 'B', VALUE },
    { "gpu-bind", 0, VALUE }, { "gpu-freq", 0, VALUE }, { "gpus-per-socket", 0, VALUE },
    { "gres-flags", 0, VALUE }, { "hint", 0, VALUE }, { "hold", 'H', NONE },
    { "kill-on-bad-exit", 'K', MAYBE }, { "kill-on-invalid-dep", 0, VALUE }, { "mcs-label", 0, VALUE },
    { "mem-bind", 0, VALUE }, { "mem-per-cpu", 0, VALUE }, { "mem-per-gpu", 0, VALUE },
    { "mincpus", 0, VALUE }, { "network", 0, VALUE }, { "no-kill", 'k', NONE }, { "nodefile", 'F', VALUE },
    { "ntasks-per-core", 0, VALUE }, { "ntasks-per-gpu", 0, VALUE }, { "ntasks-per-socket", 0, VALUE },
    { "overcommit", 'O', NONE }, { "overlap", 0, NONE }, { "oversubscribe", 's', NONE },
    { "power", 0, VALUE }, { "prefer", 0, VALUE }, { "priority", 0, VALUE }, { "profile", 0, VALUE },
    { "propagate", 0, MAYBE }, { "reboot", 0, NONE }, { "segment", 0, VALUE },
    { "sockets-per-node", 0, VALUE }, { "spread-job", 0, NONE }, { "switches", 0, VALUE },
    { "thread-spec", 0, VALUE }, { "threads-per-core", 0, VALUE }, { "time-min", 0, VALUE },
    { "tmp", 0, VALUE }, { "tres-bind", 0, VALUE }, { "tres-per-task", 0, VALUE },
    { "use-min-nodes", 0, NONE }, { "wait-all-nodes", 0, VALUE }, { "wckey", 0, VALUE },
};

const struct sbatch_option *sbatch_option_find(const char *name, size_t length, char letter)
{
    for (size_t i = 0; i < SW_COUNT(options); i++)
        if (name ? strlen(options[i].name) == length && memcmp(options[i].name, name, length) == 0
                 : options[i].letter == letter)
            return &options[i];
    return NULL;
}

bool sbatch_option_has_value(const struct sbatch_option *option, bool attached)
{
    return option->kind == VALUE || (option->kind == MAYBE && attached);
}

static void pass_on(const struct sbatch_word *word, const struct sbatch_option *option, bool srun)
{
    sw_autofree char *text = word->value ? sw_format("--%s=%s", option->name, word->value)
                                         : sw_format("--%s", option->name);

    if (strpbrk(text, " \t\n'\"\\$`"))
        leave_out(word, "a value with such characters cannot be handed to Slurm");
    else
        set(word, srun ? "slurm.srun_args" : "slurm.sbatch_args", text);
}

void sbatch_option_take(struct translating *at, struct sbatch_shape *shape,
                        const struct sbatch_option *option, int line, const char *what, const char *value,
                        bool srun)
{
    const struct sbatch_word word = { at, shape, line, what, value };

    if (option->kind == VALUE && sw_text_empty(value))
        leave_out(&word, "its value is missing");
    else if (option->take)
        option->take(&word);
    else if (option->key && strcmp(option->key, "workdir") != 0 && srun && translate_has(at, option->key))
        return;                                  /* the script's head says it already */
    else if (option->key)
        set(&word, option->key, value ? value : "true");
    else if (option->why)
        leave_out(&word, option->why);
    else
        pass_on(&word, option, srun);
}
