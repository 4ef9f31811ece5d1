/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_plugin_answer.c - what is said to an exec plugin, and what it answers.
 *
 * Pure.
 */
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "platform/kube/kube_internal.h"

char *kube_exec_info(const struct kube_exec *exec, const struct kube_cluster *cluster)
{
    sw_autofree char *authority = cluster->authority
                                      ? sw_base64(cluster->authority, strlen(cluster->authority)) : NULL;
    json_t *about = exec->provide_cluster_info
                        ? sw_json_object(
                              SW_STR("server", cluster->server),
                              SW_STR_OPT("tls-server-name", cluster->tls_name),
                              SW_SUB("insecure-skip-tls-verify", cluster->insecure ? json_true() : NULL),
                              SW_STR_OPT("certificate-authority-data", authority),
                              SW_STR_OPT("proxy-url", cluster->proxy),
                              SW_SUB("config", json_incref(cluster->exec_config)))
                        : NULL;
    sw_auto(json) json_t *info = sw_json_object(
        SW_STR("apiVersion", exec->api_version),
        SW_STR("kind", "ExecCredential"),
        SW_SUB("spec", sw_json_object(SW_BOOL("interactive", false), SW_SUB("cluster", about))));

    return sw_json_dump(info);
}

void kube_exec_credential_done(struct kube_exec_credential *credential)
{
    sw_secret_free(credential->token);
    sw_secret_free(credential->certificate);
    sw_secret_free(credential->key);
    *credential = (struct kube_exec_credential){ 0 };
}

/* Takes a text and overwrites it where it was. */
static struct sw_secret *take_secret(const json_t *status, const char *key)
{
    const json_t *value = json_object_get(status, key);
    struct sw_secret *secret = NULL;

    if (json_is_string(value) && *json_string_value(value))
        secret = sw_secret_new(json_string_value(value));
    if (json_is_string(value))
        explicit_bzero((char *)json_string_value(value), json_string_length(value));
    return secret;
}

static int take_status(const json_t *status, struct kube_exec_credential *out, struct sw_error *err)
{
    const char *expires = sw_json_str(status, "expirationTimestamp");

    out->token = take_secret(status, "token");
    out->certificate = take_secret(status, "clientCertificateData");
    out->key = take_secret(status, "clientKeyData");
    if (!out->certificate != !out->key)
        return sw_fail(err, SW_E_CREDENTIAL, "it printed a certificate without its key, or a key without it");
    if (!out->token && !out->certificate)
        return sw_fail(err, SW_E_CREDENTIAL, "it printed neither a token nor a certificate");
    if (out->token && strpbrk(sw_secret_reveal(out->token), "\r\n"))
        return sw_fail(err, SW_E_CREDENTIAL, "it printed a token of more than one line");
    if (sw_text_empty(expires))
        return 0;
    out->expires_ms = sw_http_date(expires);
    return out->expires_ms > 0 ? 0 : sw_fail(err, SW_E_CREDENTIAL, "it printed an invalid "
                                                                   "expirationTimestamp");
}

int kube_exec_answer(const char *text, size_t length, const char *api_version,
                     struct kube_exec_credential *out, struct sw_error *err)
{
    sw_auto(json) json_t *answer = sw_json_parse(text, length, "its output", NULL);
    int result;

    if (!json_is_object(answer))
        return sw_fail(err, SW_E_CREDENTIAL, "its output is not JSON");
    result = take_status(json_object_get(answer, "status"), out, err);
    if (result == 0 && !sw_text_same(sw_json_str(answer, "kind"), "ExecCredential"))
        result = sw_fail(err, SW_E_CREDENTIAL, "its output is not an ExecCredential");
    if (result == 0 && !sw_text_same(sw_json_str(answer, "apiVersion"), api_version))
        result = sw_fail(err, SW_E_CREDENTIAL, "it printed an ExecCredential of another apiVersion than %s,"
                                               " which the kubeconfig asks for", api_version);
    if (result < 0)
        kube_exec_credential_done(out);
    return result;
}
