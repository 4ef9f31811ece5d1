/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_internal.h - what the client's own files share: the way over ssh, and why no answer came.
 */
#ifndef SW_PLATFORM_DOCKER_INTERNAL_H
#define SW_PLATFORM_DOCKER_INTERNAL_H

#include "base/json.h"
#include "net/http.h"
#include "platform/docker/docker_endpoint.h"

/* docker_ssh_transport.c: connections through ssh, each to a `docker system dial-stdio` over there. */
struct docker_dialer;
struct docker_dialer *docker_dialer_open(const struct docker_endpoint *endpoint, struct sw_error *err);
void docker_dialer_close(struct docker_dialer *dialer);
struct sw_ssh;
struct sw_ssh *docker_dialer_ssh(const struct docker_dialer *dialer);    /* borrowed; NULL: none */
void docker_dial(void *dialer, int fd);      /* connect this stream with the engine */
/* Why the last connection ended, with what ssh or docker over there said. Always -1. */
int docker_dialer_why(struct docker_dialer *dialer, struct sw_error *err);

/* docker_unreachable.c: no answer came; say why and what to do. `met`: it did answer before, so the
 * call may have been heard: SW_E_UNREACHABLE or SW_E_TIMEOUT then. Always -1. */
int docker_no_answer(const struct docker_endpoint *endpoint, struct docker_dialer *dialer, bool met,
                     const struct sw_http_reply *reply, struct sw_error *err);

/* docker_host_facts.c: about the engine's machine. */
struct docker_api;
int64_t docker_host_free_bytes(struct docker_api *api, const char *folder);   /* -1: not known */
char *docker_program_version(struct docker_api *api, const char *path);      /* owned; or NULL */
struct docker_dialer *docker_api_dialer(const struct docker_api *api);       /* NULL: no ssh */

#endif
