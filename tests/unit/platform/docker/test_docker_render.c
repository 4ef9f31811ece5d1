/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_docker_render.c - what the engine is sent, compared with files that are reviewed like code.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "platform/docker/docker_job.h"
#include "../golden.h"
#include "../plan_fixture.h"

struct scene {
    struct sw_plan *plan;
    struct docker_base base;
    struct docker_site site;
};

static int begin(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    json_t *options = json_pack("{s:s, s:s, s:s, s:s}", "network", "tao_default", "log_driver", "local",
                                "results", "auto", "entrypoint", "keep");
    struct sw_plan *plan = plan_fixture("docker", "nvcr.io/nvidia/pytorch:25.08-py3", options);

    scene->plan = plan;
    scene->base = (struct docker_base){ .user = sw_strdup(""), .arch = sw_strdup("x86_64") };
    scene->site = (struct docker_site){ .attempt = 1, .local = true, .owner = "me@here",
                                        .results = "/state/docker/train-abcdefgh/results",
                                        .ends = "/state/docker/train-abcdefgh/end" };
    scene->site.image = &scene->base;
    *state = scene;
    return 0;
}

static int end(void **state)
{
    struct scene *scene = *state;

    docker_base_done(&scene->base);
    sw_plan_free(scene->plan);
    free(scene);
    return 0;
}

static void compare_container(const struct scene *scene, const char *name, int rank,
                              const json_t *devices)
{
    struct sw_error err = { 0 };
    sw_auto(json) json_t *body = docker_render_container(scene->plan, &scene->site, rank, devices,
                                                         &err);

    if (!body)
        fail_msg("%s", err.message);
    compare_document(name, body);
}

static void a_plain_job(void **state)
{
    compare_container(*state, "plain", 0, NULL);
}

static void a_job_with_everything(void **state)
{
    struct scene *scene = *state;
    struct sw_plan *plan = scene->plan;

    plan->cpus = 2.5;
    plan->memory_bytes = 1 << 30;
    plan->shm_bytes = 1 << 28;
    plan->time_ms = 3600000;
    json_object_set_new(plan->env, "NCCL_DEBUG", json_string("INFO"));
    json_array_append_new(plan->secrets, json_string("HF_TOKEN"));
    json_object_set_new(plan->labels, "team", json_string("vision"));
    json_array_append_new(plan->inputs, json_pack("{s:s, s:s}", "path", "/data/a.json", "from",
                                                  "a.json"));
    json_array_append_new(plan->outputs, json_pack("{s:s, s:s}", "path", "/results", "to",
                                                   "out/{id}"));
    plan->mounts = json_pack("[s, s, s]", "/data:/mnt/data:ro", "cache:/root/.cache",
                             "~/models:/models");
    json_object_set_new(plan->options, "ulimits", json_pack("{s:s}", "nofile", "1024:2048"));
    json_object_set_new(plan->options, "ipc", json_string("host"));
    json_object_set_new(plan->options, "host_config", json_pack("{s:[s], s:i}", "CapAdd",
                                                                "SYS_PTRACE", "Memory", 1));
    setenv("HOME", "/home/me", 1);
    scene->site.user = "1000:1000";
    compare_container(scene, "everything", 0, NULL);
}

static void gpus_by_id(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *devices = json_pack("[s, s]", "GPU-aaaa", "GPU-bbbb");

    scene->plan->gpus = 2;
    scene->site.choice = "GPU-aaaa,GPU-bbbb,GPU-cccc";
    compare_container(scene, "gpus-by-id", 0, devices);
}

static void all_gpus(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *devices = json_pack("[s]", DOCKER_GPU_ALL);

    scene->plan->gpus = 2;
    compare_container(scene, "gpus-all", 0, devices);
}

static void gpus_that_are_shared_are_counted(void **state)
{
    struct scene *scene = *state;

    scene->plan->gpus = 2;
    json_object_set_new(scene->plan->options, "share_gpus", json_true());
    compare_container(scene, "gpus-shared", 0, NULL);
}

static void gpus_of_a_tegra_come_by_runtime(void **state)
{
    struct scene *scene = *state;
    sw_auto(json) json_t *devices = json_pack("[s]", DOCKER_GPU_ANY);

    scene->plan->gpus = 1;
    scene->site.by_runtime = true;
    scene->site.choice = "any";
    compare_container(scene, "gpus-tegra", 0, devices);
}

static void a_job_that_waits_for_gpus_has_none_yet(void **state)
{
    struct scene *scene = *state;

    scene->plan->gpus = 1;
    scene->site.choice = "0,1";
    compare_container(scene, "gpus-waiting", 0, NULL);
}

static void a_rank_of_three(void **state)
{
    struct scene *scene = *state;

    scene->plan->nodes = 3;
    scene->site.attempt = 2;
    compare_container(scene, "rank-1-of-3", 1, NULL);
}

