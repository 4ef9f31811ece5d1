/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_engines.c - one pod template in, the object that runs it out. Pure.
 *
 * Restarts without a client: evictions and lost nodes begin again, a program that fails does not. A Job of
 * one pod makes a new pod; several nodes only make sense together, so a JobSet (or Volcano) restarts all of
 * them, and a plain Job of several nodes, a PyTorchJob and an MPIJob fail at once and leave the next attempt
 * to the client.
 *
 * No object has activeDeadlineSeconds: it would count the time in a queue. The runner knows how long a job
 * may run.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <stdlib.h>

#include "base/text.h"

/* Retries that are left to this attempt; 0: evictions are not retried. */
static int restarts_left(const struct sw_plan *plan, const struct k8s_site *site)
{
    const json_t *on = json_object_get(plan->retry, "on");
    int most = (int)sw_json_int(plan->retry, "max", 3) - (site->attempt > 1 ? site->attempt - 1 : 0);
    bool wanted = !json_is_array(on);
    size_t i;
    json_t *cause;

    json_array_foreach(on, i, cause)
        wanted = wanted || sw_text_same(json_string_value(cause), "preempted") ||
                 sw_text_same(json_string_value(cause), "node");
    return wanted && most > 0 ? most : 0;
}

/* 0 would mean "at once": then the field is left out. */
static json_t *ttl(const struct sw_plan *plan)
{
    int64_t keep_ms = plan->keep_ms > 0 ? plan->keep_ms : k8s_job_options(plan->options).ttl_ms;

    return keep_ms > 0 ? json_integer((keep_ms + 999) / 1000) : NULL;
}

/* ---- Job and JobSet ------------------------------------------------------------------------------ */

static json_t *failure_policy(const char *on_disruption)
{
    return json_pack("{s:[{s:s, s:[{s:s, s:s}]}, {s:s, s:{s:s, s:s, s:[i]}}]}", "rules",
                     "action", on_disruption, "onPodConditions", "type", "DisruptionTarget", "status", "True",
                     "action", "FailJob", "onExitCodes", "containerName", K8S_CONTAINER, "operator", "NotIn",
                     "values", 0);
}

static json_t *job_spec(const struct sw_plan *plan, json_t *pod, bool indexed, int restarts,
                        const char *on_disruption)
{
    return sw_json_object(
        SW_SUB("completionMode", indexed ? json_string("Indexed") : NULL),
        SW_INT("completions", plan->nodes), SW_INT("parallelism", plan->nodes),
        SW_INT("backoffLimit", restarts), SW_STR("podReplacementPolicy", "Failed"),
        SW_SUB("podFailurePolicy", failure_policy(on_disruption)), SW_SUB("template", pod));
}

static json_t *render_job(const struct sw_plan *plan, const struct k8s_site *site, json_t *pod,
                          struct sw_error *err)
{
    bool gang = plan->nodes > 1;
    char name[K8S_NAME_SIZE];
    json_t *spec = job_spec(plan, pod, gang, gang ? 0 : restarts_left(plan, site),
                            gang ? "FailJob" : "Count");

    (void)err;
    k8s_name(name, plan->job_id, site->attempt);
    if (gang)
        json_object_set_new(json_object_get(pod, "spec"), "subdomain", json_string(name));
    json_object_set_new(spec, "suspend", json_true());
    json_object_set_new(spec, "ttlSecondsAfterFinished", ttl(plan));       /* NULL is not set */
    return spec;
}

/* The Job in it fails with another reason for an eviction (BackoffLimitExceeded) than for a program that
 * failed (PodFailurePolicy): only the first restarts the set. */
static json_t *render_jobset(const struct sw_plan *plan, const struct k8s_site *site, json_t *pod,
                             struct sw_error *err)
{
    json_t *inner = sw_json_object(SW_SUB("spec", job_spec(plan, pod, true, 0, "Count")));
    json_t *rule = json_pack("{s:s, s:s, s:[s]}", "name", "program", "action", "FailJobSet",
                             "onJobFailureReasons", "PodFailurePolicy");

    (void)err;
    return sw_json_object(
        SW_SUB("replicatedJobs", json_pack("[{s:s, s:i, s:o}]", "name", "node", "replicas", 1, "template",
                                           inner)),
        SW_SUB("network", json_pack("{s:b, s:b}", "enableDNSHostnames", 1, "publishNotReadyAddresses", 1)),
        SW_SUB("failurePolicy", json_pack("{s:i, s:[o]}", "maxRestarts", restarts_left(plan, site), "rules",
                                          rule)),
        SW_BOOL("suspend", true), SW_SUB("ttlSecondsAfterFinished", ttl(plan)));
}

