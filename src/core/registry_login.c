/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_login.c - which login a registry gets: from variables, or from docker's configuration.
 *
 * A credential helper is asked the way docker asks it: the registry on its standard input,
 * {"Username","Secret"} on its output.
 */
#include "core/registry_login.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "core/image_ref.h"

#define HUB     SW_REGISTRY_HUB
#define HUB_KEY "https://index.docker.io/v1/"      /* the name under which logins to it are kept */

enum { CONFIG_MAX = 1024 * 1024 };

void sw_registry_login_done(struct sw_registry_login *login)
{
    sw_secret_free(login->secret);
    free(login->user);
    free(login->origin);
    free(login->trouble);
    *login = (struct sw_registry_login){ 0 };
}

static bool take(struct sw_registry_login *out, const char *user, const char *secret, bool is_token,
                 const char *origin)
{
    assert(!out->secret);
    out->secret = sw_secret_new(secret);
    out->is_token = is_token;
    out->user = sw_strdup(is_token ? "a token" : user);
    out->origin = sw_strdup(origin);
    return true;
}

static const char *name_of(const char *registry)
{
    return strcmp(registry, HUB) == 0 ? HUB_KEY : registry;
}

/* ---- variables ----------------------------------------------------------------------------------- */

static const struct {
    const char *registry, *user, *variable;
} known[] = {
    { "nvcr.io", "$oauthtoken", "NGC_KEY" },
};

static const char *value(sw_env_fn *env, void *context, const char *name)
{
    const char *found = env ? env(context, name) : sw_env_process(NULL, name);

    return sw_text_empty(found) ? NULL : found;
}

const char *sw_registry_variable(const char *registry)
{
    for (size_t i = 0; i < SW_COUNT(known); i++)
        if (strcmp(known[i].registry, registry) == 0)
            return known[i].variable;
    return NULL;
}

bool sw_registry_login_from_env(const struct sw_registry_query *query, struct sw_registry_login *out)
{
    const char *named = value(query->env, query->env_context, "DOCKER_USERNAME");
    const char *user = named ? named : query->user;
    const char *password = value(query->env, query->env_context, "DOCKER_PASSWORD");
    const char *given = value(query->env, query->env_context, "DOCKER_REGISTRY");

    if (user && password && sw_registry_key_is(given ? given : HUB, query->registry))
        return take(out, user, password, false, "DOCKER_USERNAME and DOCKER_PASSWORD");
    for (size_t i = 0; i < SW_COUNT(known); i++) {
        const char *key = value(query->env, query->env_context, known[i].variable);

        if (key && strcmp(known[i].registry, query->registry) == 0)
            return take(out, named && !password ? named : known[i].user, key, false,
                        known[i].variable);
    }
    return false;
}

/* ---- docker's configuration ---------------------------------------------------------------------- */

char *sw_docker_config_folder(sw_env_fn *env, void *env_context)
{
    const char *given = value(env, env_context, "DOCKER_CONFIG");

    return given ? sw_strdup(given) : sw_path_home(".docker");
}

json_t *sw_docker_config_read(const char *folder, struct sw_error *err)
{
    sw_autofree char *path = sw_path_join(folder, "config.json");
    sw_autofree char *text = NULL;
    size_t length = 0;
    json_t *config;

    if (!sw_file_exists(path))
        return json_object();
    text = sw_file_read(path, CONFIG_MAX, &length, err);
    config = text ? sw_json_parse(text, length, path, err) : NULL;
    if (config && !json_is_object(config)) {
        json_decref(config);
        return sw_null(sw_fail(err, SW_E_SPEC, "%s is not a JSON object", path));
    }
    return config;
}

bool sw_registry_key_is(const char *key, const char *registry)
{
    const char *scheme = strstr(key, "://"), *begin = scheme ? scheme + 3 : key;
    sw_autofree char *host = sw_registry_host(begin, strcspn(begin, "/"));

    return strcasecmp(host, registry) == 0;
}

static const json_t *entry_of(const json_t *object, const char *registry)
{
    const char *key;
    json_t *entry;

    json_object_foreach((json_t *)object, key, entry)
        if (sw_registry_key_is(key, registry))
            return entry;
    return NULL;
}

static bool from_auths(const json_t *entry, struct sw_registry_login *out)
{
    static const char origin[] = "the docker configuration";
    const char *token = sw_json_str(entry, "identitytoken"), *auth = sw_json_str(entry, "auth");
    const char *user = sw_json_str(entry, "username"), *password = sw_json_str(entry, "password");
    char *pair = sw_text_empty(auth) ? NULL : sw_unbase64(auth);
    char *colon = pair ? strchr(pair, ':') : NULL;
    bool found = false;

    if (!sw_text_empty(token))
        found = take(out, "", token, true, origin);
    else if (colon) {
        *colon = '\0';
        found = take(out, pair, colon + 1, false, origin);
        *colon = ':';
    } else if (user && password)
        found = take(out, user, password, false, origin);
    else if (!sw_text_empty(auth))
        out->trouble = sw_strdup("the entry in the docker configuration cannot be read");
    sw_text_wipe(pair);
    return found;
}

/* ---- credential helpers -------------------------------------------------------------------------- */