static void results_in_a_volume_and_a_read_only_root(void **state)
{
    struct scene *scene = *state;

    scene->site.results = scene->site.ends = NULL;
    json_object_set_new(scene->plan->options, "read_only", json_true());
    compare_container(scene, "volume-read-only", 0, NULL);
}

static void the_payload_of_the_runner(void **state)
{
    struct scene *scene = *state;
    sw_auto(sw_payload) struct sw_payload *payload = NULL;
    sw_auto(json) json_t *letter = NULL;

    scene->plan->nodes = 2;
    scene->plan->time_ms = 60000;
    scene->base.entrypoint = json_pack("[s]", "/opt/nvidia/nvidia_entrypoint.sh");
    json_array_append_new(scene->plan->inputs, json_pack("{s:s, s:s}", "path", "/data/a", "from",
                                                         "/here/a"));
    json_array_append_new(scene->plan->inputs, json_pack("{s:s, s:s}", "path", "/data/b", "from",
                                                         "s3://bucket/b"));
    json_array_append_new(scene->plan->outputs, json_pack("{s:s, s:s}", "path", "/out", "to",
                                                          "/here/out"));
    payload = docker_render_payload(scene->plan, &scene->site, NULL);
    assert_non_null(payload);
    letter = sw_payload_to_json(payload);
    compare_document("payload", letter);
}

static void the_network(void **state)
{
    sw_auto(json) json_t *body = docker_render_network("tao_default");

    (void)state;
    compare_document("network", body);
}

static void names_derive_from_the_id(void **state)
{
    static const struct { int attempt, nodes, rank; const char *name; } rows[] = {
        { 1, 1, 0, "job-1" }, { 2, 1, 0, "job-1-a2-0" }, { 1, 4, 3, "job-1-a1-3" },
    };
    char name[DOCKER_NAME_SIZE];

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        docker_name(name, "job-1", rows[i].attempt, rows[i].nodes, rows[i].rank);
        assert_string_equal(name, rows[i].name);
    }
}

static void a_mount_that_makes_no_sense_is_refused(void **state)
{
    static const char *const bad[] = { ":/x", "/a:b", "/a:/b:rx", "vol:relative" };
    struct scene *scene = *state;

    for (size_t i = 0; i < SW_COUNT(bad); i++) {
        struct sw_error err = { 0 };
        sw_auto(json) json_t *mounts = NULL;

        json_decref(scene->plan->mounts);
        scene->plan->mounts = json_pack("[s]", bad[i]);
        mounts = docker_mounts(scene->plan, &scene->site, &err);
        assert_null(mounts);
        assert_int_equal(err.code, SW_E_SPEC);
    }
}

static void torchrun_starts_a_python_command(void **state)
{
    struct scene *scene = *state;
    struct sw_error err = { 0 };
    sw_auto(sw_payload) struct sw_payload *payload = NULL;

    free(scene->plan->command);
    scene->plan->command = sw_strdup("python train.py --lr 1");
    scene->plan->launcher = SW_LAUNCHER_TORCHRUN;
    scene->plan->gpus = 2;
    payload = docker_render_payload(scene->plan, &scene->site, &err);
    assert_non_null(payload);
    assert_non_null(strstr(payload->command, "torchrun"));
    assert_non_null(strstr(payload->command, "train.py --lr 1"));
}

static void the_runner_learns_that_the_ranks_are_a_ray_cluster(void **state)
{
    struct scene *scene = *state;
    sw_auto(sw_payload) struct sw_payload *payload = NULL;

    scene->plan->launcher = SW_LAUNCHER_RAY;
    scene->plan->gpus = 2;
    payload = docker_render_payload(scene->plan, &scene->site, NULL);
    assert_non_null(payload);
    assert_int_equal(sw_json_int(payload->ray, "gpus", 0), 2);
    assert_int_equal(sw_json_int(payload->ray, "wait_ms", 0), 600000);
}

static void portable_mounts_are_bound_and_repositories_come_from_their_clones(void **state)
{
    struct scene *scene = *state;
    struct sw_error err = { 0 };
    sw_auto(json) json_t *clones = json_pack("{s:s}", "/opt/code", "/state/git/code-1");
    sw_auto(json) json_t *mounts = NULL;
    const json_t *folder, *code;

    json_decref(scene->plan->mounts);
    scene->plan->mounts = json_pack("[s, s]", "/lustre/coco:/data:ro",
                                    "git+https://git.example.org/team/code.git@v1:/opt/code");
    scene->site.clones = clones;
    mounts = docker_mounts(scene->plan, &scene->site, &err);
    assert_non_null(mounts);
    folder = json_array_get(mounts, json_array_size(mounts) - 2);
    code = json_array_get(mounts, json_array_size(mounts) - 1);
    assert_string_equal(sw_json_str(folder, "Source"), "/lustre/coco");
    assert_true(json_is_true(json_object_get(folder, "ReadOnly")));
    assert_string_equal(sw_json_str(code, "Source"), "/state/git/code-1");
    assert_string_equal(sw_json_str(code, "Target"), "/opt/code");
    assert_true(json_is_true(json_object_get(code, "ReadOnly")));
    scene->site.clones = NULL;
}

