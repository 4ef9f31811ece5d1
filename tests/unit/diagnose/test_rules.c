/* SPDX-License-Identifier: Apache-2.0 */
/* test_rules.c - the same facts get the same verdict; what is not known is called unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/observation.h"
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
    { "removed", SW_NO_EXIT_CODE, 0, "ERR_PROGRAM", "unknown" },
    { "stopped", 143, 15, "ERR_PROGRAM", "unknown" },
    { "preempted", SW_NO_EXIT_CODE, 0, "ERR_INFRA", "preempted" },
    { "disk", 1, 0, "ERR_INFRA", "storage" },
    { "exit", 127, 0, "ERR_PROGRAM", "user" },
    { "exit", 126, 0, "ERR_PROGRAM", "user" },
    { "exit", 1, 0, "ERR_PROGRAM", "unknown" },
    { "exit", 3, 0, "ERR_PROGRAM", "unknown" },
    { "signal", 139, 11, "ERR_PROGRAM", "user" },
    { "signal", 137, 9, "ERR_PROGRAM", "unknown" },
    { "a word of the future", 5, 0, "ERR_PROGRAM", "unknown" },
    { "node-lost", SW_NO_EXIT_CODE, 0, "ERR_INFRA", "node" },
    { "evicted", 137, 9, "ERR_INFRA", "preempted" },
    { "image-error", SW_NO_EXIT_CODE, 0, "ERR_INFRA", "image" },
    { "no-capacity", SW_NO_EXIT_CODE, 0, "ERR_INFRA", "node" },
    { "mount", SW_NO_EXIT_CODE, 0, "ERR_INFRA", "node" },
    { "image-auth", SW_NO_EXIT_CODE, 0, "ERR_PROGRAM", "image" },
    { "quota", 1, 0, "ERR_PROGRAM", "storage" },
    { "inputs", 74, 0, "ERR_PROGRAM", "user" },
    { "outputs", 74, 0, "ERR_PROGRAM", "storage" },
    { "exit", 124, 0, "ERR_PROGRAM", "time" },
    { "exit", 2, 0, "ERR_PROGRAM", "unknown" },
    { "exit", 139, 0, "ERR_PROGRAM", "user" },        /* a shell's way to say signal 11 */
    { "exit", 137, 0, "ERR_PROGRAM", "unknown" },
    { "signal", 135, 7, "ERR_PROGRAM", "memory" },
    { "signal", 134, 6, "ERR_PROGRAM", "user" },
    { "signal", 143, 15, "ERR_PROGRAM", "unknown" },
    { "signal", 130, 2, "ERR_PROGRAM", "user" },
    { "signal", 132, 4, "ERR_PROGRAM", "user" },
    { "signal", 152, 24, "ERR_PROGRAM", "time" },
    { "signal", 153, 25, "ERR_PROGRAM", "storage" },
    { "", SW_NO_EXIT_CODE, 0, "ERR_PROGRAM", "unknown" },
};

static const struct {
    const char *facts;
    int signal;
    const char *rule, *cause;
} fact_cases[] = {
    { "{\"oom_kills\": 1}", 9, "fact-oom", "memory" },
    { "{\"oom_kills\": 0}", 9, "signal-kill", "unknown" },
    { "{\"host_oom_kills\": 2}", 9, "fact-host-oom", "memory" },
    { "{\"host_oom_kills\": 2}", 0, "", "unknown" },
    { "{\"xid\": 79}", 6, "fact-xid-hardware", "gpu" },
    { "{\"xid\": [31, 79]}", 6, "fact-xid-hardware", "gpu" },
    { "{\"xid\": [31, 999]}", 6, "fact-xid-program", "user" },
    { "{\"xid\": 999}", 6, "signal-abrt", "user" },
    { "{\"xid\": [\"x\", null, 1e99]}", 6, "signal-abrt", "user" },
    { "{\"ecc_uncorrected\": 3}", 0, "fact-ecc", "gpu" },
    { "{\"gpu_lost\": \"GPU-1234\"}", 0, "fact-gpu-lost", "gpu" },
    { "{\"driver_mismatch\": \"11.4 < 12.4\"}", 0, "fact-driver", "gpu" },
    { "{\"disk_full\": \"/results\"}", 0, "fact-disk", "storage" },
    { "{\"quota_exceeded\": true}", 0, "fact-quota", "storage" },
    { "{\"shm_full\": true}", 7, "fact-shm", "memory" },
    { "{\"peer_unreachable\": [\"n2\", \"n3\"]}", 0, "fact-peer", "network" },
    { "{\"peer_unreachable\": []}", 0, "", "unknown" },
    { "{\"store_unreachable\": \"s3\"}", 0, "fact-store", "network" },
    { "{\"node_down\": \"n2\"}", 0, "fact-node", "node" },
    { "{\"preempt_notice\": true}", 15, "fact-preempted", "preempted" },
    { "{\"preempt_notice\": false}", 15, "signal-term", "unknown" },
    { "{\"input_missing\": \"s3://b/k\"}", 0, "fact-input", "user" },
    { "{\"credential_refused\": \"NGC_KEY\"}", 0, "fact-credential", "user" },
    { "{\"something_else\": 1}", 0, "", "unknown" },
    { "[1]", 0, "", "unknown" },
};

