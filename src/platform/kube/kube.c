/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube.c - a connection to an API server: made from what kube_config.c found, closed, and where it leads.
 */
#include "platform/kube/kube_internal.h"

#include <string.h>

#include "base/text.h"

/* Name, value, name, value as the rows that the client takes. */
static struct sw_rest_pair *pairs_of(char *const *texts)
{
    size_t count = 0;
    struct sw_rest_pair *pairs;

    while (texts && texts[count])
        count++;
    pairs = sw_alloc((count / 2 + 1) * sizeof *pairs);
    for (size_t i = 0; i < count / 2; i++)
        pairs[i] = (struct sw_rest_pair){ texts[2 * i], texts[2 * i + 1] };
    return pairs;
}

static void warn_of(const struct kube_options *options, const struct kube_config *config)
{
    const char *server = config->cluster.server;
    sw_autofree char *text = NULL;

    if (config->cluster.insecure)
        text = sw_format("the kubeconfig says insecure-skip-tls-verify: anyone between here and %s can "
                         "read and change what is sent", server);
    else if (sw_text_starts(server, "http://") && !sw_http_is_loopback(server))
        text = sw_format("the connection to %s is not encrypted: credentials are sent in the "
                         "clear", server);
    if (text && options->warn)
        options->warn(options->warn_context, text);
}

static struct sw_rest *open_rest(struct kube *kube, const struct kube_options *options, struct sw_error *err)
{
    const struct kube_cluster *cluster = &kube->config.cluster;
    struct sw_rest_options to = {
        .base_url = cluster->server,
        .name = kube->name,
        .http = {
            .ca_bytes = cluster->authority,
            .ca_length = cluster->authority ? strlen(cluster->authority) : 0,
            .trust_any = cluster->insecure,
            .tls_name = cluster->tls_name,
            .proxy = cluster->proxy,
        },
        .patience_ms = options->patience_ms,
        .threads = true,
        .authorize = kube_authorize,
        .authorize_context = kube,
        .headers = kube->headers,
        .fields = options->fields,
        .explain = kube_explain,
        .explain_context = kube,
    };

    return sw_rest_open(&to, err);
}

struct kube *kube_open(const struct kube_options *options, struct sw_error *err)
{
    sw_auto(kube) struct kube *kube = sw_new(struct kube);
    const struct kube_config *config = &kube->config;

    if (kube_config_find(options, &kube->config, err) < 0)
        return NULL;
    kube->name = sw_strdup(options->name ? options->name : "Kubernetes");
    kube->headers = pairs_of(config->user.as);
    kube->behind = options->behind;
    kube->behind_context = options->behind_context;
    kube->address = (struct kube_address){
        .server = config->cluster.server, .namespace = config->namespace, .context = config->context,
        .cluster = config->cluster.name, .user = config->user.name, .kubeconfig = config->kubeconfig,
    };
    kube->rest = open_rest(kube, options, err);
    if (!kube->rest)
        return NULL;
    warn_of(options, config);
    return sw_take(kube);
}

void kube_close(struct kube *kube)
{
    if (!kube)
        return;
    sw_rest_close(kube->rest);
    kube_credentials_done(&kube->credentials);
    kube_config_done(&kube->config);
    free(kube->headers);
    free(kube->name);
    free(kube);
}

struct sw_rest *kube_rest(struct kube *kube)
{
    return kube->rest;
}

const struct kube_address *kube_address(const struct kube *kube)
{
    return &kube->address;
}

json_t *kube_place_options(const struct kube *kube)
{
    return sw_json_object(
        SW_STR("kubeconfig", kube->address.kubeconfig),
        SW_STR_OPT("context", kube->address.context),
        SW_STR("namespace", kube->address.namespace));
}

char *kube_place_address(const struct kube *kube)
{
    return sw_format("%s namespace %s", kube->address.server, kube->address.namespace);
}
