/* SPDX-License-Identifier: Apache-2.0 */
/* test_payload.c - what plan/ writes, runner/ reads: the same letter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/payload.h"

static void a_letter_survives_the_journey(void **state)
{
    sw_auto(sw_payload) struct sw_payload *sent = sw_payload_new();
    sw_auto(sw_payload) struct sw_payload *got = NULL;
    sw_auto(json) json_t *json = NULL;
    struct sw_error err = { 0 };

    (void)state;
    strcpy(sent->job_id, "hello-abcd2345");
    sent->command = sw_strdup("train -e 'é x'");
    sent->env = sw_json_object(SW_STR("A", "1"));
    sent->config = sw_json_object(SW_INT("epochs", 3));
    sent->config_format = SW_TOML;
    sent->config_path = sw_strdup("/w/spec.toml");
    sent->grace_ms = 1234;
    json = sw_payload_to_json(sent);
    got = sw_payload_from_json(json, &err);
    assert_non_null(got);
    assert_string_equal(got->job_id, sent->job_id);
    assert_string_equal(got->command, sent->command);
    assert_string_equal(got->config_path, sent->config_path);
    assert_int_equal(got->config_format, SW_TOML);
    assert_int_equal(got->grace_ms, 1234);
    assert_true(json_equal(got->env, sent->env));
    assert_null(got->argv);
}

static void a_letter_of_another_version_is_refused_by_name(void **state)
{
    sw_auto(json) json_t *json = json_pack("{s:i,s:s,s:s}", "version", 99, "job_id", "a",
                                           "command", "x");
    struct sw_error err = { 0 };

    (void)state;
    assert_null(sw_payload_from_json(json, &err));
    assert_int_equal(err.code, SW_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "version 99"));
}

static void a_letter_without_a_command_is_refused(void **state)
{
    sw_auto(json) json_t *json = json_pack("{s:i,s:s}", "version", SW_PAYLOAD_VERSION, "job_id",
                                           "a");
    struct sw_error err = { 0 };

    (void)state;
    assert_null(sw_payload_from_json(json, &err));
    assert_int_equal(err.code, SW_E_SPEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_letter_survives_the_journey),
        cmocka_unit_test(a_letter_of_another_version_is_refused_by_name),
        cmocka_unit_test(a_letter_without_a_command_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
