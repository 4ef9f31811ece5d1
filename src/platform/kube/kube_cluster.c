/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_cluster.c - the cluster of a kubeconfig: where its server is, and how its certificate is checked.
 */
#include "platform/kube/kube_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

/* Where a cluster keeps what it has for exec plugins. */
#define EXEC_EXTENSION "client.authentication.k8s.io/exec"

/* What is wrong with it; NULL: nothing. */
static const char *server_trouble(const char *server)
{
    const char *host = strstr(server, "://");
    size_t length;

    if (!sw_text_starts(server, "https://") && !sw_text_starts(server, "http://"))
        return "does not begin with https:// or http://";
    host += strlen("://");
    length = strcspn(host, "/?#");
    if (length == 0 || strpbrk(host, " \t\"\\"))
        return "is not an address";
    if (memchr(host, '@', length))
        return "contains a user: that belongs in `users`";
    return strpbrk(host, "?#") ? "has something after its path" : NULL;
}

static void read_server(struct kube_entry *entry, struct kube_cluster *out)
{
    const char *trouble;

    out->server = kube_entry_text(entry, "server");
    if (!out->server) {
        kube_entry_refuse(entry, entry->failed ? "server" : "", "has no server");
        return;
    }
    trouble = server_trouble(out->server);
    if (trouble)
        kube_entry_refuse(entry, "server", trouble);
    for (size_t length = strlen(out->server); length && out->server[length - 1] == '/';)
        out->server[--length] = '\0';
}

static void read_authority(struct kube_entry *entry, struct kube_cluster *out)
{
    sw_auto(sw_secret) struct sw_secret *data = kube_entry_data(entry, "certificate-authority-data");
    sw_autofree char *path = kube_entry_path(entry, "certificate-authority");
    struct sw_error why = { 0 };

    if (data) {
        out->authority = sw_strdup(sw_secret_reveal(data));
        out->authority_origin = sw_format("certificate-authority-data in %s",
                                          sw_document_name(entry->in->document));
    } else if (path) {
        out->authority = sw_file_read_plain(path, KUBE_FILE_MAX, NULL, &why);
        out->authority_origin = sw_strdup(path);
        if (!out->authority)
            kube_entry_refuse(entry, "certificate-authority", why.message);
    }
    if (out->authority && !strstr(out->authority, "-----BEGIN CERTIFICATE-----"))
        kube_entry_refuse(entry, data ? "certificate-authority-data" : "certificate-authority",
                          "contains no certificate (PEM)");
}

/* Names are looked up by the proxy, as kubectl has it. */
static char *proxy_of(struct kube_entry *entry)
{
    static const char *const kinds[] = { "http://", "https://", "socks5://", "socks5h://" };
    sw_autofree char *proxy = kube_entry_text(entry, "proxy-url");

    if (!proxy)
        return NULL;
    if (sw_text_starts(proxy, "socks5://"))
        return sw_format("socks5h://%s", proxy + strlen("socks5://"));
    for (size_t i = 0; i < SW_COUNT(kinds); i++)
        if (sw_text_starts(proxy, kinds[i]))
            return sw_take(proxy);
    kube_entry_refuse(entry, "proxy-url", "does not begin with http://, https:// or socks5://");
    return NULL;
}

static json_t *exec_config_of(const struct kube_entry *entry)
{
    const json_t *extensions = json_object_get(entry->value, "extensions");
    size_t at;
    json_t *one;

    json_array_foreach((json_t *)extensions, at, one)
        if (sw_text_same(sw_json_str(one, "name"), EXEC_EXTENSION))
            return json_deep_copy(json_object_get(one, "extension"));
    return NULL;
}

int kube_cluster_read(struct kube_entry *entry, struct kube_cluster *out)
{
    read_server(entry, out);
    read_authority(entry, out);
    out->tls_name = kube_entry_text(entry, "tls-server-name");
    if (out->tls_name && strpbrk(out->tls_name, "/?#@[] \t"))
        kube_entry_refuse(entry, "tls-server-name", "is not a host name");
    out->proxy = proxy_of(entry);
    out->insecure = kube_entry_flag(entry, "insecure-skip-tls-verify");
    if (out->insecure && out->authority)
        kube_entry_refuse(entry, "insecure-skip-tls-verify",
                          "contradicts the certificate-authority beside it");
    out->exec_config = exec_config_of(entry);
    return entry->failed ? -1 : 0;
}
