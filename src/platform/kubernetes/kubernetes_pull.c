/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_pull.c - Secrets are sent without becoming text: the image pull secret, and the job's own.
 *
 * A pull secret is named after a hash of its content: two users never overwrite each other's, and a
 * changed key is another name. It belongs to no job, since several use it; `slipway gc --caches` removes
 * it.
 */
#include "platform/kubernetes/kubernetes_submit.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "platform/kit/pull_login.h"

enum { HASH_SHOWN = 12 };

/* The body: `head` with "data": {KEY: base64 of the bytes}, in memory that the caller wipes. */
static void body_of(const json_t *head, const char *key, const void *bytes, size_t length, struct sw_buf *out)
{
    sw_autofree char *text = sw_json_dump(head);
    sw_auto(sw_text_wipe) char *encoded = sw_base64(bytes, length);

    sw_buf_reserve_wiping(out, strlen(text) + strlen(encoded) + strlen(key) + 32);
    sw_buf_add_bytes(out, text, strlen(text) - 1);
    sw_buf_addf(out, ",\"data\":{\"%s\":\"", key);
    sw_buf_add(out, encoded);
    sw_buf_add(out, "\"}}");
}

int k8s_create_secret(struct sw_connection *conn, const json_t *head, const char *key,
                      const struct sw_buf *value, struct sw_error *err)
{
    sw_autofree char *path = k8s_path(conn, "v1", "secrets", NULL);
    struct sw_buf body = SW_BUF_INIT;
    struct sw_rest_call call = { .method = "POST", .path = path, .content_type = "application/json",
                                 .repeatable = true };
    int result;

    body_of(head, key, value->data, value->length, &body);
    call.bytes = body.data;
    call.length = (int64_t)body.length;
    result = sw_rest_call(conn->rest, &call, NULL, err);
    sw_buf_wipe(&body);
    return result;
}

static int make_pull_secret(struct sw_connection *conn, const struct sw_pull_login *pull,
                            char out[K8S_NAME_SIZE], struct sw_error *err)
{
    sw_auto(json) json_t *head = NULL;
    struct sw_buf config = SW_BUF_INIT;
    struct sw_error why = { 0 };
    int result;

    snprintf(out, K8S_NAME_SIZE, "slipway-pull-%.*s", HASH_SHOWN, pull->hash);
    head = sw_json_object(
        SW_STR("apiVersion", "v1"), SW_STR("kind", "Secret"),
        SW_STR("type", "kubernetes.io/dockerconfigjson"),
        SW_SUB("metadata", sw_json_object(
            SW_STR("name", out), SW_STR("namespace", conn->namespace),
            SW_SUB("labels", sw_json_object(SW_STR(K8S_LABEL_SHARED, "pull"))))));
    sw_registry_docker_config(&pull->login, pull->registry, &config);
    result = k8s_create_secret(conn, head, ".dockerconfigjson", &config, &why);
    sw_buf_wipe(&config);
    if (result == 0 || why.code == SW_E_CONFLICT)        /* the same name is the same content */
        return 0;
    sw_pass(err, &why);
    return sw_wrap(err, "cannot create the image pull secret");
}

int k8s_pull_secret(struct sw_connection *conn, const struct sw_plan *plan, char out[K8S_NAME_SIZE],
                    struct sw_error *err)
{
    const char *given = k8s_job_options(plan->options).image_pull_secret;
    sw_auto(sw_pull_login) struct sw_pull_login pull = { 0 };

    snprintf(out, K8S_NAME_SIZE, "%s", given ? given : "");
    if (given)
        return 0;
    if (sw_pull_login_find(&conn->given, plan->image, true, &pull, err) < 0)
        return -1;
    return pull.login.secret ? make_pull_secret(conn, &pull, out, err) : 0;
}
