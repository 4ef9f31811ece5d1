/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shown.c - see shown.h.
 *
 * Works on whole texts, so that no call site can forget it: a URI ends at a blank, a control
 * character, a double quote, a backslash, an angle bracket, or a single quote that ends a quotation.
 * "https://me:pw@host/x?sig=1" becomes "https://host/x?...". ssh keeps the name of its user, which
 * is no secret and often the reason of a failure.
 */
#include "base/shown.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"

#define HIDDEN "..."

enum shown_as { AS_IT_IS, PATH, LOGIN, WEB };

/* Schemes of which something else than the usual is known. */
static const struct {
    const char *scheme;
    enum shown_as as;
} schemes[] = {
    { "file", AS_IT_IS },   { "lustre", AS_IT_IS },   { "slurm", AS_IT_IS },   /* a path follows */
    { "docker", AS_IT_IS }, { "dockerd", AS_IT_IS },  { "podman", AS_IT_IS },  /* an image, @digest */
    { "oci", AS_IT_IS },
    { "ssh", LOGIN },       { "git+ssh", LOGIN },     { "sftp", LOGIN },
    { "http", WEB },        { "https", WEB },
};

static bool is_scheme_char(char c)
{
    return isalnum((unsigned char)c) || c == '+' || c == '-' || c == '.' || c == '_';
}

static enum shown_as shown_as(const char *scheme, size_t length)
{
    for (size_t i = 0; i < SW_COUNT(schemes); i++)
        if (strlen(schemes[i].scheme) == length &&
            strncasecmp(schemes[i].scheme, scheme, length) == 0)
            return schemes[i].as;
    return PATH;
}

static bool ends_uri(const char *at)
{
    unsigned char c = (unsigned char)*at;

    if (c <= ' ' || c == 0x7f || strchr("\"\\<>", c))
        return true;
    return c == '\'' && (!at[1] || (!isalnum((unsigned char)at[1]) && !strchr("%&=_-./~+", at[1])));
}

/* The URI at `at`; a full stop or colon behind it belongs to the sentence. */
static size_t uri_length(const char *at)
{
    size_t length = 0;

    while (!ends_uri(at + length))
        length++;
    if (!at[length] || isspace((unsigned char)at[length]))
        while (length && strchr(".,:;)", at[length - 1]))
            length--;
    return length;
}

/* How many bytes at `at` name a user: up to the last '@' before the host ends. A password may hold a
 * '/', wrongly: then what looks like a port is none. */
static size_t user_info(const char *at, size_t length)
{
    size_t authority = 0, info = 0, colon = 0;

    while (authority < length && !strchr("/?#", at[authority])) {
        if (at[authority] == '@')
            info = authority + 1;
        if (at[authority] == ':' && !colon)
            colon = authority + 1;
        authority++;
    }
    if (info || !colon || *at == '[' || authority == length ||
        colon + strspn(at + colon, "0123456789") >= authority)
        return info;
    for (size_t i = authority; i < length && at[i] != '?'; i++)
        if (at[i] == '@')
            info = i + 1;
    return info;
}

/* What is left of the user info: "me@" of ssh://me:pw@host, else nothing. */
static size_t user_kept(const char *at, size_t info, enum shown_as as)
{
    const char *colon = as == LOGIN ? memchr(at, ':', info) : NULL;

    if (as != LOGIN)
        return 0;
    return colon ? (size_t)(colon - at) : info - 1;
}

/* Where another URI begins in the path of this one ("http://proxy/http://me:pw@host"), or `end`. */
static size_t nested(const char *at, size_t begin, size_t end)
{
    for (size_t i = begin; i + 3 <= end; i++)
        if (strncmp(at + i, "://", 3) == 0) {
            while (i > begin && is_scheme_char(at[i - 1]))
                i--;
            return i;
        }
    return end;
}

/* The URI whose authority begins at *from, written to *to; both move on, at most to the next one. */
static void show_one(const char **from, char **to, enum shown_as as)
{
    const char *at = *from;
    size_t length = uri_length(at), info = 0, kept, before;

    for (size_t more; (more = user_info(at + info, length - info));)
        info += more;
    kept = info ? user_kept(at, info, as) : 0;
    memmove(*to, at, kept);
    *to += kept;
    if (info && kept)
        *(*to)++ = '@';
    before = info;
    while (before < length && at[before] != '?' && !(as == WEB && at[before] == '#'))
        before++;
    if (nested(at, info, before) < before)
        before = length = nested(at, info, before);
    memmove(*to, at + info, before - info);
    *to += before - info;
    if (length - before > strlen(HIDDEN)) {
        *(*to)++ = at[before];
        memcpy(*to, HIDDEN, strlen(HIDDEN));
        *to += strlen(HIDDEN);
    } else {
        memmove(*to, at + before, length - before);
        *to += length - before;
    }
    *from += length;
}

void sw_uris_hide(char *text)
{
    const char *from = text, *mark;
    char *to = text;

    while ((mark = strstr(from, "://"))) {
        const char *scheme = mark;
        enum shown_as as;

        while (scheme > from && is_scheme_char(scheme[-1]))
            scheme--;
        as = shown_as(scheme, (size_t)(mark - scheme));
        memmove(to, from, (size_t)(mark + 3 - from));
        to += mark + 3 - from;
        from = mark + 3;
        if (as != AS_IT_IS)
            show_one(&from, &to, as);
    }
    memmove(to, from, strlen(from) + 1);
}

char *sw_uri_shown(const char *uri)
{
    char *shown = sw_strdup(uri);

    sw_uris_hide(shown);
    return shown;
}
