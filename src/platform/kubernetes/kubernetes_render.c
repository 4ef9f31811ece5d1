/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_render.c - plan in, pod and the objects around it out. Pure: no server, clock or environment.
 *
 * The runner is the only process that a container starts, so signals arrive, inputs are there before the
 * command runs, and its report is in the pod's status. CPUs and memory are requests and limits both: a job
 * gets what its file says, as on every other platform, and no more. No secret is in anything made here.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/job_env.h"
#include "core/stop.h"
#include "plan/entrypoint.h"

#define INDEX_NOTE "metadata.annotations['batch.kubernetes.io/job-completion-index']"

void k8s_name(char out[K8S_NAME_SIZE], const char *id, int attempt)
{
    if (attempt <= 1)
        snprintf(out, K8S_NAME_SIZE, "%s", id);
    else
        snprintf(out, K8S_NAME_SIZE, "%s-a%d", id, attempt);
}

/* ---- labels and annotations ---------------------------------------------------------------------- */

static json_t *labels_of(const struct sw_plan *plan, const struct k8s_site *site)
{
    json_t *labels = json_object();
    sw_auto(json) json_t *ours = sw_json_object(
        SW_STR(K8S_LABEL_ID, plan->job_id), SW_SUB(K8S_LABEL_ATTEMPT, json_sprintf("%d", site->attempt)),
        SW_STR_OPT(K8S_LABEL_STORE, plan->store_id), SW_STR("tao-toolkit", "true"),
        SW_STR("tao-sdk-job-id", plan->job_id));

    kube_add_labels(plan->labels, true, labels);
    json_object_update(labels, (json_t *)k8s_job_options(plan->options).labels);
    json_object_update(labels, ours);
    return labels;
}

static json_t *notes_of(const struct sw_plan *plan, const struct k8s_site *site)
{
    json_t *notes = json_object();
    sw_auto(json) json_t *ours = sw_json_object(
        SW_SUB(K8S_NOTE_NODES, json_sprintf("%d", plan->nodes)), SW_STR_OPT(K8S_NOTE_OWNER, site->owner),
        SW_SUB(K8S_NOTE_UID, plan->store_id ? json_sprintf("%ld", plan->owner_uid) : NULL),
        SW_STR_OPT(K8S_NOTE_SIGNED, plan->signature));

    kube_add_labels(plan->labels, false, notes);
    json_object_update(notes, (json_t *)k8s_job_options(plan->options).annotations);
    json_object_update(notes, ours);
    return notes;
}

static json_t *metadata_of(const struct sw_plan *plan, const struct k8s_site *site, const char *name)
{
    return sw_json_object(SW_STR("name", name), SW_STR_OPT("namespace", site->namespace),
                          SW_SUB("labels", labels_of(plan, site)),
                          SW_SUB("annotations", notes_of(plan, site)));
}

json_t *k8s_render_head(const struct sw_plan *plan, const struct k8s_site *site, const char *kind,
                        const char *name)
{
    return sw_json_object(SW_STR("apiVersion", "v1"), SW_STR("kind", kind),
                          SW_SUB("metadata", metadata_of(plan, site, name)));
}

void k8s_render_owned(json_t *object, const json_t *owner)
{
    json_object_set_new(json_object_get(object, "metadata"), "ownerReferences",
                        json_pack("[o]", sw_json_object(
        SW_STR("apiVersion", sw_json_str(owner, "apiVersion")), SW_STR("kind", sw_json_str(owner, "kind")),
        SW_STR("name", k8s_meta(owner, "name")), SW_STR("uid", k8s_meta(owner, "uid")),
        SW_BOOL("controller", false), SW_BOOL("blockOwnerDeletion", false))));
}

/* ---- environment --------------------------------------------------------------------------------- */

