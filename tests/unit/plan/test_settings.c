/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_settings.c - which settings of this machine a job's data takes along, and how.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "plan/plan.h"

static char home[] = "/tmp/slipway-settings-XXXXXX";

static void put(const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(home, name);

    assert_int_equal(sw_file_write(path, text, strlen(text), 0600, NULL), 0);
}

static int begin(void **state)
{
    static const char *const folders[] = { ".aws", ".cache", ".cache/huggingface", ".ngc" };

    (void)state;
    if (!mkdtemp(home))
        return -1;
    for (size_t i = 0; i < SW_COUNT(folders); i++) {
        sw_autofree char *path = sw_path_join(home, folders[i]);

        mkdir(path, 0700);
    }
    put(".aws/credentials", "[dev]\naws_access_key_id = PROFILE-ID\naws_secret_access_key = PROFILE-KEY\n"
                            "aws_session_token = PROFILE-SESSION\n");
    put(".aws/config", "[profile dev]\nregion = eu-west-3\nendpoint_url = minio.test:9000\n"
                       "[profile asks]\ncredential_process = false\n"
                       "[profile signs-on]\nsso_session = x\n");
    put(".cache/huggingface/token", "hf_file\n");
    put(".ngc/config", "[CURRENT]\napikey = nvapi-file\n");
    return 0;
}

static int end(void **state)
{
    (void)state;
    return sw_remove_tree(home, NULL);
}

/* name, value, ..., NULL; HOME is always there. */
static const char *lookup(void *context, const char *name)
{
    for (const char *const *pair = context; *pair; pair += 2)
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    return strcmp(name, "HOME") == 0 ? home : NULL;
}

static struct sw_plan *plan_with(const char *uri, const char *env)
{
    struct sw_plan *plan = sw_new(struct sw_plan);

    strcpy(plan->job_id, "j-aaaaaaaa");
    plan->inputs = json_pack("[{s:s, s:s}]", "path", "/x", "from", uri);
    plan->env = env ? json_loads(env, 0, NULL) : json_object();
    return plan;
}

static struct sw_plan *settled(const char *uri, const char *env, const char *const *environment)
{
    struct sw_plan *plan = plan_with(uri, env);
    struct sw_error err = { 0 };

    if (sw_plan_take_settings(plan, lookup, (void *)environment, &err) < 0)
        fail_msg("%s", err.message);
    return plan;
}

static void expect_sent(const struct sw_plan *plan, const char *expected)
{
    sw_auto(json) json_t *sent = sw_plan_settings_sent(plan);
    sw_autofree char *text = sent ? json_dumps(sent, JSON_COMPACT) : sw_strdup("");

    assert_string_equal(text, expected);
}

/* "NAME NAME ...", of the values that go by the secret channel. */
static char *secret_names(const struct sw_plan *plan, const char *const *environment,
                          struct sw_error *err)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();
    sw_auto(sw_buf) struct sw_buf names = SW_BUF_INIT;

    if (sw_plan_send_settings(plan, lookup, (void *)environment, secrets, err) < 0)
        return NULL;
    for (size_t i = 0; i < sw_secrets_count(secrets); i++)
        sw_buf_addf(&names, "%s%s", i ? " " : "", sw_secrets_name(secrets, i));
    return sw_strdup(sw_buf_text(&names));
}

static void expect_secrets(const struct sw_plan *plan, const char *const *environment,
                           const char *expected)
{
    struct sw_error err = { 0 };
    sw_autofree char *names = secret_names(plan, environment, &err);

    if (!names)
        fail_msg("%s", err.message);
    assert_string_equal(names, expected);
}

static const char *const all[] = {
    "ACCESS_KEY", "CANARY-ID", "SECRET_KEY", "CANARY-KEY", "AWS_ENDPOINT_URL", "http://minio:9000/",
    "AWS_DEFAULT_REGION", "eu-x", "HUGGING_FACE_HUB_TOKEN", "CANARY-HF", "HF_ENDPOINT", "hub.test",
    "NGC_API_KEY", "CANARY-NGC", "NGC_CLI_API_URL", "https://ngc.test", "AWS_CA_BUNDLE", "/none", NULL,
};

#define CLOSED "\"AWS_SHARED_CREDENTIALS_FILE\":\"/dev/null\",\"AWS_CONFIG_FILE\":\"/dev/null\""

