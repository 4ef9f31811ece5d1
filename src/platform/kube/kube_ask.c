/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_ask.c - what every platform on Kubernetes asks first: which cluster is this, and how old is it.
 */
#include "platform/kube/kube_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"

char *kube_path(const char *group_version, const char *namespace, const char *resource, const char *name)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    const char *const steps[] = { namespace ? "namespaces" : NULL, namespace, resource, name };

    sw_buf_add(&path, strchr(group_version, '/') ? "/apis/" : "/api/");
    sw_http_encode(&path, group_version, strlen(group_version), "/");
    for (size_t i = 0; i < SW_COUNT(steps); i++)
        if (steps[i]) {
            sw_buf_add_char(&path, '/');
            sw_http_encode(&path, steps[i], strlen(steps[i]), "");
        }
    return sw_buf_steal(&path);
}

const char *kube_status_reason(const json_t *status)
{
    return sw_text_same(sw_json_str(status, "kind"), "Status") ? sw_json_str(status, "reason") : NULL;
}

/* 1: *answer is there; 0: it may not be read, or is not there; -1 + err. */
static int look(struct kube *kube, const char *namespace, const char *resource, const char *name,
                json_t **answer, struct sw_error *err)
{
    sw_autofree char *path = kube_path("v1", namespace, resource, name);
    struct sw_error why = { 0 };
    struct sw_rest_seen seen = { 0 };
    struct sw_rest_call call = { .path = path, .repeatable = true, .seen = &seen };
    int result = sw_rest_call(kube->rest, &call, answer, &why);

    sw_rest_seen_done(&seen);
    if (result == 0)
        return *answer != NULL;
    if (why.code != SW_E_CREDENTIAL && (seen.status == 403 || seen.status == 404))
        return 0;
    return sw_pass(err, &why);
}

/* Blanks in a PEM text mean nothing. */
static void add_digest(struct sw_buf *out, const char *kind, const char *pem)
{
    struct sw_digest digest;
    char hex[SW_DIGEST_HEX];

    sw_digest_init(&digest, SW_SHA256);
    for (; *pem; pem++)
        if (!isspace((unsigned char)*pem))
            sw_digest_add(&digest, pem, 1);
    sw_digest_end_hex(&digest, hex);
    sw_buf_addf(out, "%s:%s", kind, hex);
}

int kube_identity(struct kube *kube, struct sw_buf *identity, struct sw_error *err)
{
    sw_auto(json) json_t *system = NULL, *root = NULL;
    int there = look(kube, NULL, "namespaces", "kube-system", &system, err);
    const char *uid = sw_json_str(json_object_get(system, "metadata"), "uid"), *pem;

    if (there < 0)
        return -1;
    if (!sw_text_empty(uid) && !strpbrk(uid, " \t\r\n")) {
        sw_buf_addf(identity, "uid:%s", uid);
        return 0;
    }
    there = look(kube, kube->address.namespace, "configmaps", "kube-root-ca.crt", &root, err);
    if (there < 0)
        return -1;
    pem = sw_json_str(json_object_get(root, "data"), "ca.crt");
    if (!sw_text_empty(pem))
        add_digest(identity, "root", pem);
    else if (kube->config.cluster.authority)
        add_digest(identity, "ca", kube->config.cluster.authority);
    return 0;
}

/* "1", "27+" */
static int number_of(const json_t *version, const char *key)
{
    const char *text = sw_json_str(version, key);

    return text && isdigit((unsigned char)*text) && strspn(text, "0123456789") < 6 ? atoi(text) : -1;
}

int kube_version(struct kube *kube, int *major, int *minor, struct sw_error *err)
{
    sw_auto(json) json_t *version = NULL;
    int first = __atomic_load_n(&kube->major, __ATOMIC_ACQUIRE), second;

    if (!first) {
        struct sw_rest_call call = { .path = "/version", .repeatable = true };

        if (sw_rest_call(kube->rest, &call, &version, err) < 0)
            return -1;
        first = number_of(version, "major");
        second = number_of(version, "minor");
        if (first < 1 || second < 0)
            return sw_fail(err, SW_E_REFUSED, "%s returns no version: is %s an API server?", kube->name,
                           kube->address.server);
        __atomic_store_n(&kube->minor, second, __ATOMIC_RELAXED);
        __atomic_store_n(&kube->major, first, __ATOMIC_RELEASE);
    }
    *major = first;
    *minor = __atomic_load_n(&kube->minor, __ATOMIC_RELAXED);
    return 0;
}
