/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_ray.c - `launcher: ray` as KubeRay's RayJob: one pod template in, the pods of a Ray cluster and
 * of its driver out. Pure.
 *
 * Three kinds of pods, and the runner is the first process in each of them:
 *
 *     driver    rank 0: the submitter. `relay` around ray_driver.py: it hands the driver to the cluster,
 *               prints its log, and ends with its report and exit code. It outlives the cluster.
 *     head      rank 1: `ray start`, as KubeRay wrote it, around which the runner has set secrets and
 *               environment (node.json). The driver runs here, under a runner of its own (payload.json).
 *     workers   ranks 2 to nodes: likewise, without the driver.
 *
 * The head is one of the job's nodes and has its GPUs, as on every other platform. With a named cluster
 * there is only the driver's pod: the job's files travel in Ray's package, for which secrets are too good.
 *
 * KubeRay never starts an attempt: its backoffLimit does not tell a program that failed from a node that is
 * gone (docs/decisions/0078).
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "core/job_env.h"
#include "core/reason.h"
#include "core/report.h"
#include "core/stop.h"

#define ROLE_DRIVER  "driver"
#define DRIVER_PID   K8S_WORK "/driver.pid"
#define NODE_PAYLOAD K8S_FILES "/node.json"

/* An image has one or both names. */
#define PYTHON(words) "command -v python3 >/dev/null && exec python3" words "; exec python" words

/* The lowest version that has tokens. A claim that is too low costs nothing, one that is too high does. */
#define ASSUMED_VERSION "2.52.0"

enum { IDLE_MS = 60 * 60 * 1000 };                 /* as the table of keys has it */

static const char *const driver_lines[] = {
#include "platform/kubernetes/ray_driver.py.inc"
};
static const char *const idle_lines[] = {
#include "platform/kubernetes/ray_idle.py.inc"
};
static const char *const node_lines[] = {
#include "platform/kubernetes/ray_node.sh.inc"
};
static const char *const stop_lines[] = {
#include "platform/kubernetes/ray_stop.sh.inc"
};

/* ---- what the job file says ------------------------------------------------------------------------ */

const char *k8s_ray_named(const struct sw_plan *plan)
{
    const char *name = plan->launcher == SW_LAUNCHER_RAY ? sw_json_str(plan->ray_cluster, "name") : NULL;

    return sw_text_empty(name) ? NULL : name;
}

bool k8s_ray_stays(const struct sw_plan *plan)
{
    return plan->launcher == SW_LAUNCHER_RAY && sw_json_bool(plan->ray_cluster, "keep", false);
}

int k8s_ray_pods(const struct sw_plan *plan)
{
    return k8s_ray_named(plan) ? 1 : plan->nodes + 1;
}

static int64_t idle_s(const struct sw_plan *plan)
{
    const char *said = sw_json_str(plan->ray_cluster, "idle");
    int64_t ms = IDLE_MS;

    if (said)
        sw_duration_parse(said, &ms, NULL);
    return (ms + 999) / 1000;
}

int k8s_ray_check(const struct sw_plan *plan, const struct k8s_engine *engine, struct sw_error *err)
{
    if (engine->choice != K8S_RAYJOB) {
        sw_fail(err, SW_E_SPEC, "launcher ray needs the engine rayjob, not %s", engine->name);
        return sw_hint(err, "leave kubernetes.engine out; the cluster must have KubeRay");
    }
    if (k8s_ray_named(plan) && json_array_size(plan->secrets) + json_array_size(plan->credentials) > 0) {
        sw_fail(err, SW_E_SPEC, "secrets cannot be sent to the Ray cluster '%s': Ray would show them",
                k8s_ray_named(plan));
        return sw_hint(err, "name them when the cluster starts ('slipway ray up --secret NAME'), where jobs "
                            "see them, or leave 'ray_cluster.name' out");
    }
    return 0;
}

/* ---- files beside the payload ---------------------------------------------------------------------- */

static char *joined(const char *const *lines, size_t count)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    for (size_t i = 0; i < count; i++)
        sw_buf_add(&text, lines[i]);
    return sw_buf_steal(&text);
}

