/* SPDX-License-Identifier: Apache-2.0 */
/* test_verdict.c - which node failed first, as srun tells it in the log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "runner/runner.h"

static void the_node_that_srun_names_first_is_the_one(void **state)
{
    static const struct { const char *log, *node; } rows[] = {
        { "", NULL },
        { "x", NULL },
        { "srun: error:", NULL },
        { "srun: error: ", NULL },
        { "training\nsrun: error: n2: task 1: Exited with exit code 1\nsrun: error: n1: task 0: Killed\n",
          "n2" },
        { "srun: error: gpu-07.cluster: tasks 0-7: Killed", "gpu-07.cluster" },
        { "srun: error: n[1-2]: tasks 0-1: Killed\n", NULL },
        { "srun: error: n1: task 0: Killed\nsrun: error: Node failure on n9\n", "n9" },
        { "srun: error: Node failure on ", NULL },
        { "srun: error: Unable to create step for job 5: x\n", NULL },
        { "said: srun: error: n2: task 1: Killed\n", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *log = sw_strdup(rows[i].log), *node = runner_failed_node(log);

        if (!sw_text_same(node, rows[i].node))
            fail_msg("'%s' named %s", rows[i].log, node ? node : "no node");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_node_that_srun_names_first_is_the_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