static void add_ours(const struct sw_plan *plan, const struct k8s_site *site, const struct k8s_engine *engine,
                     json_t *env)
{
    enum { ADDRESSES_MAX = 65536 };            /* one variable of a process may have 131,072 bytes */
    sw_auto(sw_buf) struct sw_buf first = SW_BUF_INIT, workers = SW_BUF_INIT;
    bool alone = plan->nodes == 1;
    bool one_runner = engine->rank_from && !*engine->rank_from;

    k8s_host(engine, plan, site->attempt, 0, &first);
    for (int i = 1; i < plan->nodes && engine->others && workers.length < ADDRESSES_MAX; i++) {
        sw_buf_add(&workers, i > 1 ? "," : "");
        k8s_host(engine, plan, site->attempt, i, &workers);
    }
    sw_job_env_add(&(struct sw_job_env){
        .job_id = plan->job_id, .attempt = site->attempt, .nodes = plan->nodes,
        .node_rank = alone || one_runner ? 0 : -1, .gpus_per_node = plan->gpus,
        .world_size_ranks = plan->world_size_ranks, .master_addr = alone ? "127.0.0.1" : sw_buf_text(&first),
        .master_port = k8s_job_options(plan->options).master_port,
        .worker_addrs = workers.length < ADDRESSES_MAX && (alone || engine->others) ? sw_buf_text(&workers)
                                                                                    : NULL,
        .results_root = K8S_RESULTS, .results_above = K8S_RESULTS, .results_dir = K8S_RESULTS,
    }, env);
    if (!alone && !one_runner && engine->rank_from)
        json_object_set_new(env, "SLIPWAY_RANK_FROM", json_string(engine->rank_from));
    if (plan->only_collect)
        json_object_set_new(env, "SLIPWAY_COLLECT_ONLY", json_sprintf("%d", plan->command_exit));
}

static json_t *environment(const struct sw_plan *plan, const struct k8s_site *site,
                           const struct k8s_engine *engine)
{
    struct k8s_job_options options = k8s_job_options(plan->options);
    sw_auto(json) json_t *env = sw_job_env_own(plan->env);
    json_t *list = json_array(), *value;
    const char *name;

    /* Devices that come as other resources or claims must stay visible. */
    if (plan->gpus == 0 && !options.limits && !options.resource_claims)
        json_object_set_new(env, "NVIDIA_VISIBLE_DEVICES", json_string("void"));
    if (options.user && !json_object_get(env, "HOME"))
        json_object_set_new(env, "HOME", json_string("/tmp"));
    add_ours(plan, site, engine, env);
    json_object_foreach(env, name, value)
        json_array_append_new(list, sw_json_object(SW_STR("name", name),
                                                   SW_SUB("value", kube_value(json_string_value(value)))));
    if (plan->nodes > 1 && !engine->rank_from)
        json_array_append_new(list, json_pack("{s:s, s:{s:{s:s}}}", "name", "NODE_RANK", "valueFrom",
                                              "fieldRef", "fieldPath", INDEX_NOTE));
    return list;
}

/* ---- resources ----------------------------------------------------------------------------------- */

static json_t *cpus_text(double cpus)
{
    long long thousandths = (long long)(cpus * 1000 + 0.5);

    return thousandths % 1000 ? json_sprintf("%lldm", thousandths) : json_sprintf("%lld", thousandths / 1000);
}

static int add_more(const json_t *more, const char *option, json_t *said, const json_t *limits,
                    struct sw_error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)more, name, value) {
        if (json_object_get(said, name) || json_object_get(limits, name)) {
            sw_fail(err, SW_E_SPEC, "kubernetes.%s: the job itself sets how much '%.100s' it needs", option,
                    name);
            return sw_hint(err, "remove it, and use gpus, cpus, memory or kubernetes.ephemeral");
        }
        json_object_set(said, name, value);
    }
    return 0;
}

static json_t *claim_names(const json_t *claims)
{
    json_t *names = json_array_size(claims) ? json_array() : NULL, *claim;
    size_t i;

    json_array_foreach(claims, i, claim)
        json_array_append_new(names, sw_json_object(SW_STR("name", sw_json_str(claim, "name"))));
    return names;
}