/* Around `ray start`: secrets and environment for all that Ray starts on this node, and a report. */
static json_t *node_payload(const struct sw_plan *plan)
{
    sw_auto(sw_payload) struct sw_payload *payload = sw_payload_new();

    memcpy(payload->job_id, plan->job_id, sizeof payload->job_id);
    payload->command = sw_strdup("exec sh " K8S_FILES "/node.sh");
    payload->filled = true;
    payload->secrets = json_incref(plan->secrets);
    payload->credentials = json_array();
    payload->scratch_dir = sw_strdup(K8S_WORK "/node");
    payload->results_dir = sw_strdup(K8S_WORK "/node");
    payload->grace_ms = plan->grace_ms;
    payload->redact = true;
    return sw_payload_to_json(payload);
}

void k8s_ray_files(const struct sw_plan *plan, json_t *data)
{
    sw_autofree char *driver = joined(driver_lines, SW_COUNT(driver_lines));
    sw_autofree char *start = joined(node_lines, SW_COUNT(node_lines));
    sw_autofree char *stop = joined(stop_lines, SW_COUNT(stop_lines));
    sw_auto(json) json_t *node = NULL;
    sw_autofree char *text = NULL;

    json_object_set_new(data, "driver.py", json_string(driver));
    if (k8s_ray_named(plan))
        return;
    node = node_payload(plan);
    text = sw_json_dump(node);
    json_object_set_new(data, "node.json", json_string(text));
    json_object_set_new(data, "node.sh", json_string(start));
    json_object_set_new(data, "stop.sh", json_string(stop));
}

/* The driver of a cluster that stays only waits until it is idle. */
static void idle_payload(const struct sw_plan *plan, const struct k8s_site *site, struct sw_payload *payload)
{
    sw_autofree char *script = joined(idle_lines, SW_COUNT(idle_lines));
    char name[K8S_NAME_SIZE];

    k8s_name(name, plan->job_id, site->attempt);
    json_decref(payload->argv);
    payload->argv = json_pack("[sss]", "sh", "-c", PYTHON(" -c \"$@\""));
    json_array_append_new(payload->argv, json_string("sh"));
    json_array_append_new(payload->argv, json_string(script));
    json_array_append_new(payload->argv, json_string(name));
    json_array_append_new(payload->argv, json_sprintf("%lld", (long long)idle_s(plan)));
    payload->filled = true;
}

/* On a named cluster nothing of ours is mounted, and the container's environment is another's. */
static void guest_payload(const struct sw_plan *plan, const struct k8s_site *site, struct sw_payload *payload)
{
    payload->env = sw_job_env_own(plan->env);
    sw_job_env_add(&(struct sw_job_env){
        .job_id = plan->job_id, .attempt = site->attempt, .nodes = plan->nodes, .gpus_per_node = plan->gpus,
        .world_size_ranks = plan->world_size_ranks, .master_addr = "127.0.0.1",
        .master_port = k8s_job_options(plan->options).master_port,
    }, payload->env);
    free(payload->scratch_dir);
    free(payload->results_dir);
    payload->scratch_dir = sw_format("/tmp/slipway-%s", plan->job_id);
    payload->results_dir = sw_format("/tmp/slipway-%s/results", plan->job_id);
}

void k8s_ray_payload(const struct sw_plan *plan, const struct k8s_site *site, struct sw_payload *payload)
{
    if (k8s_ray_stays(plan))
        idle_payload(plan, site, payload);
    if (k8s_ray_named(plan))
        guest_payload(plan, site, payload);
}

/* ---- pods ------------------------------------------------------------------------------------------ */

static json_t *main_of(const json_t *pod)
{
    return json_array_get(k8s_at(pod, "spec/containers"), 0);
}

/* Of the runner's words only the payload differs. */
static json_t *node_pod(const json_t *pod)
{
    json_t *node = json_deep_copy(pod), *args = json_object_get(main_of(node), "args");

    json_array_set_new(args, json_array_size(args) - 1, json_string(NODE_PAYLOAD));
    return node;
}

/* The cluster may be deleted while the driver collects its outputs: its node waits for it. */
static json_t *head_pod(const json_t *pod)
{
    json_t *head = node_pod(pod);

    json_object_set_new(main_of(head), "lifecycle", json_pack(
        "{s:{s:{s:[ss]}}}", "preStop", "exec", "command", "sh", K8S_FILES "/stop.sh"));
    return head;
}

#define BEGINS "echo 'slipway: the driver begins'; "     /* ray_driver.py waits for this line */

