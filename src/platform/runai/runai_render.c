/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_render.c - plan in, workload out. Pure: no server, clock or environment.
 *
 * One node is a training, more are a distributed (PyTorch) workload of workers only: a master would hold
 * the pod's template a second time, and with the runner in its variables that does not fit. The server
 * splits `command` and `args` in a way that is not documented, so neither needs quoting: the shell runs
 * what a variable says (docs/decisions/0068-runai-starts-from-variables.md). No secret is in anything
 * made here.
 */
#include "platform/runai/runai_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "core/job_env.h"
#include "core/stop.h"
#include "platform/kit/chunks.h"
#include "platform/kit/names.h"

enum { KEEPING_S = 15 };                         /* to bring the end of the log after the job's */

#define COMMAND "/bin/sh"
#define ARGS    "-c $" RUNAI_BOOT
/* As words of a command: eval, eval and the rest, which the first eval joins and the second one runs. It
 * holds neither "$(" nor "$$", which Kubernetes would replace in a value. */
#define BOOT    "eval eval \"`printf %s $" RUNAI_START "|base64 -d`\""

static const char *const start_text[] = {
#include "platform/runai/start.sh.inc"
    NULL
}, *const keep_text[] = {
#include "platform/runai/keep_log.sh.inc"
    NULL
};

const struct sw_rest_field runai_fields[] = {
    { "name", "name" }, { "spec.image", "image" }, { "spec.imagePullSecrets", "runai.image_pull_secret" },
    { "spec.imagePullPolicy", "runai.pull" }, { "spec.environmentVariables", "env" },
    { "spec.compute.gpuDevicesRequest", "gpus" }, { "spec.compute.gpuPortionRequest", "runai.gpu_portion" },
    { "spec.compute.gpuPortionLimit", "runai.gpu_portion_limit" },
    { "spec.compute.gpuMemoryRequest", "runai.gpu_memory" },
    { "spec.compute.gpuMemoryLimit", "runai.gpu_memory_limit" }, { "spec.compute.cpuCoreRequest", "cpus" },
    { "spec.compute.cpuCoreLimit", "cpus" }, { "spec.compute.cpuMemoryRequest", "memory" },
    { "spec.compute.cpuMemoryLimit", "memory" }, { "spec.compute.largeShmRequest", "runai.large_shm" },
    { "spec.compute.extendedResources", "runai.extended_resources" }, { "spec.storage", "runai.volumes" },
    { "spec.nodePools", "runai.node_pools" }, { "spec.nodeType", "runai.node_type" },
    { "spec.priorityClass", "runai.priority" }, { "spec.preemptibility", "runai.preemptibility" },
    { "spec.tolerations", "runai.tolerations" }, { "spec.security", "runai.security" },
    { "spec.labels", "labels" }, { "spec.annotations", "labels" }, { "spec.numWorkers", "nodes" },
    { "spec.autoDeletionTimeAfterCompletionSeconds", "keep" },
    { "spec.terminationGracePeriodSeconds", "grace" }, { "spec.args", "runai.dgxcloud_max_args_chars" }, { 0 }
};

struct sw_jobs_name runai_name(const char *id, int attempt)
{
    struct sw_jobs_name name;

    sw_attempt_name(id, attempt, RUNAI_NAME_MAX, name.text, sizeof name.text);
    return name;
}

const char *runai_kind(const struct sw_plan *plan)
{
    return plan->nodes > 1 ? "distributed" : "trainings";
}

/* ---- what run:ai cannot do ----------------------------------------------------------------------- */

static int check_env(const struct sw_plan *plan, struct sw_error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach(plan->env, name, value) {
        size_t length = json_string_length(value);

        for (const char *at = json_string_value(value); at && *at; at++)
            length += *at == '$';                /* which add_value() may double */
        if (length <= RUNAI_VALUE_MAX)
            continue;
        sw_fail(err, SW_E_SPEC, "env.%.80s: run:ai accepts %d characters per variable; this one has "
                                "%zu", name,
                RUNAI_VALUE_MAX, length);
        return sw_hint(err, "put it into a file of `code` or `inputs`, or into `config`");
    }
    return 0;
}

