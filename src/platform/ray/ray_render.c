/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_render.c - plan in, payload and body of POST /api/jobs/ out. Pure: no network, no clock, no
 * environment.
 *
 * A Ray job has no container: it runs in the cluster's own environment, in a folder that Ray unpacks from our
 * package, and the paths of the job file become folders of the node. The body is shown to everyone who sees
 * the dashboard, and Ray prints the entrypoint into the log: neither holds anything secret, nor the command.
 */
#include "platform/ray/ray_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "core/job_env.h"
#include "core/payload.h"
#include "core/stop.h"
#include "plan/entrypoint.h"
#include "plan/paths.h"
#include "plan/setup.h"
#include "platform/kit/sending.h"

enum { PLAN_MAX = 32 * 1024, ENV_MAX = 64 * 1024 };

struct sw_jobs_name ray_name(const char *id, int attempt)
{
    struct sw_jobs_name name;

    if (attempt > 1)
        snprintf(name.text, sizeof name.text, "%s-a%d", id, attempt);
    else
        snprintf(name.text, sizeof name.text, "%s", id);
    return name;
}

static char *folder_of(const struct sw_plan *plan, const char *below)
{
    return sw_format("%s/slipway-%s/%s", ray_job_options(plan->options).work_dir, plan->job_id, below);
}

char *ray_work_dir(const struct sw_plan *plan)
{
    return folder_of(plan, "work");
}

char *ray_results_dir(const struct sw_plan *plan)
{
    return folder_of(plan, "results");
}

/* ---- what cannot be done -------------------------------------------------------------------- */

static int check_resources(const json_t *resources, struct sw_error *err)
{
    static const char *const ours[] = { "CPU", "GPU", "memory" };
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)resources, name, value) {
        double amount;
        char end;

        for (size_t i = 0; i < SW_COUNT(ours); i++)
            if (strcmp(name, ours[i]) == 0)
                return sw_fail(err, SW_E_SPEC, "ray.resources: %s is what `cpus`, `gpus` and `memory` of the "
                                               "job ask for", name);
        if (sscanf(json_string_value(value), "%lf%c", &amount, &end) != 1 || amount <= 0)
            return sw_fail(err, SW_E_SPEC, "ray.resources: '%.80s' of '%.80s' is not an amount",
                           json_string_value(value), name);
    }
    return 0;
}

static int check_env(const json_t *env, struct sw_error *err)
{
    size_t length = 0;
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)env, name, value)
        length += strlen(name) + json_string_length(value);
    if (length > ENV_MAX)
        return sw_fail(err, SW_E_SPEC, "env: Ray takes at most %d KiB of variables", ENV_MAX / 1024);
    return 0;
}

int ray_check(const struct sw_plan *plan, struct sw_error *err)
{
    struct ray_job_options options = ray_job_options(plan->options);

    if (plan->image) {
        sw_fail(err, SW_E_SPEC, "image: a job of a Ray cluster runs in the cluster's own environment");
        return sw_hint(err, "leave `image` out, or start the cluster from that image");
    }
    if (json_array_size(plan->mounts) > 0)
        return sw_fail(err, SW_E_SPEC, "mounts: a Ray cluster has no folders of other machines");
    if (plan->nodes > 1 && plan->launcher != SW_LAUNCHER_RAY) {
        sw_fail(err, SW_E_SPEC, "nodes: a Ray job is one driver, which uses other nodes through Ray");
        return sw_hint(err, "with `launcher: ray` the cluster must have that many nodes");
    }
    if (plan->launcher == SW_LAUNCHER_MPI)
        return sw_fail(err, SW_E_SPEC, "launcher: a Ray cluster does not start MPI");
    if (*options.work_dir != '/')
        return sw_fail(err, SW_E_SPEC, "ray.work_dir: '%.80s' is not an absolute path", options.work_dir);
    if (options.runtime_env && !json_is_object(options.runtime_env))
        return sw_fail(err, SW_E_SPEC, "ray.runtime_env: expected keys and values");
    if (json_object_get(options.runtime_env, "working_dir") ||
        json_object_get(options.runtime_env, "env_vars"))
        return sw_fail(err, SW_E_SPEC, "ray.runtime_env: working_dir and env_vars are the job's own "
                                       "(`code` and `env`)");
    return check_resources(options.resources, err) < 0 ? -1 : check_env(plan->env, err);
}

