/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - the kernel's count of processes that it ended for memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runner/runner.h"

static void the_count_is_found_in_both_forms(void **state)
{
    static const struct {
        const char *text;
        int64_t count;
    } rows[] = {
        { "low 0\nhigh 0\nmax 41\noom 7\noom_kill 3\noom_group_kill 1\n", 3 },
        { "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", 2 },
        { "oom_kill 5", 5 },         { "oom_kill_disable 1\nunder_oom 0\n", 0 },
        { "", 0 },                   { "noom_kill 4\n", 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        assert_int_equal(runner_oom_count(rows[i].text), rows[i].count);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_count_is_found_in_both_forms) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