static char *entrypoint_of(const struct k8s_site *site)
{
    const char *secrets = site->has_secrets ? " --mounted-secrets " K8S_SECRETS "/secrets" : "";

    if (site->ray_cluster)
        return sw_strdup(BEGINS "exec ./slipway-runner all --report report.json payload.json");
    return sw_format(BEGINS "echo $$ >" DRIVER_PID "; exec " K8S_BIN "/slipway-runner all --report " K8S_WORK
                     "/report.json%s " K8S_FILES "/payload.json", secrets);
}

static void drop_secrets(json_t *list)
{
    for (size_t i = json_array_size(list); i-- > 0;)
        if (sw_text_same(sw_json_str(json_array_get(list, i), "name"), "slipway-secrets"))
            json_array_remove(list, i);
}

static void add_variable(json_t *env, const char *name, json_t *value)
{
    json_t *one;
    size_t i;

    json_array_foreach(env, i, one)
        if (sw_text_same(sw_json_str(one, "name"), name)) {
            json_object_set_new(one, "value", value);
            return;
        }
    json_array_append_new(env, sw_json_object(SW_STR("name", name), SW_SUB("value", value)));
}

static void driver_environment(const struct sw_plan *plan, const struct k8s_site *site, json_t *env)
{
    sw_autofree char *entrypoint = entrypoint_of(site);
    int64_t stop_s = (sw_stop_budget_ms(plan->grace_ms) + 999) / 1000;

    add_variable(env, "NVIDIA_VISIBLE_DEVICES", json_string("void"));
    add_variable(env, "SLIPWAY_RAY_ENTRYPOINT", kube_value(entrypoint));
    add_variable(env, "SLIPWAY_RAY_STOP_SECONDS", json_sprintf("%lld", (long long)stop_s));
    if (site->ray_cluster)
        add_variable(env, "SLIPWAY_RAY_PACKAGE", json_string(K8S_BIN "/slipway-runner:" K8S_FILES));
}

/* It needs no GPU, no secret and little else: Python with Ray's client, from the same image. */
static json_t *driver_pod(const struct sw_plan *plan, const struct k8s_site *site, const json_t *pod)
{
    json_t *driver = json_deep_copy(pod), *main = main_of(driver), *spec = json_object_get(driver, "spec");

    json_object_set_new(json_object_get(json_object_get(driver, "metadata"), "labels"), K8S_LABEL_ROLE,
                        json_string(ROLE_DRIVER));
    json_object_set_new(main, "args", json_pack("[sssssss]", "relay", "--report", K8S_REPORT, plan->job_id,
        "sh", "-c", PYTHON(" -u " K8S_FILES "/driver.py")));
    json_object_set_new(main, "resources", json_pack("{s:{s:s, s:s}, s:{s:s, s:s}}", "requests",
        "cpu", "200m", "memory", "256Mi", "limits", "cpu", "1", "memory", "1Gi"));
    driver_environment(plan, site, json_object_get(main, "env"));
    drop_secrets(json_object_get(main, "volumeMounts"));
    drop_secrets(json_object_get(spec, "volumes"));
    json_object_del(spec, "resourceClaims");
    return driver;
}

/* ---- the object ------------------------------------------------------------------------------------ */

static json_t *start_params(const struct sw_plan *plan)
{
    return sw_json_object(SW_SUB("num-gpus", json_sprintf("%d", plan->gpus)));
}

static json_t *workers(const struct sw_plan *plan, const json_t *pod)
{
    return plan->nodes < 2 ? json_array() : json_pack("[o]", sw_json_object(
        SW_STR("groupName", "workers"), SW_INT("replicas", plan->nodes - 1),
        SW_INT("minReplicas", plan->nodes - 1), SW_INT("maxReplicas", plan->nodes - 1),
        SW_SUB("rayStartParams", start_params(plan)), SW_SUB("template", node_pod(pod))));
}

static json_t *cluster_spec(const struct sw_plan *plan, const struct k8s_site *site, const json_t *pod)
{
    const char *version = sw_json_str(plan->ray_cluster, "version");

    return sw_json_object(
        SW_STR("rayVersion", version ? version : ASSUMED_VERSION),
        SW_SUB("authOptions", site->no_ray_auth ? NULL : sw_json_object(SW_STR("mode", "token"))),
        SW_SUB("headGroupSpec", sw_json_object(SW_STR("serviceType", "ClusterIP"),
                                               SW_SUB("rayStartParams", start_params(plan)),
                                               SW_SUB("template", head_pod(pod)))),
        SW_SUB("workerGroupSpecs", workers(plan, pod)));
}