static json_t *resources(const struct sw_plan *plan, const struct k8s_job_options *options,
                         struct sw_error *err)
{
    sw_auto(json) json_t *requests = sw_json_object(
        SW_SUB("cpu", plan->cpus > 0 ? cpus_text(plan->cpus) : NULL),
        SW_SUB("memory", plan->memory_bytes ? json_sprintf("%lld", (long long)plan->memory_bytes) : NULL),
        SW_SUB("ephemeral-storage",
               options->ephemeral_bytes ? json_sprintf("%lld", (long long)options->ephemeral_bytes) : NULL));
    sw_auto(json) json_t *limits = sw_json_object(
        SW_SUB_COPY("cpu", json_object_get(requests, "cpu")),
        SW_SUB_COPY("memory", json_object_get(requests, "memory")),
        SW_SUB(options->gpu_resource, plan->gpus > 0 ? json_sprintf("%d", plan->gpus) : NULL));
    sw_auto(json) json_t *decided = json_copy(limits);

    if (add_more(options->requests, "requests", requests, decided, err) < 0 ||
        add_more(options->limits, "limits", limits, NULL, err) < 0)
        return NULL;
    return sw_json_object(SW_SUB("requests", json_object_size(requests) ? sw_take(requests) : NULL),
                          SW_SUB("limits", json_object_size(limits) ? sw_take(limits) : NULL),
                          SW_SUB("claims", claim_names(options->resource_claims)));
}

/* ---- which nodes --------------------------------------------------------------------------------- */

static json_t *expression(const char *key, const char *operator, json_t *values)
{
    return sw_json_object(SW_STR("key", key), SW_STR("operator", operator), SW_SUB("values", values));
}

static json_t *expressions(const struct sw_plan *plan, const struct k8s_site *site)
{
    json_t *list = json_array();

    if (site->arch)
        json_array_append_new(list, expression("kubernetes.io/arch", "In", json_pack("[s]", site->arch)));
    if (plan->gpu_type)
        json_array_append_new(list, expression("nvidia.com/gpu.product", "In",
            json_array_size(site->gpu_products) ? json_deep_copy(site->gpu_products)
                                                : json_pack("[s]", plan->gpu_type)));
    if (json_array_size(plan->avoid))
        json_array_append_new(list, expression("kubernetes.io/hostname", "NotIn",
                                               json_deep_copy(plan->avoid)));
    return list;
}

/* The object at this key, made when it is missing. Borrowed. */
static json_t *inner(json_t *object, const char *key, json_t *fresh)
{
    if (!json_object_get(object, key))
        json_object_set(object, key, fresh);
    json_decref(fresh);
    return json_object_get(object, key);
}

/* The user's terms are alternatives, so ours are added to each of them. NULL: no node is excluded. */
static json_t *affinity(const struct sw_plan *plan, const struct k8s_site *site, const json_t *given)
{
    sw_auto(json) json_t *all = given ? json_deep_copy(given) : json_object();
    sw_auto(json) json_t *ours = expressions(plan, site);
    json_t *required, *terms, *term;
    size_t i;

    if (json_array_size(ours) > 0) {
        required = inner(inner(all, "nodeAffinity", json_object()),
                         "requiredDuringSchedulingIgnoredDuringExecution", json_object());
        terms = inner(required, "nodeSelectorTerms", json_array());
        if (json_array_size(terms) == 0)
            json_array_append_new(terms, json_object());
        json_array_foreach(terms, i, term)
            json_array_extend(inner(term, "matchExpressions", json_array()), ours);
    }
    return json_object_size(all) ? sw_take(all) : NULL;
}

/* ---- security ------------------------------------------------------------------------------------ */

