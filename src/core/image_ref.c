/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_ref.c - image references: registry, repository, tag, digest. Pure.
 *
 * "host:5000/name" has a port, not a tag; "name@sha256:..." has a digest, not a tag. The first part is a
 * registry only if it holds a dot or a colon, or is "localhost"; in enroot's spelling "REGISTRY#NAME" it
 * always is.
 */
#include "core/image_ref.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define HUB SW_REGISTRY_HUB

enum { TEXT_MAX = 2048, NAME_MAX_BYTES = 255, TAG_MAX_BYTES = 128 };

static int refuse(const char *text, const char *why, struct sw_error *err)
{
    sw_autofree char *shown = sw_text_printable(text, strlen(text));

    sw_fail(err, SW_E_SPEC, "image '%.200s': %s", shown, why);
    return sw_hint(err, "write NAME:TAG, REGISTRY/PATH/NAME:TAG or NAME@sha256:...");
}

/* ---- the parts ---------------------------------------------------------------------------------- */

static bool is_digest(const char *text)
{
    const char *colon = strchr(text, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789abcdef") : 0;

    if (!colon || colon == text || colon[1 + digits] || digits > 128)
        return false;
    for (const char *c = text; c < colon; c++)
        if (!isalnum((unsigned char)*c) && !strchr("+._-", *c))
            return false;
    return sw_text_starts(text, "sha256:") ? digits == 64 : digits >= 32;
}

static bool is_id(const char *text)
{
    return sw_text_starts(text, "sha256:") && is_digest(text);
}

static bool is_tag(const char *text)
{
    if (!isalnum((unsigned char)*text) && *text != '_')
        return false;
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_.-", *c))
            return false;
    return strlen(text) <= TAG_MAX_BYTES;
}

static bool is_word(char c)
{
    return islower((unsigned char)c) || isdigit((unsigned char)c);
}

/* Lower-case words, one of . _ __ or dashes between them. */
static bool is_part(const char *text, size_t length)
{
    size_t i = 0;

    while (i < length) {
        if (!is_word(text[i]))
            return false;
        while (i < length && is_word(text[i]))
            i++;
        if (i == length)
            return true;
        if (text[i] == '-')
            i += strspn(text + i, "-");
        else if (text[i] == '.')
            i++;
        else if (text[i] == '_')
            i += text[i + 1] == '_' ? 2 : 1;
        else
            return false;
    }
    return false;
}

/* What is wrong with a repository; NULL: nothing. */
static const char *repository_fault(const char *text)
{
    size_t all = strlen(text);

    if (!*text || *text == '/' || text[all - 1] == '/' || strstr(text, "//"))
        return "it has no name";
    if (all > NAME_MAX_BYTES)
        return "a name has at most 255 characters";
    for (const char *part = text;; part++) {
        size_t length = strcspn(part, "/");

        for (size_t i = 0; i < length; i++)
            if (isupper((unsigned char)part[i]))
                return "a name has no capital letters";
        if (!is_part(part, length))
            return "a name has lower-case letters, digits, and . _ - between them";
        part += length;
        if (!*part)
            return NULL;
    }
}

/* A host or "[IPv6]", and perhaps a port. */
static bool is_registry(const char *text)
{
    static const char host_characters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    const char *rest;

    if (*text == '[') {
        size_t inside = strspn(text + 1, "0123456789abcdefABCDEF:.");

        if (inside < 2 || text[1 + inside] != ']')
            return false;
        rest = text + inside + 2;
    } else {
        rest = text + strspn(text, host_characters);
        if (rest == text || *text == '-' || *text == '.')
            return false;
    }
    if (strlen(text) > NAME_MAX_BYTES)
        return false;
    return !*rest || (*rest == ':' && rest[1] && strlen(rest + 1) <= 5 &&
                      strspn(rest + 1, "0123456789") == strlen(rest + 1));
}

bool sw_image_ref_names_host(const char *name)
{
    const char *slash = strchr(name, '/');
    size_t first = slash ? (size_t)(slash - name) : 0;

    return slash && (strcspn(name, ".:") < first ||
                     (first == 9 && sw_text_starts(name, "localhost")));
}

char *sw_registry_host(const char *text, size_t length)
{
    static const char *const hub[] = { "index." HUB, "registry-1." HUB };
    sw_autofree char *host = sw_strndup(text, length);

    for (size_t i = 0; i < SW_COUNT(hub); i++)
        if (strcasecmp(host, hub[i]) == 0)
            return sw_strdup(HUB);
    return sw_take(host);
}

/* ---- taking it apart ---------------------------------------------------------------------------- */

/* The registry of "REGISTRY#NAME" or "REGISTRY/NAME", or Docker Hub; returns the name behind it. */
static char *take_registry(struct sw_image_ref *out, char *text)
{
    char *end = memchr(text, '#', strcspn(text, "/"));

    if (!end && sw_image_ref_names_host(text))
        end = strchr(text, '/');
    out->registry = end ? sw_registry_host(text, (size_t)(end - text)) : sw_strdup(HUB);
    return end ? end + 1 : text;
}

/* What is wrong with the tag or digest behind a name, which are cut off; NULL: nothing. */
static const char *take_version(struct sw_image_ref *out, char *name)
{
    char *at = strchr(name, '@'), *slash, *colon;

    if (at) {
        *at = '\0';
        if (!is_digest(at + 1))
            return "what follows '@' is not a digest such as sha256: and 64 digits";
        out->digest = sw_strdup(at + 1);
    }
    slash = strrchr(name, '/');
    colon = strrchr(slash ? slash : name, ':');
    if (colon) {
        *colon = '\0';
        if (!is_tag(colon + 1))
            return "what follows ':' is not a tag";
        out->tag = sw_strdup(colon + 1);
    } else if (!at) {
        out->tag = sw_strdup("latest");
    }
    return NULL;
}

static const char *take_apart(struct sw_image_ref *out, char *text)
{
    char *name = take_registry(out, text);
    const char *wrong;

    if (!is_registry(out->registry))
        return "the registry is not a host";
    wrong = take_version(out, name);
    if (!wrong)
        wrong = repository_fault(name);
    if (!wrong)
        out->repository = strcmp(out->registry, HUB) == 0 && !strchr(name, '/')
                              ? sw_format("library/%s", name) : sw_strdup(name);
    return wrong;
}

int sw_image_ref_parse(const char *text, struct sw_image_ref *out, struct sw_error *err)
{
    const char *bare = sw_text_starts(text, "docker://") ? text + strlen("docker://") : text;
    sw_autofree char *copy = NULL;
    const char *wrong;

    assert(!out->registry && !out->repository && !out->tag && !out->digest);
    if (!*bare)
        return refuse(text, "it is empty", err);
    if (strlen(bare) > TEXT_MAX)
        return refuse(text, "it has more than 2048 characters", err);
    if (is_id(bare)) {
        out->digest = sw_strdup(bare);
        return 0;
    }
    copy = sw_strdup(bare);
    wrong = take_apart(out, copy);
    return wrong ? refuse(text, wrong, err) : 0;
}

/* ---- putting it together ------------------------------------------------------------------------ */

const char *sw_image_ref_short(const struct sw_image_ref *ref)
{
    const char *name = ref->repository;

    assert(ref->registry && name);
    return strcmp(ref->registry, HUB) == 0 && sw_text_starts(name, "library/") &&
                   !strchr(name + strlen("library/"), '/')
               ? name + strlen("library/") : name;
}

/* A bare word in front of the first '/' would be read as a part of the name: the port says what it is. */
static char *registry_text(const char *registry)
{
    sw_autofree char *before_slash = sw_format("%s/", registry);

    return sw_format("%s%s", registry, sw_image_ref_names_host(before_slash) ? "" : ":443");
}

char *sw_image_ref_name(const struct sw_image_ref *ref)
{
    sw_autofree char *registry = NULL;

    if (!ref->registry)
        return sw_strdup(ref->digest);
    if (strcmp(ref->registry, HUB) == 0 && !sw_image_ref_names_host(ref->repository))
        return sw_strdup(sw_image_ref_short(ref));
    registry = registry_text(ref->registry);
    return sw_format("%s/%s", registry, ref->repository);
}

char *sw_image_ref_text(const struct sw_image_ref *ref)
{
    sw_autofree char *name = sw_image_ref_name(ref), *text = NULL;

    if (!ref->registry)
        return sw_take(name);
    text = ref->digest ? sw_format("%s@%s", name, ref->digest) : sw_format("%s:%s", name, ref->tag);
    /* An image called "sha256" with such a tag must not be taken for an id. */
    return is_id(text) ? sw_format("%s/%s:%s", HUB, ref->repository, ref->tag) : sw_take(text);
}

void sw_image_ref_done(struct sw_image_ref *ref)
{
    free(ref->registry);
    free(ref->repository);
    free(ref->tag);
    free(ref->digest);
    *ref = (struct sw_image_ref){ 0 };
}