/* ---- the payload ---------------------------------------------------------------------------- */

static void add_cluster_secrets(struct sw_payload *payload, const json_t *names)
{
    sw_auto(json) json_t *all = json_array();

    json_array_extend(all, payload->secrets);
    json_array_extend(all, (json_t *)names);
    json_decref(payload->secrets);
    payload->secrets = json_incref(all);
}

static json_t *environment(const struct sw_plan *plan, int attempt, const char *results)
{
    sw_autofree char *above = sw_path_absolute("..", results);
    json_t *env = sw_job_env_own(plan->env);

    sw_job_env_defaults(false, NULL, env);
    sw_job_env_add(&(struct sw_job_env){
        .job_id = plan->job_id, .attempt = attempt, .nodes = 1, .gpus_per_node = plan->gpus,
        .world_size_ranks = plan->world_size_ranks, .node_rank = 0, .master_addr = "127.0.0.1",
        .worker_addrs = "127.0.0.1", .results_root = results, .results_above = above,
        .results_dir = results }, env);
    return env;
}

struct sw_payload *ray_payload(const struct sw_plan *plan, int attempt, json_t **env, struct sw_error *err)
{
    struct ray_job_options options = ray_job_options(plan->options);
    sw_auto(sw_payload) struct sw_payload *payload = sw_entrypoint_payload(plan, err);
    sw_autofree char *work = ray_work_dir(plan), *results = ray_results_dir(plan);
    sw_auto(sw_paths) struct sw_paths *paths = sw_paths_of_plan(plan, work, results);

    if (!payload)
        return NULL;
    sw_setup_place(payload, &(struct sw_setup_place){ .own = work });
    json_decref(sw_take(payload->code));         /* it is there already: in the folder that Ray unpacks */
    json_decref(payload->env);
    payload->env = environment(plan, attempt, results);
    payload->scratch_dir = sw_strdup(work);
    payload->results_dir = sw_strdup(results);
    payload->time_ms = plan->time_ms;
    payload->redact = true;
    if (payload->config)
        payload->config_path = sw_format("%s/spec.%s", work, sw_format_name(plan->config_format));
    add_cluster_secrets(payload, options.cluster_secrets);
    sw_paths_payload(paths, payload);
    if (plan->launcher == SW_LAUNCHER_TORCHRUN)
        sw_entrypoint_torchrun(payload, 1, plan->gpus);
    *env = sw_take(payload->env);                /* tasks and actors of the driver see it, too */
    return sw_take(payload);
}

/* ---- the body ------------------------------------------------------------------------------- */

/* With `launcher: ray` GPUs and CPUs are for the tasks of the driver, which would wait for it otherwise. */
static bool takes_its_own(const struct sw_plan *plan)
{
    return plan->launcher != SW_LAUNCHER_RAY;
}

bool ray_takes_resources(const struct sw_plan *plan)
{
    struct ray_job_options options = ray_job_options(plan->options);

    return (takes_its_own(plan) && (plan->gpus > 0 || plan->cpus > 0 || plan->memory_bytes > 0)) ||
           json_object_size(options.resources) + json_object_size(options.labels) > 0;
}

static json_t *amounts(const json_t *resources)
{
    json_t *out = json_object_size(resources) ? json_object() : NULL, *value;
    const char *name;
    double amount;

    json_object_foreach((json_t *)resources, name, value)
        if (sscanf(json_string_value(value), "%lf", &amount) == 1)
            json_object_set_new(out, name, json_real(amount));
    return out;
}

