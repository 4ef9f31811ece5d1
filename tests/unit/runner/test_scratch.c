/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_scratch.c - the folder we work in and where results go: rules and golden vectors.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "runner/runner.h"

static const char *const *variables;      /* name, value, ..., NULL */

static const char *get(const char *name)
{
    for (const char *const *at = variables; at && *at; at += 2)
        if (strcmp(*at, name) == 0)
            return at[1];
    return NULL;
}

static void results_go_where_the_environment_says(void **state)
{
    static const struct {
        const char *env[7];
        const char *root, *work;
        enum runner_kind kind;
    } rows[] = {
        { { "S3_BUCKET_NAME", "my-bucket" }, "s3://my-bucket/results/job-1", "/results/job-1",
          RUNNER_S3 },                                                          /* vector 4 */
        { { "TAO_RESULTS_ROOT", "/lustre/r/", "S3_BUCKET_NAME", "b" }, "/lustre/r/job-1",
          "/lustre/r/job-1", RUNNER_MOUNT },                                    /* vector 5 */
        { { "S3_BUCKET_NAME", "  " }, "/results/job-1", "/results/job-1", RUNNER_EPHEMERAL },
        { { NULL }, "/results/job-1", "/results/job-1", RUNNER_EPHEMERAL },
    };
    struct sw_payload payload = { .job_id = "job-1" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct runner_scratch scratch;

        variables = rows[i].env;
        runner_scratch_init(&scratch, &payload, get);
        assert_string_equal(scratch.results_root, rows[i].root);
        assert_string_equal(scratch.work_dir, rows[i].work);
        assert_int_equal(scratch.kind, rows[i].kind);
        runner_scratch_done(&scratch);
    }
}

static void the_payload_may_decide_itself(void **state)
{
    struct sw_payload payload = { .job_id = "j", .results_dir = (char *)"/r/j/",
                                  .scratch_dir = (char *)"/w" };
    static const char *const env[] = { "TAO_RESULTS_ROOT", "/x", "NODE_RANK", "3", NULL };
    struct runner_scratch scratch;

    (void)state;
    variables = env;
    runner_scratch_init(&scratch, &payload, get);
    assert_string_equal(scratch.results_root, "/r/j");
    assert_string_equal(scratch.work_dir, "/w");
    assert_int_equal(scratch.kind, RUNNER_MOUNT);
    assert_int_equal(scratch.rank, 3);
    runner_scratch_done(&scratch);
}

static void an_output_without_destination_is_not_lost(void **state)
{
    static const struct {
        enum runner_kind kind;
        const char *root, *path, *to;
    } rows[] = {
        { RUNNER_S3, "s3://b/results/j", "/out/model", "s3://b/results/j/model" },
        { RUNNER_S3, "s3://b/results/j", "/results/", "s3://b/results/j/results" },
        { RUNNER_MOUNT, "/mnt/j", "/mnt/j/x", NULL },          /* it is there already */
        { RUNNER_MOUNT, "/results/j", "/results", NULL },      /* the mount itself */
        { RUNNER_MOUNT, "/mnt/j", "/out/model", "/mnt/j/model" },
        { RUNNER_EPHEMERAL, "/results/j", "/out", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        const struct runner_scratch scratch = { .kind = rows[i].kind,
                                            .results_root = (char *)rows[i].root };
        sw_autofree char *to = runner_default_destination(&scratch, rows[i].path);

        if (rows[i].to)
            assert_string_equal(to, rows[i].to);
        else
            assert_null(to);
    }
}

static void the_shared_cache_mirrors_buckets(void **state)
{
    sw_autofree char *path = runner_mount_path("/mnt/lustre", "s3://bucket/folder/");

    (void)state;
    assert_string_equal(path, "/mnt/lustre/bucket/folder/");   /* vector 6 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_go_where_the_environment_says),
        cmocka_unit_test(the_payload_may_decide_itself),
        cmocka_unit_test(an_output_without_destination_is_not_lost),
        cmocka_unit_test(the_shared_cache_mirrors_buckets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