/* ---- PyTorchJob and MPIJob ----------------------------------------------------------------------- */

/* Running: when the job is over, ranks that still run are ended and the others stay, with their logs. */
static json_t *run_policy(const struct sw_plan *plan)
{
    return sw_json_object(SW_BOOL("suspend", true), SW_STR("cleanPodPolicy", "Running"),
                          SW_INT("backoffLimit", 0), SW_SUB("ttlSecondsAfterFinished", ttl(plan)));
}

static json_t *replicas(int count, json_t *pod)
{
    json_object_del(json_object_get(pod, "spec"), "restartPolicy");
    return count > 0 ? sw_json_object(SW_INT("replicas", count), SW_STR("restartPolicy", "Never"),
                                      SW_SUB("template", json_deep_copy(pod)))
                     : NULL;
}

static int processes(const struct sw_plan *plan)     /* of one node */
{
    return plan->gpus > 0 ? plan->gpus : 1;
}

static json_t *main_container(const json_t *pod)
{
    return json_array_get(json_object_get(json_object_get(pod, "spec"), "containers"), 0);
}

/* The operator sets WORLD_SIZE itself: nodes, unless nprocPerNode is given. */
static json_t *render_pytorchjob(const struct sw_plan *plan, const struct k8s_site *site, json_t *pod,
                                 struct sw_error *err)
{
    sw_auto(json) json_t *template = pod;
    json_t *main = main_container(template);
    const char *given = sw_json_str(plan->env, "MASTER_PORT");
    int port = given ? atoi(given) : k8s_job_options(plan->options).master_port;

    (void)site, (void)err;
    json_object_set_new(main, "ports",
                        json_pack("[{s:s, s:i}]", "name", "pytorchjob-port", "containerPort", port));
    return sw_json_object(
        SW_SUB("runPolicy", run_policy(plan)),
        SW_SUB("nprocPerNode", plan->world_size_ranks ? json_sprintf("%d", processes(plan)) : NULL),
        SW_SUB("pytorchReplicaSpecs", sw_json_object(SW_SUB("Master", replicas(1, template)),
                                                     SW_SUB("Worker", replicas(plan->nodes - 1, template)))));
}

/* The first node is launcher and worker; the runner is there, and starts the command, which calls mpirun.
 * The other nodes run the image's sshd. */
static json_t *render_mpijob(const struct sw_plan *plan, const struct k8s_site *site, json_t *pod,
                             struct sw_error *err)
{
    sw_auto(json) json_t *launcher = pod, *worker = json_deep_copy(pod);
    json_t *sshd = main_container(worker);

    (void)site, (void)err;
    json_object_set_new(sshd, "command", json_pack("[ss]", "/usr/sbin/sshd", "-De"));
    json_object_del(sshd, "args");
    json_object_del(json_object_get(worker, "spec"), "initContainers");
    return sw_json_object(
        SW_INT("slotsPerWorker", processes(plan)), SW_BOOL("runLauncherAsWorker", true),
        SW_STR("launcherCreationPolicy", plan->nodes > 1 ? "WaitForWorkersReady" : "AtStartup"),
        SW_SUB("runPolicy", run_policy(plan)),
        SW_SUB("mpiReplicaSpecs", sw_json_object(SW_SUB("Launcher", replicas(1, launcher)),
                                                 SW_SUB("Worker", replicas(plan->nodes - 1, worker)))));
}

/* ---- TrainJob ------------------------------------------------------------------------------------ */

/* The pod is the runtime's; a TrainJob can change only some of it. */
static const char *const not_in_trainjob[] = {
    "security_context", "pod_security_context", "user", "read_only", "affinity", "topology_spread", "pod",
    "resource_claims", "priority_class", "scheduler", "runtime_class", "host_network", "image_pull_secret",
    "runner_image",
};

static bool is_said(const json_t *value)
{
    return json_is_true(value) || json_is_object(value) || json_is_array(value) ||
           !sw_text_empty(json_string_value(value));
}

