/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kube_config.c - which kubeconfig, context and namespace count. Files are in a folder of the
 * test's own, and variables come from a table: nothing of this machine is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "platform/kube/kube_internal.h"

static char folder[64];

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

/* A file in the folder; owned path. */
static char *file(const char *name, const char *text)
{
    char *path = sw_path_join(folder, name);
    sw_autofree char *parent = sw_strndup(path, (size_t)(strrchr(path, '/') - path));

    assert_int_equal(sw_mkdirs(parent, 0700, NULL), 0);
    assert_int_equal(sw_file_write(path, text, strlen(text), 0600, NULL), 0);
    return path;
}

/* "NAME=value" rows. */
static const char *from_table(void *rows, const char *name)
{
    for (const char *const *row = rows; row && *row; row++)
        if (strncmp(*row, name, strlen(name)) == 0 && (*row)[strlen(name)] == '=')
            return *row + strlen(name) + 1;
    return NULL;
}

static struct kube *open_with(struct kube_options options, const char **rows, struct sw_error *err)
{
    options.env = from_table;
    options.env_context = rows;
    return kube_open(&options, err);
}

#define CLUSTER(name, server) "- {name: " name ", cluster: {server: '" server "'}}\n"
#define CONTEXT(name, cluster, more) "- {name: " name ", context: {cluster: " cluster more "}}\n"

static const char first[] =
    "current-context: one\n"
    "clusters:\n" CLUSTER("a", "https://a.first:6443/") CLUSTER("b", "https://b.first/k8s/clusters/c-1")
    "contexts:\n" CONTEXT("one", "a", ", namespace: train, user: ann") CONTEXT("two", "b", "")
    "users:\n- {name: ann, user: {token: tok-first}}\n";
static const char second[] =
    "current-context: three\n"
    "clusters:\n" CLUSTER("a", "https://a.second") CLUSTER("c", "http://127.0.0.1:8080")
    "contexts:\n" CONTEXT("one", "c", ", namespace: other") CONTEXT("three", "c", ", user: ann")
    "users:\n- {name: ann, user: {token: tok-second, as: bob}}\n";

static void the_first_file_that_names_a_thing_counts(void **state)
{
    sw_autofree char *one = file("one", first), *two = file("two", second);
    sw_autofree char *list = sw_format("KUBECONFIG=:/nonexistent/x:%s:%s:", one, two);
    const char *rows[] = { list, NULL };
    struct sw_error err = { 0 };
    sw_auto(kube) struct kube *kube = open_with((struct kube_options){ 0 }, rows, &err);
    sw_auto(kube) struct kube *third = open_with((struct kube_options){ .context = "three" }, rows, &err);
    sw_autofree char *paths = sw_format("/nonexistent/x:%s:%s", one, two);

    (void)state;
    assert_non_null(kube);
    assert_string_equal(kube_address(kube)->context, "one");
    assert_string_equal(kube_address(kube)->server, "https://a.first:6443");
    assert_string_equal(kube_address(kube)->namespace, "train");
    assert_string_equal(kube_address(kube)->user, "ann");
    assert_string_equal(kube_address(kube)->kubeconfig, paths);
    assert_string_equal(sw_secret_reveal(kube->config.user.token), "tok-first");
    assert_null(kube->config.user.as);           /* nothing of the second file's user */
    assert_non_null(third);
    assert_string_equal(kube_address(third)->server, "http://127.0.0.1:8080");
    assert_string_equal(sw_secret_reveal(third->config.user.token), "tok-first");
}

static void option_then_variable_then_file(void **state)
{
    sw_autofree char *path = file("home/.kube/config", first);
    sw_autofree char *home = sw_format("HOME=%s/home", folder);
    const char *rows[] = { home, "TAO_K8S_CONTEXT=two", "TAO_K8S_NAMESPACE=from-env", NULL };
    const char *only_home[] = { home, NULL };
    sw_auto(kube) struct kube *plain = open_with((struct kube_options){ 0 }, only_home, NULL);
    sw_auto(kube) struct kube *env = open_with((struct kube_options){ 0 }, rows, NULL);
    sw_auto(kube) struct kube *option =
        open_with((struct kube_options){ .context = "one", .namespace = "mine" }, rows, NULL);
    sw_auto(kube) struct kube *none = open_with((struct kube_options){ .context = "two" }, only_home, NULL);

    (void)state;
    assert_string_equal(kube_address(plain)->context, "one");
    assert_string_equal(kube_address(env)->context, "two");
    assert_string_equal(kube_address(env)->namespace, "from-env");
    assert_string_equal(kube_address(env)->server, "https://b.first/k8s/clusters/c-1");
    assert_string_equal(kube_address(option)->context, "one");
    assert_string_equal(kube_address(option)->namespace, "mine");
    assert_string_equal(kube_address(none)->namespace, "default");
    assert_string_equal(kube_address(none)->kubeconfig, path);
}

