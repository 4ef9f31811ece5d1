/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_render.c - plan in, body of POST /jobs out. Pure: no network, no clock, no environment.
 *
 * Secrets are names: each variable of a secret refers to the workspace's secret store.
 */
#include "platform/lepton/lepton_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/job_env.h"
#include "core/payload.h"
#include "platform/kit/chunks.h"
#include "platform/kit/sending.h"

#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
enum { KEPT_END = 12, PLAN_MAX = 96 * 1024 };

/* Longer ids lose letters in the middle: their random end tells them apart. */
void lepton_name(const char *id, int attempt, char out[LEPTON_NAME_SIZE])
{
    char end[16] = "";
    size_t length = strlen(id), most, head;

    if (attempt > 1 || sw_text_ends(id, "by-lepton"))
        snprintf(end, sizeof end, "-%d", attempt);
    most = LEPTON_NAME_MAX - strlen(end);
    head = length > most ? most - KEPT_END : length;
    snprintf(out, LEPTON_NAME_SIZE, "%.*s%s%s", (int)head, id, length > most ? id + length - KEPT_END
             : "", end);
}

/* ---- what cannot be done -------------------------------------------------------------------- */

static int check_labels(const json_t *labels, struct sw_error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)labels, name, value)
        if (!*name || !sw_is_label(name) || !sw_is_label(json_string_value(value)))
            return sw_fail(err, SW_E_SPEC, "labels: '%.80s' is not a label on Lepton: at most 63 letters, "
                           "digits and . _ - inside, in name and value", name);
    return 0;
}

static int check_env(const json_t *env, struct sw_error *err)
{
    static const char *const taken[] = { "LEPTON_WORKSPACE_ID", "LEPTON_DEPLOYMENT_NAME", "LEPTON_JOB_NAME",
                                         "LEPTON_RESOURCE_ACCELERATOR_TYPE", "LEPTON_WORKSPACE_ORIGIN_URL" };
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)env, name, value) {
        if (name[strspn(name, NAME_LETTERS)] || (*name >= '0' && *name <= '9'))
            return sw_fail(err, SW_E_SPEC, "env: '%.80s' is not a variable name on Lepton", name);
        for (size_t i = 0; i < SW_COUNT(taken); i++)
            if (strcmp(name, taken[i]) == 0)
                return sw_fail(err, SW_E_SPEC, "env: Lepton sets %s itself", name);
        if (json_string_length(value) > 128 * 1024 - 256)
            return sw_fail(err, SW_E_SPEC, "env: '%.80s' is longer than 128 KiB", name);
    }
    return 0;
}

int lepton_check(const struct sw_plan *plan, struct sw_error *err)
{
    struct lepton_job_options options = lepton_job_options(plan->options);
    bool queued = options.priority || options.preemptible || options.can_preempt;

    if (!plan->image)
        return sw_fail(err, SW_E_SPEC, "image: a Lepton job runs in a container; name an image");
    if (json_array_size(plan->mounts) > 0) {
        sw_fail(err, SW_E_SPEC, "mounts: Lepton has no folders of other machines");
        return sw_hint(err, "name volumes of the node group with lepton.volumes, or use object storage");
    }
    if (plan->launcher == SW_LAUNCHER_MPI)
        return sw_fail(err, SW_E_SPEC, "launcher: on Lepton it is torchrun, ray or none");
    if (!options.node_group && (options.volumes || options.allowed_nodes || options.reservation || queued))
        return sw_fail(err, SW_E_SPEC, "lepton.%s: needs a node group (lepton.node_group)",
                       options.volumes ? "volumes" : options.allowed_nodes ? "allowed_nodes"
                       : options.reservation ? "reservation" : options.priority ? "priority" : "preemptible");
    return check_labels(plan->labels, err) < 0 ? -1 : check_env(plan->env, err);
}

/* ---- the body ------------------------------------------------------------------------------- */

/* Ranks and addresses are set in the job, where Lepton's own variables are. */
static json_t *environment(const struct sw_plan *plan, const struct lepton_site *site)
{
    sw_auto(json) json_t *env = sw_job_env_own(plan->env), *stored = sw_plan_to_json(plan);
    sw_autofree char *results = lepton_results(site, plan->job_id), *text = sw_json_dump(stored);
    const char *shared = lepton_shared(site);
    sw_autofree char *above = shared ? sw_format("%s/results", shared) : sw_strdup("/results");
    json_t *list = json_array(), *value;
    size_t i;

    if (!json_object_get(env, "MASTER_PORT"))
        json_object_set_new(env, "MASTER_PORT", json_sprintf("%d", LEPTON_PORT));
    if (plan->gpus == 0)
        json_object_set_new(env, "NVIDIA_VISIBLE_DEVICES", json_string("void"));
    sw_job_env_defaults(true, NULL, env);
    sw_job_env_add(&(struct sw_job_env){
        .job_id = plan->job_id, .attempt = site->attempt, .nodes = plan->nodes, .gpus_per_node = plan->gpus,
        .world_size_ranks = plan->world_size_ranks, .node_rank = -1, .results_root = above,
        .results_above = above, .results_dir = results }, env);
    if (plan->only_collect)
        json_object_set_new(env, "SLIPWAY_COLLECT_ONLY", json_sprintf("%d", plan->command_exit));
    if (strlen(text) < PLAN_MAX)
        json_object_set_new(env, SW_PLAN_VARIABLE, sw_json_text(text));
    if (plan->signature)
        json_object_set_new(env, LEPTON_SIGNATURE, sw_json_text(plan->signature));
    sw_named_add_all(list, env);
    json_array_foreach(site->secrets, i, value) {
        sw_autofree char *secret = lepton_secret_name(plan->job_id, site->attempt, json_string_value(value));

        json_array_append_new(list, sw_json_object(
            SW_SUB_COPY("name", value),
            SW_SUB("value_from", sw_json_object(SW_STR("secret_name_ref", secret)))));
    }
    return list;
}

