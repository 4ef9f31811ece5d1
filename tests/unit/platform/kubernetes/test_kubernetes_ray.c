/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kubernetes_ray.c - `launcher: ray`: the RayJob that the server is sent (golden files), and its end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "../golden.h"
#include "scene.h"

static int begin(void **state)
{
    struct scene *scene = scene_new("example.org/ray:2.60.0");
    struct sw_plan *plan = scene->plan;

    free(plan->command);
    plan->command = sw_strdup("python train.py");
    plan->launcher = SW_LAUNCHER_RAY;
    plan->ray_cluster = json_pack("{s:s}", "version", "2.60.0");
    plan->nodes = 3;
    plan->gpus = 8;
    plan->cpus = 16;
    plan->memory_bytes = (int64_t)64 << 30;
    json_decref(plan->env);
    plan->env = json_pack("{s:s}", "NCCL_DEBUG", "INFO");
    *state = scene;
    return 0;
}

static void head_workers_and_driver_of_a_ray_job(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *object = NULL;

    json_array_append_new(scene->plan->secrets, json_string("HF_TOKEN"));
    scene->site.has_secrets = true;
    option(scene, "queue", json_string("team-queue"));
    option(scene, "volumes", json_pack("{s:{s:s}}", "/results", "source", "pvc:results"));
    object = object_of(scene, "rayjob");
    compare_document("rayjob", object);
}

static void one_node_is_a_head_and_an_old_operator_gets_no_token(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *object = NULL;

    scene->plan->nodes = 1;
    scene->plan->gpus = 0;
    json_decref(scene->plan->ray_cluster);
    scene->plan->ray_cluster = NULL;
    scene->site.no_ray_auth = true;
    scene->site.attempt = 2;
    object = object_of(scene, "rayjob");
    compare_document("rayjob-head", object);
    assert_int_equal(json_array_size(k8s_at(object, "spec/rayClusterSpec/workerGroupSpecs")), 0);
    assert_null(k8s_at(object, "spec/rayClusterSpec/authOptions"));
}

static void a_guest_of_a_cluster_has_one_pod_and_no_retries(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *object = NULL;

    json_object_set_new(scene->plan->ray_cluster, "name", json_string("shared"));
    scene->site.ray_cluster = "shared-x7k2m";
    option(scene, "queue", json_string("team-queue"));
    object = object_of(scene, "rayjob");
    compare_document("rayjob-guest", object);
    assert_null(k8s_at(object, "spec/rayClusterSpec"));
    assert_null(k8s_at(object, "spec/suspend"));
    assert_null(k8s_label(object, "kueue.x-k8s.io/queue-name"));
    assert_int_equal(json_integer_value(k8s_at(object, "spec/backoffLimit")), 0);
}

static void secrets_are_not_given_to_a_cluster_of_others(void **state)
{
    struct scene *scene = *state;
    struct sw_error err = { 0 };

    json_object_set_new(scene->plan->ray_cluster, "name", json_string("shared"));
    json_array_append_new(scene->plan->secrets, json_string("HF_TOKEN"));
    assert_null(k8s_render_object(scene->plan, &scene->site, k8s_engine_named("rayjob"), &err));
    assert_int_equal(err.code, SW_E_SPEC);
    assert_non_null(strstr(err.message, "'shared'"));
}

static void volcano_starts_the_pods_of_a_cluster_together(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *object = NULL;

    option(scene, "queue", json_string("team-queue"));
    option(scene, "scheduler", json_string("volcano"));
    option(scene, "priority_class", json_string("high"));
    object = object_of(scene, "rayjob");
    assert_null(k8s_label(object, "kueue.x-k8s.io/queue-name"));
    assert_string_equal(k8s_label(object, "volcano.sh/queue-name"), "team-queue");
    assert_string_equal(k8s_label(object, "ray.io/gang-scheduling-enabled"), "true");
    assert_string_equal(k8s_label(object, "ray.io/priority-class-name"), "high");
}

/* A script of ours in a golden file would only be another copy of it. */
static json_t *payload_of(const struct scene *scene)
{
    struct sw_error err = { 0 };
    sw_auto(sw_payload) struct sw_payload *payload = k8s_render_payload(scene->plan, &scene->site, &err);

    if (!payload)
        fail_msg("%s", err.message);
    return sw_payload_to_json(payload);
}

