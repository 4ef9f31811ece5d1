/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_login.h - which login a registry gets.
 *
 * A credential is only ever sent to the registry it was made for: DOCKER_PASSWORD to DOCKER_REGISTRY (else
 * docker.io), NGC_KEY to nvcr.io, an entry of docker's configuration to the host it is kept under.
 */
#ifndef SW_CORE_REGISTRY_LOGIN_H
#define SW_CORE_REGISTRY_LOGIN_H

#include <stdbool.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/json.h"
#include "base/secret.h"

struct sw_registry_login {
    struct sw_secret *secret;     /* password or token; NULL: no login was found */
    bool is_token;                /* `secret` is an identity token, which has no user */
    char *user;                   /* may be shown */
    char *origin;                 /* "NGC_KEY", "docker-credential-x"; may be shown */
    char *trouble;                /* why a login that seems to exist cannot be used; or NULL */
};
void sw_registry_login_done(struct sw_registry_login *login);
static inline void sw_registry_login_auto(struct sw_registry_login *l) { sw_registry_login_done(l); }

struct sw_registry_query {
    const char *registry;         /* as struct sw_image_ref has it */
    const char *user;             /* who goes with DOCKER_PASSWORD when DOCKER_USERNAME is not set; or NULL */
    sw_env_fn *env;               /* values of variables; NULL: the process's own */
    void *env_context;
};
/* In this order: DOCKER_USERNAME + DOCKER_PASSWORD, NGC_KEY, docker's configuration (credHelpers,
 * credsStore, auths). A credential helper that fails is `trouble`, no error: the image may be public. */
void sw_registry_login_find(const struct sw_registry_query *query, struct sw_registry_login *out);
/* The variables alone. */
bool sw_registry_login_from_env(const struct sw_registry_query *query, struct sw_registry_login *out);
/* The variable that holds this registry's password; NULL: DOCKER_PASSWORD alone can. */
const char *sw_registry_variable(const char *registry);

/* The X-Registry-Auth header of the Docker Engine API; NULL: no login. Release with sw_text_wipe(). */
char *sw_registry_auth_header(const struct sw_registry_login *login, const char *registry);

/* A login as docker's configuration has it, {"auths":{HOST:{...}}}, for an image pull secret; appended to
 * an empty buffer, which the caller wipes. login->secret is not NULL. */
void sw_registry_docker_config(const struct sw_registry_login *login, const char *registry,
                               struct sw_buf *out);

/* ---- docker's configuration ---------------------------------------------------------------------- */

char *sw_docker_config_folder(sw_env_fn *env, void *env_context);        /* owned */
/* A missing file is an empty object. Owned; NULL + err. */
json_t *sw_docker_config_read(const char *folder, struct sw_error *err);
/* Is a key of that configuration ("https://index.docker.io/v1/", "host:5000") this registry? */
bool sw_registry_key_is(const char *key, const char *registry);

#endif
