/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_brev_render.c - what `slipway plan` says a job would send, compared with files that are reviewed like
 * code. Nothing is asked: there is no brev program here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "platform/brev/brev_internal.h"
#include "../golden.h"
#include "../plan_fixture.h"

static const char *environment(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "HOME") == 0 ? "/nowhere" : NULL;
}

static struct sw_plan *make_plan(json_t *options)
{
    struct sw_plan *plan = plan_fixture("brev", "nvcr.io/nvidia/pytorch:25.08-py3", options);

    plan->store_id = sw_strdup("0123456789abcdef");
    plan->gpus = 2;
    plan->gpu_type = sw_strdup("A100");
    json_object_set_new(options, "network", json_string("bridge"));
    return plan;
}

static void compare(const char *name, const json_t *sends)
{
    sw_autofree char *file = sw_format("%s.txt", name);
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    const json_t *each;
    size_t i;

    json_array_foreach(sends, i, each)
        sw_buf_addf(&text, "== %s\n%s", sw_json_str(each, "what"), sw_json_str(each, "text"));
    compare_text(file, sw_buf_text(&text));
}

/* All that would be sent, or the first `most` things of it. */
static void compare_plan(const char *name, json_t *options, size_t most)
{
    const struct sw_connect_options config = { .state_dir = "/nowhere/state", .env = environment };
    sw_auto(sw_plan) struct sw_plan *plan = make_plan(options);
    struct sw_error err = { 0 };
    struct sw_connection *conn = sw_platform_brev.open(&config, &err);
    sw_auto(json) json_t *sends = conn ? sw_platform_brev.render(conn, plan, &err) : NULL;

    if (!sends)
        fail_msg("%s", err.message);
    while (json_array_size(sends) > most)
        json_array_remove(sends, json_array_size(sends) - 1);
    compare(name, sends);
    sw_platform_brev.close(conn);
}

static void a_job_gets_an_instance_of_its_own_and_containers_on_it(void **state)
{
    (void)state;
    compare_plan("own", json_object(), SIZE_MAX);
}

static void types_are_named_in_their_order(void **state)
{
    (void)state;
    compare_plan("types", json_pack("{s:[s,s]}", "types", "two.a100", "eight.h100"), 1);
}

static void an_instance_that_is_named_is_not_created(void **state)
{
    (void)state;
    compare_plan("named", json_pack("{s:s}", "instance_id", "bench"), 1);
}

static void a_pool_is_looked_at_before_one_is_created(void **state)
{
    (void)state;
    compare_plan("pool", json_pack("{s:s, s:i}", "pool", "team", "pool_size", 3), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_gets_an_instance_of_its_own_and_containers_on_it),
        cmocka_unit_test(types_are_named_in_their_order),
        cmocka_unit_test(an_instance_that_is_named_is_not_created),
        cmocka_unit_test(a_pool_is_looked_at_before_one_is_created),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