static void a_cluster_that_stays_waits_until_it_is_idle(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *payload = NULL, *object = NULL;
    const json_t *argv;

    json_object_set_new(scene->plan->ray_cluster, "keep", json_true());
    json_object_set_new(scene->plan->ray_cluster, "idle", json_string("90s"));
    free(sw_take(scene->plan->command));
    scene->plan->argv = json_array();
    payload = payload_of(scene);
    argv = json_object_get(payload, "argv");
    assert_int_equal(json_array_size(argv), 7);
    assert_non_null(strstr(json_string_value(json_array_get(argv, 4)), "list_jobs"));
    assert_string_equal(json_string_value(json_array_get(argv, 5)), "train-abcdefgh");
    assert_string_equal(json_string_value(json_array_get(argv, 6)), "90");
    object = object_of(scene, "rayjob");
    assert_string_equal(k8s_label(object, K8S_LABEL_RAY), "train");
}

static void files_of_a_cluster_have_what_its_nodes_run(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *data = json_object(), *guest = json_object(), *node = NULL;

    json_array_append_new(scene->plan->secrets, json_string("HF_TOKEN"));
    k8s_ray_files(scene->plan, data);
    assert_non_null(strstr(sw_json_str(data, "driver.py"), "JobSubmissionClient"));
    node = json_loads(sw_json_str(data, "node.json"), 0, NULL);
    compare_document("rayjob-node", node);
    json_object_set_new(scene->plan->ray_cluster, "name", json_string("shared"));
    k8s_ray_files(scene->plan, guest);
    assert_null(json_object_get(guest, "node.json"));
}

/* ---- how it ends ---------------------------------------------------------------------------------- */

