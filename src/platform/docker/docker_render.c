/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_render.c - plan in, what the engine is sent out. Pure: no engine, no clock, no environment.
 *
 * The runner is a container's first process and starts what the image would have started itself: its
 * ENTRYPOINT with the command behind it. So signals arrive, inputs are there before the entry point
 * runs, and outputs are brought after it ended. No secret is in anything made here.
 */
#include "platform/docker/docker_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "core/job_env.h"
#include "core/stop.h"
#include "plan/entrypoint.h"
#include "plan/setup.h"
#include "platform/kit/image_digest.h"
#include "platform/kit/sending.h"

/* ---- names ----------------------------------------------------------------------------------- */

void docker_name(char out[DOCKER_NAME_SIZE], const char *id, int attempt, int nodes, int rank)
{
    if (nodes == 1 && attempt <= 1)
        snprintf(out, DOCKER_NAME_SIZE, "%s", id);
    else
        snprintf(out, DOCKER_NAME_SIZE, "%s-a%d-%d", id, attempt, rank);
}

char *docker_volume_name(const char *id)
{
    return sw_format("slipway-%s", id);
}

char *docker_results_inside(const struct sw_plan *plan)
{
    return docker_has_own_results(plan) ? sw_format(DOCKER_RESULTS "/%s", plan->job_id)
                                        : sw_strdup(DOCKER_RESULTS);
}

/* ---- the image ------------------------------------------------------------------------------- */

void docker_base_read(struct docker_base *image, const json_t *inspected)
{
    const json_t *config = json_object_get(inspected, "Config");
    const json_t *entrypoint = json_object_get(config, "Entrypoint");
    const char *arch = sw_json_str(inspected, "Architecture"), *user = sw_json_str(config, "User");

    *image = (struct docker_base){ .user = sw_strdup(user ? user : "") };
    if (json_is_array(entrypoint) && json_array_size(entrypoint) > 0)
        image->entrypoint = json_deep_copy(entrypoint);
    else if (json_is_string(entrypoint) && *json_string_value(entrypoint))     /* Podman */
        image->entrypoint = json_pack("[s, s, s]", "/bin/sh", "-c", json_string_value(entrypoint));
    image->env = json_incref(json_object_get(config, "Env"));
    image->arch = sw_strdup(!arch || sw_text_same(arch, "amd64") ? "x86_64"
                            : sw_text_same(arch, "arm64") ? "aarch64" : arch);
    sw_image_digest(json_string_value(json_array_get(json_object_get(inspected, "RepoDigests"), 0)),
        image->digest);
    if (!image->digest[0])                                                     /* it was built, or loaded */
        sw_image_digest(sw_json_str(inspected, "Id"), image->digest);
}

void docker_base_done(struct docker_base *image)
{
    json_decref(image->entrypoint);
    json_decref(image->env);
    free(image->user);
    free(image->arch);
    *image = (struct docker_base){ 0 };
}

/* ---- environment ----------------------------------------------------------------------------- */

static void set_default(json_t *env, const char *name, const char *value)
{
    if (!json_object_get(env, name))
        json_object_set_new(env, name, sw_json_text(value));
}

static void add_ours(const struct sw_plan *plan, int attempt, int rank, json_t *env)
{
    const char *network = docker_job_options(plan->options).network;
    bool named = plan->nodes > 1 && !sw_text_same(network, "host") && !sw_text_same(network, "none") &&
                 !sw_text_same(network, "bridge");
    sw_auto(sw_buf) struct sw_buf workers = SW_BUF_INIT;     /* the other nodes, with commas */
    sw_autofree char *results = docker_results_inside(plan);
    char first[DOCKER_NAME_SIZE], name[DOCKER_NAME_SIZE];

    for (int i = 1; i < plan->nodes; i++) {
        docker_name(name, plan->job_id, attempt, plan->nodes, i);
        sw_buf_addf(&workers, "%s%s", i > 1 ? "," : "", named ? name : "127.0.0.1");
    }
    docker_name(first, plan->job_id, attempt, plan->nodes, 0);
    sw_job_env_add(&(struct sw_job_env){
        .job_id = plan->job_id, .attempt = attempt, .nodes = plan->nodes, .node_rank = rank,
        .gpus_per_node = plan->gpus, .world_size_ranks = plan->world_size_ranks,
        .master_addr = named ? first : "127.0.0.1", .worker_addrs = sw_buf_text(&workers),
        .results_root = DOCKER_RESULTS, .results_above = DOCKER_RESULTS, .results_dir = results,
    }, env);
}

static void add_defaults(const struct docker_site *site, json_t *env)
{
    sw_auto(json) json_t *defaults = json_object();
    const char *name;
    json_t *value;

    sw_job_env_defaults(true, NULL, defaults);
    json_object_foreach(defaults, name, value)
        if (!json_object_get(env, name) && !(site->image && docker_variable(site->image->env, name)))
            json_object_set(env, name, value);
}

