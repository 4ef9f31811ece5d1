/* SPDX-License-Identifier: Apache-2.0 */
/* test_ps_columns.c - which columns ps shows at which width, and in which order its jobs are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "cli/ps_columns.h"

static json_t *parse(const char *text)
{
    json_t *jobs = sw_json_parse(text, strlen(text), "jobs", NULL);

    assert_non_null(jobs);
    return jobs;
}

static json_t *mixed_jobs(void)
{
    return parse(
        "[{\"id\":\"train-aaaaaaaa\",\"status\":\"Running\",\"backend_type\":\"slurm\",\"gpus\":8,"
        "\"nodes\":2,\"duration_ms\":8000000,\"age_ms\":9000000,"
        "\"last_line\":\"Epoch 3/10 loss=0.25\",\"progress\":{\"epoch\":3,\"epochs\":10,\"fraction\":0.3}},"
        "{\"id\":\"eval-bbbbbbbb\",\"status\":\"Error\",\"backend_type\":\"local\",\"duration_ms\":4200,"
        "\"age_ms\":100000,\"exit_code\":1,"
        "\"message\":\"RuntimeError: CUDA out of memory on rank 0\"},"
        "{\"id\":\"prep-cccccccc\",\"status\":\"Complete\",\"backend_type\":\"local\","
        "\"duration_ms\":61000,\"age_ms\":200000,\"exit_code\":0,\"message\":\"\"},"
        "{\"id\":\"next-dddddddd\",\"status\":\"Pending\",\"backend_type\":\"slurm\",\"age_ms\":5000,"
        "\"message\":\"waiting for 8 GPUs\"}]");
}

static void assert_table(const json_t *jobs, size_t width, const char *wanted)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct ps_layout layout;

    ps_layout_for(jobs, false, &layout);
    ps_write(&out, jobs, &layout, width, false);
    assert_string_equal(sw_buf_text(&out), wanted);
}

static void columns_give_way_from_120_to_80_to_60(void **state)
{
    sw_auto(json) json_t *jobs = mixed_jobs();

    (void)state;
    assert_table(jobs, 120,
        "ID              STATE     PLATFORM  GPUS  DURATION  PROGRESS              RESULT\n"
        "train-aaaaaaaa  Running   slurm       16     2h13m  epoch 3/10 loss 0.25\n"
        "eval-bbbbbbbb   Error     local        -      4.2s                        "
        "RuntimeError: CUDA out of memory on rank 0\n"
        "prep-cccccccc   Complete  local        -      1m1s                        exit code 0\n"
        "next-dddddddd   Pending   slurm        -         -                        waiting for 8 GPUs\n");
    assert_table(jobs, 80,
        "ID              STATE     PLATFORM  DURATION  PROGRESS              RESULT\n"
        "train-aaaaaaaa  Running   slurm        2h13m  epoch 3/10 loss 0.25\n"
        "eval-bbbbbbbb   Error     local         4.2s                        RuntimeErro…\n"
        "prep-cccccccc   Complete  local         1m1s                        exit code 0\n"
        "next-dddddddd   Pending   slurm            -                        waiting for…\n");
    assert_table(jobs, 60,
        "ID              STATE     DURATION  PROGRESS\n"
        "train-aaaaaaaa  Running      2h13m  epoch 3/10 loss 0.25\n"
        "eval-bbbbbbbb   Error         4.2s\n"
        "prep-cccccccc   Complete      1m1s\n"
        "next-dddddddd   Pending          -\n");
}

static void a_column_that_no_job_fills_is_not_shown(void **state)
{
    sw_auto(json) json_t *jobs = parse(
        "[{\"id\":\"a-aaaaaaaa\",\"status\":\"Complete\",\"backend_type\":\"local\","
        "\"place\":\"unix:///run/a\",\"exit_code\":0,\"duration_ms\":1000}]");
    sw_auto(json) json_t *places = parse(
        "[{\"id\":\"a-aaaaaaaa\",\"status\":\"Running\",\"place\":\"ssh://one\"},"
        "{\"id\":\"b-bbbbbbbb\",\"status\":\"Running\",\"place\":\"ssh://two\"}]");

    (void)state;
    assert_table(jobs, 80, "ID          STATE     PLATFORM  DURATION  RESULT\n"
                           "a-aaaaaaaa  Complete  local         1.0s  exit code 0\n");
    assert_table(places, 80, "ID          STATE    PLATFORM  PLACE      DURATION  RESULT\n"
                             "a-aaaaaaaa  Running            ssh://one         -\n"
                             "b-bbbbbbbb  Running            ssh://two         -\n");
}

static void named_columns_stay_and_wide_is_never_cut(void **state)
{
    sw_auto(json) json_t *jobs = mixed_jobs();
    sw_auto(sw_buf) struct sw_buf named = SW_BUF_INIT, wide = SW_BUF_INIT;
    struct ps_layout layout;

    (void)state;
    assert_int_equal(ps_layout_named("state,exit,id", &layout, NULL), 0);
    ps_write(&named, jobs, &layout, 20, false);
    assert_true(sw_text_starts(sw_buf_text(&named), "STATE     EXIT  ID\nRunning      -  train-aaaaaaaa\n"));
    ps_layout_for(jobs, true, &layout);
    ps_write(&wide, jobs, &layout, 20, false);
    for (const struct ps_column *c = ps_columns; c->name; c++)
        assert_non_null(strstr(sw_buf_text(&wide), c->shape.title));
    assert_non_null(strstr(sw_buf_text(&wide), "out of memory on rank 0"));
}

static void an_unknown_column_is_an_error_that_lists_the_known_ones(void **state)
{
    struct sw_error err = { 0 };
    struct ps_layout layout;
    struct ps_order order;

    (void)state;
    assert_int_equal(ps_layout_named("id,stat", &layout, &err), -1);
    assert_int_equal(err.code, SW_E_USAGE);
    assert_string_equal(err.message, "unknown column 'stat' (did you mean 'state'?)");
    assert_non_null(strstr(err.hint, "id, name, state, platform"));
    assert_int_equal(ps_layout_named("", &layout, NULL), -1);
    assert_int_equal(ps_layout_named("id,", &layout, NULL), -1);
    assert_int_equal(ps_order_parse("nothing", &order, NULL), -1);
    assert_int_equal(ps_order_parse("age:down", &order, NULL), -1);
}

static void assert_order(const char *word, const char *initials)
{
    sw_auto(json) json_t *jobs = mixed_jobs();
    sw_auto(json) json_t *sorted = NULL;
    struct ps_order order;

    assert_int_equal(ps_order_parse(word, &order, NULL), 0);
    sorted = ps_sorted(jobs, &order);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(sw_json_str(json_array_get(sorted, i), "id")[0], initials[i]);
}

static void jobs_are_sorted_by_a_column_and_those_without_a_value_come_last(void **state)
{
    static const struct { const char *word, *initials; } cases[] = {
        { "id", "enpt" },          { "-id", "tpne" },          { "id:desc", "tpne" },    { "id:asc", "enpt" },
        { "duration", "eptn" },    { "-duration", "tpen" },    { "age", "nept" },
        { "exit", "petn" },        { "-exit", "eptn" },        { "platform", "eptn" },   { "gpus", "tepn" },
        { "state", "ntpe" },       { "progress", "tepn" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++)
        assert_order(cases[i].word, cases[i].initials);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_give_way_from_120_to_80_to_60),
        cmocka_unit_test(a_column_that_no_job_fills_is_not_shown),
        cmocka_unit_test(named_columns_stay_and_wide_is_never_cut),
        cmocka_unit_test(an_unknown_column_is_an_error_that_lists_the_known_ones),
        cmocka_unit_test(jobs_are_sorted_by_a_column_and_those_without_a_value_come_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