static int check_gpus(const struct sw_plan *plan, const struct runai_job_options *options,
                      struct sw_error *err)
{
    bool parts = options->gpu_portion || options->gpu_portion_limit, memory = options->gpu_memory_bytes ||
                 options->gpu_memory_limit_bytes;

    if (plan->gpu_type) {
        sw_fail(err, SW_E_SPEC, "gpus: run:ai chooses GPUs by node pool, not by a type such as '%.40s'",
                plan->gpu_type);
        return sw_hint(err, "write the number alone, and name the pool under runai.node_pools");
    }
    if ((parts || memory) && plan->gpus == 0)
        return sw_fail(err, SW_E_SPEC, "runai.gpu_%s: the job has no GPU", parts ? "portion" : "memory");
    if (parts && memory)
        return sw_fail(err, SW_E_SPEC, "runai.gpu_memory: a GPU is shared by portion or by memory, not both");
    if (options->gpu_portion < 0 || options->gpu_portion > 1 || options->gpu_portion_limit < 0 ||
        options->gpu_portion_limit > 1)
        return sw_fail(err, SW_E_SPEC, "runai.gpu_portion: it is above 0 and at most 1");
    return 0;
}

int runai_check(const struct sw_plan *plan, struct sw_error *err)
{
    struct runai_job_options options = runai_job_options(plan->options);

    if (!plan->image)
        return sw_fail(err, SW_E_SPEC, "image: run:ai runs containers, and the job names no image");
    if (json_array_size(plan->mounts) > 0) {
        sw_fail(err, SW_E_SPEC, "mounts: run:ai sees no folder of this machine");
        return sw_hint(err, "name volumes of the cluster under runai.volumes, or fetch data with `inputs`");
    }
    if (plan->launcher == SW_LAUNCHER_MPI)
        return sw_fail(err, SW_E_SPEC, "launcher: on run:ai it is torchrun, ray or none");
    if (strlen(ARGS) > (size_t)options.max_args) {
        sw_fail(err, SW_E_SPEC, "runai.dgxcloud_max_args_chars: the workload's args have %zu characters; "
                                "%d are allowed", strlen(ARGS), options.max_args);
        return sw_hint(err, "they only start the job, whatever its command is: %zu are "
                            "enough", strlen(ARGS));
    }
    return check_env(plan, err) < 0 ? -1 : check_gpus(plan, &options, err);
}

/* ---- environment --------------------------------------------------------------------------------- */

static const char *results_volume(const struct sw_plan *plan)
{
    const json_t *said = json_object_get(runai_job_options(plan->options).volumes, RUNAI_RESULTS);

    return json_is_string(said) ? json_string_value(said) : sw_json_str(said, "source");
}

char *runai_results_source(const struct sw_plan *plan)
{
    return results_volume(plan) ? sw_format("%s/%s", results_volume(plan), plan->job_id) : NULL;
}

/* The job says /results by itself: then that must lead to its own folder. */
static bool names_results(const struct sw_plan *plan)
{
    sw_auto(json) json_t *words = json_array();
    sw_autofree char *text = NULL;

    json_array_append(words, plan->argv);
    json_array_append(words, plan->env);
    json_array_append(words, plan->config);
    json_array_append(words, plan->args);
    json_array_append(words, plan->python);
    json_array_append(words, plan->checkpoint);
    text = json_dumps(words, JSON_ENCODE_ANY);
    return (plan->command && strstr(plan->command, RUNAI_RESULTS)) || (text && strstr(text, RUNAI_RESULTS));
}

