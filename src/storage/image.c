/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.c - see image.h. A manifest is asked for without a login first; the registry's answer names what
 * it wants.
 */
#include "storage/image.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/digest.h"
#include "base/secret.h"
#include "base/text.h"
#include "core/finding.h"
#include "core/image_ref.h"
#include "core/registry_login.h"
#include "net/http.h"

#define MANIFESTS                                                                                  \
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, " \
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"

enum { CONNECT_MS = 5000, STALL_MS = 15000, ANSWER_MAX = 4 * 1024 * 1024 };

struct look {
    struct sw_http *http;
    struct sw_image_ref image;
    struct sw_registry_login login;
    struct sw_secret *authorization;      /* the value of that header, once the registry asked for one */
    char *base;                           /* "https://HOST/v2/REPOSITORY" */
};

static void look_auto(struct look *look)
{
    sw_http_close(look->http);
    sw_image_ref_done(&look->image);
    sw_registry_login_done(&look->login);
    sw_secret_free(look->authorization);
    free(look->base);
}

void sw_image_seen_done(struct sw_image_seen *seen)
{
    json_decref(seen->platforms);
    json_decref(seen->env);
}

void sw_image_challenge_done(struct sw_image_challenge *challenge)
{
    free(challenge->realm);
    free(challenge->service);
    free(challenge->scope);
}

/* ---- what the registry wants ---------------------------------------------------------------------- */

/* NAME="value" at `text`, moved behind it and its comma; false: there is none. Both owned. */
static bool next_pair(const char **text, char **name, char **value)
{
    const char *at = *text + strspn(*text, " ,"), *equals = strchr(at, '='), *end;

    if (!equals)
        return false;
    *name = sw_strndup(at, (size_t)(equals - at));
    at = equals + 1;
    end = *at == '"' ? strchr(at + 1, '"') : at + strcspn(at, ",");
    at += *at == '"';
    *value = end ? sw_strndup(at, (size_t)(end - at)) : NULL;
    *text = end ? end + (*end == '"') : at;
    return end != NULL;
}

bool sw_image_challenge_parse(const char *header, struct sw_image_challenge *out)
{
    const char *rest = header ? header + strcspn(header, " ") : "";

    if (header && strncasecmp(header, "basic", strlen("basic")) == 0) {
        out->basic = true;
        return true;
    }
    if (!header || strncasecmp(header, "bearer ", strlen("bearer ")) != 0)
        return false;
    for (;;) {
        sw_autofree char *name = NULL, *value = NULL;
        char **into;

        if (!next_pair(&rest, &name, &value))
            break;
        into = strcasecmp(name, "realm") == 0     ? &out->realm
               : strcasecmp(name, "service") == 0 ? &out->service
               : strcasecmp(name, "scope") == 0   ? &out->scope : NULL;
        if (into && !*into)
            *into = sw_take(value);
    }
    return out->realm && (sw_text_starts(out->realm, "https://") || sw_http_is_loopback(out->realm));
}

static struct sw_secret *basic_of(const struct sw_registry_login *login)
{
    sw_auto(sw_buf) struct sw_buf words = SW_BUF_INIT, text = SW_BUF_INIT;
    sw_auto(sw_text_wipe) char *coded = NULL;
    struct sw_secret *made;

    sw_buf_addf(&words, "%s:", login->user ? login->user : "");
    sw_buf_add(&words, sw_secret_reveal(login->secret));
    coded = sw_base64(words.data, words.length);
    sw_buf_addf(&text, "Basic ");
    sw_buf_add(&text, coded);
    made = sw_secret_new(sw_buf_text(&text));
    explicit_bzero(words.data, words.length);
    explicit_bzero(text.data, text.length);
    return made;
}

/* ---- asking ------------------------------------------------------------------------------------------ */

static int ask(const struct look *look, const char *url, const struct sw_secret *authorization,
               struct sw_http_reply *reply, struct sw_error *err)
{
    sw_auto(sw_http_request) struct sw_http_request request = SW_HTTP_REQUEST_INIT;