/* UID[:GID]; -1 + err. A group that is not said is the user's number. */
static int read_user(const char *user, long *uid, long *gid, struct sw_error *err)
{
    char *end = NULL;

    if (isdigit((unsigned char)*user)) {
        *uid = *gid = strtol(user, &end, 10);
        if (*end == ':' && isdigit((unsigned char)end[1]))
            *gid = strtol(end + 1, &end, 10);
        if (!*end)
            return 0;
    }
    return sw_fail(err, SW_E_SPEC, "kubernetes.user: '%.100s' is not UID[:GID] in numbers", user);
}

static bool is_restricted(const struct k8s_job_options *options, const struct k8s_site *site)
{
    return options->security == K8S_SECURITY_RESTRICTED ||
           (options->security == K8S_SECURITY_AUTO && site->restricted);
}

static json_t *pod_security(const struct k8s_job_options *options, const struct k8s_site *site,
                            struct sw_error *err)
{
    json_t *context;
    long uid = 0, gid = 0;

    if (options->user && read_user(options->user, &uid, &gid, err) < 0)
        return NULL;
    context = sw_json_object(SW_SUB("runAsUser", options->user ? json_integer(uid) : NULL),
                             SW_SUB("runAsGroup", options->user ? json_integer(gid) : NULL),
                             SW_SUB("fsGroup", options->user ? json_integer(gid) : NULL));
    if (is_restricted(options, site)) {
        json_object_set_new(context, "runAsNonRoot", json_true());
        json_object_set_new(context, "seccompProfile", json_pack("{s:s}", "type", "RuntimeDefault"));
    }
    json_object_update(context, (json_t *)options->pod_security_context);
    return context;
}

/* NULL: nothing to say. */
static json_t *container_security(const struct k8s_job_options *options, const struct k8s_site *site)
{
    sw_auto(json) json_t *context = sw_json_object(
        SW_SUB("readOnlyRootFilesystem", options->read_only ? json_true() : NULL));

    if (is_restricted(options, site)) {
        json_object_set_new(context, "allowPrivilegeEscalation", json_false());
        json_object_set_new(context, "capabilities", json_pack("{s:[s]}", "drop", "ALL"));
    }
    json_object_update(context, (json_t *)options->security_context);
    return json_object_size(context) ? sw_take(context) : NULL;
}

/* ---- the pod ------------------------------------------------------------------------------------- */

static const char *pull_policy(enum k8s_pull_policy pull)
{
    static const char *const policies[] = { NULL, "Always", "IfNotPresent", "Never" };

    return policies[pull];
}

static json_t *runner_words(const struct k8s_site *site)
{
    return site->has_secrets ? json_pack("[ssssss]", "all", "--report", K8S_REPORT, "--mounted-secrets",
                                         K8S_SECRETS "/secrets", K8S_FILES "/payload.json")
                             : json_pack("[ssss]", "all", "--report", K8S_REPORT, K8S_FILES "/payload.json");
}

static json_t *container(const struct sw_plan *plan, const struct k8s_site *site,
                         const struct k8s_engine *engine,
                         const struct k8s_job_options *options, json_t *mounts, struct sw_error *err)
{
    json_t *needs = resources(plan, options, err);

    if (!needs)
        return NULL;
    return sw_json_object(
        SW_STR("name", engine->container), SW_STR("image", plan->image),
        SW_STR_OPT("imagePullPolicy", pull_policy(options->pull)),
        SW_SUB("command", json_pack("[s]", K8S_BIN "/slipway-runner")), SW_SUB("args", runner_words(site)),
        SW_SUB("env", environment(plan, site, engine)), SW_SUB("resources", needs),
        SW_SUB("volumeMounts", json_incref(mounts)),
        SW_STR("terminationMessagePath", K8S_REPORT), SW_STR("terminationMessagePolicy", "File"),
        SW_SUB("securityContext", container_security(options, site)));
}