static void what_is_kept_of_a_place_leads_there_without_the_environment(void **state)
{
    sw_autofree char *path = file("kept", first), *list = sw_format("KUBECONFIG=%s", path);
    const char *rows[] = { list, "TAO_K8S_CONTEXT=two", "TAO_K8S_NAMESPACE=x", NULL };
    const char *other[] = { "KUBECONFIG=/nonexistent", "TAO_K8S_CONTEXT=one", "TAO_K8S_NAMESPACE=y", NULL };
    sw_auto(kube) struct kube *kube = open_with((struct kube_options){ 0 }, rows, NULL);
    sw_auto(json) json_t *kept = kube_place_options(kube);
    struct kube_options options = { .kubeconfig = sw_json_str(kept, "kubeconfig"),
                                    .context = sw_json_str(kept, "context"),
                                    .namespace = sw_json_str(kept, "namespace") };
    sw_auto(kube) struct kube *again = open_with(options, other, NULL);
    sw_autofree char *address = kube_place_address(kube), *second_address = kube_place_address(again);

    (void)state;
    assert_string_equal(address, "https://b.first/k8s/clusters/c-1 namespace x");
    assert_string_equal(second_address, address);
}

static void relative_paths_begin_at_the_file_that_has_them(void **state)
{
    static const char text[] =
        "current-context: x\n"
        "contexts:\n" CONTEXT("x", "x", ", user: x")
        "clusters:\n- {name: x, cluster: {server: 'https://h', certificate-authority: ../pki/ca.pem}}\n"
        "users:\n- name: x\n  user: {client-certificate: c.pem, client-key: ./c.key, tokenFile: token,\n"
        "    exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: bin/login}}\n";
    sw_autofree char *path = file("sub/config", text);
    sw_autofree char *ca = file("pki/ca.pem", "-----BEGIN CERTIFICATE-----\nx\n");
    sw_autofree char *cert = file("sub/c.pem", "PEM\n"), *key = file("sub/c.key", "KEY\n");
    sw_autofree char *login = sw_format("%s/sub/bin/login", folder);
    sw_autofree char *token = sw_format("%s/sub/token", folder);
    struct sw_error err = { 0 };
    sw_auto(kube) struct kube *kube = open_with((struct kube_options){ .kubeconfig = path }, NULL, &err);

    (void)state;
    (void)ca;
    (void)cert;
    (void)key;
    assert_string_equal(err.message, "");
    assert_non_null(strstr(kube->config.cluster.authority, "BEGIN"));
    assert_string_equal(sw_secret_reveal(kube->config.user.certificate), "PEM");
    assert_string_equal(sw_secret_reveal(kube->config.user.key), "KEY");
    assert_string_equal(kube->config.user.token_file, token);
    assert_string_equal(kube->config.user.exec->command, login);
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
#define BASE "current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n"
#define GOOD "clusters: [{name: x, cluster: {server: 'https://h'}}]\n"
#define USER(user) BASE GOOD "users:\n- name: x\n  user:\n" user
#define AT_H(cluster) IN_CLUSTER("    server: https://h\n" cluster)
#define IN_CLUSTER(cluster) BASE "users: [{name: x, user: {}}]\nclusters:\n- name: x\n  cluster:\n" cluster
#define EXEC(more) USER("    exec:\n      command: c\n" more)
#define V1 "      apiVersion: client.authentication.k8s.io/v1\n"
    static const struct { const char *text, *message, *hint; } rows[] = {
        { "a: [", "bad:2:1: ", "" },
        { "[]", "not a kubeconfig", "" },
        { "clusters: []", "has no current context", "it has no contexts" },
        { "contexts: [{name: n, context: {}}]\ncurrent-context: m", "no context 'm'", "one of: n" },
        { BASE, "bad:2:32: `cluster` is not in the kubeconfig", "" },
        { "current-context: x\ncontexts: [{name: x, context: {}}]\n",
          "bad:2:22: `contexts[0].context` has no cluster", "" },
        { BASE GOOD, "`user` is not in the kubeconfig", "" },
        { IN_CLUSTER("    server: h:1\n"), "bad:7:5: `server` does not begin with https://", "" },
        { IN_CLUSTER("    server: https://u:p@h\n"), "`server` contains a user", "" },
        { IN_CLUSTER("    server: https://h?x\n"), "`server` has something after its path", "" },
        { IN_CLUSTER("    server: [1]\n"), "bad:7:5: `server` is not a string", "" },
        { IN_CLUSTER("    other: 1\n"), "`clusters[0].cluster` has no server", "" },
        { AT_H("    certificate-authority-data: '*'\n"),
          "bad:8:5: `certificate-authority-data` is not base64", "" },
        { AT_H("    certificate-authority-data: YWJj\n"), "contains no certificate (PEM)", "" },
        { AT_H("    certificate-authority: gone.pem\n"),
          "bad:8:5: `certificate-authority` cannot", "" },
        { AT_H("    insecure-skip-tls-verify: 1\n"), "is not true or false", "" },
        { AT_H("    proxy-url: ftp://x\n"), "`proxy-url` does not begin", "" },
        { AT_H("    tls-server-name: a/b\n"), "`tls-server-name` is not a host name", "" },
        { USER("    token: 5\n"), "bad:7:5: `token` is not a string", "" },
        { USER("    token: \"a\\nb\"\n"), "`token` has more than one line", "" },
        { USER("    client-key-data: YWJj\n"), "`client-key` has no client-certificate", "" },
        { USER("    client-certificate: gone\n"), "`client-certificate` cannot read", "" },
        { USER("    as-groups: [g]\n"), "are for a user that `as` names", "" },
        { USER("    as: u\n    as-groups: g\n"), "`as-groups` is not a list", "" },
        { USER("    as: u\n    as-groups: [\"g\\r\\nX: y\"]\n"), "other than one-line strings", "" },
        { USER("    auth-provider: {name: gcp}\n"),
          "bad:7:5: `auth-provider` was removed in Kubernetes 1.26", "gke-gcloud-auth-plugin" },
        { EXEC(""), "has no apiVersion", "newer release" },
        { EXEC("      apiVersion: client.authentication.k8s.io/v1alpha1\n"),
          "bad:9:7: `apiVersion` is neither", "newer release" },
        { EXEC(V1), "has no interactiveMode", "" },
        { EXEC(V1 "      interactiveMode: Always\n"), "`interactiveMode` is Always", "" },
        { EXEC(V1 "      interactiveMode: Maybe\n"), "is not Never", "" },
        { EXEC(V1 "      interactiveMode: Never\n      args: x\n"), "`args` is not a list", "" },
        { EXEC(V1 "      interactiveMode: Never\n      args: [1]\n"), "contains something other than "
            "strings", "" },
        { EXEC(V1 "      interactiveMode: Never\n      env: [{name: A=B, value: x}]\n"),
          "other than {name, value}", "" },
        { USER("    exec: {apiVersion: client.authentication.k8s.io/v1beta1}\n"), "has no command", "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *path = file("bad", rows[i].text);
        struct sw_error err = { 0 };

        assert_null(open_with((struct kube_options){ .kubeconfig = path }, NULL, &err));
        if (!strstr(err.message, rows[i].message) || !strstr(err.hint, rows[i].hint))
            fail_msg("row %zu: %s | %s", i, err.message, err.hint);
        assert_true(err.code == SW_E_SPEC || err.code == SW_E_NOT_FOUND);
    }
}

static void without_a_kubeconfig_a_pod_uses_its_account(void **state)
{
    sw_autofree char *token = file("account/token", "tok-pod\n");
    sw_autofree char *ca = file("account/ca.crt", "-----BEGIN CERTIFICATE-----\n");
    sw_autofree char *name = file("account/namespace", "pod-space");
    sw_autofree char *account = sw_path_join(folder, "account");
    const char *four[] = { "HOME=/nonexistent", "KUBERNETES_SERVICE_HOST=10.0.0.1",
                           "KUBERNETES_SERVICE_PORT=443", NULL };
    const char *six[] = { "KUBERNETES_SERVICE_HOST=fd00::1", "KUBERNETES_SERVICE_PORT=443", NULL };
    sw_auto(kube) struct kube *kube = open_with((struct kube_options){ .account_dir = account }, four, NULL);
    sw_auto(kube) struct kube *other =
        open_with((struct kube_options){ .account_dir = account, .namespace = "n" }, six, NULL);
    sw_auto(json) json_t *kept = kube_place_options(kube);
    struct sw_error err = { 0 };

    (void)state;
    (void)ca;
    (void)name;
    assert_string_equal(kube_address(kube)->server, "https://10.0.0.1:443");
    assert_string_equal(kube_address(kube)->namespace, "pod-space");
    assert_null(kube_address(kube)->context);
    assert_string_equal(kube->config.user.token_file, token);
    assert_string_equal(kube_address(other)->server, "https://[fd00::1]:443");
    assert_string_equal(kube_address(other)->namespace, "n");
    assert_string_equal(sw_json_str(kept, "kubeconfig"), KUBE_IN_CLUSTER);
    assert_null(open_with((struct kube_options){ .kubeconfig = KUBE_IN_CLUSTER }, NULL, &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
}

static void no_kubeconfig_at_all_says_where_one_is_looked_for(void **state)
{
    const char *rows[] = { "HOME=/nonexistent", NULL };
    struct sw_error err = { 0 };

    (void)state;
    assert_null(open_with((struct kube_options){ 0 }, rows, &err));
    assert_int_equal(err.code, SW_E_SPEC);
    assert_non_null(strstr(err.message, "/nonexistent/.kube/config"));
    assert_non_null(strstr(err.hint, "KUBECONFIG"));
    assert_null(open_with((struct kube_options){ .kubeconfig = "/nonexistent/k" }, rows, &err));
    assert_non_null(strstr(err.message, "/nonexistent/k"));
    assert_null(open_with((struct kube_options){ 0 }, NULL, &err));
}

static void bad_namespaces_are_refused(void **state)
{
    static const char *const bad[] = { "a/b", "A", "-a", "a b", "../x" };
    sw_autofree char *path = file("space", first);

    (void)state;
    for (size_t i = 0; i < SW_COUNT(bad); i++) {
        struct sw_error err = { 0 };

        assert_null(open_with((struct kube_options){ .kubeconfig = path, .namespace = bad[i] }, NULL, &err));
        assert_int_equal(err.code, SW_E_SPEC);
    }
}

static void remember(void *context, const char *text)
{
    sw_buf_add(context, text);
}

static void an_unchecked_connection_is_warned_about(void **state)
{
    static const struct { const char *cluster, *warning; } rows[] = {
        { "{server: 'https://h', insecure-skip-tls-verify: true}", "insecure-skip-tls-verify" },
        { "{server: 'http://far.example'}", "not encrypted" },
        { "{server: 'http://127.0.0.1:8080'}", NULL },
        { "{server: 'https://h', insecure-skip-tls-verify: false, disable-compression: true}", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *text = sw_format("current-context: x\n"
                                           "contexts: [{name: x, context: {cluster: x}}]\n"
                                           "clusters: [{name: x, cluster: %s}]\n", rows[i].cluster);
        sw_autofree char *path = file("warn", text);
        sw_auto(sw_buf) struct sw_buf heard = SW_BUF_INIT;
        struct kube_options options = { .kubeconfig = path, .warn = remember, .warn_context = &heard };
        sw_auto(kube) struct kube *kube = open_with(options, NULL, NULL);

        assert_non_null(kube);
        if (rows[i].warning)
            assert_non_null(strstr(sw_buf_text(&heard), rows[i].warning));
        else
            assert_int_equal(heard.length, 0);
    }
}

static void paths_are_encoded(void **state)
{
    static const struct { const char *group, *space, *resource, *name, *path; } rows[] = {
        { "v1", "train", "pods", "x", "/api/v1/namespaces/train/pods/x" },
        { "batch/v1", "a b", "jobs", NULL, "/apis/batch/v1/namespaces/a%20b/jobs" },
        { "v1", NULL, "nodes", "../x", "/api/v1/nodes/..%2Fx" },
        { "v1", NULL, "namespaces", NULL, "/api/v1/namespaces" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *path = kube_path(rows[i].group, rows[i].space, rows[i].resource, rows[i].name);

        assert_string_equal(path, rows[i].path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_file_that_names_a_thing_counts),
        cmocka_unit_test(option_then_variable_then_file),
        cmocka_unit_test(what_is_kept_of_a_place_leads_there_without_the_environment),
        cmocka_unit_test(relative_paths_begin_at_the_file_that_has_them),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(without_a_kubeconfig_a_pod_uses_its_account),
        cmocka_unit_test(no_kubeconfig_at_all_says_where_one_is_looked_for),
        cmocka_unit_test(bad_namespaces_are_refused),
        cmocka_unit_test(an_unchecked_connection_is_warned_about),
        cmocka_unit_test(paths_are_encoded),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