    strcpy(request.method, "GET");
    request.url = sw_strdup(url);
    request.reply_limit = ANSWER_MAX;
    sw_http_request_header(&request, "Accept", MANIFESTS ", application/json");
    if (authorization)
        sw_http_request_header(&request, "Authorization", sw_secret_reveal(authorization));
    if (sw_http_ask(look->http, &request, reply, err) < 0)
        return -1;
    if (reply->failure != SW_OK)
        return sw_fail(err, reply->failure, "%s", reply->why);
    return 0;
}

static json_t *json_of(const struct sw_http_reply *reply)
{
    return sw_json_parse(sw_buf_text(&reply->body), reply->body.length, "the registry", NULL);
}

/* A token for this repository, from the server that the registry names. */
static int take_token(struct look *look, const struct sw_image_challenge *challenge, struct sw_error *err)
{
    sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };
    sw_auto(sw_secret) struct sw_secret *basic =
        look->login.secret && !look->login.is_token ? basic_of(&look->login) : NULL;
    sw_auto(sw_buf) struct sw_buf url = SW_BUF_INIT, value = SW_BUF_INIT;
    sw_auto(json) json_t *answer = NULL;
    const char *token;

    sw_buf_addf(&url, "%s%cscope=", challenge->realm, strchr(challenge->realm, '?') ? '&' : '?');
    if (challenge->scope)
        sw_http_encode(&url, challenge->scope, strlen(challenge->scope), "");
    if (challenge->service) {
        sw_buf_add(&url, "&service=");
        sw_http_encode(&url, challenge->service, strlen(challenge->service), "");
    }
    if (ask(look, sw_buf_text(&url), basic, &reply, err) < 0)
        return -1;
    answer = json_of(&reply);
    token = sw_json_str(answer, "token");
    token = token ? token : sw_json_str(answer, "access_token");
    if (reply.status != 200 || sw_text_empty(token))
        return sw_fail(err, SW_E_CREDENTIAL, "%s gives no access to %s (status %d)", look->image.registry,
                       look->image.repository, reply.status);
    sw_buf_addf(&value, "Bearer ");
    sw_buf_add(&value, token);
    look->authorization = sw_secret_new(sw_buf_text(&value));
    explicit_bzero(value.data, value.length);
    return 0;
}

static int log_in(struct look *look, const struct sw_http_reply *refused, struct sw_error *err)
{
    sw_auto(sw_image_challenge) struct sw_image_challenge challenge = { 0 };
    sw_autofree char *header = sw_http_header(refused, "WWW-Authenticate");

    if (!sw_image_challenge_parse(header, &challenge))
        return sw_fail(err, SW_E_UNSUPPORTED, "%s asks for a login of an unknown kind", look->image.registry);
    if (!challenge.basic)
        return take_token(look, &challenge, err);
    if (!look->login.secret)
        return sw_fail(err, SW_E_CREDENTIAL, "%s asks for a login, and this machine has none",
                       look->image.registry);
    look->authorization = basic_of(&look->login);
    return 0;
}

/* A part of the repository, with the login that the registry asks for; a file kept elsewhere is fetched from
 * there, without the login. */
static int fetch(struct look *look, const char *part, struct sw_http_reply *reply, struct sw_error *err)
{
    sw_autofree char *url = sw_format("%s/%s", look->base, part), *location = NULL, *elsewhere = NULL;

    if (ask(look, url, look->authorization, reply, err) < 0)
        return -1;
    if (reply->status == 401 && !look->authorization) {
        if (log_in(look, reply, err) < 0)
            return -1;
        sw_http_reply_done(reply);
        *reply = (struct sw_http_reply){ 0 };
        if (ask(look, url, look->authorization, reply, err) < 0)
            return -1;
    }
    if (reply->status / 100 == 3 && (location = sw_http_header(reply, "Location")) &&
        (elsewhere = sw_http_location(url, location))) {
        sw_http_reply_done(reply);
        *reply = (struct sw_http_reply){ 0 };
        return ask(look, elsewhere, NULL, reply, err);
    }
    return 0;
}

