/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_user.c - the user of a kubeconfig: how it proves who it is, and whom it acts for.
 */
#include "platform/kube/kube_internal.h"

#include <string.h>

#include "base/text.h"

static void no_auth_provider(struct kube_entry *entry)
{
    sw_autofree char *name = sw_strdup(sw_json_str(json_object_get(entry->value, "auth-provider"), "name"));

    if (!json_object_get(entry->value, "auth-provider"))
        return;
    kube_entry_refuse(entry, "auth-provider", "was removed in Kubernetes 1.26");
    sw_hint(entry->err, "let an exec plugin log in instead: %s",
            sw_text_same(name, "gcp")     ? "gke-gcloud-auth-plugin"
            : sw_text_same(name, "azure") ? "kubelogin convert-kubeconfig"
            : sw_text_same(name, "oidc")  ? "kubectl oidc-login"
                                          : "the one of your cluster's provider");
}

/* Data comes before a file of the same name, as kubectl has it. */
static void read_certificate(struct kube_entry *entry, struct kube_user *out)
{
    static const struct { const char *data, *file; } parts[] = {
        { "client-certificate-data", "client-certificate" }, { "client-key-data", "client-key" },
    };
    struct sw_secret **texts[] = { &out->certificate, &out->key };
    char **files[] = { &out->certificate_file, &out->key_file };

    for (size_t i = 0; i < SW_COUNT(parts); i++) {
        sw_autofree char *path = kube_entry_path(entry, parts[i].file);
        struct sw_error why = { 0 };

        *texts[i] = kube_entry_data(entry, parts[i].data);
        if (*texts[i] || !path)
            continue;
        *texts[i] = kube_secret_read(path, &why);
        *files[i] = sw_take(path);
        if (!*texts[i])
            kube_entry_refuse(entry, parts[i].file, why.message);
    }
    if (!out->certificate != !out->key)
        kube_entry_refuse(entry, out->key ? "client-key" : "client-certificate",
                          out->key ? "has no client-certificate beside it" : "has no client-key beside it");
}

/* ---- impersonation ------------------------------------------------------------------------------- */

static void add_header(struct kube_user *out, size_t *count, const char *name, const char *value)
{
    out->as = sw_realloc_array(out->as, *count + 3, sizeof *out->as);
    out->as[(*count)++] = sw_strdup(name);
    out->as[(*count)++] = sw_strdup(value);
    out->as[*count] = NULL;
}

static void add_headers(struct kube_entry *entry, const char *key, const json_t *list, const char *name,
                        struct kube_user *out, size_t *count)
{
    size_t at;
    json_t *one;

    if (list && !json_is_null(list) && !json_is_array(list))
        kube_entry_refuse(entry, key, "is not a list");
    json_array_foreach((json_t *)list, at, one) {
        const char *text = json_string_value(one);

        if (sw_text_empty(text) || strpbrk(text, "\r\n"))
            kube_entry_refuse(entry, key, "contains something other than one-line strings");
        else
            add_header(out, count, name, text);
    }
}

static void read_impersonation(struct kube_entry *entry, struct kube_user *out)
{
    sw_autofree char *as = kube_entry_text(entry, "as"), *uid = kube_entry_text(entry, "as-uid");
    json_t *extra = json_object_get(entry->value, "as-user-extra"), *list;
    const char *key;
    size_t count = 0;

    if (as)
        add_header(out, &count, "Impersonate-User", as);
    if (uid)
        add_header(out, &count, "Impersonate-Uid", uid);
    add_headers(entry, "as-groups", json_object_get(entry->value, "as-groups"), "Impersonate-Group", out,
                &count);
    json_object_foreach(extra, key, list) {
        sw_auto(sw_buf) struct sw_buf name = SW_BUF_INIT;

        sw_buf_add(&name, "Impersonate-Extra-");
        sw_http_encode(&name, key, strlen(key), "");
        add_headers(entry, "as-user-extra", list, name.data, out, &count);
    }
    if (count && !as)
        kube_entry_refuse(entry, "as-uid", "and as-groups are for a user that `as` names");
}

int kube_user_read(struct kube_entry *entry, struct kube_user *out)
{
    const json_t *exec = json_object_get(entry->value, "exec");

    no_auth_provider(entry);
    out->token = kube_entry_secret(entry, "token");
    out->token_file = kube_entry_path(entry, "tokenFile");
    out->username = kube_entry_text(entry, "username");
    out->password = kube_entry_secret(entry, "password");
    if (out->username && strchr(out->username, ':'))
        kube_entry_refuse(entry, "username", "holds a colon");
    read_certificate(entry, out);
    read_impersonation(entry, out);
    if (exec && !json_is_null(exec))
        out->exec = kube_exec_read(entry);
    return entry->failed ? -1 : 0;
}
