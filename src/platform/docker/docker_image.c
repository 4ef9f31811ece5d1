/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_image.c - image references: registry, repository, tag, digest. Pure.
 *
 * "host:5000/name" has a port, not a tag; "name@sha256:..." has a digest, not a tag. The first
 * part is a registry only if it looks like a host: it holds a dot or a colon, or is "localhost".
 */
#include "platform/docker/docker_image.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

#define NAME_MAX_BYTES 255
#define TAG_MAX_BYTES  128
#define HUB            "docker.io"

static int bad(const char *text, const char *why, struct sw_error *err)
{
    sw_fail(err, SW_E_SPEC, "'%.200s' is no image: %s", text, why);
    return sw_hint(err, "write name:tag, registry/path/name:tag or name@sha256:...");
}

static bool is_hex(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isdigit((unsigned char)text[i]) && !(text[i] >= 'a' && text[i] <= 'f'))
            return false;
    return length > 0;
}

static bool is_digest(const char *text)
{
    const char *colon = strchr(text, ':');
    size_t digits = colon ? strlen(colon + 1) : 0;

    if (!colon || colon == text || !is_hex(colon + 1, digits) || digits > 128)
        return false;
    for (const char *c = text; c < colon; c++)
        if (!isalnum((unsigned char)*c) && !strchr("+._-", *c))
            return false;
    return sw_text_starts(text, "sha256:") ? digits == 64 : digits >= 32;
}

/* An image by itself, as the engine names it. */
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

/* Lower-case words, one of . _ __ or dashes between them. */
static bool is_part(const char *text, size_t length)
{
    size_t i = 0;

    while (i < length) {
        size_t dashes;

        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]))
            return false;
        while (i < length && (islower((unsigned char)text[i]) || isdigit((unsigned char)text[i])))
            i++;
        if (i == length)
            return true;
        dashes = strspn(text + i, "-");
        if (dashes)
            i += dashes;
        else if (text[i] == '.')
            i++;
        else if (text[i] == '_')
            i += text[i + 1] == '_' ? 2 : 1;
        else
            return false;
    }
    return false;
}

static bool is_repository(const char *text)
{
    if (strlen(text) > NAME_MAX_BYTES)
        return false;
    for (;;) {
        size_t length = strcspn(text, "/");

        if (!is_part(text, length))
            return false;
        if (!text[length])
            return true;
        text += length + 1;
    }
}

/* A host or "[IPv6]", and perhaps a port. */
static bool is_registry(const char *text)
{
    static const char host_signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    const char *rest;

    if (*text == '[') {
        size_t inside = strspn(text + 1, "0123456789abcdefABCDEF:.");

        if (inside < 2 || text[1 + inside] != ']')
            return false;
        rest = text + inside + 2;
    } else {
        rest = text + strspn(text, host_signs);
        if (rest == text || *text == '-' || *text == '.')
            return false;
    }
    if (strlen(text) > NAME_MAX_BYTES)
        return false;
    return !*rest || (*rest == ':' && rest[1] && strlen(rest + 1) <= 5 &&
                      strspn(rest + 1, "0123456789") == strlen(rest + 1));
}

/* "docker://" in front and enroot's '#' after the registry are other people's spellings. */
static char *plain(const char *text)
{
    char *copy = sw_strdup(sw_text_starts(text, "docker://") ? text + 9 : text);
    char *mark = strchr(copy, '#');

    if (mark && strcspn(copy, "/") > (size_t)(mark - copy))
        *mark = '/';
    return copy;
}

/* Would the first part of this name be taken for a registry? */
static bool names_a_registry(const char *name)
{
    const char *slash = strchr(name, '/');
    size_t first = slash ? (size_t)(slash - name) : 0;

    return slash && (strcspn(name, ".:") < first ||
                     (first == 9 && sw_text_starts(name, "localhost")));
}

static void take_registry(struct docker_image *out, char **name)
{
    char *slash = strchr(*name, '/');

    if (!names_a_registry(*name)) {
        out->registry = sw_strdup(HUB);
        return;
    }
    out->registry = sw_strndup(*name, (size_t)(slash - *name));
    *name = slash + 1;
    if (strcmp(out->registry, "index." HUB) == 0 || strcmp(out->registry, "registry-1." HUB) == 0) {
        free(out->registry);
        out->registry = sw_strdup(HUB);
    }
}

int docker_image_parse(const char *text, struct docker_image *out, struct sw_error *err)
{
    sw_autofree char *copy = plain(text);
    char *name = copy, *at = strchr(copy, '@'), *colon, *slash;

    if (!*copy)
        return bad(text, "it is empty", err);
    if (is_id(copy)) {
        out->digest = sw_strdup(copy);
        return 0;
    }
    if (at) {
        *at = '\0';
        if (!is_digest(at + 1))
            return bad(text, "after @ comes a digest such as sha256: and 64 digits", err);
        out->digest = sw_strdup(at + 1);
    }
    slash = strrchr(name, '/');
    colon = strrchr(slash ? slash : name, ':');
    if (colon) {
        *colon = '\0';
        if (!is_tag(colon + 1))
            return bad(text, "its tag holds odd characters or is too long", err);
        out->tag = sw_strdup(colon + 1);
    } else if (!at) {
        out->tag = sw_strdup("latest");
    }
    take_registry(out, &name);
    if (!is_registry(out->registry))
        return bad(text, "its registry is no host", err);
    if (!is_repository(name))
        return bad(text, "a name has lower-case letters, digits and . _ - between them", err);
    out->repository = strcmp(out->registry, HUB) == 0 && !strchr(name, '/')
                          ? sw_format("library/%s", name)
                          : sw_strdup(name);
    return 0;
}

char *docker_image_name(const struct docker_image *image)
{
    const char *name = image->repository;

    if (!image->registry)
        return sw_strdup(image->digest);
    if (strcmp(image->registry, HUB) != 0 || names_a_registry(name))
        return sw_format("%s/%s", image->registry, name);
    return sw_strdup(sw_text_starts(name, "library/") && !strchr(name + 8, '/') ? name + 8 : name);
}

char *docker_image_text(const struct docker_image *image)
{
    sw_autofree char *name = docker_image_name(image), *text = NULL;

    if (!image->registry)
        return sw_take(name);
    text = image->digest ? sw_format("%s@%s", name, image->digest)
                         : sw_format("%s:%s", name, image->tag);
    /* An image called "sha256" with such a tag must not be taken for an id. */
    return is_id(text) ? sw_format("%s/%s:%s", HUB, image->repository, image->tag) : sw_take(text);
}

void docker_image_done(struct docker_image *image)
{
    free(image->registry);
    free(image->repository);
    free(image->tag);
    free(image->digest);
    memset(image, 0, sizeof *image);
}
