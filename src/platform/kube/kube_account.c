/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_account.c - the service account of the pod that this process runs in.
 */
#include "platform/kube/kube_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

static char *account_file(const struct kube_options *options, const char *name)
{
    return sw_path_join(options->account_dir ? options->account_dir : ACCOUNT_DIR, name);
}

bool kube_account_is_there(const struct kube_options *options)
{
    sw_autofree char *token = account_file(options, "token");

    return kube_env(options, "KUBERNETES_SERVICE_HOST") && kube_env(options, "KUBERNETES_SERVICE_PORT") &&
           sw_file_exists(token);
}

static char *one_line(const char *path)
{
    char *text = sw_file_read_plain(path, KUBE_FILE_MAX, NULL, NULL);

    if (text)
        text[strcspn(text, " \t\r\n")] = '\0';
    return text;
}

int kube_account_read(const struct kube_options *options, struct kube_config *out, struct sw_error *err)
{
    const char *host = kube_env(options, "KUBERNETES_SERVICE_HOST");
    const char *port = kube_env(options, "KUBERNETES_SERVICE_PORT");
    sw_autofree char *authority = account_file(options, "ca.crt");
    sw_autofree char *namespace = account_file(options, "namespace");
    bool six = host && strchr(host, ':');

    if (!kube_account_is_there(options)) {
        sw_fail(err, SW_E_NOT_FOUND, "this process does not run in a pod with a service account");
        return sw_hint(err, "there KUBERNETES_SERVICE_HOST is set, and the file `token` is mounted");
    }
    if (strpbrk(host, "/?#@[] ") || strspn(port, "0123456789") != strlen(port))
        return sw_fail(err, SW_E_SPEC, "KUBERNETES_SERVICE_HOST and _PORT are not an address");
    out->cluster.server = sw_format("https://%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port);
    out->cluster.authority = sw_file_read_plain(authority, KUBE_FILE_MAX, NULL, err);
    out->cluster.authority_origin = sw_take(authority);
    out->user.token_file = account_file(options, "token");
    out->namespace = one_line(namespace);
    if (sw_text_empty(out->namespace))
        free(sw_take(out->namespace));
    out->kubeconfig = sw_strdup(KUBE_IN_CLUSTER);
    return out->cluster.authority ? 0 : -1;
}