/* One name for what the kernel and the registries call differently. */
static const char *common_name(const char *architecture)
{
    static const char *const names[][2] = {
        { "x86_64", "amd64" }, { "aarch64", "arm64" }, { "armv7l", "arm" }, { "i686", "386" },
        { "x86", "386" },
    };

    for (size_t i = 0; architecture && i < SW_COUNT(names); i++)
        if (strcmp(names[i][0], architecture) == 0)
            return names[i][1];
    return architecture;
}

/* ---- answers ----------------------------------------------------------------------------------------- */

json_t *sw_image_platforms(const json_t *document)
{
    json_t *all = json_array();
    const json_t *each, *manifests = json_object_get(document, "manifests");
    size_t i;

    json_array_foreach(manifests, i, each) {
        const json_t *platform = json_object_get(each, "platform");
        const char *architecture = sw_json_str(platform, "architecture");

        if (!sw_text_empty(architecture) && strcmp(architecture, "unknown") != 0)
            json_array_append_new(all, sw_json_object(SW_STR("architecture", architecture),
                                                      SW_STR("os", sw_json_str(platform, "os"))));
    }
    if (sw_json_str(document, "architecture"))
        json_array_append_new(all, sw_json_object(SW_STR("architecture", sw_json_str(document,
                "architecture")),
                                                  SW_STR("os", sw_json_str(document, "os"))));
    return all;
}

static int refused(const struct look *look, int status, struct sw_error *err)
{
    sw_autofree char *name = sw_image_ref_text(&look->image);
    const char *login = look->login.secret ? look->login.origin : "no credential";

    if (status == 404) {
        sw_fail(err, SW_E_NOT_FOUND, "%s has no %s", look->image.registry, name);
        return sw_hint(err, "check name and tag; a private image looks the same to a login without access "
                            "(%s was "
                            "used)", login);
    }
    if (status == 401 || status == 403) {
        sw_fail(err, SW_E_CREDENTIAL, "%s denies access to %s", look->image.registry, name);
        return sw_hint(err, "%s was used: is it still valid, and can it read this image?", login);
    }
    return sw_fail(err, SW_E_REFUSED, "%s answers %d for %s", look->image.registry, status, name);
}

/* A JSON document of the repository; owned, NULL: it cannot be read. */
static json_t *part_of(struct look *look, const char *kind, const char *digest)
{
    sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };
    sw_autofree char *part = sw_format("%s/%s", kind, digest ? digest : "");

    return !sw_text_empty(digest) && fetch(look, part, &reply, NULL) == 0 && reply.status == 200
               ? json_of(&reply) : NULL;
}

static json_t *config_of(struct look *look, const json_t *manifest)
{
    return part_of(look, "blobs", sw_json_str(json_object_get(manifest, "config"), "digest"));
}

/* The manifest of one machine in a list of them; owned, NULL: there is none for it. */
static json_t *manifest_for(struct look *look, const json_t *list, const char *machine)
{
    const json_t *each;
    size_t i;

    json_array_foreach(list, i, each)
        if (sw_text_same(common_name(sw_json_str(json_object_get(each, "platform"), "architecture")),
                         common_name(machine)))
            return part_of(look, "manifests", sw_json_str(each, "digest"));
    return NULL;
}

/* Of a single image its configuration says what it is built for; one that cannot be read leaves it
 * unknown. */
static void read_manifest(struct look *look, const struct sw_image_query *query, const json_t *manifest,
                          struct sw_image_seen *seen)
{
    const json_t *list = json_object_get(manifest, "manifests");
    sw_auto(json) json_t *own = list && query->gpus ? manifest_for(look, list, query->machine) : NULL;
    sw_auto(json) json_t *config = !list || own ? config_of(look, own ? own : manifest) : NULL;

    seen->platforms = sw_image_platforms(list ? manifest : config);
    seen->env = json_incref(json_object_get(json_object_get(config, "config"), "Env"));
}

