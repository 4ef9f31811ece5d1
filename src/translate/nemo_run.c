/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nemo_run.c - an executor of NeMo-Run and its task, as a document.
 *
 *     executor: {_target_: nemo_run.SlurmExecutor, account: a, nodes: 2, ...}    or sections of an env.toml:
 *     task: {_target_: nemo_run.Script, path: train.py, args: [--lr, 0.1]}       [slurm] executor = "slurm"
 *
 * Words are looked up in three places: the few below; sbatch's own options, which the Slurm executor has in
 * snake case; and the table with which profiles read the same words (spec/profile_words.c). How to reach a
 * platform is no matter of a job: such words are left out, and belong in a profile.
 *
 * Pure.
 */
#include "translate/translate_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "core/command.h"

#define REACH_WHY "how to reach a platform belongs in a profile: env.toml"

enum { PARENTS_MAX = 8 };

struct executor {
    struct translating *at;
    const struct sw_spec_platform *platform;      /* NULL: none of ours */
    const json_t *section;
    struct sbatch_shape shape;
};

/* ---- which executor ---------------------------------------------------------------------------------- */

/* "nemo_run.core.execution.slurm.SlurmExecutor" -> "slurm". Owned; NULL: it is no executor. */
static char *executor_of_target(const char *target)
{
    const char *dot = target ? strrchr(target, '.') : NULL, *name = dot ? dot + 1 : target;
    char *out;

    if (!name || !sw_text_ends(name, "Executor"))
        return NULL;
    out = sw_strndup(name, strlen(name) - strlen("Executor"));
    for (char *c = out; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return out;
}

static const struct sw_spec_platform *platform_called(const struct translating *at, const char *name)
{
    for (size_t i = 0; name && i < at->input->platform_count; i++) {
        const struct sw_spec_platform *platform = &at->input->platforms[i];

        if (strcmp(platform->name, name) == 0 || sw_text_same(platform->alias, name))
            return platform;
    }
    return NULL;
}

/* ---- words ------------------------------------------------------------------------------------------- */

static void take_packager(struct translating *at, const struct translate_word *word)
{
    const char *folder = sw_json_str(word->value, "subpath");

    translate_set(at, word->line, word->path, "code.root", sw_text_empty(folder) ? "." : folder);
}

static void take_launcher(struct translating *at, const struct translate_word *word)
{
    const char *target = sw_json_str(word->value, "_target_");

    if (target && sw_text_ends(target, "Torchrun"))
        translate_set(at, word->line, word->path, "launcher", "torchrun");
    else if (!json_is_null(word->value))
        translate_value(at, word, "launcher");
}

static void take_variables(struct translating *at, const struct translate_word *word)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)word->value, name, value) {
        sw_autofree char *path = translate_below(word->path, name), *text = translate_scalar(value);

        translate_env(at, translate_line(at, path), path, name, text);
    }
}

static void take_shm(struct translating *at, const struct translate_word *word)
{
    sw_autofree char *text = translate_scalar(word->value);
    sw_autofree char *size = text ? translate_size(text, "") : NULL;

    if (size)
        translate_set(at, word->line, word->path, "shm", size);
}

static void take_nothing(struct translating *at, const struct translate_word *word)
{
    (void)at;
    (void)word;                                  /* read elsewhere */
}

static const struct translate_row rows[] = {
    { "executor", .take = take_nothing },
    { "_target_", .take = take_nothing },
    { "extends", .take = take_nothing },
    { "inherit", .take = take_nothing },
    { "task", .take = take_nothing },
    { "script", .take = take_nothing },
    { "name", .key = "name" },
    { "job_name", .key = "name" },
    { "packager", .take = take_packager },
    { "launcher", .take = take_launcher },
    { "env_vars", .take = take_variables },
    { "retries", .key = "retry.max" },
    { "num_gpus", .key = "gpus" },
    { "shm_size", .take = take_shm },
    { "ipc_mode", .key = "docker.ipc" },
    { "heterogeneous", .why = "all nodes of a job are alike" },
    { "het_group_indices", .why = "all nodes of a job are alike" },
    { "dependencies", .why = "jobs of an experiment: 'slurm.dependency' names one job" },
    { "plugins", .why = "plugins are Python code of NeMo-Run" },
    { 0 }
};

static const struct translate_row *row_of(const char *word)
{
    for (const struct translate_row *row = rows; row->word; row++)
        if (strcmp(row->word, word) == 0)
            return row;
    return NULL;
}