char *runai_results_dir(const struct sw_plan *plan)
{
    return results_volume(plan) && !names_results(plan) ? sw_format(RUNAI_VOLUME "/%s", plan->job_id)
                                                        : sw_strdup(RUNAI_RESULTS);
}

static const char *below_results(const char *path)
{
    size_t length = strlen(RUNAI_RESULTS);

    return path && strncmp(path, RUNAI_RESULTS, length) == 0 && (path[length] == '/' || !path[length])
               ? path + length : NULL;
}

json_t *runai_outputs(const struct sw_plan *plan)
{
    json_t *all = json_deep_copy(plan->outputs), *output;
    sw_autofree char *results = runai_results_dir(plan);
    size_t i;

    json_array_foreach(all, i, output) {
        const char *below = below_results(sw_json_str(output, "path"));

        if (below)
            json_object_set_new(output, "path", json_sprintf("%s%s", results, below));
    }
    return all;
}

/* Pods of a distributed workload are NAME-worker-N, each reachable by its own name. The operator's
 * MASTER_ADDR, MASTER_PORT and WORLD_SIZE are replaced by ours, which are the same on every platform. */
static void add_ranks(const struct sw_plan *plan, const json_t *env, struct sw_buf *out)
{
    sw_buf_addf(out, "sw_worker\nsw_total=%d\nWORLD_SIZE=%s\nexport WORLD_SIZE\nMASTER_PORT=", plan->nodes,
                sw_json_str(env, "WORLD_SIZE"));
    sw_buf_add_quoted(out, sw_json_str(env, "MASTER_PORT"));
    sw_buf_add_char(out, '\n');
    sw_chunks_rendezvous(out, &(struct sw_chunks_ranks){ .index = "sw_index", .total = "sw_total",
                                                         .host = "$sw_workers-$sw_rank",
                                                         .port = SW_MASTER_PORT });
}

static void add_text(struct sw_buf *out, const char *const *text)
{
    for (; *text; text++)
        sw_buf_add(out, *text);
}

void runai_bootstrap(const struct sw_plan *plan, const struct runai_target *target, const json_t *env,
                     struct sw_buf *out)
{
    sw_auto(sw_buf) struct sw_buf lines = SW_BUF_INIT;
    json_t *value;
    const char *name;

    add_text(&lines, start_text);
    if (target->keeps_log)
        add_text(&lines, keep_text);
    if (plan->nodes > 1)
        add_ranks(plan, env, &lines);
    if (results_volume(plan))
        sw_buf_addf(&lines, "sw_own_results " RUNAI_VOLUME "/%s%s\n", plan->job_id,
                    names_results(plan) ? " needed" : "");
    sw_buf_add(&lines, "unset " RUNAI_BOOT " " RUNAI_START);
    json_object_foreach((json_t *)env, name, value)
        if (sw_text_starts(name, RUNAI_PLAN "_"))
            sw_buf_addf(&lines, " %s", name);
    sw_buf_add_char(&lines, '\n');
    if (target->keeps_log)
        sw_chunks_command_by(out, RUNAI_CHUNKS, sw_buf_text(&lines), "sw_keep_log " RUNAI_KEPT);
    else
        sw_chunks_command(out, RUNAI_CHUNKS, sw_buf_text(&lines));
}

/* As ASCII, so that it can be cut anywhere. */
static void add_plan(const struct sw_plan *plan, json_t *env)
{
    sw_auto(json) json_t *stored = sw_plan_to_json(plan);
    sw_autofree char *text = json_dumps(stored, JSON_COMPACT | JSON_ENSURE_ASCII);
    char name[64];
    int count = 0;

    for (const char *at = text; at && *at; count++) {
        size_t piece = strnlen(at, RUNAI_VALUE_MAX / 2);         /* '$' may be doubled */

        snprintf(name, sizeof name, RUNAI_PLAN "_%d", count);
        json_object_set_new(env, name, json_stringn(at, piece));
        at += piece;
    }
}

