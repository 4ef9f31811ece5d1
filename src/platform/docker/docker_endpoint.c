/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_endpoint.c - which engine is meant: options, environment, docker's contexts, usual sockets; and its
 * address, read and checked.
 *
 * The order is docker's own, so that a user of `docker ps` gets the same engine here. Host and user of an ssh
 * address become words of a command line, so what could be taken for an option of ssh is refused.
 */
#include "platform/docker/docker_endpoint.h"

#include <ctype.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "core/registry_login.h"
#include "platform/docker/docker_options.h"

/* ---- an address ---------------------------------------------------------------------------------- */

static const struct scheme {
    const char *prefix;
    enum docker_way way;
} schemes[] = {
    { "unix://", DOCKER_UNIX }, { "tcp://", DOCKER_TCP },  { "http://", DOCKER_TCP },
    { "https://", DOCKER_TLS }, { "ssh://", DOCKER_SSH },
};

static int bad(const char *text, const char *why, struct sw_error *err)
{
    sw_fail(err, SW_E_SPEC, "'%.200s' is not the address of a Docker engine: %s", text, why);
    return sw_hint(err, "write unix:///path, tcp://host:port or ssh://user@host");
}

static bool is_word(const char *text, size_t length, const char *others)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && (!text[i] || !strchr(others, text[i])))
            return false;
    return length > 0 && length <= 255 && *text != '-';
}

/* Digits only, 1..65535, all of `text` up to `end`. */
static int port_of(const char *text, const char *end)
{
    int port = 0;

    if (text == end || end - text > 5)
        return -1;
    for (; text < end; text++) {
        if (!isdigit((unsigned char)*text))
            return -1;
        port = port * 10 + (*text - '0');
    }
    return port >= 1 && port <= 65535 ? port : -1;
}

/* "host", "host:1", "[::1]:1" between `at` and `end`. */
static int take_host(const char *whole, const char *at, const char *end, struct docker_endpoint *out,
                     struct sw_error *err)
{
    const char *colon;

    if (*at == '[') {
        const char *close = memchr(at, ']', (size_t)(end - at));

        if (!close || !is_word(at + 1, (size_t)(close - at - 1), ":.%"))
            return bad(whole, "no IPv6 address in the brackets", err);
        out->host = sw_strndup(at + 1, (size_t)(close - at - 1));
        colon = close + 1 < end ? close + 1 : NULL;
        if (colon && *colon != ':')
            return bad(whole, "expected :PORT after the brackets", err);
    } else {
        colon = memchr(at, ':', (size_t)(end - at));
        if (!is_word(at, (size_t)((colon ? colon : end) - at), "-._"))
            return bad(whole, "not a valid host name", err);
        out->host = sw_strndup(at, (size_t)((colon ? colon : end) - at));
    }
    if (colon && (out->port = port_of(colon + 1, end)) < 0)
        return bad(whole, "the port is not a number from 1 to 65535", err);
    return 0;
}

static int take_user(const char *whole, const char **at, const char *end, struct docker_endpoint *out,
                     struct sw_error *err)
{
    const char *sign = memrchr(*at, '@', (size_t)(end - *at));

    if (!sign)
        return 0;
    if (memchr(*at, ':', (size_t)(sign - *at)))
        return bad("ssh://...", "an address cannot contain a password (use a key)", err);
    if (out->way != DOCKER_SSH)
        return bad(whole, "only ssh:// takes a user", err);
    if (!is_word(*at, (size_t)(sign - *at), "-._\\@+"))
        return bad(whole, "not a valid user name", err);
    out->user = sw_strndup(*at, (size_t)(sign - *at));
    *at = sign + 1;
    return 0;
}

static int take_path(const char *whole, const char *path, struct docker_endpoint *out,
                     struct sw_error *err)
{
    if (strcmp(path, "") == 0 || strcmp(path, "/") == 0)
        return 0;
    if (out->way != DOCKER_SSH)
        return bad(whole, "unexpected path after the host", err);
    if (!is_word(path, strlen(path), "/-._@+"))
        return bad(whole, "the socket's path has unsupported characters", err);
    out->remote_socket = sw_strdup(path);
    return 0;
}