static void only_what_the_data_needs_travels_under_one_name(void **state)
{
    static const struct { const char *uri, *sent, *secrets; } rows[] = {
        { "s3://b/x", "{\"AWS_ENDPOINT_URL_S3\":\"http://minio:9000\",\"AWS_REGION\":\"eu-x\"," CLOSED "}",
          "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY" },
        { "hf_dataset://a/b", "{\"HF_ENDPOINT\":\"https://hub.test\"}", "HF_TOKEN" },
        { "hf_model://a/b", "{\"HF_ENDPOINT\":\"https://hub.test\"}", "HF_TOKEN" },
        { "ngc://a/b:1", "{\"NGC_CLI_API_URL\":\"https://ngc.test\"}", "NGC_KEY" },
        { "https://h/x", "", "" },
        { "/data", "", "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_plan) struct sw_plan *plan = settled(rows[i].uri, NULL, all);

        expect_sent(plan, rows[i].sent);
        expect_secrets(plan, all, rows[i].secrets);
    }
}

static void no_value_of_a_secret_is_in_the_plan(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = settled("s3://b/x", NULL, all);
    sw_autofree char *text = json_dumps(plan->settings, JSON_COMPACT);

    (void)state;
    assert_null(strstr(text, "CANARY"));
    assert_non_null(strstr(text, "\"name\":\"AWS_ACCESS_KEY_ID\",\"from\":\"ACCESS_KEY\""));
}

static void a_profile_travels_and_a_later_attempt_remembers_it(void **state)
{
    static const char *const dev[] = { "AWS_PROFILE", "dev", NULL };
    static const char sent[] = "{\"AWS_ENDPOINT_URL_S3\":\"https://minio.test:9000\","
                               "\"AWS_REGION\":\"eu-west-3\"," CLOSED "}";
    static const char *const later[] = { "AWS_ENDPOINT_URL", "http://elsewhere", NULL };
    sw_auto(sw_plan) struct sw_plan *plan = settled("s3://b/x", NULL, dev), *again = NULL;
    sw_auto(json) json_t *stored = NULL;

    (void)state;
    expect_sent(plan, sent);
    stored = sw_plan_to_json(plan);
    again = sw_plan_from_json(stored, NULL);
    expect_sent(again, sent);
    expect_secrets(again, later, "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN");
}

/* What is sent, as text. */
static void expect_key(const struct sw_plan *plan, const char *const *environment, const char *value)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();
    char sent[512] = "";
    int ends[2];
    ssize_t length;

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(sw_plan_send_settings(plan, lookup, (void *)environment, secrets, NULL), 0);
    assert_int_equal(sw_secrets_send(secrets, ends[1]), 0);
    length = read(ends[0], sent, sizeof sent - 1);
    assert_non_null(memmem(sent, (size_t)length, value, strlen(value)));
    close(ends[0]);
    close(ends[1]);
}

static void the_key_of_another_account_is_not_taken_later(void **state)
{
    static const char *const dev[] = { "AWS_PROFILE", "dev", NULL };
    static const char *const tao[] = { "ACCESS_KEY", "TAO-ID", "SECRET_KEY", "TAO-KEY", NULL };
    static const char *const later[] = { "AWS_ACCESS_KEY_ID", "OTHER-ID", "AWS_SECRET_ACCESS_KEY",
                                         "OTHER-KEY", "ACCESS_KEY", "TAO-ID", "SECRET_KEY", "TAO-KEY",
                                         NULL };
    sw_auto(sw_plan) struct sw_plan *by_profile = settled("s3://b/x", NULL, dev);
    sw_auto(sw_plan) struct sw_plan *by_variable = settled("s3://b/x", NULL, tao);

    (void)state;
    expect_key(by_profile, later, "AWS_ACCESS_KEY_ID=PROFILE-ID");
    expect_key(by_variable, later, "AWS_ACCESS_KEY_ID=TAO-ID");
}

static void tokens_and_keys_of_files_travel(void **state)
{
    static const char *const none[] = { NULL };
    sw_auto(sw_plan) struct sw_plan *hub = settled("hf_model://a/b", NULL, none);
    sw_auto(sw_plan) struct sw_plan *ngc = settled("ngc://a/b:1", NULL, none);

    (void)state;
    expect_secrets(hub, none, "HF_TOKEN");
    expect_secrets(ngc, none, "NGC_KEY");
}

static void what_the_first_attempt_had_a_later_one_needs(void **state)
{
    static const char *const none[] = { NULL };
    sw_auto(sw_plan) struct sw_plan *plan = settled("s3://b/x", NULL, all);
    struct sw_error err = { 0 };

    (void)state;
    assert_null(secret_names(plan, none, &err));
    assert_int_equal(err.code, SW_E_CREDENTIAL);
    assert_non_null(strstr(err.message, "AWS_ACCESS_KEY_ID"));
    assert_non_null(strstr(err.hint, "slipway retry j-aaaaaaaa"));
}

