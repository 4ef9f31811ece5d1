/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kube_plugin.c - exec plugins: small scripts that answer, fail, hang, flood, or leave something behind.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "platform/kube/kube_internal.h"

#define API "client.authentication.k8s.io/v1"
#define ANSWER(status) "{\"apiVersion\":\"" API "\",\"kind\":\"ExecCredential\",\"status\":" status "}"

static char folder[64], api[] = API;

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/slipway-kube-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return sw_remove_tree(folder, NULL);
}

static struct kube_exec plugin(const char *script)
{
    sw_autofree char *text = sw_format("#!/bin/sh\n%s\n", script);
    struct kube_exec exec = { .command = sw_path_join(folder, "plugin"), .api_version = api };

    assert_int_equal(sw_file_write(exec.command, text, strlen(text), 0700, NULL), 0);
    exec.args = json_array();
    exec.env = json_array();
    return exec;
}

static void plugin_done(struct kube_exec *exec)
{
    free(exec->command);
    json_decref(exec->args);
    json_decref(exec->env);
}

static int run(struct kube_exec *exec, struct kube_exec_credential *out, struct sw_error *err)
{
    static char server[] = "https://h:6443", name[] = "api", authority[] = "-----BEGIN CERTIFICATE-----";
    const struct kube_cluster cluster = { .server = server, .tls_name = name, .authority = authority };

    return kube_exec_run(exec, &cluster, 20000, out, err);
}

static void a_token_and_its_end_are_taken(void **state)
{
    struct kube_exec exec = plugin("echo '" ANSWER("{\"token\":\"tok\",\"expirationTimestamp\":"
                                                   "\"2030-01-02T03:04:05+01:00\"}") "'");
    sw_auto(kube_exec_credential) struct kube_exec_credential got = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(run(&exec, &got, &err), 0);
    assert_string_equal(sw_secret_reveal(got.token), "tok");
    assert_null(got.certificate);
    assert_int_equal(got.expires_ms, INT64_C(1893549845000));
    plugin_done(&exec);
}

static void it_gets_arguments_variables_and_the_cluster_and_no_input(void **state)
{
    struct kube_exec exec = plugin(
        "input=$(cat)\n"
        "printf '%s|%s|%s|%s|%s' \"$1\" \"$2\" \"$EXTRA\" \"$input\" \"$KUBERNETES_EXEC_INFO\" > $0.got\n"
        "(: < /dev/tty) 2> /dev/null && echo terminal >> $0.got\n"
        "echo '" ANSWER("{\"token\":\"x\"}") "'");
    sw_autofree char *path = sw_format("%s.got", exec.command), *got = NULL;
    sw_auto(kube_exec_credential) struct kube_exec_credential credential = { 0 };

    (void)state;
    json_array_append_new(exec.args, json_string("get-token"));
    json_array_append_new(exec.args, json_string("a b"));
    json_array_append_new(exec.env, json_pack("{s:s,s:s}", "name", "EXTRA", "value", "e"));
    exec.provide_cluster_info = true;
    assert_int_equal(run(&exec, &credential, NULL), 0);
    got = sw_file_read(path, 65536, NULL, NULL);
    assert_string_equal(got, "get-token|a b|e||{\"apiVersion\":\"" API "\","
                             "\"kind\":\"ExecCredential\",\"spec\":{\"interactive\":false,"
                             "\"cluster\":{\"server\":\"https://h:6443\","
                             "\"tls-server-name\":\"api\",\"certificate-authority-data\":"
                             "\"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t\"}}}");
    plugin_done(&exec);
}

static void a_failure_comes_with_its_own_words(void **state)
{
    struct kube_exec exec = plugin("echo 'token has expired, run: login' >&2\nexit 3");
    static char command[] = "no-such-plugin-here", shop[] = "install it from the shop";
    struct kube_exec missing = { .command = command, .api_version = api, .args = json_array(),
                                 .env = json_array(), .install_hint = shop };
    struct kube_exec_credential got = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(run(&exec, &got, &err), -1);
    assert_int_equal(err.code, SW_E_CREDENTIAL);
    assert_non_null(strstr(err.message, exec.command));
    assert_non_null(strstr(err.message, "status 3: token has expired, run: login"));
    assert_int_equal(run(&missing, &got, &err), -1);
    assert_non_null(strstr(err.message, "cannot be started: No such file"));
    assert_string_equal(err.hint, "install it from the shop");
    json_decref(missing.args);
    json_decref(missing.env);
    plugin_done(&exec);
}