static int take_socket(const char *whole, const char *path, struct docker_endpoint *out,
                       struct sw_error *err)
{
    if (*path != '/')
        return bad(whole, "a socket's path begins with /", err);
    out->way = DOCKER_UNIX;
    out->socket = sw_strdup(path);
    out->text = sw_format("unix://%s", path);
    return 0;
}

int docker_endpoint_parse(const char *text, struct docker_endpoint *out, struct sw_error *err)
{
    const struct scheme *found = NULL;
    const char *at, *end;

    if (*text == '/')
        return take_socket(text, text, out, err);
    for (size_t i = 0; i < SW_COUNT(schemes); i++)
        if (strncasecmp(text, schemes[i].prefix, strlen(schemes[i].prefix)) == 0)
            found = &schemes[i];
    if (!found)
        return bad(text, strstr(text, "://") ? "unknown scheme" : "it has no scheme", err);
    at = text + strlen(found->prefix);
    out->way = found->way;
    if (found->way == DOCKER_UNIX)
        return take_socket(text, at, out, err);
    end = at + strcspn(at, "/?#");
    if (take_user(text, &at, end, out, err) < 0 || take_host(text, at, end, out, err) < 0 ||
        take_path(text, end, out, err) < 0)
        return -1;
    out->text = sw_strdup(text);
    return 0;
}

/* The texts that an endpoint owns. */
#define TEXTS(e) { &(e)->text, &(e)->socket, &(e)->host, &(e)->user, &(e)->remote_socket, \
                   &(e)->state_dir, &(e)->ca, &(e)->cert, &(e)->key }

void docker_endpoint_copy(struct docker_endpoint *to, const struct docker_endpoint *from)
{
    char **texts[] = TEXTS(to);

    *to = *from;
    for (size_t i = 0; i < SW_COUNT(texts); i++)
        *texts[i] = sw_strdup(*texts[i]);
    json_incref(to->options);
}

void docker_endpoint_done(struct docker_endpoint *endpoint)
{
    char **texts[] = TEXTS(endpoint);

    for (size_t i = 0; i < SW_COUNT(texts); i++)
        free(*texts[i]);
    json_decref(endpoint->options);
    memset(endpoint, 0, sizeof *endpoint);
}

#define CONFIG_MAX (1024u * 1024)

/* The value of a variable; NULL: it is not set, or empty. */
static const char *value_of(const struct docker_endpoint *endpoint, const char *name)
{
    const char *value = endpoint->env ? endpoint->env(endpoint->env_context, name) : getenv(name);

    return sw_text_empty(value) ? NULL : value;
}
#define env(name) value_of(out, name)              /* `out` knows where values come from */

/* ---- certificates ------------------------------------------------------------------------------- */

static char *file_in(const char *folder, const char *name)
{
    sw_autofree char *path = folder ? sw_path_join(folder, name) : NULL;

    return path && sw_file_exists(path) ? sw_take(path) : NULL;
}

static void take_certificates(struct docker_endpoint *out, const char *folder, bool trust_any)
{
    out->way = DOCKER_TLS;
    out->trust_any = trust_any;
    out->ca = trust_any ? NULL : file_in(folder, "ca.pem");
    out->cert = file_in(folder, "cert.pem");
    out->key = file_in(folder, "key.pem");
}

