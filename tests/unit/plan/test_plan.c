/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c - a spec becomes a plan, and a plan survives being stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/payload.h"
#include "plan/entrypoint.h"
#include "plan/plan.h"

static struct sw_plan *plan_from(const char *job, const char *file, struct sw_error *err)
{
    struct sw_spec spec = { .platform = (char *)"local", .file = (char *)file };
    struct sw_plan *plan;

    spec.job = json_loads(job, 0, NULL);
    spec.options = json_object();
    spec.sources = json_object();
    plan = sw_plan_make(&spec, NULL, "/base", err);
    json_decref(spec.job);
    json_decref(spec.options);
    json_decref(spec.sources);
    return plan;
}

static struct sw_plan *plan_of(const char *job, struct sw_error *err)
{
    return plan_from(job, NULL, err);
}

static void texts_become_numbers(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_of(
        "{\"command\":\"x\",\"gpus\":\"H100:8\",\"nodes\":2,\"memory\":\"1GiB\",\"time\":\"90s\","
        "\"cpus\":1.5,\"grace\":3,\"launcher\":\"torchrun\",\"world_size\":\"ranks\"}", NULL);

    (void)state;
    assert_non_null(plan);
    assert_int_equal(plan->gpus, 8);
    assert_string_equal(plan->gpu_type, "H100");
    assert_int_equal(plan->nodes, 2);
    assert_int_equal(plan->memory_bytes, 1 << 30);
    assert_int_equal(plan->time_ms, 90000);
    assert_int_equal(plan->grace_ms, 3000);
    assert_int_equal(plan->launcher, SW_LAUNCHER_TORCHRUN);
    assert_true(plan->world_size_ranks);
}

static void the_times_of_a_ray_cluster_reach_the_runner(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_of(
        "{\"command\":\"x\",\"launcher\":\"ray\",\"gpus\":8,\"cpus\":16,"
        "\"ray_cluster\":{\"wait\":\"2m\"}}", NULL);
    sw_auto(sw_plan) struct sw_plan *kept = plan_of(
        "{\"launcher\":\"ray\",\"ray_cluster\":{\"keep\":true}}", NULL);
    sw_auto(sw_payload) struct sw_payload *payload = sw_entrypoint_payload(plan, NULL);
    sw_auto(sw_payload) struct sw_payload *without = sw_entrypoint_payload(kept, NULL);

    (void)state;
    assert_int_equal(json_array_size(plan->credentials), 0);     /* whose token it is, the platform decides */
    sw_entrypoint_ray(payload, plan);
    assert_int_equal(sw_json_int(payload->ray, "wait_ms", 0), 120000);
    assert_int_equal(sw_json_int(payload->ray, "gpus", 0), 8);
    assert_int_equal(sw_json_int(payload->ray, "cpus", 0), 16);
    assert_null(json_object_get(payload->ray, "idle_ms"));
    sw_entrypoint_ray(without, kept);
    assert_int_equal(sw_json_int(without->ray, "wait_ms", 0), 600000);
    assert_int_equal(sw_json_int(without->ray, "idle_ms", 0), 3600000);
}

