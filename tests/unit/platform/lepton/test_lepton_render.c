/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lepton_render.c - the body of POST /jobs, compared with files that are reviewed like code.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "platform/lepton/lepton_internal.h"
#include "../golden.h"
#include "../plan_fixture.h"

struct scene {
    struct sw_plan *plan;
    struct lepton_site site;
};

static int begin(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct sw_plan *plan = plan_fixture("lepton", "nvcr.io/nvidia/pytorch:25.08-py3", NULL);

    setenv("USER", "me", 1);
    scene->plan = plan;
    scene->site = (struct lepton_site){ .attempt = 1, .shape = sw_strdup("cpu.small"),
                                        .arch = sw_strdup("x86_64") };
    *state = scene;
    return 0;
}

static int end(void **state)
{
    struct scene *scene = *state;

    sw_plan_free(scene->plan);
    lepton_site_done(&scene->site);
    free(scene);
    return 0;
}

static void option(const struct scene *scene, const char *name, json_t *value)
{
    json_object_set_new(scene->plan->options, name, value);
}

static void compare(const struct scene *scene, const char *name)
{
    sw_auto(json) json_t *body = lepton_render_body(scene->plan, &scene->site);

    compare_document(name, body);
}

static void a_plain_job_runs_on_a_cpu_shape_of_shared_machines(void **state)
{
    compare(*state, "plain");
}

static void several_nodes_have_group_mounts_secrets_and_queue(void **state)
{
    struct scene *scene = *state;
    struct sw_plan *plan = scene->plan;

    plan->nodes = 2;
    plan->gpus = 8;
    plan->shm_bytes = INT64_C(64) << 30;
    plan->keep_ms = 86400000;
    json_object_set_new(plan->env, "MODE", json_string("a \"quoted\" $value"));
    json_object_set_new(plan->labels, "team", json_string("vision"));
    option(scene, "visibility", json_string("public"));
    option(scene, "priority", json_string("high-7000"));
    option(scene, "preemptible", json_true());
    option(scene, "reservation", json_string("res-1"));
    free(scene->site.shape);
    scene->site.shape = sw_strdup("gpu.8xh100-sxm");
    scene->site.group = sw_strdup("grp-1");
    scene->site.pull_secret = sw_strdup("slipway-pull-01234567-0123-01234567");
    scene->site.nodes = json_pack("[s,s]", "node-2", "node-3");
    scene->site.secrets = json_pack("[s,s]", "HF_TOKEN", "WANDB_API_KEY");
    scene->site.mounts = json_pack("[{s:s,s:s,s:s}]", "from", "node-nfs:lustre", "path", "/team/me",
                                   "mount_path",
                                   "/mnt/lustre");
    compare(scene, "nodes");
}

static void a_later_attempt_of_a_long_id_is_named_in_36_characters(void **state)
{
    struct scene *scene = *state;

    strcpy(scene->plan->job_id, "a-very-long-name-of-a-job-abcdefgh");
    scene->site.attempt = 12;
    scene->plan->only_collect = true;
    compare(scene, "attempt");
}

static void names_are_short_and_differ_where_ids_do(void **state)
{
    static const struct { const char *id; int attempt; const char *name; } cases[] = {
        { "train-abcdefgh", 1, "train-abcdefgh" },
        { "train-abcdefgh", 2, "train-abcdefgh-2" },
        { "twenty-six-letters-of-name-abcdefgh", 1, "twenty-six-letters-of-name-abcdefgh" },
        { "twenty-six-letters-of-name-abcdefgh", 2, "twenty-six-letters-of-ame-abcdefgh-2" },
        { "made-by-lepton", 1, "made-by-lepton-1" },
    };
    char name[LEPTON_NAME_SIZE], other[LEPTON_NAME_SIZE];

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        lepton_name(cases[i].id, cases[i].attempt, name);
        assert_in_range(strlen(name), 1, LEPTON_NAME_MAX);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(name));
        assert_false(sw_text_ends(name, "-") || sw_text_ends(name, "by-lepton"));
        assert_string_equal(name, cases[i].name);
    }
    lepton_name("twenty-six-letters-of-name-abcdefgh", 1000, name);
    lepton_name("twenty-six-letters-of-name-abcdefgi", 1000, other);
    assert_string_not_equal(name, other);
}

static void what_lepton_cannot_do_is_refused_by_its_key(void **state)
{
    struct scene *scene = *state;
    struct sw_plan *plan = scene->plan;
    struct sw_error err = { 0 };

    assert_int_equal(lepton_check(plan, &err), 0);
    plan->mounts = json_pack("[s]", "/data:/data");
    assert_int_equal(lepton_check(plan, &err), -1);
    assert_non_null(strstr(err.message, "mounts:"));
    json_decref(sw_take(plan->mounts));
    json_object_set_new(plan->labels, "a/b", json_string("x"));
    assert_int_equal(lepton_check(plan, &err), -1);
    assert_non_null(strstr(err.message, "labels:"));
    json_object_clear(plan->labels);
    json_object_set_new(plan->env, "LEPTON_JOB_NAME", json_string("x"));
    assert_int_equal(lepton_check(plan, &err), -1);
    assert_non_null(strstr(err.message, "env:"));
    json_object_clear(plan->env);
    option(scene, "priority", json_string("mid-4000"));
    assert_int_equal(lepton_check(plan, &err), -1);
    assert_non_null(strstr(err.message, "lepton.priority:"));
    json_object_clear(plan->options);
    free(sw_take(plan->image));
    assert_int_equal(lepton_check(plan, &err), -1);
    assert_non_null(strstr(err.message, "image:"));
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_plain_job_runs_on_a_cpu_shape_of_shared_machines),
        CLAIM(several_nodes_have_group_mounts_secrets_and_queue),
        CLAIM(a_later_attempt_of_a_long_id_is_named_in_36_characters),
        cmocka_unit_test(names_are_short_and_differ_where_ids_do),
        CLAIM(what_lepton_cannot_do_is_refused_by_its_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