static json_t *environment(const struct sw_plan *plan, const struct docker_site *site, int rank)
{
    sw_auto(json) json_t *env = sw_job_env_own(plan->env);
    json_t *list = json_array(), *value;
    const char *name;

    add_defaults(site, env);
    if (docker_gpus(plan) == 0)
        set_default(env, "NVIDIA_VISIBLE_DEVICES", "void");
    if (site->user)
        set_default(env, "HOME", "/tmp");
    add_ours(plan, site->attempt, rank, env);
    if (plan->only_collect)
        json_object_set_new(env, "SLIPWAY_COLLECT_ONLY", json_sprintf("%d", plan->command_exit));
    json_object_foreach(env, name, value)
        json_array_append_new(list, json_sprintf("%s=%s", name, json_string_value(value)));
    return list;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static void drop_variable(json_t *env, const char *start)
{
    for (size_t i = json_array_size(env); i-- > 0;)
        if (sw_text_starts(json_string_value(json_array_get(env, i)), start))
            json_array_remove(env, i);
}

/* Counted, for engines whose GPUs are not known or that shall be shared; with count 0 chosen. */
static void request_devices(json_t *host, int count, const json_t *devices)
{
    json_object_set_new(host, "DeviceRequests", json_pack("[o]", sw_json_object(
        SW_STR("Driver", ""), SW_SUB("Count", count ? json_integer(count) : NULL),
        SW_SUB("DeviceIDs", count ? NULL : json_deep_copy(devices)),
        SW_SUB("Capabilities", json_pack("[[s]]", "gpu")), SW_SUB("Options", json_object()))));
}

void docker_render_devices(json_t *body, const json_t *devices, bool by_runtime)
{
    json_t *host = json_object_get(body, "HostConfig"), *env = json_object_get(body, "Env");
    json_t *labels = json_object_get(body, "Labels");
    const char *first = json_string_value(json_array_get(devices, 0));
    const char *wants = sw_json_str(labels, LABEL_WANTS);
    int count = sw_text_same(first, DOCKER_GPU_ALL) ? -1
                : sw_text_same(first, DOCKER_GPU_ANY) && wants ? atoi(wants) : 0;
    sw_autofree char *held = sw_json_joined(devices, ",");

    json_object_set_new(labels, LABEL_HOLDS, sw_json_text(held));
    if (by_runtime) {                         /* the older way, and Tegra's only one */
        json_object_set_new(host, "Runtime", json_string("nvidia"));
        drop_variable(env, "NVIDIA_VISIBLE_DEVICES=");
        drop_variable(env, "NVIDIA_DRIVER_CAPABILITIES=");
        json_array_append_new(env, json_string("NVIDIA_DRIVER_CAPABILITIES=all"));
        json_array_append_new(env, json_sprintf("NVIDIA_VISIBLE_DEVICES=%s", count ? "all" : held));
        return;
    }
    request_devices(host, count, devices);
}

/* ---- limits and the like --------------------------------------------------------------------- */

static int add_ulimit(json_t *list, const char *name, const char *text, struct sw_error *err)
{
    char *end;
    long long soft = strtoll(text, &end, 10), hard = soft;

    if (end > text && *end == ':')
        hard = strtoll(end + 1, &end, 10);
    if (end == text || *end)
        return sw_fail(err, SW_E_SPEC, "ulimit '%s: %s' is neither N nor SOFT:HARD (-1: none)", name,
                       text);
    json_array_append_new(list, sw_json_object(SW_STR("Name", name), SW_INT("Soft", soft),
                                               SW_INT("Hard", hard)));
    return 0;
}

/* What NVIDIA's images ask for on the first line they print. */
static const struct { const char *name, *value; } usual[] = {
    { "memlock", "-1" }, { "stack", "67108864" },
};

void docker_render_plain_limits(json_t *host_config)
{
    json_t *limits = json_object_get(host_config, "Ulimits");

    for (size_t i = json_array_size(limits); i-- > 0;)
        for (size_t k = 0; k < SW_COUNT(usual); k++) {
            const json_t *limit = json_array_get(limits, i);

            if (sw_text_same(sw_json_str(limit, "Name"), usual[k].name) &&
                sw_json_int(limit, "Hard", 0) == strtoll(usual[k].value, NULL, 10)) {
                json_array_remove(limits, i);
                break;
            }
        }
}

static json_t *ulimits(const struct sw_plan *plan, const struct docker_site *site,
                       struct sw_error *err)
{
    const json_t *given = docker_job_options(plan->options).ulimits;
    sw_auto(json) json_t *list = json_array();
    const char *name;
    json_t *value;

    for (size_t i = 0; plan->gpus > 0 && !site->plain_limits && i < SW_COUNT(usual); i++)
        if (!json_object_get(given, usual[i].name))
            add_ulimit(list, usual[i].name, usual[i].value, NULL);
    json_object_foreach((json_t *)given, name, value)
        if (add_ulimit(list, name, json_string_value(value), err) < 0)
            return NULL;
    return sw_take(list);
}

/* A driver that keeps bytes as they are, and all of them; the usual one spoils what is no text. */
static json_t *log_config(const struct sw_plan *plan, const struct docker_site *site)
{
    const char *driver = docker_job_options(plan->options).log_driver;

    /* Podman's default keeps all bytes and has another name. */
    if (!driver || strcmp(driver, "engine") == 0 || (site->podman && strcmp(driver, "local") == 0))
        return NULL;
    return sw_json_object(
        SW_STR("Type", driver),
        SW_SUB("Config", strcmp(driver, "local") == 0
                             ? sw_json_object(SW_STR("max-size", "1t"), SW_STR("max-file", "1"),
                                              SW_STR("compress", "false"))
                             : NULL));
}

static json_t *host_config(const struct sw_plan *plan, const struct docker_site *site,
                           struct sw_error *err)
{
    sw_auto(json) json_t *mounts = docker_mounts(plan, site, err);
    sw_auto(json) json_t *limits = mounts ? ulimits(plan, site, err) : NULL;
    struct docker_job_options options = docker_job_options(plan->options);
    bool own_shm = !plan->shm_bytes && !sw_text_same(options.ipc, "host");
    json_t *host;

    if (!limits)
        return NULL;
    host = sw_json_object(
        SW_STR_OPT("NetworkMode", options.network),
        SW_SUB("RestartPolicy", sw_json_object(SW_STR("Name", "no"))),
        SW_SUB("Mounts", sw_take(mounts)),
        SW_SUB("Ulimits", sw_take(limits)),
        SW_STR_OPT("IpcMode", options.ipc),
        SW_SUB("ShmSize", plan->shm_bytes ? json_integer(plan->shm_bytes) : NULL),
        SW_SUB("Tmpfs", own_shm ? sw_json_object(SW_STR("/dev/shm", "")) : NULL),
        SW_SUB("Memory", plan->memory_bytes ? json_integer(plan->memory_bytes) : NULL),
        SW_SUB("MemorySwap", plan->memory_bytes ? json_integer(plan->memory_bytes) : NULL),
        SW_SUB("NanoCpus", plan->cpus > 0 ? json_integer((json_int_t)(plan->cpus * 1e9 + 0.5))
                                          : NULL),
        SW_SUB("ReadonlyRootfs", options.read_only ? json_true() : NULL),
        SW_STR_OPT("Runtime", options.runtime),
        SW_SUB("LogConfig", log_config(plan, site)));
    /* More of what the engine knows; it may add to the job, not contradict it. */
    json_object_update_missing(host, (json_t *)options.host_config);
    return host;
}

/* ---- the container --------------------------------------------------------------------------- */

static json_t *labels_of(const struct sw_plan *plan, const struct docker_site *site, int rank)
{
    json_t *labels = plan->labels ? json_deep_copy(plan->labels) : json_object();
    sw_auto(json) json_t *stored = sw_plan_to_json(plan);
    sw_autofree char *text = sw_json_dump(stored);
    sw_auto(json) json_t *ours = NULL;
    char hash[SW_DIGEST_HEX];

    sw_sha256_hex(text, strlen(text), hash);
    docker_render_marks(labels, plan);
    ours = sw_json_object(
        SW_STR(LABEL_ID, plan->job_id), SW_SUB(LABEL_ATTEMPT, json_sprintf("%d", site->attempt)),
        SW_SUB(LABEL_RANK, json_sprintf("%d", rank)),
        SW_SUB(LABEL_NODES, json_sprintf("%d", plan->nodes)),
        SW_SUB(LABEL_PLAN, json_stringn(hash, 16)), SW_STR(LABEL_OWNER, site->owner),
        SW_STR_OPT(LABEL_SIGNED, plan->signature),
        SW_SUB(LABEL_WANTS, docker_gpus(plan) > 0 ? json_sprintf("%d", plan->gpus) : NULL),
        SW_STR_OPT(LABEL_CHOICE, site->choice),
        SW_SUB(LABEL_RUNTIME, site->choice && site->by_runtime ? json_string("1") : NULL));
    json_object_update(labels, ours);
    return labels;
}

static json_t *runner_words(const struct sw_plan *plan, const struct docker_site *site, int rank)
{
    json_t *words = json_pack("[sso]", "all", "--report",
                              json_sprintf(DOCKER_ENDS "/" DOCKER_END_NAME, site->attempt, rank));

    if (sw_sends_secrets(plan)) {
        json_array_append_new(words, json_string("--take-secrets"));
        json_array_append_new(words, json_string(DOCKER_SECRETS));
    }
    json_array_append_new(words, json_string(DOCKER_HOME "/payload.json"));
    return words;
}

json_t *docker_render_container(const struct sw_plan *plan, const struct docker_site *site,
                                int rank, const json_t *devices, struct sw_error *err)
{
    sw_auto(json) json_t *host = host_config(plan, site, err), *body = NULL;
    char name[DOCKER_NAME_SIZE];
    struct docker_job_options options = docker_job_options(plan->options);
    bool own_name = !sw_text_same(options.network, "host");

    if (!host)
        return NULL;
    docker_name(name, plan->job_id, site->attempt, plan->nodes, rank);
    body = sw_json_object(
        SW_STR("Image", plan->image),
        SW_SUB("Entrypoint", json_pack("[s]", DOCKER_RUNNER)),
        SW_SUB("Cmd", runner_words(plan, site, rank)),
        SW_SUB("Env", environment(plan, site, rank)),
        SW_SUB("Labels", labels_of(plan, site, rank)),
        SW_SUB("Hostname", own_name ? json_string(name) : NULL),
        SW_STR_OPT("User", site->user),
        SW_STR("StopSignal", "SIGTERM"),
        SW_INT("StopTimeout", (sw_stop_budget_ms(plan->grace_ms) + 999) / 1000),
        SW_SUB("HostConfig", sw_take(host)));
    if (devices)
        docker_render_devices(body, devices, site->by_runtime);
    else if (docker_gpus(plan) > 0 && options.share_gpus)
        request_devices(json_object_get(body, "HostConfig"), plan->gpus, NULL);
    return sw_take(body);
}

json_t *docker_render_network(const char *name)
{
    return sw_json_object(SW_STR("Name", name), SW_STR("Driver", "bridge"),
                          SW_BOOL("CheckDuplicate", true),
                          SW_SUB("Labels", sw_json_object(SW_STR("slipway.network", name))));
}

/* ---- the payload ----------------------------------------------------------------------------- */

struct sw_payload *docker_render_payload(const struct sw_plan *plan,
                                         const struct docker_site *site, struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = sw_entrypoint_payload(plan, err);
    bool keep = docker_job_options(plan->options).entrypoint == DOCKER_ENTRYPOINT_KEEP;

    if (!payload)
        return NULL;
    json_decref(payload->env);               /* the container has it */
    payload->env = NULL;
    docker_paths_inside(payload, plan);
    payload->scratch_dir = sw_strdup(DOCKER_HOME "/work");
    payload->results_dir = docker_results_inside(plan);
    payload->time_ms = plan->time_ms;
    payload->redact = true;
    if (plan->launcher == SW_LAUNCHER_TORCHRUN)
        sw_entrypoint_torchrun(payload, plan->nodes, plan->gpus);
    if (plan->launcher == SW_LAUNCHER_RAY)
        sw_entrypoint_ray(payload, plan);
    if (keep && site->image && site->image->entrypoint)
        sw_setup_then(payload, site->image->entrypoint);
    return sw_take(payload);
}

/* ---- what `slipway plan` shows -------------------------------------------------------------- */

static json_t *shown(const char *what, const json_t *document)
{
    sw_autofree char *text = sw_json_dump_pretty(document);

    return sw_json_object(SW_STR("what", what), SW_STR("text", text));
}

json_t *docker_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(json) json_t *sends = json_array();
    sw_autofree char *folder = docker_job_folder(conn, plan->job_id);
    sw_autofree char *results = sw_path_join(folder, "results");
    sw_autofree char *ends = docker_end_folder(conn, plan->job_id);
    bool local = docker_is_local(conn);
    bool bound = local && docker_job_options(plan->options).results != DOCKER_RESULTS_VOLUME;
    struct docker_site site = { .attempt = 1, .local = local, .owner = "", .ends = local ? ends : NULL,
                                .results = bound ? results : NULL };
    sw_auto(sw_payload) struct sw_payload *payload = docker_render_payload(plan, &site, err);
    sw_auto(json) json_t *document = NULL;

    if (!payload)
        return NULL;
    for (int rank = 0; rank < plan->nodes; rank++) {
        sw_auto(json) json_t *body = docker_render_container(plan, &site, rank, NULL, err);
        char name[DOCKER_NAME_SIZE];
        sw_autofree char *what = NULL;

        if (!body)
            return NULL;
        docker_name(name, plan->job_id, 1, plan->nodes, rank);
        what = sw_format("POST /containers/create?name=%s", name);
        json_array_append_new(sends, shown(what, body));
    }
    document = sw_payload_to_json(payload);
    json_array_append_new(sends, shown("PUT " DOCKER_HOME "/payload.json", document));
    return sw_take(sends);
}
