/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kubernetes_render.c - what the server is sent, compared with files that are reviewed like code.
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
    *state = scene_new("nvcr.io/nvidia/pytorch:25.08-py3");
    return 0;
}

static void compare(const struct scene *scene, const char *engine, const char *name)
{
    sw_auto(json) json_t *object = object_of(scene, engine);

    compare_document(name, object);
}

static void assert_refused(const struct scene *scene, const char *engine, const char *words)
{
    struct sw_error err = { 0 };
    sw_auto(json) json_t *object = k8s_render_object(scene->plan, &scene->site, k8s_engine_named(engine),
                                                     &err);

    assert_null(object);
    assert_int_equal(err.code, SW_E_SPEC);
    if (!strstr(err.message, words))
        fail_msg("'%s' is not in '%s'", words, err.message);
}

/* The value at "a/b/0/c"; borrowed. */
static const json_t *at(const json_t *from, const char *path)
{
    sw_autofree char *copy = sw_strdup(path);
    char *rest = copy;

    for (char *word = strsep(&rest, "/"); word; word = strsep(&rest, "/"))
        from = json_is_array(from) ? json_array_get(from, (size_t)atoi(word)) : json_object_get(from, word);
    return from;
}

#define SPEC "spec/template/spec/"
#define MAIN SPEC "containers/0/"

/* ---- golden ---------------------------------------------------------------------------------- */

static void a_plain_job(void **state)
{
    compare(*state, "job", "job-plain");
}

static void give_everything(struct scene *scene)
{
    struct sw_plan *plan = scene->plan;

    plan->cpus = 2.5;
    plan->memory_bytes = 1 << 30;
    plan->shm_bytes = 1 << 28;
    plan->gpus = 2;
    plan->gpu_type = sw_strdup("H100");
    plan->keep_ms = 3600000;
    plan->signature = sw_strdup("c2lnbmVk");
    plan->avoid = json_pack("[s]", "node-7");
    plan->retry = json_pack("{s:i}", "max", 5);
    plan->mounts = json_pack("[s, s]", "/data:/mnt/data:ro", "cache:/root/.cache");
    json_object_set_new(plan->env, "GREETING", json_string("costs $5, $(HOME)"));
    json_object_set_new(plan->labels, "team", json_string("vision"));
    json_object_set_new(plan->labels, "what for", json_string("the paper, figure 3"));
    json_array_append_new(plan->secrets, json_string("HF_TOKEN"));
    scene->site.has_secrets = true;
    scene->site.pieces = 2;
    scene->site.pull_secret = "slipway-pull-0123456789ab";
    option(scene, "queue", json_string("team-queue"));
    option(scene, "queue_priority", json_string("high"));
    option(scene, "priority_class", json_string("batch"));
    option(scene, "service_account", json_string("trainer"));
    option(scene, "runtime_class", json_string("nvidia"));
    option(scene, "ephemeral", json_integer(1 << 20));
    option(scene, "pull", json_string("always"));
    option(scene, "security", json_string("restricted"));
    option(scene, "user", json_string("1000:100"));
    option(scene, "read_only", json_true());
    option(scene, "host_network", json_true());
    option(scene, "node_selector", json_pack("{s:s}", "pool", "gpu"));
    option(scene, "tolerations", json_pack("[{s:s, s:s}]", "key", "nvidia.com/gpu", "operator", "Exists"));
    option(scene, "topology_spread", json_pack("[{s:i, s:s, s:s}]", "maxSkew", 1, "topologyKey", "zone",
                                               "whenUnsatisfiable", "ScheduleAnyway"));
    option(scene, "affinity", json_pack("{s:{s:{s:[{s:[{s:s, s:s}]}, {s:[{s:s, s:s}]}]}}}", "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", "matchExpressions", "key", "a",
        "operator", "Exists", "matchExpressions", "key", "b", "operator", "Exists"));
    option(scene, "resource_claims", json_pack("[{s:s, s:s}]", "name", "fabric", "resourceClaimName",
                                               "imex"));
    option(scene, "volumes", json_pack("{s:{s:s}, s:{s:s, s:s, s:b}, s:{s:s}}", "/results", "source",
                                       "pvc:results/out",
        "/weights", "pvc", "results", "path", "weights", "read_only", 1, "/nfs", "source",
        "nfs:10.0.0.1:/export"));
    option(scene, "requests", json_pack("{s:s}", "rdma/ib", "1"));
    option(scene, "limits", json_pack("{s:s}", "rdma/ib", "1"));
    option(scene, "labels", json_pack("{s:s}", "cost-center", "42"));
    option(scene, "annotations", json_pack("{s:s}", "example.org/note", "any text"));
    option(scene, "pod", json_pack("{s:s, s:s}", "restartPolicy", "Always", "preemptionPolicy", "Never"));
}

static void a_job_with_everything(void **state)
{
    give_everything(*state);
    compare(*state, "job", "job-everything");
}