static void one_that_takes_too_long_ends_with_all_it_started(void **state)
{
    struct kube_exec exec = plugin("sleep 1000 &\necho $! > $0.pid\nwait");
    sw_autofree char *path = sw_format("%s.pid", exec.command), *text = NULL;
    const struct kube_cluster cluster = { 0 };
    struct kube_exec_credential got = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(kube_exec_run(&exec, &cluster, 700, &got, &err), -1);
    assert_int_equal(err.code, SW_E_TIMEOUT);
    text = sw_file_read(path, 100, NULL, NULL);
    if (text) {
        sw_autofree char *process = sw_format("/proc/%d/cmdline", atoi(text));

        for (int i = 0; i < 200; i++) {          /* killed; its new parent takes its time */
            sw_autofree char *line = sw_file_read(process, 4096, NULL, NULL);

            if (sw_text_empty(line))
                break;
            assert_int_not_equal(i, 199);
            sw_sleep_ms(50);
        }
    }
    plugin_done(&exec);
}

static void a_process_left_behind_is_not_waited_for(void **state)
{
    struct kube_exec exec = plugin("sleep 1000 &\necho $! > $0.pid\necho '" ANSWER("{\"token\":\"x\"}") "'");
    sw_autofree char *path = sw_format("%s.pid", exec.command), *text = NULL;
    sw_auto(kube_exec_credential) struct kube_exec_credential got = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(run(&exec, &got, &err), 0);
    assert_string_equal(sw_secret_reveal(got.token), "x");
    text = sw_file_read(path, 100, NULL, NULL);
    kill(atoi(text), SIGKILL);
    plugin_done(&exec);
}

static void a_flood_is_refused_and_a_long_complaint_is_cut(void **state)
{
    struct kube_exec flood = plugin("yes 'x' | head -c 400000");
    struct kube_exec_credential got = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(run(&flood, &got, &err), -1);
    assert_non_null(strstr(err.message, "printed more than"));
    plugin_done(&flood);
    flood = plugin("yes 'x' | head -c 400000 >&2\nexit 1");
    assert_int_equal(run(&flood, &got, &err), -1);
    assert_non_null(strstr(err.message, "status 1"));
    plugin_done(&flood);
}

static void answers_are_taken_whole_or_refused(void **state)
{
    static const struct { const char *text, *why; } rows[] = {
        { "", "not JSON" },
        { "[]", "not JSON" },
        { "{\"kind\":\"ExecCredential\"}", "neither a token nor a certificate" },
        { ANSWER("{}"), "neither a token nor a certificate" },
        { ANSWER("{\"token\":5}"), "neither a token nor a certificate" },
        { ANSWER("{\"token\":\"a\\r\\nX-Other: b\"}"), "more than one line" },
        { ANSWER("{\"clientCertificateData\":\"c\"}"), "certificate without its key" },
        { ANSWER("{\"clientKeyData\":\"k\",\"token\":\"t\"}"), "without" },
        { ANSWER("{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}"), "invalid expirationTimestamp" },
        { "{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":\"ExecCredential\",\"status\":"
          "{\"token\":\"t\"}}", "another apiVersion" },
        { "{\"apiVersion\":\"" API "\",\"kind\":\"Token\",\"status\":{\"token\":\"t\"}}",
          "not an ExecCredential" },
        { ANSWER("{\"token\":\"t\"}"), NULL },
        { ANSWER("{\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\"}"), NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(kube_exec_credential) struct kube_exec_credential got = { 0 };
        struct sw_error err = { 0 };
        int result = kube_exec_answer(rows[i].text, strlen(rows[i].text), API, &got, &err);

        if (result != (rows[i].why ? -1 : 0) || (rows[i].why && !strstr(err.message, rows[i].why)))
            fail_msg("row %zu: %s", i, err.message);
        assert_true(result == 0 || (!got.token && !got.certificate && !got.key));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_and_its_end_are_taken),
        cmocka_unit_test(it_gets_arguments_variables_and_the_cluster_and_no_input),
        cmocka_unit_test(a_failure_comes_with_its_own_words),
        cmocka_unit_test(one_that_takes_too_long_ends_with_all_it_started),
        cmocka_unit_test(a_process_left_behind_is_not_waited_for),
        cmocka_unit_test(a_flood_is_refused_and_a_long_complaint_is_cut),
        cmocka_unit_test(answers_are_taken_whole_or_refused),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