static json_t *metadata_of(const struct sw_plan *plan, int attempt)
{
    sw_auto(json) json_t *stored = sw_plan_to_json(plan);
    sw_autofree char *text = sw_json_dump(stored);
    json_t *marks = plan->labels ? json_deep_copy(plan->labels) : json_object();
    char owner[128];

    json_object_set_new(marks, SW_MARK_ID, json_string(plan->job_id));
    json_object_set_new(marks, SW_MARK_ATTEMPT, json_sprintf("%d", attempt));
    if (plan->store_id) {
        sw_owner_name(owner);
        json_object_set_new(marks, SW_MARK_STORE, json_string(plan->store_id));
        json_object_set_new(marks, SW_MARK_UID, json_sprintf("%ld", plan->owner_uid));
        json_object_set_new(marks, SW_MARK_OWNER, json_string(owner));
    }
    if (strlen(text) < PLAN_MAX)
        json_object_set_new(marks, RAY_MARK_PLAN, sw_json_text(text));
    if (plan->signature)
        json_object_set_new(marks, SW_MARK_SIGNATURE, sw_json_text(plan->signature));
    return marks;
}

/* The loader's name tells the shell which processor it is, without another process: a stop that comes while
 * one runs would wait for it in a container where no process reaps orphans. Of Ray 2.52 a package loses
 * the modes of its files. */
static char *entrypoint_of(const struct sw_plan *plan, bool sealed, int64_t start_by_ms)
{
    const char *arch = ray_job_options(plan->options).arch;
    bool any = sw_text_same(arch, "auto");

    return sw_format("%sr=" RAY_OWN_FOLDER "/slipway-runner-%s; [ -x $r ] || chmod 755 $r; "
                     "exec $r all --under ray " RAY_START_BY "%lld%s " RAY_OWN_FOLDER "/payload.json",
                     any ? "a=aarch64; [ -e /lib64/ld-linux-x86-64.so.2 ] && a=x86_64; " : "",
                     any ? "$a" : arch, (long long)start_by_ms, sealed ? " " RAY_SEALED : "");
}

static json_t *runtime_env_of(const struct sw_plan *plan, const char *package, json_t *env)
{
    const json_t *more = ray_job_options(plan->options).runtime_env;
    json_t *runtime = more ? json_deep_copy(more) : json_object();
    int64_t wait_s = (sw_stop_budget_ms(plan->grace_ms) + 999) / 1000;

    json_object_set_new(runtime, "working_dir", json_sprintf("gcs://%s", package));
    json_object_set_new(env, "RAY_JOB_STOP_WAIT_TIME_S", json_sprintf("%lld", (long long)wait_s));
    json_object_set(runtime, "env_vars", env);
    return runtime;
}

json_t *ray_render_body(const struct sw_plan *plan, int attempt, const char *package, json_t *env,
                        bool sealed, int64_t start_by_ms)
{
    struct ray_job_options options = ray_job_options(plan->options);
    bool own = takes_its_own(plan);
    sw_autofree char *entrypoint = entrypoint_of(plan, sealed, start_by_ms);

    return sw_json_object(
        SW_STR("submission_id", ray_name(plan->job_id, attempt).text),
        SW_STR("entrypoint", entrypoint),
        SW_SUB("entrypoint_num_gpus", own && plan->gpus > 0 ? json_integer(plan->gpus) : NULL),
        SW_SUB("entrypoint_num_cpus", own && plan->cpus > 0 ? json_real(plan->cpus) : NULL),
        SW_SUB("entrypoint_memory", own && plan->memory_bytes > 0 ? json_integer(plan->memory_bytes) : NULL),
        SW_SUB("entrypoint_resources", amounts(options.resources)),
        SW_SUB("entrypoint_label_selector",
               json_object_size(options.labels) ? json_deep_copy(options.labels) : NULL),
        SW_SUB("runtime_env", runtime_env_of(plan, package, env)),
        SW_SUB("metadata", metadata_of(plan, attempt)));
}
