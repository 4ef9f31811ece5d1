/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - from what the user wants (spec) to what will run (plan).
 *
 * The spec is already checked against its table, so this only turns texts into numbers, fills in
 * what one value implies for another, and refuses combinations that no table can express: no
 * command, a secret whose value stands in the job, two ways to give the command.
 */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "core/id.h"
#include "core/mount.h"
#include "core/payload.h"
#include "plan/paths.h"
#include "plan/setup.h"

static struct sw_plan *plan_new(void)
{
    return sw_new(struct sw_plan);
}

void sw_plan_free(struct sw_plan *plan)
{
    if (!plan)
        return;
    free(plan->name);
    free(plan->platform);
    free(plan->image);
    free(plan->command);
    free(plan->workdir);
    free(plan->base_dir);
    free(plan->gpu_type);
    free(plan->cache);
    json_decref(plan->argv);
    json_decref(plan->setup);
    json_decref(plan->env);
    json_decref(plan->secrets);
    json_decref(plan->inputs);
    json_decref(plan->outputs);
    json_decref(plan->config);
    json_decref(plan->args);
    json_decref(plan->flags);
    json_decref(plan->config_inputs);
    json_decref(plan->config_outputs);
    json_decref(plan->labels);
    json_decref(plan->retry);
    json_decref(plan->guard);
    json_decref(plan->hooks);
    json_decref(plan->notify);
    json_decref(plan->watcher);
    json_decref(plan->avoid);
    json_decref(plan->python);
    json_decref(plan->checkpoint);
    json_decref(plan->code);
    json_decref(plan->mounts);
    json_decref(plan->credentials);
    json_decref(plan->ray_cluster);
    json_decref(plan->settings);
    json_decref(plan->dotenv);
    json_decref(plan->rules);
    json_decref(plan->options);
    json_decref(plan->sources);
    free(plan->store_id);
    free(plan->signature);
    free(plan->results_dir);
    free(plan);
}

/* Durations and sizes may stand in a document as text ("12h") or as a plain number. */
static int read_quantity(const json_t *job, const char *key,
                         int (*parse)(const char *, int64_t *, struct sw_error *),
                         int64_t *out, struct sw_error *err)
{
    const json_t *value = json_object_get(job, key);
    char number[32];

    if (!value || json_is_null(value))
        return 0;
    if (json_is_string(value))
        return parse(json_string_value(value), out, err) < 0 ? sw_wrap(err, "%s", key) : 0;
    snprintf(number, sizeof number, "%.15g", json_number_value(value));
    return parse(number, out, err) < 0 ? sw_wrap(err, "%s", key) : 0;
}

static int plan_resources(struct sw_plan *plan, const json_t *job, struct sw_error *err)
{
    const json_t *gpus = json_object_get(job, "gpus");
    const json_t *cpus = json_object_get(job, "cpus");

    plan->splits = (int)sw_json_int(job, "splits", 0);
    plan->nodes = (int)sw_json_int(job, "nodes", 1);
    plan->cpus = json_number_value(cpus);
    if (json_is_integer(gpus))
        plan->gpus = (int)json_integer_value(gpus);
    else if (json_is_string(gpus) &&
             sw_gpus_parse(json_string_value(gpus), &plan->gpu_type, &plan->gpus, err) < 0)
        return -1;
    if (read_quantity(job, "memory", sw_size_parse, &plan->memory_bytes, err) < 0 ||
        read_quantity(job, "shm", sw_size_parse, &plan->shm_bytes, err) < 0 ||
        read_quantity(job, "time", sw_duration_parse, &plan->time_ms, err) < 0 ||
        read_quantity(job, "grace", sw_duration_parse, &plan->grace_ms, err) < 0 ||
        read_quantity(job, "keep", sw_duration_parse, &plan->keep_ms, err) < 0)
        return -1;
    return 0;
}

bool sw_plan_gpus_unsaid(const struct sw_plan *plan)
{
    return plan->gpus == 0 && sw_text_same(sw_json_str(plan->sources, "gpus"), "default");
}

