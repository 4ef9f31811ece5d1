/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hub.c - settings, signed links and JSON answers of the model hubs; see hub.h.
 *
 * A redirect is judged here once for both: it is resolved by hand, never followed blindly, and one
 * from https to http is refused. Pure, except that settings are read through the options.
 */
#include "storage/hub.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* ---- settings ------------------------------------------------------------------------------ */

bool hub_env_true(const struct sw_storage_options *options, const char *name)
{
    static const char *const words[] = { "1", "on", "yes", "true" };
    const char *value = sw_storage_env(options, name);

    for (size_t i = 0; value && i < SW_COUNT(words); i++)
        if (sw_text_same_nocase(value, words[i]))
            return true;
    return false;
}

char *hub_endpoint(const struct sw_storage_options *options, const char *name, const char *usual,
                   struct sw_error *err)
{
    const char *value = sw_storage_env(options, name);
    const char *text = sw_text_empty(value) ? usual : value;
    bool has_scheme = strstr(text, "://") != NULL;
    size_t length = strlen(text);

    while (length > 0 && text[length - 1] == '/')
        length--;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] <= ' ' || strchr("@?#\\\"<>", text[i]) || text[i] == 0x7f)
            length = 0;
    if (length == 0 || length > 1024 || (has_scheme && !sw_text_starts(text, "https://") &&
                                         !sw_text_starts(text, "http://"))) {
        sw_fail(err, SW_E_SPEC, "%s is not the address of a server", name);
        return sw_null(sw_hint(err, "give it like %s", usual));
    }
    return sw_format("%s%.*s", has_scheme ? "" : "https://", (int)length, text);
}

char *hub_secret(const char *value, const char *where, struct sw_error *err)
{
    size_t length = 0;
    size_t clean = 0;

    while (isspace((unsigned char)*value))
        value++;
    length = strlen(value);
    while (length > 0 && isspace((unsigned char)value[length - 1]))
        length--;
    while (clean < length && value[clean] > ' ' && value[clean] < 0x7f)
        clean++;
    if (length == 0 || length > HUB_SECRET_MAX || clean < length) {
        sw_fail(err, SW_E_CREDENTIAL, "%s does not hold a usable key", where);
        return sw_null(sw_hint(err, "it must be one line of letters, digits and signs"));
    }
    return sw_strndup(value, length);
}

bool hub_hex(const char *text, size_t length)
{
    return text && strlen(text) == length && strspn(text, "0123456789abcdef") == length;
}

/* ---- requests and replies -------------------------------------------------------------------- */

void hub_request(struct sw_http_request *request, const char *method, char *url)
{
    snprintf(request->method, sizeof request->method, "%s", method);
    free(request->url);
    request->url = url;
    request->reply_limit = HUB_REPLY_MAX;
    /* A compressed body has another length, and ranges of it mean other bytes. */
    sw_http_request_header(request, "Accept-Encoding", "identity");
}

void hub_add_range(struct sw_http_request *request, const struct sw_operation *op)
{
    char range[64];

    if (sw_operation_range(op, range))
        sw_http_request_header(request, "Range", range);
}

void hub_add_bearer(struct sw_http_request *request, const char *token, const char *endpoint)
{
    char *value = token ? sw_format("Bearer %s", token) : NULL;

    /* Ours begin with https://, so an endpoint without TLS is one that the user named. */
    request->plain_said = sw_http_same_host(request->url, endpoint);

    if (value)
        sw_http_request_header(request, "Authorization", value);
    sw_text_wipe(value);
}

json_t *hub_json(const struct sw_http_reply *reply, const char *what, struct sw_error *err)
{
    struct sw_error why = { 0 };
    json_t *answer = sw_json_parse(sw_buf_text(&reply->body), reply->body.length, "answer", &why);

    if (!answer)
        sw_fail(err, SW_E_REFUSED, "%s: unexpected answer: %s", what, why.message);
    return answer;
}

bool hub_is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool hub_link_is_over(int status)
{
    return status == 400 || status == 401 || status == 403 || status == 404 || status == 410;
}

int hub_stays_secure(const char *from, const char *to, struct sw_error *err)
{
    if (!sw_text_starts(from, "https://") || sw_text_starts(to, "https://"))
        return 0;
    return sw_fail(err, SW_E_REFUSED, "the server leads from https to an address without TLS");
}

char *hub_redirect(const struct sw_http_reply *reply, const char *asked, struct sw_error *err)
{
    sw_autofree char *told = sw_http_header(reply, "Location");
    sw_autofree char *url = told ? sw_http_location(asked, told) : NULL;

    if (!url || strlen(url) > SW_URI_MAX)
        return sw_null(sw_fail(err, SW_E_REFUSED, "the server redirects to nowhere (status %d)",
                               reply->status));
    return hub_stays_secure(asked, url, err) < 0 ? NULL : sw_take(url);
}

void hub_set_digest(struct sw_object *object, const char *hex)
{
    object->digest_kind = hub_hex(hex, 64)   ? SW_DIGEST_SHA256
                          : hub_hex(hex, 40) ? SW_DIGEST_GIT_SHA1
                                             : SW_DIGEST_NONE;
    if (object->digest_kind != SW_DIGEST_NONE)
        snprintf(object->digest, sizeof object->digest, "%s", hex);
}

/* ---- signed links ------------------------------------------------------------------------------ */

static void link_clear(struct hub_link *link)
{
    free(link->key);
    sw_text_wipe(link->url);          /* the URL alone gives access to the file */
    free(link->etag);
    *link = (struct hub_link){ .size = -1 };
}

const struct hub_link *hub_link_find(const struct hub_links *links, const char *key)
{
    for (size_t i = 0; i < HUB_LINK_COUNT; i++)
        if (links->at[i].key && strcmp(links->at[i].key, key) == 0)
            return &links->at[i];
    return NULL;
}

void hub_link_keep(struct hub_links *links, const char *key, const char *url, const char *etag,
                   int64_t size)
{
    struct hub_link *known = (struct hub_link *)hub_link_find(links, key);
    struct hub_link *place = known ? known : &links->at[links->oldest];

    if (!known)
        links->oldest = (links->oldest + 1) % HUB_LINK_COUNT;
    link_clear(place);
    place->key = sw_strdup(key);
    place->url = sw_strdup(url);
    place->etag = sw_strdup(etag);
    place->size = size;
}

void hub_link_drop(struct hub_links *links, const char *key, const char *url)
{
    struct hub_link *known = (struct hub_link *)hub_link_find(links, key);

    if (known && strcmp(known->url, url) == 0)
        link_clear(known);
}

void hub_links_done(struct hub_links *links)
{
    for (size_t i = 0; i < HUB_LINK_COUNT; i++)
        link_clear(&links->at[i]);
}
