/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_internal.h - what the client's own files share: the way over ssh, and why nobody answered.
 */
#ifndef SW_PLATFORM_DOCKER_INTERNAL_H
#define SW_PLATFORM_DOCKER_INTERNAL_H

#include "base/json.h"
#include "net/http.h"
#include "platform/docker/docker_where.h"

/* docker_dial.c: connections through ssh, each to a `docker system dial-stdio` over there. */
struct docker_dialer;
struct docker_dialer *docker_dialer_open(const struct docker_where *where, struct sw_error *err);
void docker_dialer_close(struct docker_dialer *dialer);
struct sw_ssh;
struct sw_ssh *docker_dialer_ssh(const struct docker_dialer *dialer);    /* borrowed; NULL: none */
void docker_dial(void *dialer, int fd);      /* connect this stream with the engine */
/* Why the last connection ended, with what ssh or docker over there said. Always -1. */
int docker_dialer_why(struct docker_dialer *dialer, struct sw_error *err);

/* docker_reach.c: no answer came; say why and what to do. `met`: it did answer before, so the
 * call may have been heard: SW_E_UNREACHABLE or SW_E_TIMEOUT then. Always -1. */
int docker_no_answer(const struct docker_where *where, struct docker_dialer *dialer, bool met,
                     const struct sw_http_reply *reply, struct sw_error *err);

/* docker_find.c: docker's own configuration. A missing file is an empty object. */
char *docker_config_folder(const struct docker_where *where);            /* owned */
json_t *docker_config_read(const char *folder, struct sw_error *err);    /* owned; NULL + err */

/* docker_program.c: ask a program here. 0 with its exit status (-1: killed, silent too long, or
 * it said too much); -1: it cannot be started. */
int docker_program_ask(char *const argv[], const char *input, struct sw_buf *said, int *status,
                       struct sw_error *err);

/* docker_far.c: about the engine's machine. */
struct docker_api;
int64_t docker_far_free_bytes(struct docker_api *api, const char *folder);   /* -1: not known */
char *docker_program_version(struct docker_api *api, const char *path);      /* owned; or NULL */
struct docker_dialer *docker_api_dialer(const struct docker_api *api);       /* NULL: no ssh */

/* docker_helper.c: a login from docker-credential-NAME. No secret and 0: it has none for us. */
struct docker_helped {
    char *user, *secret;
};
int docker_helper_ask(const char *program, const char *registry, struct docker_helped *out,
                      struct sw_error *err);
void docker_helped_done(struct docker_helped *got);      /* wipes */

/* docker_auth.c */
bool docker_same_registry(const char *key, const char *registry);   /* key as in config.json */
/* docker_text.c: base64 of either alphabet to text, owned; NULL: none, or it holds a NUL. */
char *docker_unbase64(const char *text);

#endif