static void a_job_of_three_nodes(void **state)
{
    struct scene *scene = *state;

    scene->plan->nodes = 3;
    scene->plan->gpus = 8;
    scene->site.attempt = 2;
    compare(scene, "job", "job-nodes");
}

static void the_service_of_three_nodes(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *service = NULL, *owner = NULL;

    scene->plan->nodes = 3;
    service = k8s_render_service(scene->plan, &scene->site);
    owner = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "batch/v1", "kind", "Job", "metadata", "name",
                      "train-abcdefgh", "uid", "11111111-2222-3333-4444-555555555555");
    k8s_render_owned(service, owner);
    compare_document("service", service);
}

static void every_other_engine_with_two_nodes(void **state)
{
    static const char *const names[] = { "jobset", "pytorchjob", "trainjob", "mpijob", "volcano" };
    struct scene *scene = *state;

    scene->plan->nodes = 2;
    scene->plan->gpus = 8;
    option(scene, "queue", json_string("team-queue"));
    option(scene, "volumes", json_pack("{s:{s:s}}", "/results", "source", "pvc:results"));
    for (size_t i = 0; i < SW_COUNT(names); i++)
        compare(scene, names[i], names[i]);
}

static void a_runner_from_a_secret_or_an_image(void **state)
{
    struct scene *scene = *state;

    scene->site.restricted = true;
    option(scene, "runner", json_string("secret"));
    compare(scene, "job", "job-runner-secret");
    option(scene, "runner", json_string("image"));
    assert_refused(scene, "job", "runner_image");
    option(scene, "runner_image", json_string("example.org/slipway-runner:1"));
    scene->site.runner = NULL;
    compare(scene, "job", "job-runner-image");
}

static void the_payload_of_the_runner(void **state)
{
    struct scene *scene = *state;
    sw_auto(sw_payload) struct sw_payload *payload = NULL;
    sw_auto(json) json_t *document = NULL;

    scene->plan->nodes = 2;
    scene->plan->time_ms = 60000;
    scene->plan->code = json_pack("{s:s}", "root", ".");
    scene->site.pieces = 2;
    option(scene, "volumes", json_pack("{s:{s:s}, s:{s:s}}", "/shared", "source", "pvc:shared", "/own",
                                       "source", "empty"));
    json_array_append_new(scene->plan->outputs, json_pack("{s:s, s:s}", "path", "/results", "to",
                                                          "s3://b/r"));
    json_array_append_new(scene->plan->outputs, json_pack("{s:s, s:s}", "path", "/shared/out", "to",
                                                          "s3://b/s"));
    json_array_append_new(scene->plan->outputs, json_pack("{s:s, s:s}", "path", "/own/out", "to",
                                                          "s3://b/o"));
    payload = k8s_render_payload(scene->plan, &scene->site, NULL);
    assert_non_null(payload);
    document = sw_payload_to_json(payload);
    compare_document("payload", document);
}

/* ---- details ---------------------------------------------------------------------------------- */

static void names_derive_from_the_id(void **state)
{
    char name[K8S_NAME_SIZE];

    (void)state;
    k8s_name(name, "job-1", 1);
    assert_string_equal(name, "job-1");
    k8s_name(name, "job-1", 12);
    assert_string_equal(name, "job-1-a12");
}

static void evictions_are_tried_again_as_often_as_the_job_says(void **state)
{
    static const struct { const char *retry; int attempt, restarts; } rows[] = {
        { NULL, 1, 3 }, { NULL, 2, 2 }, { NULL, 9, 0 }, { "{\"max\": 0}", 1, 0 }, { "{\"max\": 7}", 1, 7 },
        { "{\"on\": [\"preempted\"]}", 1, 3 }, { "{\"on\": [\"network\", \"node\"]}", 1, 3 },
        { "{\"on\": [\"network\"]}", 1, 0 }, { "{\"on\": []}", 1, 0 },
    };
    struct scene *scene = *state;

    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *object = NULL;

        json_decref(scene->plan->retry);
        scene->plan->retry = rows[i].retry ? json_loads(rows[i].retry, 0, NULL) : NULL;
        scene->site.attempt = rows[i].attempt;
        object = object_of(scene, "job");
        assert_int_equal(json_integer_value(at(object, "spec/backoffLimit")), rows[i].restarts);
    }
}

static void a_ttl_of_zero_is_left_out(void **state)
{
    static const struct { int64_t keep_ms; const char *ttl; int seconds; } rows[] = {
        { 0, NULL, 7 * 86400 }, { 0, "0", 0 }, { 0, "1h", 3600 }, { 1500, "0", 2 }, { 60000, "1h", 60 },
    };
    struct scene *scene = *state;

    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *object = NULL;

        scene->plan->keep_ms = rows[i].keep_ms;
        if (rows[i].ttl)
            option(scene, "ttl", json_string(rows[i].ttl));
        object = object_of(scene, "job");
        assert_int_equal(json_integer_value(at(object, "spec/ttlSecondsAfterFinished")), rows[i].seconds);
        assert_true(!!at(object, "spec/ttlSecondsAfterFinished") == !!rows[i].seconds);
    }
}