json_t *runai_plan_of(const json_t *workload)
{
    const json_t *list = json_object_get(json_object_get(workload, "spec"), "environmentVariables");
    sw_auto(json) json_t *pieces = json_object();
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    const char *piece;
    char name[64];
    size_t i;
    json_t *one;

    json_array_foreach(list, i, one)
        if (sw_text_starts(sw_json_str(one, "name") ? sw_json_str(one, "name") : "", RUNAI_PLAN "_"))
            json_object_set(pieces, sw_json_str(one, "name"), json_object_get(one, "value"));
    for (int count = 0;; count++) {
        snprintf(name, sizeof name, RUNAI_PLAN "_%d", count);
        if (!(piece = sw_json_str(pieces, name)))
            break;
        for (; *piece; piece++) {                /* as add_value() doubled it */
            sw_buf_add_char(&text, *piece);
            piece += piece[0] == '$' && piece[1] == '$';
        }
    }
    return text.length ? sw_json_parse(text.data, text.length, "plan", NULL) : NULL;
}

static json_t *environment(const struct sw_plan *plan, const struct runai_target *target)
{
    struct runai_job_options options = runai_job_options(plan->options);
    sw_auto(sw_buf) struct sw_buf start = SW_BUF_INIT;
    sw_autofree char *text = NULL, *results = runai_results_dir(plan);
    json_t *env = sw_job_env_own(plan->env);
    bool alone = plan->nodes == 1;

    if (plan->gpus == 0)
        json_object_set_new(env, "NVIDIA_VISIBLE_DEVICES", json_string("void"));
    sw_job_env_defaults(true, NULL, env);
    sw_job_env_add(&(struct sw_job_env){
        .job_id = plan->job_id, .attempt = target->attempt, .nodes = plan->nodes, .gpus_per_node = plan->gpus,
        .world_size_ranks = plan->world_size_ranks, .node_rank = alone ? 0 : -1,
        .master_addr = alone ? "127.0.0.1" : NULL, .worker_addrs = alone ? "" : NULL,
        .master_port = options.master_port, .results_root = results, .results_above = results,
        .results_dir = results }, env);
    add_plan(plan, env);
    runai_bootstrap(plan, target, env, &start);
    text = sw_base64(start.data, start.length);
    json_object_set_new(env, RUNAI_START, json_string(text));
    json_object_set_new(env, RUNAI_BOOT, json_string(BOOT));
    return env;
}

static void add_value(json_t *list, const char *name, const char *value)
{
    bool replaced = strstr(value, "$" "(") || strstr(value, "$$");

    json_array_append_new(list, sw_json_object(
        SW_STR("name", name), SW_SUB("value", replaced ? kube_value(value) : sw_json_text(value))));
}

void runai_env_add(json_t *body, const json_t *variables)
{
    json_t *list = json_object_get(json_object_get(body, "spec"), "environmentVariables"), *value;
    const char *name;

    json_object_foreach((json_t *)variables, name, value)
        add_value(list, name, json_string_value(value));
}

static void add_secrets(json_t *list, const struct runai_target *target)
{
    json_t *value;
    const char *name;

    json_object_foreach((json_t *)target->secret_names, name, value)
        json_array_append_new(list, sw_json_object(
            SW_STR("name", name), SW_SUB("secret", sw_json_object(SW_STR("name", target->secret),
                                                                  SW_STR("key", name)))));
}

/* ---- marks ---------------------------------------------------------------------------------------- */

static json_t *marks(const struct sw_plan *plan, const json_t *more, bool labels)
{
    sw_auto(json) json_t *all = json_object();
    json_t *list = json_array(), *value;
    const char *key;

    kube_add_labels(plan->labels, labels, all);
    json_object_update(all, (json_t *)more);
    json_object_foreach(all, key, value)
        if (!sw_text_starts(key, "slipway.") || sw_text_starts(key, "slipway.label/"))
            sw_named_add(list, key, json_string_value(value));
    return list;
}

