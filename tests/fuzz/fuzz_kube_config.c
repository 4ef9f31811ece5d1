/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_kube_config.c - any bytes as a kubeconfig: a cluster and a user, or a reason; and what is used
 * of it holds nothing that could become a header or an option of its own.
 */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "platform/kube/kube_internal.h"

static bool is_one_line(const char *text)
{
    return !text || !strpbrk(text, "\r\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    sw_auto(kube_documents) struct kube_documents documents = { 0 };
    sw_auto(kube_config) struct kube_config config = { 0 };
    struct sw_error err = { 0 };
    int result = kube_documents_add(&documents, text, strlen(text), "/nonexistent/config", &err);

    if (result == 0)
        result = kube_config_choose(&documents, NULL, &config, &err);
    CLAIM((result == 0) == (err.code == SW_OK));
    if (result < 0)
        return 0;
    CLAIM(config.context && config.cluster.server && is_one_line(config.cluster.server));
    CLAIM(sw_text_starts(config.cluster.server, "https://") ||
          sw_text_starts(config.cluster.server, "http://"));
    CLAIM(is_one_line(config.cluster.tls_name) && is_one_line(config.cluster.proxy));
    CLAIM(!config.user.token || is_one_line(sw_secret_reveal(config.user.token)));
    CLAIM(!config.user.certificate == !config.user.key);
    CLAIM(!config.user.exec || (config.user.exec->command && config.user.exec->api_version));
    for (char **at = config.user.as; at && *at; at++)
        CLAIM(is_one_line(*at));
    return 0;
}
