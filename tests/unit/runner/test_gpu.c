/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu.c - which of a machine's GPUs are the job's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runner/runner.h"

static void only_visible_gpus_are_ours(void **state)
{
    static const struct {
        const char *visible;
        bool ours;
    } rows[] = {
        { NULL, true },      { "", false },           { "1", true },          { "0,1,2", true },
        { "0,11", false },   { "10", false },         { "GPU-1a2b", true },   { "0,gpu-1A2B3C", true },
        { "GPU-", false },   { "GPU-1a2b3c44", false }, { "-1", false },
    };
    const struct sw_gpu gpu = { .index = 1, .uuid = "GPU-1a2b3c4d" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        if (runner_gpu_is_ours(&gpu, rows[i].visible) != rows[i].ours)
            fail_msg("'%s'", rows[i].visible ? rows[i].visible : "(not set)");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(only_visible_gpus_are_ours) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