static json_t *labels_of(const struct sw_plan *plan, int attempt)
{
    json_t *labels = plan->labels ? json_deep_copy(plan->labels) : json_object();
    char owner[128];
    sw_autofree char *name = NULL;

    sw_owner_name(owner);
    name = sw_label_text(owner);
    json_object_set_new(labels, SW_MARK_ID, json_string(plan->job_id));
    json_object_set_new(labels, SW_MARK_ATTEMPT, json_sprintf("%d", attempt));
    if (plan->store_id) {
        json_object_set_new(labels, SW_MARK_STORE, json_string(plan->store_id));
        json_object_set_new(labels, SW_MARK_UID, json_sprintf("%ld", plan->owner_uid));
        json_object_set_new(labels, SW_MARK_OWNER, json_string(name));
    }
    return labels;
}

static json_t *command_of(const struct lepton_site *site, const char *id)
{
    sw_autofree char *results = lepton_results(site, id);
    sw_auto(sw_buf) struct sw_buf lines = SW_BUF_INIT, command = SW_BUF_INIT;

    sw_chunks_rendezvous(&lines, &(struct sw_chunks_ranks){
        "LEPTON_JOB_WORKER_INDEX", "LEPTON_JOB_TOTAL_WORKERS",
        "${LEPTON_JOB_WORKER_PREFIX:-worker}-$sw_rank.${LEPTON_SUBDOMAIN:-}", LEPTON_PORT });
    sw_buf_add(&lines, "sw_results ");
    sw_buf_add_quoted(&lines, results);
    sw_buf_add(&lines, "\nunset " SW_PLAN_VARIABLE " " LEPTON_SIGNATURE "\n");
    sw_chunks_command(&command, LEPTON_CHUNKS, sw_buf_text(&lines));
    return json_pack("[s, s, s]", "/bin/sh", "-c", sw_buf_text(&command));
}

static json_t *affinity_of(const struct lepton_site *site)
{
    return site->group ? sw_json_object(
        SW_SUB("allowed_dedicated_node_groups", json_pack("[s]", site->group)),
        SW_SUB_COPY("allowed_nodes_in_node_group", site->nodes)) : NULL;
}

static json_t *queue_of(const struct lepton_job_options *options)
{
    return options->priority || options->preemptible || options->can_preempt ? sw_json_object(
        SW_STR("priority_class", options->priority ? options->priority : "mid-4000"),
        SW_BOOL("can_be_preempted", options->preemptible),
        SW_BOOL("can_preempt", options->can_preempt)) : NULL;
}

json_t *lepton_render_body(const struct sw_plan *plan, const struct lepton_site *site)
{
    struct lepton_job_options options = lepton_job_options(plan->options);
    int64_t ttl_ms = plan->keep_ms > 0 ? plan->keep_ms : options.ttl_ms;
    char name[LEPTON_NAME_SIZE];

    lepton_name(plan->job_id, site->attempt, name);
    return sw_json_object(
        SW_SUB("metadata", sw_json_object(
            SW_STR("id", name), SW_STR("name", name), SW_STR("visibility", options.visibility),
            SW_SUB("labels", labels_of(plan, site->attempt)))),
        SW_SUB("spec", sw_json_object(
            SW_STR_OPT("resource_shape", site->shape),
            SW_SUB("affinity", affinity_of(site)),
            SW_SUB("container", sw_json_object(SW_STR("image", plan->image), SW_SUB("command",
                    command_of(site, plan->job_id)))),
            SW_INT("completions", plan->nodes), SW_INT("parallelism", plan->nodes),
            SW_SUB("intra_job_communication", plan->nodes > 1 ? json_true() : NULL),
            SW_SUB("envs", environment(plan, site)),
            SW_SUB("mounts", json_array_size(site->mounts) ? json_incref(site->mounts) : NULL),
            SW_SUB("image_pull_secrets", site->pull_secret ? json_pack("[s]", site->pull_secret) : NULL),
            SW_SUB("shared_memory_size",
                   plan->shm_bytes > 0 ? json_integer((plan->shm_bytes + (1 << 20) - 1) >> 20) : NULL),
            SW_INT("max_failure_retry", 0), SW_INT("max_job_failure_retry", 0),
            SW_INT("ttl_seconds_after_finished", ttl_ms / 1000),
            SW_SUB("queue_config", queue_of(&options)),
            SW_SUB("reservation_config", options.reservation ? sw_json_object(
                SW_STR("reservation_id", options.reservation),
                SW_BOOL("allow_burst_to_other_reservations", options.burst)) : NULL),
            SW_SUB("log", sw_json_object(SW_BOOL("save_termination_logs", true),
                                         SW_BOOL("enable_collection", true))))));
}
