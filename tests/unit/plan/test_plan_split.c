/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_split.c - what the splits of a group have in common, and what each has for itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/id.h"
#include "plan/plan.h"

static struct sw_plan *plan_of(const char *job, const char *id, struct sw_error *err)
{
    struct sw_spec spec = { .platform = (char *)"local" };
    struct sw_plan *plan;

    spec.job = json_loads(job, 0, NULL);
    assert_non_null(spec.job);
    spec.options = json_object();
    spec.sources = json_pack("{s:s}", "outputs./out.to", "job.yaml:4:9");
    plan = sw_plan_make(&spec, id, "/base", err);
    json_decref(spec.job);
    json_decref(spec.options);
    json_decref(spec.sources);
    return plan;
}

static void a_split_has_its_number_in_id_environment_label_and_texts(void **state)
{
    sw_auto(sw_plan) struct sw_plan *group = plan_of(
        "{\"name\":\"prep\",\"splits\":12,"
        "\"argv\":[\"prep\",\"--shard={split_id}/{split_count}\",\"{other}\"],"
        "\"inputs\":{\"/in\":\"s3://b/{split_id}.json\"},"
        "\"outputs\":{\"/out\":\"s3://b/out/{split_id}/\"},"
        "\"config\":{\"a\":[{\"b\":\"x{split_id}y{split_id}\"}],\"n\":3},\"labels\":{\"team\":\"t\"}}",
        NULL, NULL);
    sw_auto(sw_plan) struct sw_plan *split = NULL;
    char id[SW_ID_SIZE];

    (void)state;
    assert_non_null(group);
    split = sw_plan_split(group, 11, NULL);
    sw_id_split(group->job_id, 11, id);
    assert_string_equal(split->job_id, id);
    assert_string_equal(sw_json_str(split->env, "SPLIT_ID"), "11");
    assert_string_equal(sw_json_str(split->env, "SPLIT_COUNT"), "12");
    assert_string_equal(sw_json_str(split->labels, SW_LABEL_GROUP), group->job_id);
    assert_string_equal(sw_json_str(split->labels, "team"), "t");
    assert_string_equal(json_string_value(json_array_get(split->argv, 1)), "--shard=11/12");
    assert_string_equal(json_string_value(json_array_get(split->argv, 2)), "{other}");
    assert_string_equal(sw_json_str(json_array_get(split->inputs, 0), "from"), "s3://b/11.json");
    assert_string_equal(sw_json_str(json_array_get(split->outputs, 0), "to"), "s3://b/out/11/");
    assert_string_equal(sw_json_str(json_array_get(json_object_get(split->config, "a"), 0), "b"), "x11y11");
    assert_int_equal(split->split_id, 11);
    assert_int_equal(split->splits, 12);
    assert_string_equal(sw_json_str(json_array_get(group->outputs, 0), "to"), "s3://b/out/{split_id}/");
    assert_null(json_object_get(group->env, "SPLIT_ID"));
}

static void the_same_split_of_another_count_is_another_job(void **state)
{
    sw_auto(sw_plan) struct sw_plan *four = plan_of("{\"command\":\"x\",\"splits\":4}", "g", NULL);
    sw_auto(sw_plan) struct sw_plan *five = plan_of("{\"command\":\"x\",\"splits\":5}", "g", NULL);
    sw_auto(sw_plan) struct sw_plan *one = sw_plan_split(four, 1, NULL);
    sw_auto(sw_plan) struct sw_plan *other = sw_plan_split(five, 1, NULL);
    sw_auto(sw_plan) struct sw_plan *again = sw_plan_split(four, 1, NULL);
    sw_auto(json) json_t *first = sw_plan_to_json(one), *second = sw_plan_to_json(other);
    sw_auto(json) json_t *third = sw_plan_to_json(again);
    sw_autofree char *differs = sw_plan_difference(first, second);

    (void)state;
    assert_string_equal(differs, "splits");
    assert_null(sw_plan_difference(first, third));
}

static void outputs_that_all_splits_would_write_are_refused_with_their_place(void **state)
{
    static const struct {
        const char *job, *says;              /* NULL: it is fine */
    } rows[] = {
        { "{\"command\":\"x\",\"splits\":2,\"outputs\":{\"/out\":\"/data/out\"}}",
          "job.yaml:4:9: outputs./out.to: all 2 splits would write to '/data/out'" },
        { "{\"command\":\"x\",\"splits\":2,\"config\":{\"r\":{\"d\":\"s3://b/o\"}},"
          "\"config_outputs\":[\"r.d\"]}",
          "all 2 splits would write to 's3://b/o'" },
        { "{\"command\":\"x\",\"splits\":2,\"config\":{\"r\":\"s3://b/{split_id}\"},"
          "\"config_outputs\":[\"r\"]}", NULL },
        { "{\"command\":\"x\",\"splits\":2,\"outputs\":{\"/out\":\"/data/{split_id}\"}}", NULL },
        { "{\"command\":\"x\",\"splits\":2,\"outputs\":{\"/out\":\"/data/{id}\"}}", NULL },
        { "{\"command\":\"x\",\"splits\":2,\"outputs\":{\"/out\":\"/data/{job_id}\"}}", NULL },
        { "{\"command\":\"x\",\"splits\":2,\"outputs\":[\"/out\"]}", NULL },
        { "{\"command\":\"x\",\"splits\":1,\"outputs\":{\"/out\":\"/data/out\"}}", NULL },
        { "{\"command\":\"x\",\"outputs\":{\"/out\":\"/data/out\"}}", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_error err = { 0 };
        sw_auto(sw_plan) struct sw_plan *plan = plan_of(rows[i].job, NULL, &err);

        if (!rows[i].says != (plan != NULL))
            fail_msg("%s: %s", rows[i].job, err.message);
        if (!rows[i].says)
            continue;
        assert_int_equal(err.code, SW_E_SPEC);
        if (!strstr(err.message, rows[i].says))
            fail_msg("%s", err.message);
    }
}

static void the_id_of_a_group_leaves_room_for_the_number(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_of(
        "{\"name\":\"a-very-long-name-of-a-job-that-is-cut\",\"command\":\"x\",\"splits\":10000}", NULL,
        NULL);
    sw_auto(sw_plan) struct sw_plan *last = sw_plan_split(plan, SW_SPLITS_MAX - 1, NULL);
    struct sw_error err = { 0 };

    (void)state;
    assert_true(sw_id_valid(last->job_id));
    assert_int_equal(strlen(last->job_id), SW_ID_MAX);
    assert_null(plan_of("{\"command\":\"x\",\"splits\":2}", "abcdefghijklmnopqrstuvwxyz-0123", &err));
    assert_int_equal(err.code, SW_E_USAGE);
    assert_non_null(strstr(err.message, "30 characters"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_split_has_its_number_in_id_environment_label_and_texts),
        cmocka_unit_test(the_same_split_of_another_count_is_another_job),
        cmocka_unit_test(outputs_that_all_splits_would_write_are_refused_with_their_place),
        cmocka_unit_test(the_id_of_a_group_leaves_room_for_the_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