static json_t *labels_of(const struct sw_plan *plan, const struct runai_target *target, const json_t *more)
{
    json_t *list = marks(plan, more, true);
    char number[16];

    snprintf(number, sizeof number, "%d", target->attempt);
    sw_named_add(list, SW_MARK_ID, plan->job_id);
    sw_named_add(list, SW_MARK_ATTEMPT, number);
    sw_named_add(list, SW_MARK_STORE, plan->store_id);
    return list;
}

static json_t *notes_of(const struct sw_plan *plan, const struct runai_target *target, const json_t *more)
{
    json_t *list = marks(plan, more, false);
    char number[32];

    snprintf(number, sizeof number, "%ld", plan->owner_uid);
    sw_named_add(list, SW_MARK_OWNER, target->owner);
    sw_named_add(list, SW_MARK_UID, plan->store_id ? number : NULL);
    sw_named_add(list, SW_MARK_SIGNATURE, plan->signature);
    return list;
}

const char *runai_mark(const json_t *workload, const char *list, const char *name)
{
    return sw_named(json_object_get(json_object_get(workload, "spec"), list), name);
}

bool runai_brings_log(const json_t *whole)
{
    return runai_mark(whole, "environmentVariables", RUNAI_LOG) != NULL;
}

/* ---- resources ------------------------------------------------------------------------------------ */

static json_t *quantity(int64_t bytes)
{
    const int64_t mi = 1024 * 1024;

    return bytes <= 0 ? NULL : bytes % mi == 0 ? json_sprintf("%lldMi", (long long)(bytes / mi))
                                               : json_sprintf("%lld", (long long)bytes);
}

static json_t *number(double value)
{
    return value <= 0 ? NULL : value == (double)(long long)value ? json_integer((json_int_t)value)
                                                                 : json_real(value);
}

static json_t *extended(const json_t *said)
{
    json_t *list = json_object_size(said) ? json_array() : NULL, *value;
    const char *name;

    json_object_foreach((json_t *)said, name, value)
        json_array_append_new(list, sw_json_object(SW_STR("resource", name),
                                                   SW_STR("quantity", json_string_value(value))));
    return list;
}

/* `gpus: 0` is said, since a policy of the project may ask for one where nothing is. */
static json_t *compute(const struct sw_plan *plan, const struct runai_job_options *options)
{
    bool memory = options->gpu_memory_bytes || options->gpu_memory_limit_bytes, some = plan->gpus > 0;
    double portion = options->gpu_portion > 0 ? options->gpu_portion : 1;

    return sw_json_object(
        SW_INT("gpuDevicesRequest", plan->gpus),
        SW_STR_OPT("gpuRequestType", !some ? NULL : memory ? "memory" : "portion"),
        SW_SUB("gpuPortionRequest", some && !memory ? number(portion) : NULL),
        SW_SUB("gpuPortionLimit", some && !memory ? number(options->gpu_portion_limit) : NULL),
        SW_SUB("gpuMemoryRequest", some ? quantity(options->gpu_memory_bytes) : NULL),
        SW_SUB("gpuMemoryLimit", some ? quantity(options->gpu_memory_limit_bytes) : NULL),
        SW_SUB("cpuCoreRequest", number(plan->cpus)), SW_SUB("cpuCoreLimit", number(plan->cpus)),
        SW_SUB("cpuMemoryRequest", quantity(plan->memory_bytes)),
        SW_SUB("cpuMemoryLimit", quantity(plan->memory_bytes)),
        SW_BOOL("largeShmRequest", options->large_shm || plan->shm_bytes > 0),
        SW_SUB("extendedResources", extended(options->extended_resources)));
}

