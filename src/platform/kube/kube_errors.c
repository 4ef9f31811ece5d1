/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_errors.c - what a failure means here, and what the user can do about it.
 *
 * The words are the server's; this adds which user, context and file led there.
 */
#include <string.h>

#include "base/text.h"
#include "platform/kube/kube_internal.h"

static const char *file_of(const struct kube *kube)
{
    return kube->address.context ? kube->address.kubeconfig : "this pod";
}

/* How the user proves itself, and what helps when that is not accepted. */
static void refused_user(const struct kube *kube, struct sw_error *err)
{
    const struct kube_user *user = &kube->config.user;
    bool exec = user->exec && !user->token && !user->token_file && !user->username;

    if (!kube->address.context)
        sw_hint(err, "the service account of this pod is not accepted");
    else if (!user->name)
        sw_hint(err, "the context '%s' in %s has no user", kube->address.context, file_of(kube));
    else if (exec)
        sw_hint(err, "log in again: '%s' authenticates the user '%s' in "
                     "%s", user->exec->command, user->name,
                file_of(kube));
    else if (!user->token && !user->token_file && !user->certificate && !user->username)
        sw_hint(err, "the user '%s' in %s has no credential", user->name, file_of(kube));
    else
        sw_hint(err, "the %s of the user '%s' in %s is not accepted; a new kubeconfig may be needed",
                user->token || user->token_file ? "token" : user->certificate ? "certificate" : "password",
                user->name, file_of(kube));
}

static void answered(const struct kube *kube, int status, const char *words, struct sw_error *err)
{
    bool anonymous = status == 403 && words && strstr(words, "system:anonymous");

    if (status == 401 || anonymous) {
        err->code = SW_E_CREDENTIAL;
        refused_user(kube, err);
    } else if (status == 403) {
        sw_hint(err, "`slipway preflight` lists the permissions that jobs need in the namespace '%s'",
                kube->address.namespace);
    }
}

static void distrusted(const struct kube *kube, const char *words, struct sw_error *err)
{
    const struct kube_cluster *cluster = &kube->config.cluster;

    if (words && strstr(words, "another host name"))
        sw_hint(err, "check `tls-server-name` of the cluster in %s",
                file_of(kube));
    else if (cluster->authority)
        sw_hint(err, "the trusted authority is %s: is it the one of %s?", cluster->authority_origin,
                cluster->server);
    else
        sw_hint(err, "set `certificate-authority` of the cluster in %s",
                file_of(kube));
}

/* The server hung up because of the client's certificate, or for lack of one. */
static bool is_about_our_certificate(const char *words)
{
    return words && strstr(words, "alert") && strstr(words, "certificate");
}

/* What it says itself is an object of the kind Status; anything else a service said, through its proxy. */
static bool is_of_the_api_server(const struct sw_http_reply *reply)
{
    sw_auto(json) json_t *said = json_loadb(sw_buf_text(&reply->body), reply->body.length, 0, NULL);

    return sw_text_same(sw_json_str(said, "kind"), "Status");
}

void kube_explain(void *context, const struct sw_http_reply *reply, const char *words, struct sw_error *err)
{
    const struct kube *kube = context;

    if (reply->status && kube->behind && !is_of_the_api_server(reply)) {
        kube->behind(kube->behind_context, reply, words, err);
    } else if (reply->status) {
        answered(kube, reply->status, words, err);
    } else if (reply->failure == SW_E_REFUSED) {
        distrusted(kube, words, err);
    } else if (reply->failure == SW_E_CREDENTIAL || is_about_our_certificate(words)) {
        err->code = SW_E_CREDENTIAL;
        refused_user(kube, err);
    } else if (kube->address.context) {
        sw_hint(err, "the context '%s' in %s points to %s: is that cluster running and reachable from "
                     "here?", kube->address.context, file_of(kube), kube->address.server);
    }
}
