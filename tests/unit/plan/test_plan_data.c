/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_data.c - what is left of a job that only tries its data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/id.h"
#include "core/payload.h"
#include "plan/entrypoint.h"
#include "plan/plan.h"

static struct sw_plan *plan_of(const char *job)
{
    sw_auto(json) json_t *read = json_loads(job, 0, NULL), *options = json_object();
    struct sw_spec spec = { .platform = (char *)"slurm", .job = read, .options = options };
    struct sw_plan *plan;

    assert_non_null(read);
    json_object_set_new(options, "partition", json_string("batch"));
    plan = sw_plan_make(&spec, NULL, "/base", NULL);
    assert_non_null(plan);
    return plan;
}

static const char whole[] =
    "{\"command\":\"train\",\"image\":\"app:1\",\"gpus\":\"H100:8\",\"nodes\":4,\"cpus\":64,"
    "\"memory\":\"512GiB\",\"shm\":\"64GiB\",\"time\":\"2d\",\"launcher\":\"torchrun\","
    "\"setup\":[\"pip install x\"],\"secrets\":[\"KEY\"],\"inputs\":{\"/in\":\"s3://b/in\"},"
    "\"outputs\":{\"/out\":{\"to\":\"s3://b/out/\"}},\"mounts\":[\"/a:/b\"],"
    "\"checkpoint\":{\"dir\":\"/out\"},\"retry\":{\"max\":9},\"guard\":{\"no_output\":\"1m\"},"
    "\"hooks\":{\"on_complete\":\"mail\"},\"notify\":{\"command\":\"mail\"}}";

static void what_waits_costs_or_acts_goes_and_what_decides_where_stays(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_of(whole);

    (void)state;
    sw_plan_only_data(plan);
    assert_int_equal(plan->nodes, 1);
    assert_int_equal(plan->gpus, 0);
    assert_null(plan->gpu_type);
    assert_true(plan->cpus <= 1 && plan->memory_bytes <= INT64_C(1) << 30 && plan->time_ms <= 600000);
    assert_int_equal(plan->launcher, SW_LAUNCHER_NONE);
    assert_true(!plan->setup && !plan->hooks && !plan->notify && !plan->guard && !plan->checkpoint);
    assert_int_equal(sw_json_int(plan->retry, "max", -1), 0);
    assert_string_equal(plan->image, "app:1");
    assert_string_equal(sw_json_str(plan->options, "partition"), "batch");
    assert_int_equal(json_array_size(plan->secrets), 1);
    assert_int_equal(json_array_size(plan->inputs) + json_array_size(plan->outputs), 2);
    assert_int_equal(json_array_size(plan->mounts), 1);
}

static void the_payload_says_it_also_of_a_plan_that_was_stored(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_of(whole), *again = NULL;
    sw_auto(sw_payload) struct sw_payload *payload = NULL, *read = NULL;
    sw_auto(json) json_t *stored = NULL, *sent = NULL;

    (void)state;
    sw_plan_only_data(plan);
    stored = sw_plan_to_json(plan);
    again = sw_plan_from_json(stored, NULL);
    payload = sw_entrypoint_payload(again, NULL);
    sent = sw_payload_to_json(payload);
    read = sw_payload_from_json(sent, NULL);
    assert_true(read->only_data);
}

static void an_ordinary_plan_does_not_mention_it(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_of(whole);
    sw_auto(json) json_t *stored = sw_plan_to_json(plan);

    (void)state;
    assert_null(json_object_get(stored, "only_data"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_costs_or_acts_goes_and_what_decides_where_stays),
        cmocka_unit_test(the_payload_says_it_also_of_a_plan_that_was_stored),
        cmocka_unit_test(an_ordinary_plan_does_not_mention_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