static void gpus_of_a_type_go_where_the_cluster_has_them(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *products = json_pack("[s, s]", "NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe");
    sw_auto(json) json_t *object = NULL;
    const json_t *terms;

    scene->plan->gpus = 1;
    scene->plan->gpu_type = sw_strdup("h100");
    scene->site.gpu_products = products;
    object = object_of(scene, "job");
    terms = at(object,
               SPEC "affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
    assert_int_equal(json_array_size(terms), 1);
    assert_true(json_equal(at(terms, "0/matchExpressions/1/values"), products));
}

static void another_name_for_gpus_is_used(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *object = NULL;

    scene->plan->gpus = 3;
    option(scene, "gpu_resource", json_string("amd.com/gpu"));
    object = object_of(scene, "job");
    assert_string_equal(sw_json_str(at(object, MAIN "resources/limits"), "amd.com/gpu"), "3");
}

static void what_contradicts_the_job_is_refused(void **state)
{
    static const struct { const char *option, *value, *words; } rows[] = {
        { "limits", "{\"memory\": \"1Gi\"}", "memory" },
        { "limits", "{\"nvidia.com/gpu\": \"4\"}", "nvidia.com/gpu" },
        { "requests", "{\"cpu\": \"1\"}", "cpu" },
        { "requests", "{\"nvidia.com/gpu\": \"4\"}", "nvidia.com/gpu" },
        { "user", "\"me\"", "UID[:GID]" },
        { "user", "\"1000:\"", "UID[:GID]" },
    };

    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct scene *scene = *state;

        json_object_clear(scene->plan->options);
        scene->plan->memory_bytes = 1 << 20;
        scene->plan->cpus = 1;
        scene->plan->gpus = 1;
        option(scene, rows[i].option, json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
        assert_refused(scene, "job", rows[i].words);
    }
}

static void a_launcher_that_an_engine_lacks_is_refused(void **state)
{
    struct scene *scene = *state;

    scene->plan->launcher = SW_LAUNCHER_RAY;
    assert_refused(scene, "job", "needs the engine rayjob");
    scene->plan->launcher = SW_LAUNCHER_MPI;
    assert_refused(scene, "jobset", "needs the engine mpijob");
    scene->plan->launcher = SW_LAUNCHER_NONE;
    scene->plan->nodes = K8S_NODES_MAX + 1;
    assert_refused(scene, "job", "nodes");
}

static void what_a_trainjob_cannot_say_is_refused(void **state)
{
    struct scene *scene = *state;

    option(scene, "read_only", json_false());
    option(scene, "scheduler", json_string("mine"));
    assert_refused(scene, "trainjob", "kubernetes.scheduler");
    option(scene, "scheduler", json_string(""));
    scene->plan->avoid = json_pack("[s]", "node-1");
    assert_refused(scene, "trainjob", "choose nodes");
}

static void many_addresses_do_not_fill_the_environment(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *object = NULL;
    size_t i;
    json_t *variable;

    scene->plan->nodes = K8S_NODES_MAX;
    object = object_of(scene, "job");
    json_array_foreach(at(object, MAIN "env"), i, variable)
        assert_string_not_equal(sw_json_str(variable, "name"), "WORKER_ADDRS");
}

static void an_attempt_that_only_collects_says_so(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *object = NULL;
    const char *said = NULL;
    size_t i;
    json_t *variable;

    scene->plan->only_collect = true;
    scene->plan->command_exit = 3;
    object = object_of(scene, "job");
    json_array_foreach(at(object, MAIN "env"), i, variable)
        if (sw_text_same(sw_json_str(variable, "name"), "SLIPWAY_COLLECT_ONLY"))
            said = sw_json_str(variable, "value");
    assert_string_equal(said, "3");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, scene_end)
    const struct CMUnitTest tests[] = {
        TEST(a_plain_job),
        TEST(a_job_with_everything),
        TEST(a_job_of_three_nodes),
        TEST(the_service_of_three_nodes),
        TEST(every_other_engine_with_two_nodes),
        TEST(a_runner_from_a_secret_or_an_image),
        TEST(the_payload_of_the_runner),
        TEST(names_derive_from_the_id),
        TEST(evictions_are_tried_again_as_often_as_the_job_says),
        TEST(a_ttl_of_zero_is_left_out),
        TEST(gpus_of_a_type_go_where_the_cluster_has_them),
        TEST(another_name_for_gpus_is_used),
        TEST(what_contradicts_the_job_is_refused),
        TEST(a_launcher_that_an_engine_lacks_is_refused),
        TEST(what_a_trainjob_cannot_say_is_refused),
        TEST(many_addresses_do_not_fill_the_environment),
        TEST(an_attempt_that_only_collects_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