json_t *k8s_render_rayjob(const struct sw_plan *plan, const struct k8s_site *site, json_t *pod,
                          struct sw_error *err)
{
    sw_auto(json) json_t *template = pod;
    sw_autofree char *entrypoint = entrypoint_of(site);
    char name[K8S_NAME_SIZE];
    json_t *spec;

    (void)err;
    k8s_name(name, plan->job_id, site->attempt);
    spec = sw_json_object(
        SW_STR("jobId", name), SW_STR("entrypoint", entrypoint), SW_STR("submissionMode", "K8sJobMode"),
        SW_SUB("submitterPodTemplate", driver_pod(plan, site, template)),
        SW_SUB("submitterConfig", sw_json_object(SW_INT("backoffLimit", 0))), SW_INT("backoffLimit", 0));
    if (site->ray_cluster) {
        json_object_set_new(spec, "clusterSelector",
                            sw_json_object(SW_STR("ray.io/cluster", site->ray_cluster)));
        return spec;
    }
    json_object_set_new(spec, "suspend", json_true());
    json_object_set_new(spec, "shutdownAfterJobFinishes", json_true());
    json_object_set_new(spec, "rayClusterSpec", cluster_spec(plan, site, template));
    return spec;
}

/* What KubeRay hands on to the cluster: which scheduler starts its pods together, and who writes commands. */
void k8s_ray_marks(const struct sw_plan *plan, const struct k8s_job_options *options, json_t *labels,
                   json_t *notes)
{
    bool volcano = sw_text_same(options->scheduler, "volcano");

    json_object_set_new(notes, K8S_NOTE_NODES, json_sprintf("%d", k8s_ray_pods(plan)));
    if (k8s_ray_named(plan))
        return;
    json_object_set_new(notes, "ray.io/overwrite-container-cmd", json_string("true"));
    if (k8s_ray_stays(plan))
        json_object_set_new(labels, K8S_LABEL_RAY, json_string(plan->name));
    if (options->scheduler)
        json_object_set_new(labels, "ray.io/gang-scheduling-enabled", json_string("true"));
    if (options->scheduler && options->priority_class)
        json_object_set_new(labels, "ray.io/priority-class-name", sw_json_text(options->priority_class));
    if (volcano && options->queue)
        json_object_set_new(labels, "volcano.sh/queue-name", sw_json_text(options->queue));
}

/* ---- and back -------------------------------------------------------------------------------------- */

int k8s_rank_ray(const json_t *pod)
{
    const char *type = k8s_label(pod, "ray.io/node-type");

    if (sw_text_same(k8s_label(pod, K8S_LABEL_ROLE), ROLE_DRIVER))
        return 0;
    if (sw_text_same(type, "head"))
        return 1;
    return sw_text_same(type, "worker") ? K8S_RANK_BY_NAME : -1;
}

/* Where the driver left no report: what KubeRay says of the end. */
static const struct {
    const char *said, *reason, *ours;
} ends[] = {
    { "ValidationFailed", SW_REASON_REFUSED, "KubeRay rejected it" },
    { "PreRunningDeadlineExceeded", SW_REASON_NOT_STARTED, "its Ray cluster was not complete in time" },
    { "SubmissionFailed", SW_REASON_LOST, "the Ray cluster did not run its driver to the end" },
    { "AppFailed", SW_REASON_LOST, "Ray lost its driver" },
    { "", SW_REASON_LOST, "KubeRay ended it" },
};

void k8s_ray_end(const struct k8s_workload *workload, struct sw_observation *seen)
{
    bool lost = sw_text_same(sw_json_str(seen->runner, "phase"), "lost");
    size_t row = 0;

    if (workload->phase != K8S_FAILED || seen->failed_replica > 0 ||
        (sw_report_is_last(seen->runner) && !lost))
        return;
    while (*ends[row].said && !sw_text_same(workload->reason, ends[row].said))
        row++;
    seen->state = SW_ERROR;
    seen->exit_code = SW_NO_EXIT_CODE;
    snprintf(seen->reason, sizeof seen->reason, "%s", ends[row].reason);
    snprintf(seen->message, sizeof seen->message, "%s%s%.180s", ends[row].ours,
             *workload->message ? ": " : "", workload->message);
}