/* Names end up in a path search: no slash, no blank. */
static bool is_program_name(const char *program)
{
    for (const char *c = program; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            return false;
    return strlen(program) < 100;
}

/* 1: `out` has the login; 0: the helper has none for this registry; -1 + err. */
static int read_answer(const char *program, const struct sw_buf *output, int status,
                       struct sw_registry_login *out, struct sw_error *err)
{
    sw_auto(json) json_t *answer = NULL;
    const char *user;
    json_t *secret;

    if (status > 0 && strstr(sw_buf_text(output), "not found"))
        return 0;                            /* the protocol has no exit code for it */
    if (status != 0)
        return sw_fail(err, SW_E_CREDENTIAL, "%s %s", program,
                       status < 0 ? "did not answer in time" : "failed");
    answer = sw_json_parse(output->data, output->length, program, NULL);
    secret = json_object_get(answer, "Secret");
    user = sw_json_str(answer, "Username");
    if (!user || !json_is_string(secret))
        return sw_fail(err, SW_E_CREDENTIAL, "%s did not return a login", program);
    take(out, user, json_string_value(secret), strcmp(user, "<token>") == 0, program);
    explicit_bzero((char *)json_string_value(secret), json_string_length(secret));
    return 1;
}

static int ask_helper(const char *program, const char *registry, struct sw_registry_login *out,
                      struct sw_error *err)
{
    char *const argv[] = { (char *)program, (char *)"get", NULL };
    struct sw_buf output = SW_BUF_INIT;
    int status = -1, result;

    if (!is_program_name(program))
        return sw_fail(err, SW_E_CREDENTIAL, "'%.100s' is not a credential helper", program);
    result = sw_proc_ask(argv, name_of(registry), &output, &status, err);
    if (result == 0)
        result = read_answer(program, &output, status, out, err);
    sw_buf_wipe(&output);
    return result;
}

static bool from_helper(const char *helper, const char *registry, struct sw_registry_login *out)
{
    struct sw_error why = { 0 };
    sw_autofree char *program = sw_format("docker-credential-%s", helper);
    int found = ask_helper(program, registry, out, &why);

    if (found < 0)
        out->trouble = sw_strdup(why.message);
    return found > 0;
}

static void from_config(const struct sw_registry_query *query, struct sw_registry_login *out)
{
    sw_autofree char *folder = sw_docker_config_folder(query->env, query->env_context);
    struct sw_error why = { 0 };
    sw_auto(json) json_t *config = sw_docker_config_read(folder, &why);
    const json_t *own = entry_of(json_object_get(config, "credHelpers"), query->registry);
    const char *store = sw_json_str(config, "credsStore");

    if (!config)
        out->trouble = sw_strdup(why.message);
    else if (own && json_is_string(own))
        from_helper(json_string_value(own), query->registry, out);
    else if (sw_text_empty(store) || !from_helper(store, query->registry, out))
        from_auths(entry_of(json_object_get(config, "auths"), query->registry), out);
}

void sw_registry_login_find(const struct sw_registry_query *query, struct sw_registry_login *out)
{
    if (!sw_registry_login_from_env(query, out))
        from_config(query, out);
}

/* ---- the header ---------------------------------------------------------------------------------- */

static void add_json(struct sw_buf *out, const char *key, const char *text)
{
    sw_buf_addf(out, "%s\"%s\":\"", out->length > 1 ? "," : "", key);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            sw_buf_add_char(out, '\\');
        if ((unsigned char)*c < 0x20)
            sw_buf_addf(out, "\\u%04x", (unsigned)*c);
        else
            sw_buf_add_char(out, *c);
    }
    sw_buf_add_char(out, '"');
}

/* Written into memory of known size, so that growing leaves no copy of the secret behind. */
char *sw_registry_auth_header(const struct sw_registry_login *login, const char *registry)
{
    const char *address = name_of(registry), *secret;
    struct sw_buf text = SW_BUF_INIT;
    char *header;

    if (!login->secret)
        return NULL;
    secret = sw_secret_reveal(login->secret);
    sw_buf_reserve(&text, 6 * (strlen(address) + strlen(login->user) + strlen(secret)) + 256);
    sw_buf_add_char(&text, '{');
    if (!login->is_token)
        add_json(&text, "username", login->user);
    add_json(&text, login->is_token ? "identitytoken" : "password", secret);
    add_json(&text, "serveraddress", address);
    sw_buf_add_char(&text, '}');
    header = sw_base64(text.data, text.length);
    sw_buf_wipe(&text);
    for (char *c = header; *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    return header;
}

/* The members of a login, behind an opening brace. */
static void add_login(struct sw_buf *out, const struct sw_registry_login *login, const char *auth)
{
    const char *secret = sw_secret_reveal(login->secret);

    sw_buf_add_char(out, '{');
    if (login->is_token) {
        add_json(out, "identitytoken", secret);
        return;
    }
    add_json(out, "username", login->user);
    add_json(out, "password", secret);
    add_json(out, "auth", auth);
}

/* As above: written into memory of known size. */
void sw_registry_docker_config(const struct sw_registry_login *login, const char *registry,
                               struct sw_buf *out)
{
    const char *secret = sw_secret_reveal(login->secret), *user = login->user ? login->user : "";
    sw_auto(sw_text_wipe) char *pair = sw_format("%s:%s", user, secret);
    sw_auto(sw_text_wipe) char *auth = sw_base64(pair, strlen(pair));
    struct sw_buf entry = SW_BUF_INIT;

    sw_buf_reserve(&entry, 6 * (strlen(user) + strlen(secret)) + strlen(auth) + 256);
    add_login(&entry, login, auth);
    sw_buf_reserve(out, entry.length + strlen(registry) + 256);
    sw_buf_addf(out, "{\"auths\":{\"%s\":", name_of(registry));
    sw_buf_add_bytes(out, entry.data, entry.length);
    sw_buf_add(out, "}}}");
    sw_buf_wipe(&entry);
}