static void a_ray_cluster_that_cannot_be_is_refused(void **state)
{
    static const struct { const char *job, *message; } cases[] = {
        { "{\"command\":\"x\",\"ray_cluster\":{\"wait\":\"2m\"}}",
          "ray_cluster: only a job with `launcher: ray` has such a cluster" },
        { "{\"command\":\"x\",\"launcher\":\"ray\",\"ray_cluster\":{\"keep\":true}}",
          "ray_cluster.keep: a cluster that stays runs no command of its own" },
        { "{\"launcher\":\"ray\"}", "nothing to run: the job has no command" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        struct sw_error err = { 0 };

        assert_null(plan_of(cases[i].job, &err));
        assert_string_equal(err.message, cases[i].message);
    }
}

static void a_ray_cluster_that_stays_has_no_command(void **state)
{
    static const struct { const char *job, *words; } wrong[] = {
        { "{\"launcher\":\"ray\",\"ray_cluster\":{\"keep\":true},\"command\":\"x\"}", "no command" },
        { "{\"launcher\":\"ray\",\"ray_cluster\":{\"keep\":true,\"name\":\"a\"}}", "ray_cluster.name" },
        { "{\"ray_cluster\":{\"name\":\"a\"},\"command\":\"x\"}", "launcher: ray" },
        { "{\"launcher\":\"ray\"}", "no command" },
    };
    sw_auto(sw_plan) struct sw_plan *plan =
        plan_of("{\"name\":\"c\",\"launcher\":\"ray\",\"ray_cluster\":{\"keep\":true}}", NULL);

    (void)state;
    assert_non_null(plan);
    assert_true(sw_json_bool(plan->ray_cluster, "keep", false));
    for (size_t i = 0; i < SW_COUNT(wrong); i++) {
        struct sw_error err = { 0 };

        assert_null(plan_of(wrong[i].job, &err));
        if (!strstr(err.message, wrong[i].words))
            fail_msg("'%s' is not in '%s'", wrong[i].words, err.message);
    }
}

static void a_job_without_a_name_is_called_after_what_it_runs(void **state)
{
    static const struct { const char *job, *file, *name; } cases[] = {
        { "{\"command\":\"/opt/bin/train -x\"}", NULL, "train" },
        { "{\"command\":\"python3 -u src/train.py --lr 1\"}", NULL, "train" },
        { "{\"command\":\"cd x && FOO=1 torchrun --nproc 8 pretrain.py a.sh\"}", NULL, "pretrain" },
        { "{\"command\":\"set -e\\nbash run.sh\"}", NULL, "run" },
        { "{\"command\":\"python3 -c 'import x.py'\"}", NULL, "python3" },
        { "{\"command\":\"python -m torch.distributed.run tune.py\"}", NULL, "tune" },
        { "{\"command\":\"python -m my.pkg.eval\"}", NULL, "eval" },
        { "{\"argv\":[\"python3\",\"-m\",\"http.server\"]}", NULL, "server" },
        { "{\"argv\":[\"python3\",\"a b/train it.py\"]}", "job.yaml", "train it" },
        { "{\"argv\":[\"sh\",\"-c\",\"x.py\"]}", NULL, "sh" },
        { "{\"argv\":[\"sh\",\"-c\",\"x\"]}", "runs/sweep.yaml", "sweep" },
        { "{\"argv\":[\"sh\",\"-c\",\"x\"]}", "job.yaml", "sh" },
        { "{\"argv\":[\"sh\",\"-c\",\"x\"]}", "standard input", "sh" },
        { "{\"argv\":[\"--x.py\"]}", ".yaml", "--x.py" },
        { "{\"python\":{\"script\":\"tools/prep.py\"}}", "a.yaml", "prep" },
        { "{\"python\":{\"script\":\"tools/prep\"}}", NULL, "prep" },
        { "{\"command\":\"   \\n& x\"}", NULL, "job" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(sw_plan) struct sw_plan *plan = plan_from(cases[i].job, cases[i].file, NULL);

        assert_string_equal(plan->name, cases[i].name);
    }
}

static void inputs_and_outputs_have_one_shape(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_of(
        "{\"command\":\"x\",\"inputs\":{\"/d\":\"./d\"},"
        "\"outputs\":[\"/results\"]}", NULL);
    sw_auto(sw_plan) struct sw_plan *other = plan_of(
        "{\"command\":\"x\",\"outputs\":{\"/results\":{\"to\":\"/out\",\"every\":\"10m\"}}}", NULL);

    (void)state;
    assert_string_equal(sw_json_str(json_array_get(plan->inputs, 0), "from"), "./d");
    assert_string_equal(sw_json_str(json_array_get(plan->outputs, 0), "path"), "/results");
    assert_string_equal(sw_json_str(json_array_get(other->outputs, 0), "to"), "/out");
    assert_string_equal(sw_json_str(json_array_get(other->outputs, 0), "every"), "10m");
}

/* In a container an output outside /results is brought to its last name in the results. */
static void outputs_that_would_be_one_folder_of_the_results_are_refused(void **state)
{
    static const struct {
        const char *job;
        bool good;
    } rows[] = {
        { "{\"command\":\"x\",\"outputs\":[\"/a/model\",\"/b/model\"]}", false },
        { "{\"command\":\"x\",\"outputs\":[\"/results/model\",\"/b/model/\"]}", false },
        { "{\"command\":\"x\",\"outputs\":[\"/results\",\"/a/model\",\"/a/log\"]}", true },
        { "{\"command\":\"x\",\"outputs\":{\"/a/model\":\"s3://b/1\",\"/b/model\":\"s3://b/2\"}}", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sw_error err = { 0 };
        sw_auto(sw_plan) struct sw_plan *plan = plan_of(rows[i].job, &err);

        assert_int_equal(plan != NULL, rows[i].good);
        assert_int_equal(err.code, rows[i].good ? SW_OK : SW_E_SPEC);
    }
}

static void places_of_the_config_have_the_same_shape(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_of(
        "{\"command\":\"x\",\"args\":{\"data\":\"hf_dataset://a/b\"},\"flags\":[\"amp\"],"
        "\"config_inputs\":{\"data\":{\"container_path\":\"/d\"}},"
        "\"config_outputs\":{\"out\":{\"type\":\"file\"}},\"cache\":\"/mnt\"}", NULL);
    sw_auto(sw_plan) struct sw_plan *bare = plan_of(
        "{\"command\":\"x\",\"flags\":[\"amp\"]}", NULL);
    sw_autofree char *in = json_dumps(plan->config_inputs, JSON_COMPACT);
    sw_autofree char *out = json_dumps(plan->config_outputs, JSON_COMPACT);
    sw_autofree char *keys = json_dumps(plan->credentials, JSON_COMPACT);

    (void)state;
    assert_string_equal(in, "[{\"key\":\"data\",\"container_path\":\"/d\"}]");
    assert_string_equal(out, "[{\"key\":\"out\",\"type\":\"file\"}]");
    assert_string_equal(keys, "[\"HF_TOKEN\",\"HUGGING_FACE_HUB_TOKEN\"]");
    assert_string_equal(plan->cache, "/mnt");
    assert_true(json_is_object(bare->args));          /* flags alone make it args mode, too */
}

static void what_no_table_can_express_is_refused_here(void **state)
{
    static const struct { const char *job, *says; } bad[] = {
        { "{}", "no command" },
        { "{\"command\":\"\"}", "no command" },
        { "{\"command\":\"x\",\"env\":{\"T\":\"v\"},\"secrets\":[\"T\"]}", "T is both a secret" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(bad); i++) {
        struct sw_error err = { 0 };

        assert_null(plan_of(bad[i].job, &err));
        assert_int_equal(err.code, SW_E_SPEC);
        assert_non_null(strstr(err.message, bad[i].says));
    }
}

static void a_plan_survives_being_stored(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_of(
        "{\"name\":\"n\",\"command\":\"x\",\"gpus\":3,\"env\":{\"A\":\"1\"},\"secrets\":[\"S\"],"
        "\"config\":{\"a\":[1,2]},\"config_format\":\"toml\",\"labels\":{\"k\":\"v\"}}", NULL);
    sw_auto(json) json_t *stored = sw_plan_to_json(plan);
    sw_auto(sw_plan) struct sw_plan *again = sw_plan_from_json(stored, NULL);
    sw_auto(json) json_t *stored_again = sw_plan_to_json(again);

    (void)state;
    assert_true(json_equal(stored, stored_again));
    assert_int_equal(again->config_format, SW_TOML);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_numbers),
        cmocka_unit_test(a_ray_cluster_that_stays_has_no_command),
        cmocka_unit_test(a_job_without_a_name_is_called_after_what_it_runs),
        cmocka_unit_test(inputs_and_outputs_have_one_shape),
        cmocka_unit_test(outputs_that_would_be_one_folder_of_the_results_are_refused),
        cmocka_unit_test(places_of_the_config_have_the_same_shape),
        cmocka_unit_test(what_no_table_can_express_is_refused_here),
        cmocka_unit_test(the_times_of_a_ray_cluster_reach_the_runner),
        cmocka_unit_test(a_ray_cluster_that_cannot_be_is_refused),
        cmocka_unit_test(a_plan_survives_being_stored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