static int check_trainjob(const struct sw_plan *plan, struct sw_error *err)
{
    for (size_t i = 0; i < SW_COUNT(not_in_trainjob); i++)
        if (is_said(json_object_get(plan->options, not_in_trainjob[i]))) {
            sw_fail(err, SW_E_SPEC, "engine trainjob cannot change kubernetes.%s of a pod",
                    not_in_trainjob[i]);
            return sw_hint(err, "set it in the runtime '%s', or use another engine",
                           k8s_job_options(plan->options).runtime_ref);
        }
    if (plan->gpu_type || json_array_size(plan->avoid)) {
        sw_fail(err, SW_E_SPEC, "engine trainjob cannot choose nodes by GPU type or by name");
        return sw_hint(err, "use kubernetes.node_selector, or another engine");
    }
    return 0;
}

static json_t *pod_overrides(const struct k8s_site *site, const json_t *spec, const json_t *main)
{
    json_t *selector = json_object_get(spec, "nodeSelector");
    json_t *nodes = selector ? json_copy(selector) : json_object();

    if (site->arch)
        json_object_set_new(nodes, "kubernetes.io/arch", json_string(site->arch));
    return json_pack("[o]", sw_json_object(
        SW_SUB("targetJobs", json_pack("[{s:s}]", "name", "node")),
        SW_SUB_COPY("serviceAccountName", json_object_get(spec, "serviceAccountName")),
        SW_SUB("nodeSelector", nodes),
        SW_SUB_COPY("tolerations", json_object_get(spec, "tolerations")),
        SW_SUB_COPY("volumes", json_object_get(spec, "volumes")),
        SW_SUB("containers", json_pack("[{s:s, s:O}]", "name", "node", "volumeMounts",
                                       json_object_get(main, "volumeMounts")))));
}

static json_t *render_trainjob(const struct sw_plan *plan, const struct k8s_site *site, json_t *pod,
                               struct sw_error *err)
{
    sw_auto(json) json_t *template = pod;
    const json_t *main = main_container(template);
    const char *runtime = k8s_job_options(plan->options).runtime_ref;
    json_t *metadata = json_object_get(template, "metadata");

    if (check_trainjob(plan, err) < 0)
        return NULL;
    return sw_json_object(
        SW_SUB("runtimeRef", sw_json_object(SW_STR("name", runtime ? runtime : "torch-distributed"))),
        SW_SUB("trainer", sw_json_object(
            SW_STR("image", plan->image), SW_SUB_COPY("command", json_object_get(main, "command")),
            SW_SUB_COPY("args", json_object_get(main, "args")),
            SW_SUB_COPY("env", json_object_get(main, "env")),
            SW_INT("numNodes", plan->nodes), SW_INT("numProcPerNode", processes(plan)),
            SW_SUB_COPY("resourcesPerNode", json_object_get(main, "resources")))),
        SW_SUB_COPY("labels", json_object_get(metadata, "labels")),
        SW_SUB("podSpecOverrides", pod_overrides(site, json_object_get(template, "spec"), main)),
        SW_BOOL("suspend", true));
}

/* ---- Volcano ------------------------------------------------------------------------------------- */

/* maxRetry 0 counts as not given, so without restarts an eviction ends the job, too. */
static json_t *render_volcano(const struct sw_plan *plan, const struct k8s_site *site, json_t *pod,
                              struct sw_error *err)
{
    struct k8s_job_options options = k8s_job_options(plan->options);
    int restarts = restarts_left(plan, site);
    json_t *spec = json_object_get(pod, "spec");

    (void)err;
    json_object_del(spec, "schedulerName");    /* the object says it for all tasks */
    return sw_json_object(
        SW_STR("schedulerName", options.scheduler ? options.scheduler : "volcano"),
        SW_INT("minAvailable", plan->nodes), SW_STR_OPT("queue", options.queue),
        SW_STR_OPT("priorityClassName", options.priority_class),
        SW_SUB("maxRetry", restarts ? json_integer(restarts) : NULL),
        SW_SUB("ttlSecondsAfterFinished", ttl(plan)),
        SW_SUB("plugins", json_pack("{s:[], s:[]}", "svc", "env")),
        SW_SUB("policies", json_pack("[{s:s, s:s}, {s:s, s:s}]",
            "event", "PodEvicted", "action", restarts ? "RestartJob" : "TerminateJob",
            "event", "PodFailed", "action", "TerminateJob")),
        SW_SUB("tasks", json_pack("[{s:s, s:i, s:o}]", "name", "node", "replicas", plan->nodes, "template",
                                  pod)));
}

/* ---- rendezvous ---------------------------------------------------------------------------------- */