/* Copies the runner out of its own image into the folder that the job's container sees. */
static json_t *init_containers(const struct k8s_job_options *options, const struct k8s_site *site)
{
    return json_pack("[o]", sw_json_object(
        SW_STR("name", "slipway-runner"), SW_STR("image", options->runner_image),
        SW_STR_OPT("imagePullPolicy", pull_policy(options->pull)),
        SW_SUB("command", json_pack("[sss]", "/slipway-runner", "install", K8S_BIN "/slipway-runner")),
        SW_SUB("volumeMounts", json_pack("[{s:s, s:s}]", "name", "slipway-runner", "mountPath", K8S_BIN)),
        SW_SUB("securityContext", container_security(options, site))));
}

static json_t *copied(const json_t *document)
{
    return json_array_size(document) + json_object_size(document) > 0 ? json_deep_copy(document) : NULL;
}

/* Nodes with GPUs are often tainted with the name of the resource, for jobs without. */
static json_t *tolerations(const struct sw_plan *plan, const struct k8s_job_options *options)
{
    json_t *all = copied(options->tolerations);

    if (plan->gpus == 0)
        return all;
    all = all ? all : json_array();
    json_array_append_new(all, sw_json_object(SW_STR("key", options->gpu_resource),
                                              SW_STR("operator", "Exists")));
    return all;
}

static json_t *pod_spec(const struct sw_plan *plan, const struct k8s_site *site,
                        const struct k8s_job_options *options,
                        json_t *volumes, json_t *main, json_t *security)
{
    const char *secret = site->pull_secret;
    json_t *spec = sw_json_object(
        SW_STR("restartPolicy", "Never"),
        SW_INT("terminationGracePeriodSeconds", (sw_stop_budget_ms(plan->grace_ms) + 999) / 1000),
        SW_BOOL("automountServiceAccountToken", options->service_account != NULL),
        SW_BOOL("enableServiceLinks", false),
        SW_STR_OPT("serviceAccountName", options->service_account),
        SW_STR_OPT("priorityClassName", options->priority_class),
        SW_STR_OPT("schedulerName", options->scheduler),
        SW_STR_OPT("runtimeClassName", options->runtime_class),
        SW_SUB("hostNetwork", options->host_network ? json_true() : NULL),
        SW_STR_OPT("dnsPolicy", options->host_network ? "ClusterFirstWithHostNet" : NULL),
        SW_SUB("imagePullSecrets", secret ? json_pack("[{s:s}]", "name", secret) : NULL),
        SW_SUB("nodeSelector", copied(options->node_selector)),
        SW_SUB("tolerations", tolerations(plan, options)),
        SW_SUB("affinity", affinity(plan, site, options->affinity)),
        SW_SUB("topologySpreadConstraints", copied(options->topology_spread)),
        SW_SUB("resourceClaims", copied(options->resource_claims)),
        SW_SUB("securityContext", json_object_size(security) ? json_incref(security) : NULL),
        SW_SUB("initContainers", options->runner == K8S_RUNNER_IMAGE ? init_containers(options, site) : NULL),
        SW_SUB("containers", json_pack("[O]", main)), SW_SUB("volumes", json_incref(volumes)));

    /* It may add to the job, not contradict it. */
    json_object_update_missing(spec, (json_t *)options->pod);
    return spec;
}

json_t *k8s_render_pod(const struct sw_plan *plan, const struct k8s_site *site,
                       const struct k8s_engine *engine, struct sw_error *err)
{
    struct k8s_job_options options = k8s_job_options(plan->options);
    sw_auto(json) json_t *volumes = json_array(), *mounts = json_array(), *main = NULL, *security = NULL;

    if (options.runner == K8S_RUNNER_IMAGE && !options.runner_image) {
        sw_fail(err, SW_E_SPEC, "kubernetes.runner is image, and kubernetes.runner_image is not given");
        sw_hint(err, "name an image that contains /slipway-runner, or leave `runner` out");
        return NULL;
    }
    if (k8s_render_volumes(plan, site, volumes, mounts, err) < 0 ||
        !(main = container(plan, site, engine, &options, mounts, err)) ||
        !(security = pod_security(&options, site, err)))
        return NULL;
    return sw_json_object(
        SW_SUB("metadata", sw_json_object(SW_SUB("labels", labels_of(plan, site)),
                                          SW_SUB("annotations", notes_of(plan, site)))),
        SW_SUB("spec", pod_spec(plan, site, &options, volumes, main, security)));
}