/* What runs on such a cluster is submitted to it later: the job itself has no command, and no words. */
static int plan_kept_cluster(struct sw_plan *plan, struct sw_error *err)
{
    if (plan->argv || plan->python || !sw_text_empty(plan->command)) {
        sw_fail(err, SW_E_SPEC, "ray_cluster.keep: a cluster that stays runs no command of its own");
        return sw_hint(err, "leave out 'command:', or leave out 'keep:'");
    }
    if (sw_json_str(plan->ray_cluster, "name"))
        return sw_fail(err, SW_E_SPEC, "ray_cluster.name is a cluster that is there: 'keep' starts one");
    plan->argv = json_array();
    return sw_setup_check(plan, err);
}

static int plan_command(struct sw_plan *plan, const json_t *job, struct sw_error *err)
{
    const json_t *argv = json_object_get(job, "argv");

    plan->command = sw_strdup(sw_json_str(job, "command"));
    plan->python = json_incref(json_object_get(job, "python"));
    plan->setup = json_incref(json_object_get(job, "setup"));
    if (json_is_array(argv) && json_array_size(argv) > 0)
        plan->argv = json_deep_copy(argv);
    if (sw_json_bool(plan->ray_cluster, "keep", false))
        return plan_kept_cluster(plan, err);
    if (!plan->argv && !plan->python && sw_text_empty(plan->command)) {
        sw_fail(err, SW_E_SPEC, "nothing to run: the job has no command");
        return sw_hint(err, "set 'command:' in the job file, or give it after `--`");
    }
    return sw_setup_check(plan, err);
}

/* {"path": "from"} or {"path": {"from": ...}} -> array of {"path","from",...}; a plain list of
 * paths gives entries without the second part. `name` is what the key is called there. */
static json_t *entries(const json_t *map, const char *name, const char *part)
{
    json_t *out = json_array();
    const char *path;
    json_t *value;
    size_t i;

    json_object_foreach((json_t *)map, path, value) {
        json_t *entry = sw_json_object(SW_STR(name, path));

        if (json_is_object(value))
            json_object_update(entry, value);
        else if (json_is_string(value))
            json_object_set(entry, part, value);
        json_array_append_new(out, entry);
    }
    json_array_foreach(map, i, value)
        json_array_append_new(out, sw_json_object(SW_SUB_COPY(name, value)));
    return out;
}

/* Options of the command, and what of them or of the config is fetched or brought. */
static void plan_places(struct sw_plan *plan, const json_t *job)
{
    const json_t *inputs = json_object_get(job, "config_inputs");
    const json_t *outputs = json_object_get(job, "config_outputs");

    plan->args = json_incref(json_object_get(job, "args"));
    plan->flags = json_incref(json_object_get(job, "flags"));
    if (plan->flags && !plan->args)
        plan->args = json_object();
    if (inputs)
        plan->config_inputs = entries(inputs, "key", "container_path");
    if (outputs)
        plan->config_outputs = entries(outputs, "key", "type");
    plan->cache = sw_strdup(sw_json_str(job, "cache"));
}

static int plan_data(struct sw_plan *plan, const json_t *job, struct sw_error *err)
{
    const char *format = sw_json_str(job, "config_format");
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };

    plan->inputs = entries(json_object_get(job, "inputs"), "path", "from");
    plan->outputs = entries(json_object_get(job, "outputs"), "path", "to");
    plan->config = json_incref(json_object_get(job, "config"));
    plan->checkpoint = json_incref(json_object_get(job, "checkpoint"));
    plan->code = json_incref(json_object_get(job, "code"));
    plan_places(plan, job);
    plan->mounts = json_incref(json_object_get(job, "mounts"));
    plan->credentials = sw_plan_credentials(plan);
    if (sw_mounts_parse(plan->mounts, &mounts, err) < 0 ||
        sw_paths_check_outputs(plan->outputs, err) < 0)
        return -1;
    return format ? sw_format_parse(format, &plan->config_format, err) : 0;
}

static json_t *copy_or_empty(const json_t *job, const char *key, json_t *(*empty)(void))
{
    json_t *value = json_object_get(job, key);

    return value && !json_is_null(value) ? json_deep_copy(value) : empty();
}