static void the_jobs_own_env_counts_before_this_machine(void **state)
{
    static const char *const here[] = { "AWS_ENDPOINT_URL_S3", "http://here", "HF_HOME", "/h", NULL };
    sw_auto(sw_plan) struct sw_plan *plan =
        settled("s3://b/x", "{\"AWS_ENDPOINT_URL\":\"http://said\",\"AWS_PROFILE\":\"there\"}", here);

    (void)state;
    expect_sent(plan, "{\"AWS_ENDPOINT_URL_S3\":\"http://said\"}");
}

static void without_secrets_the_place_has_its_own_profiles(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = settled("s3://b/x", NULL, all);

    (void)state;
    sw_plan_open_profiles(plan);
    expect_sent(plan, "{\"AWS_ENDPOINT_URL_S3\":\"http://minio:9000\",\"AWS_REGION\":\"eu-x\"}");
}

static void what_cannot_be_used_is_said_before_the_submit(void **state)
{
    static const struct { const char *environment[6], *says; } rows[] = {
        { { "AWS_PROFILE", "nope", NULL }, "'nope'" },
        { { "AWS_PROFILE", "signs-on", NULL }, "sso_session" },
        { { "AWS_ACCESS_KEY_ID", "a", NULL }, "AWS_SECRET_ACCESS_KEY" },
        { { "AWS_ENDPOINT_URL", "http://user:word@host", NULL }, "endpoint" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_plan) struct sw_plan *plan = plan_with("s3://b/x", NULL);
        struct sw_error err = { 0 };

        assert_int_equal(sw_plan_take_settings(plan, lookup, (void *)rows[i].environment, &err), -1);
        if (!strstr(err.message, rows[i].says))
            fail_msg("%s", err.message);
    }
}

static void planning_runs_no_program(void **state)
{
    static const char *const asks[] = { "AWS_PROFILE", "asks", NULL };
    sw_auto(sw_plan) struct sw_plan *plan = settled("s3://b/x", NULL, asks);
    struct sw_error err = { 0 };

    (void)state;                       /* its credential_process fails, but only when it is needed */
    assert_null(secret_names(plan, asks, &err));
    assert_non_null(strstr(err.message, "credential_process"));
}

static void certificates_that_cannot_be_read_are_found_out(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_with("https://h/x", NULL);
    sw_auto(sw_plan) struct sw_plan *files = plan_with("/data", NULL);
    struct sw_error err = { 0 };

    (void)state;
    setenv("SSL_CERT_FILE", "/nowhere/ca.pem", 1);
    assert_int_equal(sw_plan_take_settings(plan, lookup, (void *)(const char *[]){ NULL }, &err), -1);
    assert_non_null(strstr(err.message, "SSL_CERT_FILE"));
    assert_int_equal(sw_plan_take_settings(files, lookup, (void *)(const char *[]){ NULL }, NULL), 0);
    unsetenv("SSL_CERT_FILE");
}

static void a_later_attempt_believes_the_same_certificates(void **state)
{
    static const char *const none[] = { NULL };
    sw_autofree char *path = sw_path_join(home, "ca.pem");
    sw_auto(sw_plan) struct sw_plan *plan = NULL;

    (void)state;
    put("ca.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    setenv("AWS_CA_BUNDLE", path, 1);
    plan = settled("https://h/x", NULL, none);
    unsetenv("AWS_CA_BUNDLE");
    assert_string_equal(sw_plan_ca(plan), path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_the_data_needs_travels_under_one_name),
        cmocka_unit_test(no_value_of_a_secret_is_in_the_plan),
        cmocka_unit_test(a_profile_travels_and_a_later_attempt_remembers_it),
        cmocka_unit_test(the_key_of_another_account_is_not_taken_later),
        cmocka_unit_test(tokens_and_keys_of_files_travel),
        cmocka_unit_test(what_the_first_attempt_had_a_later_one_needs),
        cmocka_unit_test(the_jobs_own_env_counts_before_this_machine),
        cmocka_unit_test(without_secrets_the_place_has_its_own_profiles),
        cmocka_unit_test(what_cannot_be_used_is_said_before_the_submit),
        cmocka_unit_test(planning_runs_no_program),
        cmocka_unit_test(certificates_that_cannot_be_read_are_found_out),
        cmocka_unit_test(a_later_attempt_believes_the_same_certificates),
    };

    unsetenv("SSL_CERT_FILE");
    unsetenv("CURL_CA_BUNDLE");
    unsetenv("REQUESTS_CA_BUNDLE");
    unsetenv("AWS_CA_BUNDLE");
    return cmocka_run_group_tests(tests, begin, end);
}
