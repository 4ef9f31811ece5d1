/* SPDX-License-Identifier: Apache-2.0 */
/* test_user_rules.c - rules of the user's own: checked when read, tried before ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/buf.h"
#include "core/observation.h"
#include "diagnose/diagnose.h"

static json_t *diagnose_with(const char *log, const char *rules)
{
    struct sw_evidence evidence = { .state = SW_ERROR, .reason = "exit", .exit_code = 1,
                                    .failed_replica = -1 };
    sw_auto(json) json_t *user_rules = json_loads(rules, 0, NULL);
    json_t *verdict;

    assert_non_null(user_rules);
    evidence.log_tail = sw_strdup(log);
    verdict = sw_diagnose_with(&evidence, user_rules);
    sw_evidence_done(&evidence);
    return verdict;
}

static void a_rule_of_the_user_comes_before_ours(void **state)
{
    sw_auto(json) json_t *verdict =
        diagnose_with("KeyError: 'shard-17'\n",
                      "[{\"pattern\": \"KeyError: 'shard-[0-9]+'\", \"cause\": \"storage\","
                      "  \"class\": \"infra\", \"suggestion\": \"ask the data team\"}]");

    (void)state;
    assert_string_equal(sw_json_str(verdict, "rule"), "user-rule");
    assert_string_equal(sw_json_str(verdict, "cause"), "storage");
    assert_string_equal(sw_json_str(verdict, "err_class"), "ERR_INFRA");
    assert_string_equal(sw_json_str(verdict, "suggestion"), "ask the data team");
}

static void the_class_follows_from_the_cause(void **state)
{
    sw_auto(json) json_t *node = diagnose_with("flux low\n", "[{\"pattern\":\"flux\","
                                                             "\"cause\":\"node\"}]");
    sw_auto(json) json_t *user = diagnose_with("flux low\n", "[{\"pattern\":\"flux\","
                                                             "\"cause\":\"user\"}]");

    (void)state;
    assert_string_equal(sw_json_str(node, "err_class"), "ERR_INFRA");
    assert_string_equal(sw_json_str(user, "err_class"), "ERR_PROGRAM");
}

static void a_rule_that_does_not_fit_leaves_the_rest_to_ours(void **state)
{
    sw_auto(json) json_t *verdict = diagnose_with("KeyError: 'x'\n", "[{\"pattern\":\"flux\","
                                                                     "\"cause\":\"node\"}]");

    (void)state;
    assert_string_equal(sw_json_str(verdict, "rule"), "python");
}

static void what_the_platform_states_is_not_overruled(void **state)
{
    struct sw_evidence evidence = { .state = SW_ERROR, .reason = "preempted", .exit_code = -1,
                                    .failed_replica = -1 };
    sw_auto(json) json_t *rules = json_loads("[{\"pattern\":\".\",\"cause\":\"user\"}]", 0, NULL);
    sw_auto(json) json_t *verdict = NULL;

    (void)state;
    evidence.log_tail = sw_strdup("anything\n");
    verdict = sw_diagnose_with(&evidence, rules);
    assert_string_equal(sw_json_str(verdict, "cause"), "preempted");
    sw_evidence_done(&evidence);
}

static const struct { const char *rules, *part; } bad[] = {
    { "{}", "must be a list" },
    { "[3]", "rule 1" },
    { "[{\"cause\":\"user\"}]", "'pattern' is missing" },
    { "[{\"pattern\":\"\",\"cause\":\"user\"}]", "'pattern' is missing" },
    { "[{\"pattern\":\"a\"}]", "'cause' must be one of memory" },
    { "[{\"pattern\":\"a\",\"cause\":\"gremlins\"}]", "'cause' must be one of" },
    { "[{\"pattern\":\"a\",\"cause\":\"user\",\"class\":\"maybe\"}]", "'class' must be" },
    { "[{\"pattern\":\"a\",\"cause\":\"user\"},{\"pattern\":\"(\",\"cause\":\"user\"}]", "rule 2" },
    { "[{\"pattern\":\"a*\",\"cause\":\"user\"}]", "matches every line" },
    { "[{\"pattern\":\"(a)\\\\1\",\"cause\":\"user\"}]", "back references" },
    { "[{\"pattern\":\"a{1000}\",\"cause\":\"user\"}]", "repeats more than" },
    { "[{\"pattern\":\"((a{1,100}){1,100}){1,100}b\",\"cause\":\"user\"}]", "repeats more than" },
    { "[{\"pattern\":3,\"cause\":\"user\"}]", "must be a string" },
    { "[{\"patern\":\"a\",\"cause\":\"user\"}]", "unknown key 'patern'" },
};

static void a_bad_rule_is_named_when_it_is_read_and_skipped_later(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(bad); i++) {
        sw_auto(json) json_t *rules = json_loads(bad[i].rules, 0, NULL);
        sw_auto(json) json_t *verdict = diagnose_with("KeyError: 'x'\n", bad[i].rules);
        struct sw_error err = { 0 };

        assert_int_equal(sw_rules_check(rules, &err), -1);
        assert_int_equal(err.code, SW_E_SPEC);
        if (!strstr(err.message, bad[i].part))
            fail_msg("%s: %s", bad[i].rules, err.message);
        assert_string_equal(sw_json_str(verdict, "rule"), "python");
    }
}

static void too_long_and_too_many_are_refused(void **state)
{
    sw_auto(json) json_t *many = json_array();
    sw_auto(sw_buf) struct sw_buf pattern = SW_BUF_INIT;
    sw_auto(json) json_t *long_one = NULL;

    (void)state;
    for (int i = 0; i < 65; i++)
        json_array_append_new(many, json_pack("{ssss}", "pattern", "a", "cause", "user"));
    assert_int_equal(sw_rules_check(many, NULL), -1);
    for (int i = 0; i < 300; i++)
        sw_buf_add_char(&pattern, 'a');
    long_one = json_pack("[{ssss}]", "pattern", sw_buf_text(&pattern), "cause", "user");
    assert_int_equal(sw_rules_check(long_one, NULL), -1);
}

static void no_rules_are_fine(void **state)
{
    sw_auto(json) json_t *empty = json_array();
    sw_auto(json) json_t *null = json_null();

    (void)state;
    assert_int_equal(sw_rules_check(NULL, NULL), 0);
    assert_int_equal(sw_rules_check(null, NULL), 0);
    assert_int_equal(sw_rules_check(empty, NULL), 0);
}

static void an_expression_with_much_choice_ends_in_time(void **state)
{
    sw_auto(sw_buf) struct sw_buf log = SW_BUF_INIT;
    sw_auto(json) json_t *verdict = NULL;
    struct timespec begin, end;

    (void)state;
    while (log.length < 70000)
        sw_buf_add(&log, log.length % 4000 == 0 ? "\n" : "a");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    verdict = diagnose_with(sw_buf_text(&log), "[{\"pattern\":\"(a|aa|a*)*(a?){20}b$\","
                                               "\"cause\":\"user\"}]");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    assert_string_equal(sw_json_str(verdict, "cause"), "unknown");
    assert_true(end.tv_sec - begin.tv_sec < 5);
}

static void only_infrastructure_is_retried_unless_asked(void **state)
{
    sw_auto(json) json_t *asked = json_pack("[ss]", "memory", "time");

    (void)state;
    assert_true(sw_cause_is_retriable("node", NULL));
    assert_true(sw_cause_is_retriable("gpu", NULL));
    assert_true(sw_cause_is_retriable("network", NULL));
    assert_true(sw_cause_is_retriable("preempted", NULL));
    assert_true(sw_cause_is_retriable("image", NULL));
    assert_false(sw_cause_is_retriable("memory", NULL));
    assert_false(sw_cause_is_retriable("storage", NULL));
    assert_false(sw_cause_is_retriable("unknown", NULL));
    assert_false(sw_cause_is_retriable("user", NULL));
    assert_false(sw_cause_is_retriable(NULL, NULL));
    assert_true(sw_cause_is_retriable("memory", asked));
    assert_false(sw_cause_is_retriable("node", asked));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_of_the_user_comes_before_ours),
        cmocka_unit_test(the_class_follows_from_the_cause),
        cmocka_unit_test(a_rule_that_does_not_fit_leaves_the_rest_to_ours),
        cmocka_unit_test(what_the_platform_states_is_not_overruled),
        cmocka_unit_test(a_bad_rule_is_named_when_it_is_read_and_skipped_later),
        cmocka_unit_test(too_long_and_too_many_are_refused),
        cmocka_unit_test(no_rules_are_fine),
        cmocka_unit_test(an_expression_with_much_choice_ends_in_time),
        cmocka_unit_test(only_infrastructure_is_retried_unless_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
