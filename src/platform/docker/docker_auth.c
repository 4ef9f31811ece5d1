/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_auth.c - which credential a registry gets, and in what form.
 *
 * A credential is only ever sent to the registry it was made for: DOCKER_PASSWORD goes to
 * DOCKER_REGISTRY (else docker.io), NGC_KEY to nvcr.io, an entry of the docker configuration to
 * the host it stands under. A helper that fails does not stop a pull, since the image may be
 * public; its words are kept for the message when the registry says no.
 */
#include <string.h>
#include <strings.h>

#include "base/digest.h"
#include "base/text.h"
#include "platform/docker/docker_image.h"
#include "platform/docker/docker_internal.h"

#define HUB     "docker.io"
#define HUB_KEY "https://index.docker.io/v1/"      /* the name under which logins to it are kept */
#define NGC     "nvcr.io"

static void wipe(struct sw_buf *buf)
{
    if (buf->data)
        explicit_bzero(buf->data, buf->room);
    sw_buf_done(buf);
}

void docker_login_done(struct docker_login *login)
{
    if (login->header)
        explicit_bzero(login->header, strlen(login->header));
    free(login->header);
    free(login->user);
    free(login->origin);
    free(login->trouble);
    memset(login, 0, sizeof *login);
}

/* ---- the header --------------------------------------------------------------------------------- */

static void add_json(struct sw_buf *out, const char *key, const char *value)
{
    sw_buf_addf(out, "%s\"%s\":\"", out->length > 1 ? "," : "", key);
    for (const char *c = value; *c; c++) {
        if (*c == '"' || *c == '\\')
            sw_buf_add_char(out, '\\');
        if ((unsigned char)*c < 0x20)
            sw_buf_addf(out, "\\u%04x", (unsigned)*c);
        else
            sw_buf_add_char(out, *c);
    }
    sw_buf_add_char(out, '"');
}

/* Written into memory of known size, so that no copy of it is left behind by growing. */
static char *make_header(const char *registry, const char *user, const char *secret, bool token)
{
    struct sw_buf text = SW_BUF_INIT;
    char *header;

    sw_buf_reserve(&text, 6 * (strlen(registry) + strlen(user) + strlen(secret)) + 256);
    sw_buf_add_char(&text, '{');
    if (token) {
        add_json(&text, "identitytoken", secret);
    } else {
        add_json(&text, "username", user);
        add_json(&text, "password", secret);
    }
    add_json(&text, "serveraddress", strcmp(registry, HUB) == 0 ? HUB_KEY : registry);
    sw_buf_add_char(&text, '}');
    header = sw_base64(text.data, text.length);
    wipe(&text);
    for (char *c = header; *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    return header;
}

static bool take(struct docker_login *out, const char *registry, const char *user,
                 const char *secret, bool token, const char *origin)
{
    out->header = make_header(registry, user, secret, token);
    out->user = sw_strdup(token ? "a token" : user);
    free(out->origin);
    out->origin = sw_strdup(origin);
    return true;
}

/* ---- the environment ---------------------------------------------------------------------------- */

static bool from_env(const struct docker_where *where, const char *registry,
                     struct docker_login *out)
{
    const char *user = docker_value(where, "DOCKER_USERNAME");
    const char *password = docker_value(where, "DOCKER_PASSWORD");
    const char *said = docker_value(where, "DOCKER_REGISTRY"), *whose = said ? said : HUB;
    const char *ngc_key = docker_value(where, "NGC_KEY");

    if (user && password && docker_same_registry(whose, registry))
        return take(out, registry, user, password, false, "DOCKER_USERNAME and DOCKER_PASSWORD");
    if (strcmp(registry, NGC) == 0 && ngc_key)
        return take(out, registry, user && !password ? user : "$oauthtoken", ngc_key, false, "NGC_KEY");
    return false;
}

/* ---- docker's configuration --------------------------------------------------------------------- */

/* "https://host:1/v1/" -> "host:1"; the hub has several names. */
static char *host_of(const char *key)
{
    const char *begin = strstr(key, "://");
    char *host;

    begin = begin ? begin + 3 : key;
    host = sw_strndup(begin, strcspn(begin, "/"));
    if (strcasecmp(host, "index." HUB) == 0 || strcasecmp(host, "registry-1." HUB) == 0)
        strcpy(host, HUB);
    return host;
}

bool docker_same_registry(const char *key, const char *registry)
{
    sw_autofree char *host = host_of(key);

    return strcasecmp(host, registry) == 0;
}

static const json_t *entry_of(const json_t *object, const char *registry)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
        if (docker_same_registry(key, registry))
            return value;
    return NULL;
}

static bool from_auths(const json_t *entry, const char *registry, struct docker_login *out)
{
    const char *token = sw_json_str(entry, "identitytoken");
    const char *auth = sw_json_str(entry, "auth");
    sw_autofree char *pair = sw_text_empty(auth) ? NULL : docker_unbase64(auth);
    char *colon = pair ? strchr(pair, ':') : NULL;
    bool found = false;

    if (!sw_text_empty(token))
        found = take(out, registry, "", token, true, "the docker configuration");
    else if (colon) {
        *colon = '\0';
        found = take(out, registry, pair, colon + 1, false, "the docker configuration");
        *colon = ':';
    } else if (sw_json_str(entry, "username") && sw_json_str(entry, "password"))
        found = take(out, registry, sw_json_str(entry, "username"),
                     sw_json_str(entry, "password"), false, "the docker configuration");
    else if (!sw_text_empty(auth))
        out->trouble = sw_strdup("the entry in the docker configuration cannot be read");
    if (pair)
        explicit_bzero(pair, strlen(pair));
    return found;
}

static bool from_helper(const char *helper, const char *registry, struct docker_login *out)
{
    struct docker_helped got = { 0 };
    struct sw_error why = { 0 };
    sw_autofree char *program = sw_format("docker-credential-%s", helper);
    bool found = false;

    if (docker_helper_ask(program, strcmp(registry, HUB) == 0 ? HUB_KEY : registry, &got, &why) < 0)
        out->trouble = sw_strdup(why.message);
    else if (got.secret)
        found = take(out, registry, got.user, got.secret, strcmp(got.user, "<token>") == 0, program);
    docker_helped_done(&got);
    return found;
}

static void from_config(const struct docker_where *where, const char *registry,
                        struct docker_login *out)
{
    sw_autofree char *folder = docker_config_folder(where);
    struct sw_error why = { 0 };
    sw_auto(json) json_t *config = docker_config_read(folder, &why);
    const json_t *own = entry_of(json_object_get(config, "credHelpers"), registry);
    const char *store = sw_json_str(config, "credsStore");

    if (!config)
        out->trouble = sw_strdup(why.message);
    else if (own && json_is_string(own))
        from_helper(json_string_value(own), registry, out);
    else if (sw_text_empty(store) || !from_helper(store, registry, out))
        from_auths(entry_of(json_object_get(config, "auths"), registry), registry, out);
}

void docker_login_find(const struct docker_where *where, const char *registry,
                       struct docker_login *out)
{
    if (!from_env(where, registry, out))
        from_config(where, registry, out);
}
