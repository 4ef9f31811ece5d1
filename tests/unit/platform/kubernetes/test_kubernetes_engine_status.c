/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kubernetes_engine_status.c - every status that an engine's object can have, and the ranks of its pods.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "platform/kubernetes/kubernetes_internal.h"

#define IS(type)     "{\"conditions\": [{\"type\": \"" type "\", \"status\": \"True\"}]"
#define RAY(deployment, job) "{\"jobDeploymentStatus\": \"" deployment "\", \"jobStatus\": \"" job "\"}"
#define PHASE(phase) "{\"state\": {\"phase\": \"" phase "\"}"

static void the_status_decides_the_phase(void **state)
{
    static const struct { const char *engine, *spec, *status; int phase, restarts; } rows[] = {
        { "job", "{}", "{}", K8S_WAITING, 0 },
        { "job", "{\"suspend\": true}", "{}", K8S_SUSPENDED, 0 },
        { "job", "{}", IS("Suspended") "}", K8S_SUSPENDED, 0 },
        { "job", "{}", "{\"active\": 1}", K8S_WAITING, 0 },
        { "job", "{}", "{\"active\": 1, \"ready\": 1}", K8S_ACTIVE, 0 },
        { "job", "{}", "{\"active\": 1, \"ready\": 1, \"failed\": 2}", K8S_ACTIVE, 2 },
        { "job", "{}", IS("Complete") ", \"failed\": 1}", K8S_SUCCEEDED, 1 },
        { "job", "{}", IS("FailureTarget") ", \"failed\": 1}", K8S_ACTIVE, 1 },
        { "job", "{}", IS("Failed") ", \"failed\": 3}", K8S_FAILED, 2 },
        { "job", "{}", IS("Failed") "}", K8S_FAILED, 0 },
        { "job", "{\"parallelism\": 3}", IS("Failed") ", \"failed\": 3}", K8S_FAILED, 0 },
        { "jobset", "{}", "{}", K8S_WAITING, 0 },
        { "jobset", "{\"suspend\": true}", "{}", K8S_SUSPENDED, 0 },
        { "jobset", "{}", "{\"restarts\": 2, \"replicatedJobsStatus\": [{\"active\": 1, \"ready\": 0}]}",
          K8S_WAITING, 2 },
        { "jobset", "{}", "{\"restarts\": 2, \"replicatedJobsStatus\": [{\"ready\": 1}]}", K8S_ACTIVE, 2 },
        { "jobset", "{}", IS("Completed") ", \"restarts\": 1}", K8S_SUCCEEDED, 1 },
        { "jobset", "{}", IS("Failed") "}", K8S_FAILED, 0 },
        { "trainjob", "{\"suspend\": true}", "{}", K8S_SUSPENDED, 0 },
        { "trainjob", "{}", "{\"jobsStatus\": [{\"name\": \"node\", \"ready\": 1}]}", K8S_ACTIVE, 0 },
        { "trainjob", "{}", IS("Complete") "}", K8S_SUCCEEDED, 0 },
        { "trainjob", "{}", IS("Failed") "}", K8S_FAILED, 0 },
        { "pytorchjob", "{\"runPolicy\": {\"suspend\": true}}", "{}", K8S_SUSPENDED, 0 },
        { "pytorchjob", "{}", IS("Created") "}", K8S_WAITING, 0 },
        { "pytorchjob", "{}", IS("Running") "}", K8S_ACTIVE, 0 },
        { "pytorchjob", "{}", IS("Succeeded") "}", K8S_SUCCEEDED, 0 },
        { "mpijob", "{}", IS("Failed") "}", K8S_FAILED, 0 },
        { "mpijob", "{}", IS("Suspended") "}", K8S_SUSPENDED, 0 },
        { "volcano", "{}", "{}", K8S_WAITING, 0 },
        { "volcano", "{}", PHASE("Pending") "}", K8S_WAITING, 0 },
        { "volcano", "{}", PHASE("Running") "}", K8S_ACTIVE, 0 },
        { "volcano", "{}", PHASE("Restarting") ", \"retryCount\": 1}", K8S_WAITING, 1 },
        { "volcano", "{}", PHASE("Completed") "}", K8S_SUCCEEDED, 0 },
        { "volcano", "{}", PHASE("Terminated") "}", K8S_FAILED, 0 },
        { "volcano", "{}", PHASE("Aborted") "}", K8S_FAILED, 0 },
        { "volcano", "{}", PHASE("Failed") ", \"retryCount\": 3}", K8S_FAILED, 3 },
        { "volcano", "{}", PHASE("SomethingNew") "}", K8S_WAITING, 0 },
        { "rayjob", "{\"suspend\": true}", "{}", K8S_SUSPENDED, 0 },
        { "rayjob", "{}", "{}", K8S_WAITING, 0 },
        { "rayjob", "{}", RAY("Initializing", ""), K8S_WAITING, 0 },
        { "rayjob", "{}", RAY("Waiting", ""), K8S_WAITING, 0 },
        { "rayjob", "{}", RAY("Retrying", "FAILED"), K8S_WAITING, 0 },
        { "rayjob", "{\"suspend\": true}", RAY("Initializing", ""), K8S_SUSPENDED, 0 },
        { "rayjob", "{}", RAY("Suspending", ""), K8S_SUSPENDED, 0 },
        { "rayjob", "{}", RAY("Suspended", ""), K8S_SUSPENDED, 0 },
        { "rayjob", "{}", RAY("Running", ""), K8S_WAITING, 0 },
        { "rayjob", "{}", RAY("Running", "PENDING"), K8S_WAITING, 0 },
        { "rayjob", "{}", RAY("Running", "RUNNING"), K8S_ACTIVE, 0 },
        { "rayjob", "{}", RAY("Complete", "SUCCEEDED"), K8S_SUCCEEDED, 0 },
        { "rayjob", "{}", RAY("Complete", "STOPPED"), K8S_FAILED, 0 },
        { "rayjob", "{}", RAY("Complete", "FAILED"), K8S_FAILED, 0 },
        { "rayjob", "{}", RAY("Failed", "RUNNING"), K8S_FAILED, 0 },
        { "rayjob", "{}", RAY("ValidationFailed", ""), K8S_FAILED, 0 },
        { "rayjob", "{}", RAY("SomethingNew", "RUNNING"), K8S_WAITING, 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *object = json_pack("{s:o, s:o}", "spec", json_loads(rows[i].spec, 0, NULL),
                                                 "status",
                                                 json_loads(rows[i].status, 0, NULL));
        struct k8s_workload seen;

        assert_non_null(object);
        k8s_engine_named(rows[i].engine)->read(object, &seen);
        if (seen.phase != (enum k8s_phase)rows[i].phase || seen.restarts != rows[i].restarts)
            fail_msg("row %zu (%s): phase %d, %d restarts", i, rows[i].engine, seen.phase, seen.restarts);
    }
}

static void reason_times_and_marks_are_read(void **state)
{
    sw_auto(json) json_t *object = json_loads(
        "{\"metadata\": {\"creationTimestamp\": \"2026-01-02T03:04:00Z\","
        " \"deletionTimestamp\": \"2026-01-02T03:05:00Z\", \"annotations\": {\"slipway.sent\": \"1\"}},"
        " \"status\": {\"startTime\": \"2026-01-02T03:04:01Z\", \"failed\": 1, \"conditions\": ["
        "  {\"type\": \"Complete\", \"status\": \"False\"},"
        "  {\"type\": \"Failed\", \"status\": \"True\", \"reason\": \"PodFailurePolicy\","
        "   \"message\": \"exit code 3\", \"lastTransitionTime\": \"2026-01-02T03:04:05Z\"}]}}", 0, NULL);
    struct k8s_workload seen;

    (void)state;
    k8s_engine_named("job")->read(object, &seen);
    assert_int_equal(seen.phase, K8S_FAILED);
    assert_string_equal(seen.reason, "PodFailurePolicy");
    assert_string_equal(seen.message, "exit code 3");
    assert_int_equal(seen.ended_ms - seen.started_ms, 4000);
    assert_int_equal(seen.started_ms - seen.created_ms, 1000);
    assert_true(seen.sent && seen.deleting);
}

static void a_volcano_job_began_when_it_first_ran(void **state)
{
    sw_auto(json) json_t *object = json_loads(
        "{\"status\": {\"state\": {\"phase\": \"Completed\","
        " \"lastTransitionTime\": \"2026-01-02T03:04:09Z\"},"
        " \"conditions\": [{\"status\": \"Pending\"},"
        " {\"status\": \"Running\", \"lastTransitionTime\": \"2026-01-02T03:04:02Z\"}]}}", 0, NULL);
    struct k8s_workload seen;

    (void)state;
    k8s_engine_named("volcano")->read(object, &seen);
    assert_int_equal(seen.ended_ms - seen.started_ms, 7000);
}

#define KUBEFLOW "training.kubeflow.org/"

static void pods_know_their_rank(void **state)
{
    static const struct { const char *engine, *metadata; int rank; } rows[] = {
        { "job", "{}", 0 },
        { "job", "{\"annotations\": {\"batch.kubernetes.io/job-completion-index\": \"2\"}}", 2 },
        { "job", "{\"labels\": {\"batch.kubernetes.io/job-completion-index\": \"3\"}}", 3 },
        { "jobset", "{\"labels\": {\"batch.kubernetes.io/job-completion-index\": \"x\"}}", -1 },
        { "jobset", "{\"labels\": {\"batch.kubernetes.io/job-completion-index\": \"99999\"}}", -1 },
        { "trainjob", "{\"annotations\": {\"batch.kubernetes.io/job-completion-index\": \"1\"}}", 1 },
        { "pytorchjob",
          "{\"labels\": {\"" KUBEFLOW "replica-type\": \"master\", \"" KUBEFLOW "replica-index\": \"0\"}}",
          0 },
        { "pytorchjob",
          "{\"labels\": {\"" KUBEFLOW "replica-type\": \"worker\", \"" KUBEFLOW "replica-index\": \"0\"}}",
          1 },
        { "mpijob", "{\"labels\": {\"" KUBEFLOW "job-role\": \"launcher\"}}", 0 },
        { "mpijob",
          "{\"labels\": {\"" KUBEFLOW "job-role\": \"worker\", \"" KUBEFLOW "replica-index\": \"4\"}}", 5 },
        { "mpijob", "{}", -1 },
        { "volcano", "{\"labels\": {\"volcano.sh/task-index\": \"1\"}}", 1 },
        { "volcano", "{\"annotations\": {\"volcano.sh/task-index\": \"1\"}}", 1 },
        { "volcano", "{}", -1 },
        { "rayjob", "{\"labels\": {\"slipway.role\": \"driver\"}}", 0 },
        { "rayjob", "{\"labels\": {\"ray.io/node-type\": \"head\"}}", 1 },
        { "rayjob", "{\"labels\": {\"ray.io/node-type\": \"worker\"}}", K8S_RANK_BY_NAME },
        { "rayjob", "{}", -1 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *pod = json_pack("{s:o}", "metadata", json_loads(rows[i].metadata, 0, NULL));

        if (k8s_engine_named(rows[i].engine)->rank(pod) != rows[i].rank)
            fail_msg("row %zu (%s)", i, rows[i].engine);
    }
}

static bool cluster_has(void *groups, const char *group)
{
    return strstr(groups, group) != NULL;
}

static void the_engine_follows_from_the_job_and_the_cluster(void **state)
{
    static const struct { int nodes, launcher; const char *engine, *groups, *chosen; } rows[] = {
        { 1, SW_LAUNCHER_NONE, "auto", "jobset.x-k8s.io", "job" },
        { 2, SW_LAUNCHER_NONE, "auto", "jobset.x-k8s.io", "jobset" },
        { 2, SW_LAUNCHER_NONE, "auto", "", "job" },
        { 2, SW_LAUNCHER_MPI, "auto", "kubeflow.org", "mpijob" },
        { 2, SW_LAUNCHER_MPI, "auto", "", NULL },
        { 2, SW_LAUNCHER_RAY, "auto", "ray.io jobset.x-k8s.io", "rayjob" },
        { 1, SW_LAUNCHER_RAY, "auto", "jobset.x-k8s.io", NULL },
        { 2, SW_LAUNCHER_NONE, "job", "jobset.x-k8s.io", "job" },
        { 1, SW_LAUNCHER_NONE, "jobset", "jobset.x-k8s.io", "jobset" },
        { 1, SW_LAUNCHER_NONE, "jobset", "", NULL },
        { 1, SW_LAUNCHER_NONE, "volcano", "batch.volcano.sh", "volcano" },
        { 1, SW_LAUNCHER_NONE, "trainjob", "batch.volcano.sh", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *options = json_pack("{s:s}", "engine", rows[i].engine);
        struct sw_plan plan = { .nodes = rows[i].nodes, .launcher = (enum sw_launcher)rows[i].launcher,
                                .options = options };
        struct sw_error err = { 0 };
        const struct k8s_engine *engine = k8s_engine_for(&plan, cluster_has, (void *)rows[i].groups, &err);

        assert_int_equal(engine == NULL, rows[i].chosen == NULL);
        if (engine)
            assert_string_equal(engine->name, rows[i].chosen);
        else
            assert_int_equal(err.code, SW_E_SPEC);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_status_decides_the_phase),
        cmocka_unit_test(reason_times_and_marks_are_read),
        cmocka_unit_test(a_volcano_job_began_when_it_first_ran),
        cmocka_unit_test(pods_know_their_rank),
        cmocka_unit_test(the_engine_follows_from_the_job_and_the_cluster),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