/* ntasks_per_node -> --ntasks-per-node. True: it is one. */
static bool take_slurm_word(struct executor *executor, const char *name, const struct translate_word *word)
{
    sw_autofree char *option_name = sw_strdup(name), *text = translate_scalar(word->value);
    const struct sbatch_option *option;
    const json_t *each;
    size_t i;

    for (char *c = option_name; *c; c++)
        if (*c == '_')
            *c = '-';
    option = sbatch_option_find(option_name, strlen(option_name), 0);
    if (!option || json_is_object(word->value))
        return false;
    if (json_is_null(word->value) || json_is_false(word->value))
        return true;
    if (text) {
        sbatch_option_take(executor->at, &executor->shape, option, word->line, word->path,
                           json_is_true(word->value) ? NULL : text, false);
        return true;
    }
    json_array_foreach(word->value, i, each)
        if (json_is_string(each))
            sbatch_option_take(executor->at, &executor->shape, option, word->line, word->path,
                               json_string_value(each), false);
    return true;
}

/* A word that profiles know, under its own name or another. */
static void take_profile_word(struct executor *executor, const char *name, const struct translate_word *word)
{
    struct translating *at = executor->at;
    sw_auto(json) json_t *value = NULL;
    const char *key = sw_profile_word(executor->platform, executor->section, name, word->value, &value);
    const struct sw_option *portable = key ? sw_option_find(sw_spec_keys, key) : NULL;
    const struct sw_option *own = key ? sw_option_find(executor->platform->options, key) : NULL;
    struct translate_word renamed = { word->path, value, word->line };
    sw_autofree char *into = portable || !key ? sw_strdup(key ? key : "")
                                              : sw_format("%s.%s", executor->platform->name, key);

    if (!key)
        translate_refuse(at, word, "it steers NeMo-Run itself");
    else if (!portable && !own)
        translate_refuse(at, word, "slipway does not know this word");
    else if (!portable && own->scope != SW_JOB)
        translate_leave_out(at, word->line, word->path, REACH_WHY);
    else if (json_is_object(value) && portable && portable->type == SW_GROUP)
        translate_map(at, &renamed, key);
    else if (json_is_object(value))
        translate_map(at, &renamed, into);
    else
        translate_value(at, &renamed, into);
}

static void take_executor_word(struct executor *executor, const char *name, const struct translate_word *word)
{
    const struct translate_row *row = row_of(name);
    bool slurm = executor->platform && strcmp(executor->platform->name, "slurm") == 0;

    if (row && row->take)
        row->take(executor->at, word);
    else if (json_is_null(word->value))
        return;
    else if (row && row->key)
        translate_value(executor->at, word, row->key);
    else if (row)
        translate_refuse(executor->at, word, row->why);
    else if (json_is_object(word->value) && json_object_get(word->value, "_target_"))
        translate_leave_out(executor->at, word->line, word->path, REACH_WHY);
    else if (slurm && take_slurm_word(executor, name, word))
        return;
    else if (executor->platform)
        take_profile_word(executor, name, word);
    else
        translate_refuse(executor->at, word, "there is no such platform here");
}

static void take_section(struct executor *executor, const json_t *section, const char *path)
{
    const char *name, *extra;
    json_t *value, *each;

    json_object_foreach((json_t *)section, name, value) {
        sw_autofree char *below = translate_below(path, name);
        const struct translate_word word = { below, value, translate_line(executor->at, below) };

        if (strcmp(name, "additional_parameters") != 0) {
            take_executor_word(executor, name, &word);
            continue;
        }
        json_object_foreach(value, extra, each) {
            sw_autofree char *deeper = translate_below(below, extra);
            const struct translate_word one = { deeper, each, translate_line(executor->at, deeper) };

            if (!take_slurm_word(executor, extra, &one))
                translate_refuse(executor->at, &one, "slipway does not know this word");
        }
    }
}

/* ---- the task ------------------------------------------------------------------------------------------ */

static char *script_command(const json_t *task)
{
    const char *path = sw_json_str(task, "path"), *entrypoint = sw_json_str(task, "entrypoint");
    sw_auto(json) json_t *argv = json_array();
    const json_t *each;
    size_t i;

    if (sw_json_str(task, "inline"))
        return sw_strdup(sw_json_str(task, "inline"));
    if (!path)
        return sw_strdup("");
    json_array_append_new(argv, sw_json_text(entrypoint ? entrypoint : "bash"));
    if (sw_json_bool(task, "m", false))
        json_array_append_new(argv, json_string("-m"));
    json_array_append_new(argv, sw_json_text(path));
    json_array_foreach(json_object_get(task, "args"), i, each) {
        sw_autofree char *text = translate_scalar(each);

        if (text)
            json_array_append_new(argv, sw_json_text(text));
    }
    return sw_words_line(argv);
}