static void a_repository_reaches_a_remote_engine_as_a_volume_of_the_job(void **state)
{
    struct scene *scene = *state;
    struct sw_error err = { 0 };
    sw_auto(json) json_t *mounts = NULL;
    const json_t *code;

    scene->site.local = false;
    json_decref(scene->plan->mounts);
    scene->plan->mounts = json_pack("[s]", "git+https://git.example.org/code.git@v1:/opt/code");
    mounts = docker_mounts(scene->plan, &scene->site, &err);
    assert_non_null(mounts);
    code = json_array_get(mounts, json_array_size(mounts) - 1);
    assert_string_equal(sw_json_str(code, "Type"), "volume");
    assert_string_equal(sw_json_str(code, "Source"), "slipway-train-abcdefgh-mount-0");
    assert_string_equal(sw_json_str(code, "Target"), "/opt/code");
    assert_true(json_is_true(json_object_get(code, "ReadOnly")));
}

static void a_mount_that_only_this_machine_understands_is_refused_for_a_remote_engine(void **state)
{
    static const char *const sources[] = { "./data:/data", "~/data:/data", "a/b:/data" };
    struct scene *scene = *state;

    scene->site.local = false;
    for (size_t i = 0; i < SW_COUNT(sources); i++) {
        struct sw_error err = { 0 };
        sw_auto(json) json_t *mounts = NULL;

        json_decref(scene->plan->mounts);
        scene->plan->mounts = json_pack("[s]", sources[i]);
        mounts = docker_mounts(scene->plan, &scene->site, &err);
        assert_null(mounts);
        assert_non_null(strstr(err.hint, "absolute path"));
    }
}

static void a_path_of_this_machine_is_refused_for_a_remote_engine(void **state)
{
    struct scene *scene = *state;
    struct sw_error err = { 0 };
    sw_auto(json) json_t *mounts = NULL;

    scene->site.local = false;
    json_array_append_new(scene->plan->inputs, json_pack("{s:s, s:s}", "path", "/data/a", "from",
                                                         "/here/a"));
    mounts = docker_mounts(scene->plan, &scene->site, &err);
    assert_null(mounts);
    assert_non_null(strstr(err.message, "/here/a"));
}

static void a_results_folder_of_the_users_own_gets_one_folder_per_job(void **state)
{
    struct scene *scene = *state;
    sw_autofree char *inside = NULL, *own = NULL;

    scene->plan->mounts = json_pack("[s]", "/exp:/results");
    inside = docker_results_inside(scene->plan);
    own = docker_own_results(scene->plan);
    assert_string_equal(inside, "/results/train-abcdefgh");
    assert_string_equal(own, "/exp");
}

static void an_image_is_known_by_the_digest_of_its_repository_or_by_its_id(void **state)
{
#define SUM(digit) "sha256:" digit "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    static const struct { const char *inspected, *digest; } rows[] = {
        { "{\"Id\":\"" SUM("1") "\",\"RepoDigests\":[\"host:5000/app@" SUM("2") "\"]}", SUM("2") },
        { "{\"Id\":\"" SUM("1") "\",\"RepoDigests\":[]}", SUM("1") },
        { "{\"Id\":\"" SUM("1") "\",\"RepoDigests\":null}", SUM("1") },
        { "{}", "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *inspected = json_loads(rows[i].inspected, 0, NULL);
        struct docker_base base = { 0 };

        docker_base_read(&base, inspected);
        assert_string_equal(base.digest, rows[i].digest);
        docker_base_done(&base);
    }
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CLAIM(a_plain_job),
        CLAIM(a_job_with_everything),
        CLAIM(gpus_by_id),
        CLAIM(all_gpus),
        CLAIM(gpus_that_are_shared_are_counted),
        CLAIM(gpus_of_a_tegra_come_by_runtime),
        CLAIM(a_job_that_waits_for_gpus_has_none_yet),
        CLAIM(a_rank_of_three),
        CLAIM(results_in_a_volume_and_a_read_only_root),
        CLAIM(the_payload_of_the_runner),
        CLAIM(an_image_is_known_by_the_digest_of_its_repository_or_by_its_id),
        CLAIM(the_network),
        CLAIM(names_derive_from_the_id),
        CLAIM(a_mount_that_makes_no_sense_is_refused),
        CLAIM(torchrun_starts_a_python_command),
        CLAIM(the_runner_learns_that_the_ranks_are_a_ray_cluster),
        CLAIM(portable_mounts_are_bound_and_repositories_come_from_their_clones),
        CLAIM(a_repository_reaches_a_remote_engine_as_a_volume_of_the_job),
        CLAIM(a_mount_that_only_this_machine_understands_is_refused_for_a_remote_engine),
        CLAIM(a_path_of_this_machine_is_refused_for_a_remote_engine),
        CLAIM(a_results_folder_of_the_users_own_gets_one_folder_per_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