/* ---- the objects --------------------------------------------------------------------------------- */

static int check_job(const struct sw_plan *plan, const struct k8s_engine *engine, struct sw_error *err)
{
    if (plan->nodes > K8S_NODES_MAX)
        return sw_fail(err, SW_E_SPEC, "%d nodes: a job can have at most %d here", plan->nodes,
                       K8S_NODES_MAX);
    if (plan->launcher == SW_LAUNCHER_RAY)
        return k8s_ray_check(plan, engine, err);
    if (engine->choice == K8S_RAYJOB) {
        sw_fail(err, SW_E_SPEC, "the engine rayjob needs launcher ray");
        return sw_hint(err, "add 'launcher: ray', or leave kubernetes.engine out");
    }
    if (plan->launcher == SW_LAUNCHER_MPI && engine->choice != K8S_MPIJOB) {
        sw_fail(err, SW_E_SPEC, "launcher mpi needs the engine mpijob, not %s", engine->name);
        return sw_hint(err, "leave kubernetes.engine out; the cluster must have the MPI operator");
    }
    return 0;
}

/* Volcano has queues of its own; a guest of a Ray cluster takes nothing that a queue could count. */
bool k8s_is_kueues(const struct sw_plan *plan, const struct k8s_engine *engine)
{
    struct k8s_job_options options = k8s_job_options(plan->options);
    bool volcano = engine->choice == K8S_VOLCANO ||
                   (engine->choice == K8S_RAYJOB && sw_text_same(options.scheduler, "volcano"));

    return options.queue && !volcano && !k8s_ray_named(plan);
}

json_t *k8s_render_object(const struct sw_plan *plan, const struct k8s_site *site,
                          const struct k8s_engine *engine, struct sw_error *err)
{
    struct k8s_job_options options = k8s_job_options(plan->options);
    bool kueue = k8s_is_kueues(plan, engine);
    json_t *pod = check_job(plan, engine, err) == 0 ? k8s_render_pod(plan, site, engine, err) : NULL;
    sw_auto(json) json_t *spec = pod ? engine->render(plan, site, pod, err) : NULL;
    sw_autofree char *api = k8s_engine_api(engine);
    json_t *metadata, *labels;
    char name[K8S_NAME_SIZE];

    if (!spec)
        return NULL;
    k8s_name(name, plan->job_id, site->attempt);
    metadata = metadata_of(plan, site, name);
    labels = json_object_get(metadata, "labels");
    if (kueue)
        json_object_set_new(labels, "kueue.x-k8s.io/queue-name", sw_json_text(options.queue));
    if (kueue && options.queue_priority)
        json_object_set_new(labels, "kueue.x-k8s.io/priority-class", sw_json_text(options.queue_priority));
    json_object_set_new(json_object_get(metadata, "annotations"), K8S_NOTE_ENGINE, json_string(engine->name));
    if (engine->choice == K8S_RAYJOB)
        k8s_ray_marks(plan, &options, labels, json_object_get(metadata, "annotations"));
    return sw_json_object(SW_STR("apiVersion", api), SW_STR("kind", engine->kind),
                          SW_SUB("metadata", metadata), SW_SUB("spec", sw_take(spec)));
}

json_t *k8s_render_service(const struct sw_plan *plan, const struct k8s_site *site)
{
    char name[K8S_NAME_SIZE];
    json_t *service;

    k8s_name(name, plan->job_id, site->attempt);
    service = k8s_render_head(plan, site, "Service", name);
    json_object_set_new(service, "spec", sw_json_object(
        SW_STR("clusterIP", "None"), SW_BOOL("publishNotReadyAddresses", true),
        SW_SUB("selector", sw_json_object(SW_STR("batch.kubernetes.io/job-name", name)))));
    return service;
}

