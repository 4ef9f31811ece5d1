/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_address.c - the ways to a dashboard.
 *
 *     http://head:8265            as it is
 *     ssh://ann@head              our ssh connection, and from there to port 8265 of the head's loopback
 *     k8s://train/demo-head-svc   the API server's proxy; the cluster's token goes in a header of its own,
 *                                 since Authorization is the API server's
 *
 * RAY_ADDRESS may also be what Ray's other clients want (ray://HOST:10001, HOST:6379, auto): those speak no
 * HTTP, and the message says so. Host and user of an ssh address become words of a command line, so what
 * could be taken for an option of ssh is refused (net/ssh.h).
 */
#include "platform/ray/ray_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "net/ssh_dialer.h"
#include "net/ssh_options.h"
#include "platform/kube/kube.h"

static int bad(const char *text, const char *why, struct sw_error *err)
{
    sw_fail(err, SW_E_SPEC, "ray.address: '%.200s' is not the address of a dashboard: %s", text, why);
    return sw_hint(err, "write http://HOST:8265, ssh://USER@HOST or k8s://NAMESPACE/SERVICE");
}

/* ---- over ssh ------------------------------------------------------------------------------- */

/* "user@host:22" */
static int over_ssh(struct ray_connection *conn, const char *rest, const struct sw_connect_options *config,
                    struct sw_http_options *http, struct sw_error *err)
{
    struct ray_connect_options given = ray_connect_options(config->options);
    const char *sign = strrchr(rest, '@'), *host = sign ? sign + 1 : rest, *colon = strchr(host, ':');
    sw_autofree char *user = sign ? sw_strndup(rest, (size_t)(sign - rest)) : NULL;
    sw_autofree char *name = sw_strndup(host, strcspn(host, ":/"));
    struct sw_ssh_options options = given.ssh;

    options.state_dir = config->state_dir;
    options.hosts = name;
    options.user = user;
    options.port = colon ? atoi(colon + 1) : 0;
    if (!*name || (colon && (options.port < 1 || options.port > 65535)) || strchr(host, '/'))
        return bad(rest, "expected ssh://[USER@]HOST[:PORT]", err);
    conn->dialer = sw_ssh_dialer_open(&options, NULL, (int)given.dashboard_port, err);
    conn->url = sw_format("http://127.0.0.1:%d", (int)given.dashboard_port);
    http->serve = sw_ssh_dial;
    http->serve_context = conn->dialer;
    return conn->dialer ? 0 : -1;
}

/* ---- through Kubernetes --------------------------------------------------------------------- */

static bool is_dns_name(const char *text)
{
    return *text && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == strlen(text);
}

/* "namespace/service:port" */
static int through_kubernetes(struct ray_connection *conn, const char *rest,
                              const struct sw_connect_options *config, struct sw_error *err)
{
    struct ray_connect_options given = ray_connect_options(config->options);
    const char *slash = strchr(rest, '/'), *colon = slash ? strchr(slash, ':') : NULL;
    sw_autofree char *namespace = slash ? sw_strndup(rest, (size_t)(slash - rest)) : NULL;
    sw_autofree char *service = slash ? sw_strndup(slash + 1, strcspn(slash + 1, ":")) : NULL;
    int port = colon ? atoi(colon + 1) : RAY_PORT;

    if (!slash || !is_dns_name(namespace) || !is_dns_name(service) || port < 1 || port > 65535)
        return bad(rest, "expected k8s://NAMESPACE/SERVICE[:PORT]", err);
    conn->kube = kube_open(&(struct kube_options){
        .kubeconfig = given.kubeconfig, .context = given.context, .namespace = namespace,
        .env = config->env, .env_context = config->env_context, .warn = config->warn,
        .warn_context = config->warn_context, .name = "the Ray cluster's proxy",
        .patience_ms = 120000, .behind = ray_explain, .behind_context = conn }, err);
    if (!conn->kube)
        return -1;
    conn->url = sw_strdup(kube_address(conn->kube)->server);
    free(conn->prefix);
    conn->prefix = sw_format("/api/v1/namespaces/%s/services/%s:%d/proxy", namespace, service, port);
    return 0;
}

/* ---- which way ------------------------------------------------------------------------------ */

/* What leads here again whatever the environment says then. */
static json_t *way_of(const struct ray_connection *conn, const struct sw_connect_options *config)
{
    json_t *way = json_object();
    sw_auto(json) json_t *kube = conn->kube ? kube_place_options(conn->kube) : NULL;

    for (const struct sw_option *row = ray_options; row->name; row++) {
        json_t *value = json_object_get(config->options, row->name);

        if (row->scope == SW_CONNECTION && value)
            json_object_set(way, row->name, value);
    }
    json_object_set_new(way, "address", sw_json_text(conn->address));
    if (kube) {
        json_object_set(way, "kubeconfig", json_object_get(kube, "kubeconfig"));
        if (json_object_get(kube, "context"))
            json_object_set(way, "context", json_object_get(kube, "context"));
    }
    sw_ssh_options_settle(way);
    return way;
}

static int by_scheme(struct ray_connection *conn, const struct sw_connect_options *config,
                     struct sw_http_options *http, struct sw_error *err)
{
    const char *address = conn->address;

    if (sw_text_starts(address, "http://") || sw_text_starts(address, "https://")) {
        if (strchr(address + strlen("https:/"), '@'))
            return bad("http://...", "an address has no user and no password", err);
        conn->url = sw_strdup(address);
        return 0;
    }
    if (sw_text_starts(address, "ssh://"))
        return over_ssh(conn, address + strlen("ssh://"), config, http, err);
    if (sw_text_starts(address, "k8s://"))
        return through_kubernetes(conn, address + strlen("k8s://"), config, err);
    return bad(address, "Ray's own clients may use it, and Slipway talks to the dashboard over HTTP", err);
}

int ray_find_way(struct ray_connection *conn, const struct sw_connect_options *config,
                 struct sw_http_options *http, struct sw_error *err)
{
    const char *address = ray_connect_options(config->options).address;

    conn->prefix = sw_strdup("");
    if (!address) {                          /* `slipway plan` needs no cluster; each call says so */
        conn->address = sw_strdup("");
        conn->url = sw_strdup("http://127.0.0.1");
        conn->way = json_object();
        return 0;
    }
    conn->address = sw_strndup(address, strlen(address) - (sw_text_ends(address, "/") ? 1 : 0));
    if (by_scheme(conn, config, http, err) < 0)
        return -1;
    conn->way = way_of(conn, config);
    return 0;
}