static const struct translate_row task_rows[] = {
    { "_target_", .take = take_nothing }, { "path", .take = take_nothing },
    { "inline", .take = take_nothing }, { "args", .take = take_nothing },
    { "entrypoint", .take = take_nothing }, { "m", .take = take_nothing },
    { "env", .take = take_variables }, { 0 }
};

static void take_task(struct translating *at, const json_t *document)
{
    const char *key = json_object_get(document, "task") ? "task" : "script";
    const json_t *task = json_object_get(document, key);
    int line = task ? translate_line(at, key) : 0;
    const char *target = sw_json_str(task, "_target_");
    bool function = target && !sw_text_ends(target, "Script");
    sw_autofree char *command = json_is_string(task) ? sw_strdup(json_string_value(task))
                                : function           ? sw_strdup("")
                                                     : script_command(task);

    if (function)
        translate_leave_out(at, line, target, "a Python function of NeMo-Run is no command");
    else
        translate_object(at, task, key, task_rows);
    translate_command(at, line, "task", command, NULL);
}

/* ---- the whole --------------------------------------------------------------------------------- */

static const json_t *find_section(struct translating *at, const json_t *document, const char **path,
                                  struct sw_error *err)
{
    const char *wanted = at->input->section, *key;
    const json_t *found = json_object_get(document, "executor");
    json_t *section;

    *path = NULL;
    if (!wanted && (found || json_object_get(document, "_target_"))) {
        *path = json_is_object(found) ? "executor" : NULL;
        return json_is_object(found) ? found : document;
    }
    found = wanted ? json_object_get(document, wanted) : NULL;
    if (wanted && !json_is_object(found))
        return sw_null(sw_fail(err, SW_E_USAGE, "%s: there is no section '%s'", at->input->name, wanted));
    *path = wanted;
    json_object_foreach((json_t *)document, key, section) {
        if (!json_is_object(section) || section == found)
            continue;
        if (!found && json_object_get(section, "executor")) {
            *path = key;
            found = section;
        } else if (json_object_get(section, "executor")) {
            translate_leave_out(at, translate_line(at, key), key, "another section: --profile chooses it");
        } else {
            translate_leave_out(at, translate_line(at, key), key,
                                "a shared section: an env.toml beside the job file is read as it is");
        }
    }
    if (!found)
        sw_fail(err, SW_E_SPEC, "%s: no executor is named", at->input->name);
    return found;
}

/* The executor's word, its own or that of a section it extends. Owned. */
static char *executor_name(const json_t *document, const json_t *section)
{
    for (int i = 0; section && i < PARENTS_MAX; i++) {
        const char *name = sw_json_str(section, "executor"), *parent = sw_json_str(section, "extends");

        if (sw_json_str(section, "_target_"))
            return executor_of_target(sw_json_str(section, "_target_"));
        if (name)
            return sw_strdup(name);
        section = parent ? json_object_get(document, parent) : NULL;
    }
    return NULL;
}

/* What a section extends counts first, and its own words win. */
static void take_chain(struct executor *executor, const json_t *document, const json_t *section,
                       const char *path)
{
    const char *parent = sw_json_str(section, "extends");
    const json_t *above = parent ? json_object_get(document, parent) : NULL;

    if (json_is_object(above) && above != section && !json_object_get(above, "extends"))
        take_section(executor, above, parent);
    take_section(executor, section, path);
}

int translate_nemo_run(struct translating *at, struct sw_error *err)
{
    const json_t *document = sw_document_value(at->document);
    const char *path = NULL;
    const json_t *section = find_section(at, document, &path, err);
    sw_autofree char *name = section ? executor_name(document, section) : NULL;
    struct executor executor = { .at = at, .platform = platform_called(at, name), .section = section };

    if (!section)
        return -1;
    take_chain(&executor, document, section, path);
    if (section == json_object_get(document, "executor"))
        translate_object(at, document, NULL, rows);
    executor.shape.srun = true;                   /* NeMo-Run starts the tasks of a node */
    if (sw_text_same(sw_json_str(at->job, "launcher"), "torchrun"))
        executor.shape.tasks = executor.shape.tasks_per_node = 0;
    sbatch_shape_settle(at, &executor.shape);
    sbatch_shape_done(&executor.shape);
    take_task(at, document);
    if (executor.platform)
        translate_set(at, 0, "platform", "platform", executor.platform->name);
    else
        translate_rented(at, NULL);
    return 0;
}