static json_t *affinity(const struct sw_plan *plan)
{
    return json_array_size(plan->avoid) == 0 ? NULL : json_pack(
        "{s:[{s:[{s:s, s:s, s:O}]}]}", "nodeSelectorTerms", "matchExpressions", "key",
        "kubernetes.io/hostname",
        "operator", "NotIn", "values", plan->avoid);
}

static json_t *given(const json_t *document)
{
    return json_array_size(document) + json_object_size(document) > 0 ? json_deep_copy(document) : NULL;
}

/* ---- the workload --------------------------------------------------------------------------------- */

static json_t *spec_of(const struct sw_plan *plan, const struct runai_target *target, json_t *storage)
{
    static const char *const policies[] = { NULL, "Always", "IfNotPresent", "Never" };
    struct runai_job_options options = runai_job_options(plan->options);
    int64_t keep_ms = plan->keep_ms > 0 ? plan->keep_ms : options.ttl_ms;
    json_t *pull = target->pull_secret ? json_pack("[{s:s}]", "name", target->pull_secret) : NULL;

    return sw_json_object(
        SW_STR("image", plan->image), SW_STR_OPT("imagePullPolicy", policies[options.pull]),
        SW_SUB("imagePullSecrets", pull), SW_STR("command", COMMAND), SW_STR("args", ARGS),
        SW_SUB("environmentVariables", json_array()), SW_SUB("compute", compute(plan, &options)),
        SW_SUB("storage", json_object_size(storage) ? json_incref(storage) : NULL),
        SW_SUB("labels", labels_of(plan, target, options.labels)),
        SW_SUB("annotations", notes_of(plan, target, options.annotations)),
        SW_SUB("nodePools", given(options.node_pools)), SW_STR_OPT("nodeType", options.node_type),
        SW_SUB("nodeAffinityRequired", affinity(plan)), SW_SUB("tolerations", given(options.tolerations)),
        SW_SUB("security", given(options.security)), SW_STR_OPT("priorityClass", options.priority),
        SW_STR_OPT("preemptibility", options.preemptibility), SW_STR("restartPolicy", "Never"),
        SW_INT("backoffLimit", 0),
        SW_INT("terminationGracePeriodSeconds", (sw_stop_budget_ms(plan->grace_ms) + 999) / 1000 +
                                                (target->keeps_log ? KEEPING_S : 0)),
        SW_INT("autoDeletionTimeAfterCompletionSeconds", (keep_ms + 999) / 1000));
}

/* Those that still run when one has failed are ended, and those that ended keep their log. */
static void make_distributed(const struct sw_plan *plan, json_t *spec)
{
    json_object_set_new(spec, "distributedFramework", json_string("PyTorch"));
    json_object_set_new(spec, "numWorkers", json_integer(plan->nodes));
    json_object_set_new(spec, "minReplicas", json_integer(plan->nodes));
    json_object_set_new(spec, "maxReplicas", json_integer(plan->nodes));
    json_object_set_new(spec, "cleanPodPolicy", json_string("Running"));
}

json_t *runai_render_body(const struct sw_plan *plan, const struct runai_target *target, struct sw_error *err)
{
    sw_auto(json) json_t *storage = runai_check(plan, err) == 0 ? runai_storage(plan, err) : NULL;
    sw_auto(json) json_t *env = NULL;
    json_t *body, *spec, *list;

    if (!storage)
        return NULL;
    env = environment(plan, target);
    spec = spec_of(plan, target, storage);
    list = json_object_get(spec, "environmentVariables");
    if (plan->nodes > 1)
        make_distributed(plan, spec);
    body = sw_json_object(
        SW_STR("name", runai_name(plan->job_id, target->attempt).text),
        SW_BOOL("useGivenNameAsPrefix", false),
        SW_STR("projectId", target->project_id), SW_STR("clusterId", target->cluster_id),
        SW_SUB("spec", spec));
    runai_env_add(body, env);
    if (target->secret)
        add_secrets(list, target);
    return body;
}