static int begin(struct look *look, const struct sw_image_query *query, struct sw_error *err)
{
    const struct sw_http_options options = { .connect_ms = CONNECT_MS, .stall_ms = STALL_MS };
    bool hub;

    if (sw_image_ref_parse(query->image, &look->image, err) < 0)
        return -1;
    if (!look->image.registry)
        return sw_fail(err, SW_E_UNSUPPORTED, "'%s' is the id of an image, which no registry knows",
                       query->image);
    hub = strcmp(look->image.registry, SW_REGISTRY_HUB) == 0;
    look->base = sw_format("https://%s/v2/%s", hub ? "registry-1.docker.io" : look->image.registry,
                           look->image.repository);
    sw_registry_login_find(&(struct sw_registry_query){ .registry = look->image.registry, .env = query->env,
                                                        .env_context = query->env_context }, &look->login);
    look->http = sw_http_open(&options, err);
    return look->http ? 0 : -1;
}

int sw_image_look(const struct sw_image_query *query, struct sw_image_seen *seen, struct sw_error *err)
{
    __attribute__((cleanup(look_auto))) struct look look = { 0 };
    sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };
    sw_auto(json) json_t *manifest = NULL;
    sw_autofree char *part = NULL;

    if (begin(&look, query, err) < 0)
        return -1;
    seen->with_login = look.login.secret != NULL;
    part = sw_format("manifests/%s", look.image.digest ? look.image.digest : look.image.tag);
    if (fetch(&look, part, &reply, err) < 0)
        return -1;
    seen->date_ms = reply.date_ms;
    if (reply.status != 200)
        return refused(&look, reply.status, err);
    manifest = json_of(&reply);
    if (!manifest)
        return sw_fail(err, SW_E_REFUSED, "%s answers with something that is no manifest",
                       look.image.registry);
    read_manifest(&look, query, manifest, seen);
    return 0;
}

/* ---- processors ------------------------------------------------------------------------------------- */

bool sw_image_fits(const json_t *platforms, const char *machine, struct sw_buf *found)
{
    const json_t *each;
    bool fits = false, any = false;
    size_t i;

    json_array_foreach(platforms, i, each) {
        const char *one = sw_json_str(each, "architecture"), *os = sw_json_str(each, "os");

        if (sw_text_empty(one) || strcmp(one, "unknown") == 0)      /* an attestation, not an image */
            continue;
        any = true;
        fits = fits || (sw_text_same(common_name(one), common_name(machine)) &&
                        (sw_text_empty(os) || strcmp(os, "linux") == 0));
        sw_buf_addf(found, "%s%s", found->length ? ", " : "", one);
    }
    return fits || !any || !machine;
}

void sw_image_processor_row(json_t *rows, const char *image, const json_t *platforms, const char *machine)
{
    sw_auto(sw_buf) struct sw_buf found = SW_BUF_INIT;
    bool fits = sw_image_fits(platforms, machine, &found);
    sw_autofree char *message = NULL;

    if (found.length == 0)
        return;
    message = fits ? sw_format("built for %s", sw_buf_text(&found))
                   : sw_format("%s is built for %s, and the machine is %s", image,
                               sw_buf_text(&found),
                               common_name(machine));
    sw_finding(rows, "image architecture", fits, message,
               "use a build for this processor, or another machine");
}

/* ---- rows ------------------------------------------------------------------------------------------- */

static void gpu_row(json_t *rows, const struct sw_image_query *query, const json_t *env)
{
    struct sw_gpu_archs built = { 0 };

    sw_gpu_archs_of_image(&built, env);
    sw_gpu_arch_row(rows, query->gpus, &built, SW_GPU_ARCH_ANY, query->gpus_unseen);
}

void sw_image_rows(json_t *rows, const struct sw_image_query *query)
{
    sw_auto(sw_image_seen) struct sw_image_seen seen = { 0 };
    struct sw_error why = { 0 };
    int result = sw_image_look(query, &seen, &why);

    if (result == 0) {
        sw_autofree char *message = sw_format("%s is in its registry", query->image);

        sw_finding(rows, "image", true, message, NULL);
        sw_image_processor_row(rows, query->image, seen.platforms, query->machine);
        if (query->gpus)
            gpu_row(rows, query, seen.env);
    } else if (why.code == SW_E_NOT_FOUND || why.code == SW_E_SPEC ||
               (why.code == SW_E_CREDENTIAL && seen.with_login)) {
        sw_finding_error(rows, "image", &why);
    } else {
        sw_finding_open(rows, "image", SW_STATE_NOT_CHECKED, why.message, NULL);
    }
}