static int plan_environment(struct sw_plan *plan, const json_t *job, struct sw_error *err)
{
    size_t i;
    json_t *name;

    plan->env = copy_or_empty(job, "env", json_object);
    plan->secrets = copy_or_empty(job, "secrets", json_array);
    plan->labels = copy_or_empty(job, "labels", json_object);
    plan->retry = json_incref(json_object_get(job, "retry"));
    plan->guard = json_incref(json_object_get(job, "guard"));
    plan->hooks = json_incref(json_object_get(job, "hooks"));
    plan->notify = json_incref(json_object_get(job, "notify"));
    json_array_foreach(plan->secrets, i, name)
        if (json_object_get(plan->env, json_string_value(name)))
            return sw_fail(err, SW_E_SPEC, "%s is both a secret and a value in 'env': keep one",
                           json_string_value(name));
    return 0;
}

static void plan_launcher(struct sw_plan *plan, const json_t *job)
{
    static const char *const words[] = {
        [SW_LAUNCHER_NONE] = "none", [SW_LAUNCHER_TORCHRUN] = "torchrun",
        [SW_LAUNCHER_MPI] = "mpi",   [SW_LAUNCHER_RAY] = "ray",
    };
    const char *said = sw_json_str(job, "launcher");

    for (size_t i = 0; said && i < SW_COUNT(words); i++)
        if (strcmp(said, words[i]) == 0)
            plan->launcher = (enum sw_launcher)i;
    if (!sw_json_bool(job, "watcher", true))
        plan->watcher = json_false();
    plan->world_size_ranks = sw_text_same(sw_json_str(job, "world_size"), "ranks");
}

static int plan_ray(struct sw_plan *plan, const json_t *job, struct sw_error *err)
{
    const json_t *said = json_object_get(job, "ray_cluster");

    if (plan->launcher == SW_LAUNCHER_RAY) {
        plan->ray_cluster = json_incref((json_t *)said);
        return 0;
    }
    if (!said || json_is_null(said))
        return 0;
    sw_fail(err, SW_E_SPEC, "ray_cluster: only a job with `launcher: ray` has such a cluster");
    return sw_hint(err, "add 'launcher: ray', or leave out 'ray_cluster:'");
}

static int plan_id(struct sw_plan *plan, const char *given, struct sw_error *err)
{
    if (given && plan->splits && strlen(given) > SW_GROUP_MAX)
        return sw_fail(err, SW_E_USAGE, "--id: '%s' is too long for a group of splits, whose ids add a "
                       "number to it: %d characters at most", given, SW_GROUP_MAX);
    if (given)
        snprintf(plan->job_id, sizeof plan->job_id, "%s", given);
    else if (plan->splits)
        sw_id_make_group(plan->name, plan->job_id);
    else
        sw_id_make(plan->name, plan->job_id);
    return 0;
}

struct sw_plan *sw_plan_make(const struct sw_spec *spec, const char *job_id, const char *base_dir,
                             struct sw_error *err)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_new();
    const json_t *job = spec->job;

    plan->platform = sw_strdup(spec->platform);
    plan->image = sw_strdup(sw_json_str(job, "image"));
    plan->base_dir = sw_strdup(base_dir);
    plan->workdir = sw_strdup(sw_json_str(job, "workdir"));
    plan->options = json_incref(spec->options);
    plan->sources = json_incref(spec->sources);
    plan_launcher(plan, job);
    if (plan_ray(plan, job, err) < 0 || plan_command(plan, job, err) < 0 ||
        plan_resources(plan, job, err) < 0 || plan_data(plan, job, err) < 0 ||
        plan_environment(plan, job, err) < 0 || sw_plan_check_splits(plan, err) < 0)
        return NULL;

    plan->name = sw_json_str(job, "name")           /* the same job under its id has the same name */
                     ? sw_strdup(sw_json_str(job, "name")) : sw_plan_name(plan, job_id ? NULL : spec->file);
    return plan_id(plan, job_id, err) < 0 ? NULL : sw_take(plan);
}