/* DOCKER_TLS_VERIFY: with certificates and checked; DOCKER_TLS: with certificates. */
static int certificates_from_env(struct docker_endpoint *out, struct sw_error *err)
{
    sw_autofree char *folder = env("DOCKER_CERT_PATH")
                                   ? sw_strdup(env("DOCKER_CERT_PATH"))
                                   : sw_docker_config_folder(out->env, out->env_context);
    bool wanted = env("DOCKER_TLS_VERIFY") || env("DOCKER_TLS");

    if ((out->way != DOCKER_TCP || !wanted) && out->way != DOCKER_TLS)
        return 0;
    take_certificates(out, folder, !env("DOCKER_TLS_VERIFY") && env("DOCKER_TLS"));
    if (!env("DOCKER_TLS_VERIFY") || (out->ca && out->cert && out->key))
        return 0;
    sw_fail(err, SW_E_CREDENTIAL, "DOCKER_TLS_VERIFY is set, but %s/%s is missing", folder,
            !out->ca ? "ca.pem" : !out->cert ? "cert.pem" : "key.pem");
    return sw_hint(err, "set DOCKER_CERT_PATH to the folder with ca.pem, cert.pem and key.pem");
}

/* The options of a job or of its row say it outright; then the environment is not asked. */
static int certificates_of(const struct docker_connect_options *options, struct docker_endpoint *out,
                           struct sw_error *err)
{
    if (options->tls == DOCKER_TLS_AUTO && !options->certificates)
        return certificates_from_env(out, err);
    if (options->tls != DOCKER_TLS_NONE && (out->way == DOCKER_TCP || out->way == DOCKER_TLS))
        take_certificates(out, options->certificates, options->tls == DOCKER_TLS_ANY);
    return 0;
}

static int from_text(const char *text, const char *origin,
                     const struct docker_connect_options *options, struct docker_endpoint *out,
                     struct sw_error *err)
{
    out->origin = origin;
    if (docker_endpoint_parse(text, out, err) < 0)
        return sw_wrap(err, "%s", origin);
    return certificates_of(options, out, err);
}

/* ---- contexts ----------------------------------------------------------------------------------- */

static int from_meta(const json_t *meta, const char *name, const char *certificates,
                     struct docker_endpoint *out, struct sw_error *err)
{
    const json_t *endpoint = json_object_get(json_object_get(meta, "Endpoints"), "docker");
    const char *host = sw_json_str(endpoint, "Host");
    bool trust_any = sw_json_bool(endpoint, "SkipTLSVerify", false);

    if (!sw_text_same(sw_json_str(meta, "Name"), name) || !host)
        return sw_fail(err, SW_E_SPEC, "the docker context '%s' has no engine", name);
    if (docker_endpoint_parse(host, out, err) < 0)
        return sw_wrap(err, "the docker context '%s'", name);
    if (out->way == DOCKER_TLS || (out->way == DOCKER_TCP && sw_file_exists(certificates)))
        take_certificates(out, certificates, trust_any);
    return 0;
}

static int from_context(const char *folder, const char *name, const char *origin,
                        struct docker_endpoint *out, struct sw_error *err)
{
    char hex[SW_DIGEST_HEX];
    sw_autofree char *path = NULL, *certificates = NULL, *text = NULL;
    sw_auto(json) json_t *meta = NULL;
    size_t length = 0;

    sw_sha256_hex(name, strlen(name), hex);
    path = sw_format("%s/contexts/meta/%s/meta.json", folder, hex);
    certificates = sw_format("%s/contexts/tls/%s/docker", folder, hex);
    out->origin = origin;
    if (!sw_file_exists(path)) {
        sw_fail(err, SW_E_NOT_FOUND, "no docker context '%.100s' in %s", name, folder);
        return sw_hint(err, "%s names it; `docker context ls` lists them", origin);
    }
    text = sw_file_read(path, CONFIG_MAX, &length, err);
    meta = text ? sw_json_parse(text, length, path, err) : NULL;
    return meta ? from_meta(meta, name, certificates, out, err) : -1;
}

/* ---- the usual sockets -------------------------------------------------------------------------- */

static const struct {
    const char *variable;        /* its value comes before the path; NULL: nothing */
    const char *path;
} usual[] = {
    { NULL, "/var/run/docker.sock" },                 /* the first is the one we name if none is */
    { "XDG_RUNTIME_DIR", "/docker.sock" },            /* rootless */
    { "HOME", "/.docker/run/docker.sock" },           /* Docker Desktop */
    { "HOME", "/.docker/desktop/docker.sock" },
    { "XDG_RUNTIME_DIR", "/podman/podman.sock" },
    { NULL, "/run/podman/podman.sock" },
};