/* Single quotes are easier to read here. */
static json_t *quoted(const char *text)
{
    sw_autofree char *copy = sw_strdup(text);
    json_t *document;

    for (char *at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    document = json_loads(copy, JSON_DECODE_ANY, NULL);
    assert_non_null(document);
    return document;
}

#define OBJECT(status) "{'metadata':{'name':'j','uid':'u1'," \
    "'labels':{'slipway.id':'j','slipway.attempt':'1'}," \
    "'annotations':{'slipway.sent':'1','slipway.nodes':'3'}},'spec':{'suspend':false},'status':{" status "}}"
#define SAYS(deployment, job, more) "'jobDeploymentStatus':'" deployment "','jobStatus':'" job "'" more
#define POD(name, label, phase, more) "{'metadata':{'name':'" name "','labels':{" label "}}," \
    "'spec':{'nodeName':'n'},'status':{'phase':'" phase "'" more "}}"
#define DRIVER(phase, more) POD("j-sub", "'slipway.role':'driver'", phase, more)
#define HEAD(phase, more) POD("j-head", "'ray.io/node-type':'head'", phase, more)
#define WORKER(name, phase, more) POD(name, "'ray.io/node-type':'worker'", phase, more)
#define IS_RUNNING ",'containerStatuses':[{'name':'slipway','state':{'running':{}}}]"
#define ENDED(code, report) ",'containerStatuses':[{'name':'slipway'," \
    "'state':{'terminated':{'exitCode':" code ",'message':'" report "'}}}]"
#define REPORT(more) "{\\u0022job_id\\u0022:\\u0022j\\u0022" more "}"
#define CODE(code) ",\\u0022phase\\u0022:\\u0022over\\u0022,\\u0022exit_code\\u0022:" code
#define LOST ",\\u0022phase\\u0022:\\u0022lost\\u0022,\\u0022exit_code\\u0022:74"
#define WAITS(why) ",'containerStatuses':[{'name':'slipway','state':{'waiting':{'reason':'" why "'}}}]"

static void every_story_of_a_ray_job_has_one_state(void **state)
{
    static const struct {
        const char *status, *pods;
        enum sw_state state;
        const char *reason, *message;
        int exit_code;
    } rows[] = {
        { SAYS("Initializing", "", ""), "[]", SW_PENDING, "starting", "its pods are not created yet", -1 },
        { SAYS("Initializing", "", ""), "[" HEAD("Pending", WAITS("ImagePullBackOff")) "]", SW_PENDING,
          "image-error", "rank 1: its image cannot be pulled", -1 },
        { SAYS("Initializing", "", ""), "[" HEAD("Running", IS_RUNNING) "," WORKER("w", "Running", IS_RUNNING)
          "]", SW_PENDING, "starting", "its driver starts when its Ray cluster is complete", -1 },
        { SAYS("Running", "", ""), "[" DRIVER("Pending", WAITS("ErrImagePull")) ","
          HEAD("Running", IS_RUNNING) "," WORKER("w", "Running", IS_RUNNING) "]", SW_PENDING, "image-error",
          "rank 0: its image cannot be pulled", -1 },
        { SAYS("Running", "RUNNING", ""), "[" DRIVER("Running", IS_RUNNING) ","
          HEAD("Running", IS_RUNNING) "," WORKER("w", "Running", IS_RUNNING) "]", SW_RUNNING, "", "", -1 },
        { SAYS("Complete", "SUCCEEDED", ""), "[" DRIVER("Succeeded", ENDED("0", REPORT(CODE("0")))) "]",
          SW_COMPLETE, "exit", "exit code 0", 0 },
        { SAYS("Failed", "FAILED", ",'reason':'AppFailed'"),
          "[" DRIVER("Failed", ENDED("3", REPORT(CODE("3")))) "]", SW_ERROR, "exit",
          "exited with code 3", 3 },
        { SAYS("Failed", "RUNNING", ",'reason':'SubmissionFailed','message':'backoff'"),
          "[" DRIVER("Failed", ENDED("74", REPORT(LOST))) "]", SW_ERROR, "lost",
          "the Ray cluster did not run its driver to the end: backoff", -1 },
        { SAYS("Failed", "", ",'reason':'SubmissionFailed'"), "[]", SW_ERROR, "lost",
          "the Ray cluster did not run its driver to the end", -1 },
        { SAYS("ValidationFailed", "", ",'reason':'ValidationFailed','message':'too long'"), "[]", SW_ERROR,
          "refused", "KubeRay rejected it: too long", -1 },
        { SAYS("Failed", "", ",'reason':'PreRunningDeadlineExceeded'"), "[]", SW_ERROR, "not-started",
          "its Ray cluster was not complete in time", -1 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *object = quoted(OBJECT("'x':0")), *pods = quoted(rows[i].pods);
        sw_autofree char *status = sw_format("{%s}", rows[i].status);
        const struct k8s_seen known = { .engine = k8s_engine_named("rayjob"), .object = object,
                                        .pods = pods };
        struct sw_observation seen = { .job = { .id = "j", .attempt = 1, .remote_id = "u1" } };

        json_object_set_new(object, "status", quoted(status));
        k8s_judge(&known, &seen);
        if (seen.state != rows[i].state || strcmp(seen.reason, rows[i].reason) != 0 ||
            strcmp(seen.message, rows[i].message) != 0 || seen.exit_code != rows[i].exit_code)
            fail_msg("row %zu: state %d, reason '%s', message '%s', code %d", i, seen.state, seen.reason,
                     seen.message, seen.exit_code);
        sw_observation_done(&seen);
    }
}

static void workers_are_ranked_by_their_names(void **state)
{
    sw_auto(json) json_t *object = quoted(OBJECT("'x':0"));
    sw_auto(json) json_t *pods = quoted("[" WORKER("b", "Running", "") "," HEAD("Running", "") ","
                                        WORKER("a", "Running", "") "," DRIVER("Running", "") "]");
    const struct k8s_seen known = { .engine = k8s_engine_named("rayjob"), .object = object, .pods = pods };
    static const char *const names[] = { "j-sub", "j-head", "a", "b" };

    (void)state;
    for (int rank = 0; rank < 4; rank++)
        assert_string_equal(k8s_meta(k8s_pod_of(&known, rank, -1), "name"), names[rank]);
    assert_null(k8s_pod_of(&known, 4, -1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, scene_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(head_workers_and_driver_of_a_ray_job),
        TEST(one_node_is_a_head_and_an_old_operator_gets_no_token),
        TEST(a_guest_of_a_cluster_has_one_pod_and_no_retries),
        TEST(secrets_are_not_given_to_a_cluster_of_others),
        TEST(volcano_starts_the_pods_of_a_cluster_together),
        TEST(a_cluster_that_stays_waits_until_it_is_idle),
        TEST(files_of_a_cluster_have_what_its_nodes_run),
        cmocka_unit_test(every_story_of_a_ray_job_has_one_state),
        cmocka_unit_test(workers_are_ranked_by_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
