/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ray_render.c - the body of POST /api/jobs/, compared with files that are reviewed like code.
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
#include "core/payload.h"
#include "platform/ray/ray_internal.h"
#include "../golden.h"
#include "../plan_fixture.h"

static int begin(void **state)
{
    struct sw_plan *plan = plan_fixture("ray", NULL, NULL);

    *state = plan;
    return 0;
}

static int end(void **state)
{
    sw_plan_free(*state);
    return 0;
}

static json_t *body_of(const struct sw_plan *plan, int attempt, bool sealed)
{
    sw_auto(json) json_t *env = NULL;
    sw_auto(sw_payload) struct sw_payload *payload = ray_payload(plan, attempt, &env, NULL);

    assert_non_null(payload);
    return ray_render_body(plan, attempt, "_ray_pkg_0123.zip", env, sealed, 1795020394182);
}

static void compare(const struct sw_plan *plan, int attempt, bool sealed, const char *name)
{
    sw_auto(json) json_t *body = body_of(plan, attempt, sealed);

    compare_document(name, body);
}

static void a_plain_job_takes_no_resources(void **state)
{
    compare(*state, 1, false, "plain");
    assert_false(ray_takes_resources(*state));
}

static void a_later_attempt_has_a_name_of_its_own_and_asks_for_what_the_job_needs(void **state)
{
    struct sw_plan *plan = *state;

    plan->gpus = 2;
    plan->cpus = 4;
    plan->memory_bytes = (int64_t)8 << 30;
    json_object_set_new(plan->env, "NCCL_DEBUG", json_string("WARN"));
    json_array_append_new(plan->secrets, json_string("HF_TOKEN"));
    json_object_set_new(plan->options, "resources", json_pack("{s:s}", "tpu", "0.5"));
    json_object_set_new(plan->options, "labels", json_pack("{s:s}", "zone", "a"));
    json_object_set_new(plan->options, "runtime_env", json_pack("{s:[s]}", "pip", "torch"));
    compare(plan, 3, true, "attempt");
    assert_true(ray_takes_resources(plan));
}

static void with_launcher_ray_gpus_are_left_to_the_tasks(void **state)
{
    struct sw_plan *plan = *state;
    sw_auto(json) json_t *body = NULL;

    plan->launcher = SW_LAUNCHER_RAY;
    plan->gpus = 8;
    plan->nodes = 2;
    body = body_of(plan, 1, false);
    assert_null(json_object_get(body, "entrypoint_num_gpus"));
    assert_false(ray_takes_resources(plan));
}

static void what_a_cluster_cannot_do_is_refused(void **state)
{
    struct sw_plan *plan = *state;
    struct sw_error err = { 0 };

    assert_int_equal(ray_check(plan, &err), 0);
    plan->nodes = 2;
    assert_int_equal(ray_check(plan, &err), -1);
    assert_non_null(strstr(err.message, "nodes:"));
    plan->nodes = 1;
    plan->image = sw_strdup("busybox");
    assert_int_equal(ray_check(plan, &err), -1);
    assert_non_null(strstr(err.message, "image:"));
    free(sw_take(plan->image));
    json_object_set_new(plan->options, "resources", json_pack("{s:s}", "GPU", "1"));
    assert_int_equal(ray_check(plan, &err), -1);
    json_object_set_new(plan->options, "resources", json_pack("{s:s}", "tpu", "many"));
    assert_int_equal(ray_check(plan, &err), -1);
    json_object_del(plan->options, "resources");
    json_object_set_new(plan->options, "runtime_env", json_pack("{s:{s:s}}", "env_vars", "A", "b"));
    assert_int_equal(ray_check(plan, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_plain_job_takes_no_resources, begin, end),
        cmocka_unit_test_setup_teardown(a_later_attempt_has_a_name_of_its_own_and_asks_for_what_the_job_needs,
                                        begin, end),
        cmocka_unit_test_setup_teardown(with_launcher_ray_gpus_are_left_to_the_tasks, begin, end),
        cmocka_unit_test_setup_teardown(what_a_cluster_cannot_do_is_refused, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
