/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_differs.c - two plans that ask for different jobs, and the key that says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/plan.h"

static const struct {
    const char *first, *second, *differs;        /* NULL: the same job */
} pairs[] = {
    { "{\"command\":\"a\"}", "{\"command\":\"a\"}", NULL },
    { "{\"command\":\"a\"}", "{\"command\":\"b\"}", "command" },
    { "{\"argv\":[\"a\"]}", "{\"argv\":[\"a\",\"b\"]}", "command" },
    { "{\"argv\":[\"a\"]}", "{\"command\":\"a\"}", "command" },
    { "{\"platform\":\"local\",\"command\":\"a\"}", "{\"platform\":\"docker\",\"command\":\"b\"}",
      "platform" },
    { "{\"env\":{\"A\":\"1\",\"B\":\"1\"}}", "{\"env\":{\"B\":\"2\",\"A\":\"1\"}}", "env.B" },
    { "{\"env\":{\"B\":\"1\",\"A\":\"1\"}}", "{\"env\":{\"A\":\"1\",\"B\":\"1\"}}", NULL },
    { "{\"env\":{\"A\":\"1\"}}", "{}", "env" },
    { "{\"env\":{}}", "{}", NULL },
    { "{\"memory_bytes\":1}", "{\"memory_bytes\":2}", "memory" },
    { "{\"time_ms\":1}", "{\"time_ms\":2}", "time" },
    { "{\"platform\":\"slurm\",\"options\":{\"partition\":\"a\"}}",
      "{\"platform\":\"slurm\",\"options\":{\"partition\":\"b\"}}", "slurm.partition" },
    { "{\"config\":{\"train\":{\"lr\":1}}}", "{\"config\":{\"train\":{\"lr\":2}}}", "config.train.lr" },
    { "{\"settings\":[{\"name\":\"AWS_REGION\",\"from\":\"a\",\"value\":\"x\"},"
      "{\"name\":\"AWS_SESSION_TOKEN\",\"secret\":true}]}",
      "{\"settings\":[{\"name\":\"AWS_REGION\",\"from\":\"b\",\"value\":\"x\"}]}", NULL },
    { "{\"settings\":[{\"name\":\"AWS_REGION\",\"value\":\"x\"}]}",
      "{\"settings\":[{\"name\":\"AWS_REGION\",\"value\":\"y\"}]}", "settings.AWS_REGION" },
    { "{\"labels\":{}}", "{\"labels\":{\"a\":\"b\"}}", "labels.a" },
    { "{\"job_id\":\"a\",\"dotenv\":{\"path\":\"/a\"},\"avoid\":[\"n1\"],\"rules\":[1]}",
      "{\"job_id\":\"b\"}", NULL },
};

static void the_first_key_in_which_two_plans_differ_is_named_as_the_job_file_calls_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(pairs); i++) {
        sw_auto(json) json_t *first = json_loads(pairs[i].first, 0, NULL);
        sw_auto(json) json_t *second = json_loads(pairs[i].second, 0, NULL);
        sw_autofree char *there = sw_plan_difference(first, second);
        sw_autofree char *back = sw_plan_difference(second, first);

        print_message("%s\n%s\n", pairs[i].first, pairs[i].second);
        if (!pairs[i].differs) {
            assert_null(there);
            assert_null(back);
            continue;
        }
        assert_string_equal(there, pairs[i].differs);
        assert_string_equal(back, pairs[i].differs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_key_in_which_two_plans_differ_is_named_as_the_job_file_calls_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
