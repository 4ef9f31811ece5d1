/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_runner.c - the runner as an object of the namespace: one immutable ConfigMap (or Secret) for
 * each architecture and version, named after its content, shared by all jobs.
 *
 * The kubelet mounts it as an executable file, so an image needs no shell, no gzip and no init container.
 * Whether it is there is asked by metadata alone, once for each connection: its content is a megabyte.
 */
#include "platform/kubernetes/kubernetes_submit.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "core/runner_image.h"

enum { HASH_SHOWN = 12 };

const char *k8s_uname(const char *arch)
{
    return sw_text_same(arch, "arm64") ? "aarch64" : "x86_64";
}

static bool is_known(struct sw_connection *conn, const char *name, bool learnt)
{
    bool known;

    pthread_mutex_lock(&conn->lock);
    if (learnt)
        json_object_set_new(conn->runners, name, json_true());
    known = json_object_get(conn->runners, name) != NULL;
    pthread_mutex_unlock(&conn->lock);
    return known;
}

/* 1: it is there; 0: it is not; -1 + err. */
static int is_there(struct sw_connection *conn, const char *plural, const char *name, struct sw_error *err)
{
    static const struct sw_rest_pair metadata[] = {
        { "Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" }, { 0 } };
    sw_autofree char *path = k8s_path(conn, "v1", plural, name);
    const struct sw_rest_call call = { .path = path, .headers = metadata, .repeatable = true };
    struct sw_error why = { 0 };

    if (sw_rest_call(conn->rest, &call, NULL, &why) == 0)
        return 1;
    return why.code == SW_E_NOT_FOUND ? 0 : sw_pass(err, &why);
}

static int create(struct sw_connection *conn, bool secret, const char *name, const char *arch,
                  const void *bytes, size_t size, struct sw_error *err)
{
    sw_autofree char *path = k8s_path(conn, "v1", secret ? "secrets" : "configmaps", NULL);
    sw_autofree char *encoded = sw_base64(bytes, size);
    sw_auto(json) json_t *body = sw_json_object(
        SW_STR("apiVersion", "v1"), SW_STR("kind", secret ? "Secret" : "ConfigMap"),
        SW_BOOL("immutable", true),
        SW_SUB("metadata", sw_json_object(
            SW_STR("name", name), SW_STR("namespace", conn->namespace),
            SW_SUB("labels", sw_json_object(SW_STR(K8S_LABEL_SHARED, "runner"),
                                            SW_STR(K8S_LABEL_RUNNER, arch))))),
        SW_SUB(secret ? "data" : "binaryData", sw_json_object(SW_STR("slipway-runner", encoded))));
    struct sw_error why = { 0 };

    if (k8s_call(conn, "POST", path, body, NULL, &why) == 0 || why.code == SW_E_CONFLICT)
        return 0;
    sw_pass(err, &why);
    sw_wrap(err, "cannot put the runner into the namespace '%s'", conn->namespace);
    return err && err->code == SW_E_REFUSED
               ? sw_hint(err, "where objects of this size are refused, name an image that contains it: "
                              "'kubernetes.runner_image'") : -1;
}

int k8s_runner(struct sw_connection *conn, const char *arch, enum k8s_runner_way way, char out[K8S_NAME_SIZE],
               struct sw_error *err)
{
    bool secret = way == K8S_RUNNER_SECRET;
    size_t size = 0;
    const void *bytes = sw_embedded_runner(k8s_uname(arch), &size, err);
    char hash[SW_DIGEST_HEX];
    int there;

    if (!bytes)
        return -1;
    sw_sha256_hex(bytes, size, hash);
    snprintf(out, K8S_NAME_SIZE, "slipway-runner-%s-%.*s%s", arch, HASH_SHOWN, hash, secret ? "-s" : "");
    if (is_known(conn, out, false))
        return 0;
    there = is_there(conn, secret ? "secrets" : "configmaps", out, err);
    if (there < 0 || (there == 0 && create(conn, secret, out, arch, bytes, size, err) < 0))
        return -1;
    is_known(conn, out, true);
    return 0;
}
