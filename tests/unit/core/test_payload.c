/* SPDX-License-Identifier: Apache-2.0 */
/* test_payload.c - what plan/ writes, runner/ reads: the same letter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/payload.h"

static void a_payload_is_read_back_as_written(void **state)
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

static void a_payload_of_another_version_is_refused_by_name(void **state)
{
    sw_auto(json) json_t *json = json_pack("{s:i,s:s,s:s}", "version", 99, "job_id", "a",
                                           "command", "x");
    struct sw_error err = { 0 };

    (void)state;
    assert_null(sw_payload_from_json(json, &err));
    assert_int_equal(err.code, SW_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "version 99"));
}

static void a_payload_without_a_command_is_refused(void **state)
{
    sw_auto(json) json_t *json = json_pack("{s:i,s:s}", "version", SW_PAYLOAD_VERSION, "job_id",
                                           "a");
    struct sw_error err = { 0 };

    (void)state;
    assert_null(sw_payload_from_json(json, &err));
    assert_int_equal(err.code, SW_E_SPEC);
}

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "we");

    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void certificates_that_the_user_named_travel_and_nothing_beside_them(void **state)
{
    static const char certificate[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    sw_auto(sw_payload) struct sw_payload *payload = sw_payload_new();
    sw_auto(sw_buf) struct sw_buf pem = SW_BUF_INIT;
    char path[] = "/tmp/slipway-payload-XXXXXX";
    struct sw_error err = { 0 };
    int fd = mkstemp(path);

    (void)state;
    close(fd);
    unsetenv("SSL_CERT_FILE");
    unsetenv("CURL_CA_BUNDLE");
    unsetenv("AWS_CA_BUNDLE");
    unsetenv("REQUESTS_CA_BUNDLE");
    assert_int_equal(sw_payload_take_ca(payload, NULL, &pem, &err), 0);
    assert_null(payload->ca);                     /* nothing named, nothing sent */
    setenv("REQUESTS_CA_BUNDLE", path, 1);
    write_text(path, "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n");
    assert_int_equal(sw_payload_take_ca(payload, NULL, &pem, &err), -1);
    assert_non_null(strstr(err.message, "REQUESTS_CA_BUNDLE"));
    assert_null(payload->ca);
    write_text(path, "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n"
                     "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    assert_int_equal(sw_payload_take_ca(payload, NULL, &pem, &err), 0);
    assert_string_equal(payload->ca, SW_PAYLOAD_CA);
    assert_string_equal(sw_buf_text(&pem), certificate);
    unlink(path);
    assert_int_equal(sw_payload_take_ca(payload, NULL, &pem, &err), -1);
    assert_non_null(strstr(err.message, path));
    unsetenv("REQUESTS_CA_BUNDLE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_payload_is_read_back_as_written),
        cmocka_unit_test(a_payload_of_another_version_is_refused_by_name),
        cmocka_unit_test(a_payload_without_a_command_is_refused),
        cmocka_unit_test(certificates_that_the_user_named_travel_and_nothing_beside_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