struct sw_payload *k8s_render_payload(const struct sw_plan *plan, const struct k8s_site *site,
                                      struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = sw_entrypoint_payload(plan, err);

    if (!payload)
        return NULL;
    json_decref(payload->env);                 /* the container has it */
    payload->env = NULL;
    payload->defaults = json_object();         /* which an image may set, too */
    sw_job_env_defaults(true, NULL, payload->defaults);
    payload->scratch_dir = sw_strdup(K8S_WORK);
    payload->results_dir = sw_strdup(K8S_RESULTS);
    payload->time_ms = plan->time_ms;
    payload->redact = true;
    if (plan->nodes > 1)
        k8s_mark_own(plan, payload->outputs);
    if (plan->launcher == SW_LAUNCHER_TORCHRUN)
        sw_entrypoint_torchrun(payload, plan->nodes, plan->gpus);
    if (payload->code && site->pieces > 0)
        json_object_set_new(payload->code, "pieces", json_integer(site->pieces));
    if (plan->launcher == SW_LAUNCHER_RAY)
        k8s_ray_payload(plan, site, payload);
    return sw_take(payload);
}

/* ---- what the server refuses, in the words of the job file ---------------------------------------- */

#define POD  "spec.template.spec."
#define MAIN POD "containers[0]."

const struct sw_rest_field k8s_fields[] = {
    { MAIN "image", "image" },
    { MAIN "env", "env" },
    { MAIN "resources.limits[cpu]", "cpus" },
    { MAIN "resources.requests[cpu]", "cpus" },
    { MAIN "resources.limits[memory]", "memory" },
    { MAIN "resources.requests[memory]", "memory" },
    { MAIN "resources.requests[ephemeral-storage]", "kubernetes.ephemeral" },
    { MAIN "resources.limits[nvidia.com/gpu]", "gpus" },
    { MAIN "resources.requests", "kubernetes.requests" },
    { MAIN "resources.limits", "kubernetes.limits" },
    { MAIN "resources.claims", "kubernetes.resource_claims" },
    { MAIN "volumeMounts", "kubernetes.volumes" },
    { MAIN "imagePullPolicy", "kubernetes.pull" },
    { MAIN "securityContext", "kubernetes.security_context" },
    { POD "initContainers[0].image", "kubernetes.runner_image" },
    { POD "volumes", "kubernetes.volumes" },
    { POD "nodeSelector", "kubernetes.node_selector" },
    { POD "tolerations", "kubernetes.tolerations" },
    { POD "affinity", "kubernetes.affinity" },
    { POD "topologySpreadConstraints", "kubernetes.topology_spread" },
    { POD "resourceClaims", "kubernetes.resource_claims" },
    { POD "securityContext.runAsUser", "kubernetes.user" },
    { POD "securityContext", "kubernetes.pod_security_context" },
    { POD "serviceAccountName", "kubernetes.service_account" },
    { POD "priorityClassName", "kubernetes.priority_class" },
    { POD "schedulerName", "kubernetes.scheduler" },
    { POD "runtimeClassName", "kubernetes.runtime_class" },
    { POD "imagePullSecrets", "kubernetes.image_pull_secret" },
    { POD "hostNetwork", "kubernetes.host_network" },
    { POD "terminationGracePeriodSeconds", "grace" },
    { "spec.template.metadata.labels", "kubernetes.labels" },
    { "spec.template.metadata.annotations", "kubernetes.annotations" },
    { "spec.template.labels", "kubernetes.labels" },
    { "metadata.labels", "kubernetes.labels" },
    { "metadata.annotations", "kubernetes.annotations" },
    { "spec.ttlSecondsAfterFinished", "keep" },
    { "spec.completions", "nodes" },
    { "spec.parallelism", "nodes" },
    { "spec.template.spec", "kubernetes.pod" },
    { 0 }
};