/* The first that answers; else the first that is there, for the message; else the usual one. */
static char *usual_socket(const struct docker_endpoint *out)
{
    sw_autofree char *there = NULL;

    for (size_t i = 0; i < SW_COUNT(usual); i++) {
        const char *before = usual[i].variable ? env(usual[i].variable) : "";
        sw_autofree char *path = before ? sw_format("%s%s", before, usual[i].path) : NULL;

        if (!path || *path != '/' || !sw_file_exists(path))
            continue;
        if (docker_socket_trouble(path) == 0)
            return sw_take(path);
        if (!there)
            there = sw_take(path);
    }
    return there ? sw_take(there) : sw_strdup(usual[0].path);
}

/* ---- the decision ------------------------------------------------------------------------------- */

/* "default" is docker's own name for "no context": DOCKER_HOST or the usual socket. */
static int find(const struct docker_connect_options *options, struct docker_endpoint *out,
                struct sw_error *err)
{
    const char *context = sw_text_empty(options->context) ? NULL : options->context;
    const char *origin = "option context", *variable = env("DOCKER_HOST");
    sw_autofree char *folder = sw_docker_config_folder(out->env, out->env_context), *path = NULL;
    sw_auto(json) json_t *config = NULL;

    if (!sw_text_empty(options->host))
        return from_text(options->host, "option host", options, out, err);
    if (variable && (!context || sw_text_same(context, "default")))
        return from_text(variable, "DOCKER_HOST", options, out, err);
    if (!context) {
        context = env("DOCKER_CONTEXT");
        origin = "DOCKER_CONTEXT";
    }
    if (!context) {
        config = sw_docker_config_read(folder, err);
        if (!config)
            return -1;
        context = sw_json_str(config, "currentContext");
        origin = "docker's current context";
    }
    if (!sw_text_empty(context) && !sw_text_same(context, "default"))
        return from_context(folder, context, origin, out, err);
    path = usual_socket(out);
    return from_text(path, "the usual place", options, out, err);
}

int docker_endpoint_find(const json_t *options, struct docker_endpoint *out, struct sw_error *err)
{
    json_t *kept = options ? json_deep_copy(options) : json_object();
    struct docker_connect_options connect = docker_connect_options(kept);

    out->options = kept;
    out->ssh = connect.ssh;
    if (find(&connect, out, err) == 0)
        return 0;
    docker_endpoint_done(out);
    return -1;
}

json_t *docker_endpoint_options(const struct docker_endpoint *endpoint)
{
    const char *file = endpoint->cert ? endpoint->cert
                       : endpoint->ca ? endpoint->ca : endpoint->key;
    const char *slash = file ? strrchr(file, '/') : NULL;
    sw_autofree char *folder = slash ? sw_strndup(file, (size_t)(slash - file)) : NULL;

    return sw_json_object(
        SW_STR("host", endpoint->text),
        SW_STR("tls", endpoint->way != DOCKER_TLS ? "none" : endpoint->trust_any ? "any" : "verify"),
        SW_STR_OPT("certificates", folder));
}

char *docker_endpoint_warning(const struct docker_endpoint *endpoint)
{
    static const char *const here[] = { "localhost", "127.", "::1" };

    if (endpoint->way != DOCKER_TCP && !(endpoint->way == DOCKER_TLS && endpoint->trust_any))
        return NULL;
    for (size_t i = 0; i < SW_COUNT(here); i++)
        if (sw_text_starts(endpoint->host, here[i]))
            return NULL;
    if (endpoint->way == DOCKER_TLS)
        return sw_format("%s: the engine's certificate is not checked (set DOCKER_TLS_VERIFY=1)",
                         endpoint->text);
    return sw_format("%s is neither encrypted nor protected: anyone who reaches it is root there, and "
                     "secrets are sent in the clear (use ssh:// or TLS)", endpoint->text);
}
