/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_endpoint.h - where the Docker engine is, and how one gets there.
 *
 * In this order: the `host` option, DOCKER_HOST, the docker context (DOCKER_CONTEXT, then
 * currentContext of the docker configuration), the sockets an engine usually listens on.
 */
#ifndef SW_PLATFORM_DOCKER_ENDPOINT_H
#define SW_PLATFORM_DOCKER_ENDPOINT_H

#include "base/environment.h"
#include "base/json.h"
#include "base/error.h"
#include "net/http.h"
#include "net/ssh.h"

enum docker_way { DOCKER_UNIX, DOCKER_TCP, DOCKER_TLS, DOCKER_SSH };

struct docker_endpoint {
    enum docker_way way;
    char *text;              /* as a user writes it: "unix:///run/docker.sock", "ssh://me@host" */
    const char *origin;      /* "option host", "DOCKER_HOST", ...: who said so */
    char *socket;            /* DOCKER_UNIX */
    char *host;              /* the others; an IPv6 address without brackets */
    char *user;              /* DOCKER_SSH; NULL: ssh decides */
    int port;                /* 0: usual (2375, 2376, ssh decides) */
    char *remote_socket;     /* DOCKER_SSH: from ssh://host/path; NULL: the usual one there */
    char *state_dir;         /* DOCKER_SSH: our folder, for ssh's control socket; NULL: in /tmp */
    struct sw_ssh_options ssh;   /* DOCKER_SSH: what the options say; its texts live in `options` */
    json_t *options;
    char *ca, *cert, *key;   /* DOCKER_TLS: files; NULL: none */
    bool trust_any;          /* DOCKER_TLS: the certificate is not checked */
    sw_env_fn *env;          /* values of variables; NULL: getenv() */
    void *env_context;
};

/* Read one address: unix://PATH, /PATH, tcp://HOST[:PORT], ssh://[USER@]HOST[:PORT][/PATH],
 * http(s)://HOST:PORT. SW_E_SPEC with the forms there are. `out` is zeroed by the caller. */
int docker_endpoint_parse(const char *text, struct docker_endpoint *out, struct sw_error *err);

/* The options that lead here again, whatever the environment says then; new reference. */
json_t *docker_endpoint_options(const struct docker_endpoint *endpoint);

/* Decide from options ("host", "context", "tls", "certificates"; may be NULL), environment and
 * docker's configuration. The caller sets out->env, or leaves it NULL. */
int docker_endpoint_find(const json_t *options, struct docker_endpoint *out, struct sw_error *err);

/* What the user should know about this way (no encryption), owned; NULL: all is well. */
char *docker_endpoint_warning(const struct docker_endpoint *endpoint);

/* docker_ssh_transport.c: connections through ssh, each to a `docker system dial-stdio` over there. */
struct sw_ssh_dialer;
struct sw_ssh_dialer *docker_dialer_open(const struct docker_endpoint *endpoint, struct sw_error *err);

/* docker_unreachable.c: no answer came; say why and what to do. `met`: it did answer before, so the
 * call may have been heard: SW_E_UNREACHABLE or SW_E_TIMEOUT then. Always -1. */
int docker_no_answer(const struct docker_endpoint *endpoint, struct sw_ssh_dialer *dialer, bool met,
                     const struct sw_http_reply *reply, struct sw_error *err);
/* Connect to a socket: 0, or errno. */
int docker_socket_trouble(const char *path);

void docker_endpoint_copy(struct docker_endpoint *to, const struct docker_endpoint *from);
void docker_endpoint_done(struct docker_endpoint *endpoint);
static inline void docker_endpoint_auto(struct docker_endpoint *endpoint)
{
    docker_endpoint_done(endpoint);
}

#endif