void k8s_host(const struct k8s_engine *engine, const struct sw_plan *plan, int attempt, int rank,
              struct sw_buf *out)
{
    bool own = rank == 0 && engine->first;     /* the first one has a name of its own */
    char name[K8S_NAME_SIZE];

    k8s_name(name, plan->job_id, attempt);
    if (own)
        sw_buf_addf(out, "%s%s", name, engine->first);
    else if (engine->others)
        sw_buf_addf(out, "%s%s%d", name, engine->others, engine->first ? rank - 1 : rank);
    if (engine->others)
        sw_buf_addf(out, ".%s", name);
}

/* ---- the table ----------------------------------------------------------------------------------- */

const struct k8s_engine k8s_engines[] = {
    { K8S_JOB, "job", "batch", "v1", "Job", "jobs", K8S_CONTAINER, "spec.suspend", NULL, NULL, "-", true,
      render_job, k8s_read_job, k8s_rank_index },
    { K8S_JOBSET, "jobset", "jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", K8S_CONTAINER, "spec.suspend",
      NULL, NULL, "-node-0-", false, render_jobset, k8s_read_jobset, k8s_rank_index },
    { K8S_PYTORCHJOB, "pytorchjob", "kubeflow.org", "v1", "PyTorchJob", "pytorchjobs", "pytorch",
      "spec.runPolicy.suspend", "RANK", "-master-0", NULL, false, render_pytorchjob, k8s_read_kubeflow,
      k8s_rank_kubeflow },
    { K8S_TRAINJOB, "trainjob", "trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs", "node",
      "spec.suspend", NULL, NULL, "-node-0-", false, render_trainjob, k8s_read_trainjob, k8s_rank_index },
    { K8S_MPIJOB, "mpijob", "kubeflow.org", "v2beta1", "MPIJob", "mpijobs", K8S_CONTAINER,
      "spec.runPolicy.suspend", "", "-launcher", "-worker-", false, render_mpijob, k8s_read_kubeflow,
      k8s_rank_kubeflow },
    { K8S_VOLCANO, "volcano", "batch.volcano.sh", "v1alpha1", "Job", "jobs", K8S_CONTAINER, NULL,
      "VC_TASK_INDEX", NULL, "-node-", false, render_volcano, k8s_read_volcano, k8s_rank_volcano },
    { K8S_RAYJOB, "rayjob", "ray.io", "v1", "RayJob", "rayjobs", K8S_CONTAINER, "spec.suspend", "",
      "-head-svc", NULL, false, k8s_render_rayjob, k8s_read_rayjob, k8s_rank_ray },
    { 0 }
};

static const struct k8s_engine *engine_of(enum k8s_engine_choice choice)
{
    const struct k8s_engine *row = k8s_engines;

    while (row->name && row->choice != choice)
        row++;
    return row->name ? row : NULL;
}

const struct k8s_engine *k8s_engine_named(const char *name)
{
    for (const struct k8s_engine *row = k8s_engines; row->name; row++)
        if (sw_text_same(row->name, name))
            return row;
    return NULL;
}

char *k8s_engine_api(const struct k8s_engine *engine)
{
    return sw_format("%s/%s", engine->group, engine->version);
}

char *k8s_engine_path(struct sw_connection *conn, const struct k8s_engine *engine, const char *name)
{
    sw_autofree char *api = k8s_engine_api(engine);

    return k8s_path(conn, api, engine->plural, name);
}

const struct k8s_engine *k8s_engine_for(const struct sw_plan *plan,
                                        bool (*has)(void *context, const char *group),
                                        void *context, struct sw_error *err)
{
    enum k8s_engine_choice said = k8s_job_options(plan->options).engine;
    const struct k8s_engine *row = engine_of(said != K8S_AUTO ? said
                                             : plan->launcher == SW_LAUNCHER_MPI ? K8S_MPIJOB
                                             : plan->launcher == SW_LAUNCHER_RAY ? K8S_RAYJOB
                                             : plan->nodes > 1 && has(context, "jobset.x-k8s.io") ? K8S_JOBSET
                                                                                                 : K8S_JOB);

    if (row->choice == K8S_JOB || has(context, row->group))
        return row;
    sw_fail(err, SW_E_SPEC, "the cluster has no %s (API group %s), which %s needs", row->kind, row->group,
            said != K8S_AUTO ? "kubernetes.engine"
            : plan->launcher == SW_LAUNCHER_RAY ? "launcher ray" : "launcher mpi");
    sw_hint(err, "install its operator there, or choose another engine");
    return NULL;
}
