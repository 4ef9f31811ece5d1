/* SPDX-License-Identifier: Apache-2.0 */
/* test_rules.c - the same facts get the same verdict; what nobody knows is called unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/sighting.h"
#include "diagnose/diagnose.h"

static const struct {
    const char *reason;
    int exit_code, signal;
    const char *err_class, *cause;
} cases[] = {
    { "memory", 137, 9, "ERR_PROGRAM", "memory" },
    { "time", 124, 15, "ERR_PROGRAM", "time" },
    { "restart", SW_NO_EXIT_CODE, 0, "ERR_INFRA", "node" },
    { "lost", SW_NO_EXIT_CODE, 0, "ERR_INFRA", "node" },
    { "preempted", SW_NO_EXIT_CODE, 0, "ERR_INFRA", "preempted" },
    { "disk", 1, 0, "ERR_INFRA", "storage" },
    { "exit", 127, 0, "ERR_PROGRAM", "user" },
    { "exit", 126, 0, "ERR_PROGRAM", "user" },
    { "exit", 1, 0, "ERR_PROGRAM", "unknown" },
    { "exit", 3, 0, "ERR_PROGRAM", "unknown" },
    { "signal", 139, 11, "ERR_PROGRAM", "user" },
    { "signal", 137, 9, "ERR_PROGRAM", "unknown" },
    { "a word of the future", 5, 0, "ERR_PROGRAM", "unknown" },
};

static void every_failure_has_a_class_a_cause_and_a_suggestion(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        struct sw_evidence evidence = { .state = SW_ERROR, .exit_code = cases[i].exit_code,
                                        .signal = cases[i].signal, .failed_replica = -1 };
        sw_auto(json) json_t *verdict = NULL;

        strcpy(evidence.reason, cases[i].reason);
        verdict = sw_diagnose(&evidence);
        assert_string_equal(sw_json_str(verdict, "err_class"), cases[i].err_class);
        assert_string_equal(sw_json_str(verdict, "cause"), cases[i].cause);
        assert_true(strlen(sw_json_str(verdict, "suggestion")) > 10);
        assert_true(json_is_array(json_object_get(verdict, "job_failure_by_node_event")));
        assert_true(json_is_array(json_object_get(verdict, "log_streams")));
    }
}

static void a_job_that_did_not_fail_has_no_verdict(void **state)
{
    struct sw_evidence evidence = { .state = SW_CANCELED };

    (void)state;
    assert_null(sw_diagnose(&evidence));
    evidence.state = SW_RUNNING;
    assert_null(sw_diagnose(&evidence));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failure_has_a_class_a_cause_and_a_suggestion),
        cmocka_unit_test(a_job_that_did_not_fail_has_no_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