static void a_fact_tells_the_cause_before_any_log_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(fact_cases); i++) {
        struct sw_evidence evidence = { .state = SW_ERROR, .exit_code = 1, .reason = "exit",
                                        .signal = fact_cases[i].signal, .failed_replica = -1 };
        sw_auto(json) json_t *verdict = NULL;

        evidence.facts = json_loads(fact_cases[i].facts, 0, NULL);
        verdict = sw_diagnose(&evidence);
        if (strcmp(sw_json_str(verdict, "rule"), fact_cases[i].rule) != 0)
            fail_msg("%s: rule '%s'", fact_cases[i].facts, sw_json_str(verdict, "rule"));
        assert_string_equal(sw_json_str(verdict, "cause"), fact_cases[i].cause);
        sw_evidence_done(&evidence);
    }
}

static void a_fact_beats_the_log_and_a_reason_beats_the_fact(void **state)
{
    struct sw_evidence evidence = { .state = SW_ERROR, .exit_code = 1, .reason = "exit",
                                    .failed_replica = -1 };
    sw_auto(json) json_t *by_fact = NULL, *by_reason = NULL;

    (void)state;
    evidence.facts = json_pack("{si}", "xid", 79);
    evidence.log_tail = sw_strdup("KeyError: 'x'\n");
    by_fact = sw_diagnose(&evidence);
    assert_string_equal(sw_json_str(by_fact, "cause"), "gpu");
    strcpy(evidence.reason, "time");
    by_reason = sw_diagnose(&evidence);
    assert_string_equal(sw_json_str(by_reason, "cause"), "time");
    sw_evidence_done(&evidence);
}

static void no_client_is_sent_to_a_log_that_is_gone(void **state)
{
    struct sw_evidence evidence = { .state = SW_ERROR, .exit_code = 3, .reason = "exit",
                                    .failed_replica = -1 };
    sw_auto(json) json_t *verdict = NULL;

    (void)state;
    evidence.facts = json_pack("{sb}", SW_FACT_LOG_GONE, 1);
    verdict = sw_diagnose(&evidence);
    assert_string_equal(sw_json_str(verdict, "cause"), "unknown");
    assert_non_null(strstr(sw_json_str(verdict, "suggestion"), "is gone"));
    sw_evidence_done(&evidence);
}

static const struct {
    const char *reason, *error, *err_class, *cause;
} error_cases[] = {
    { "prepare", "UnreachableError", "ERR_INFRA", "network" },
    { "inputs", "UnreachableError", "ERR_INFRA", "network" },
    { "outputs", "UnreachableError", "ERR_INFRA", "network" },
    { "prepare", "TimeoutError", "ERR_INFRA", "network" },
    { "outputs", "TimeoutError", "ERR_INFRA", "network" },
    { "prepare", "NotFoundError", "ERR_PROGRAM", "user" },
    { "prepare", "RefusedError", "ERR_PROGRAM", "user" },
    { "prepare", "CredentialError", "ERR_PROGRAM", "user" },
    { "outputs", "NotFoundError", "ERR_PROGRAM", "storage" },
    { "outputs", "RefusedError", "ERR_PROGRAM", "storage" },
    { "outputs", "CredentialError", "ERR_PROGRAM", "storage" },
    { "destination", "UnreachableError", "ERR_INFRA", "network" },
    { "destination", "TimeoutError", "ERR_INFRA", "network" },
    { "destination", "CredentialError", "ERR_PROGRAM", "storage" },
    { "destination", "NotFoundError", "ERR_PROGRAM", "storage" },
    { "prepare", "a code of the future", "ERR_PROGRAM", "user" },
    { "exit", "UnreachableError", "ERR_PROGRAM", "user" },       /* the program failed: its log decides */
};

/* The log is the program's: it says one thing, the runner's own error another. */
static void an_error_of_the_runner_is_judged_by_its_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(error_cases); i++) {
        struct sw_evidence evidence = { .state = SW_ERROR, .exit_code = 74, .failed_replica = -1 };
        sw_auto(json) json_t *verdict = NULL;

        strcpy(evidence.reason, error_cases[i].reason);
        evidence.facts = json_pack("{s{ss}}", "runner", "error", error_cases[i].error);
        evidence.log_tail = sw_strdup("Traceback (most recent call last):\nKeyError: 'x'\n");
        verdict = sw_diagnose(&evidence);
        assert_string_equal(sw_json_str(verdict, "err_class"), error_cases[i].err_class);
        assert_string_equal(sw_json_str(verdict, "cause"), error_cases[i].cause);
        sw_evidence_done(&evidence);
    }
}

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
        cmocka_unit_test(a_fact_tells_the_cause_before_any_log_does),
        cmocka_unit_test(a_fact_beats_the_log_and_a_reason_beats_the_fact),
        cmocka_unit_test(no_client_is_sent_to_a_log_that_is_gone),
        cmocka_unit_test(an_error_of_the_runner_is_judged_by_its_code),
        cmocka_unit_test(a_job_that_did_not_fail_has_no_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
