/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uri.c - cutting URIs, and the questions about names that come from outside.
 *
 * The pattern matcher works without recursion: a hostile pattern of many stars costs at most
 * pattern x name steps.
 */
#include "storage/uri.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "net/http.h"

#define NAME_PART_MAX 255

/* The text after "://" is a path of some file system. */
static bool is_path_scheme(const char *scheme)
{
    static const char *const schemes[] = { "file", "lustre", "slurm" };

    for (size_t i = 0; i < SW_COUNT(schemes); i++)
        if (strcmp(schemes[i], scheme) == 0)
            return true;
    return false;
}

static int check_scheme(const char *text, size_t length, struct sw_error *err)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("+-._", text[i]))
            return sw_fail(err, SW_E_USAGE, "'%.*s' is not the scheme of a URI",
                           (int)(length < 40 ? length : 40), text);
    return length && isalpha((unsigned char)*text)
               ? 0
               : sw_fail(err, SW_E_USAGE, "a URI begins with a scheme such as s3://");
}

static int check_text(const char *text, struct sw_error *err)
{
    if (sw_text_empty(text))
        return sw_fail(err, SW_E_USAGE, "a path or URI is empty");
    if (strlen(text) > SW_URI_MAX)
        return sw_fail(err, SW_E_USAGE, "a path or URI is longer than %d bytes", SW_URI_MAX);
    return 0;
}

/* user:password@host would end up in histories and messages. */
static int check_host(const struct sw_uri *uri, struct sw_error *err)
{
    bool web = strcmp(uri->scheme, "http") == 0 || strcmp(uri->scheme, "https") == 0;

    if ((web || strcmp(uri->scheme, "s3") == 0) && strchr(uri->host, '@')) {
        sw_fail(err, SW_E_USAGE, "do not put credentials in a URL: %s:// takes no user or password",
                uri->scheme);
        return sw_hint(err, "credentials come from the environment");
    }
    if (!*uri->host)
        return sw_fail(err, SW_E_USAGE, "'%s://' names no %s", uri->scheme,
                       strcmp(uri->scheme, "s3") == 0 ? "bucket" : "place");
    return 0;
}

int sw_uri_parse(const char *text, struct sw_uri *out, struct sw_error *err)
{
    sw_auto(sw_uri) struct sw_uri uri = { 0 };
    const char *mark, *rest;

    if (check_text(text, err) < 0)
        return -1;
    mark = strstr(text, "://");
    if (!mark) {
        *out = (struct sw_uri){ sw_strdup("file"), sw_strdup(""), sw_strdup(text) };
        return 0;
    }
    if (check_scheme(text, (size_t)(mark - text), err) < 0)
        return -1;
    uri.scheme = sw_strndup(text, (size_t)(mark - text));
    for (char *c = uri.scheme; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    rest = mark + 3;
    if (is_path_scheme(uri.scheme)) {
        if (!*rest)
            return sw_fail(err, SW_E_USAGE, "'%s' has no path", text);
        uri.host = sw_strdup("");
        uri.path = *rest == '/' ? sw_strdup(rest) : sw_format("/%s", rest);
    } else {
        size_t host = strcspn(rest, "/");

        uri.host = sw_strndup(rest, host);
        uri.path = sw_strdup(rest[host] ? rest + host + 1 : "");
        if (check_host(&uri, err) < 0)
            return -1;
    }
    *out = uri;
    uri = (struct sw_uri){ 0 };
    return 0;
}

void sw_uri_done(struct sw_uri *uri)
{
    free(uri->scheme);
    free(uri->host);
    free(uri->path);
    *uri = (struct sw_uri){ 0 };
}

char *sw_uri_text(const struct sw_uri *uri)
{
    if (strcmp(uri->scheme, "file") == 0 && !strstr(uri->path, "://"))
        return sw_strdup(uri->path);
    if (is_path_scheme(uri->scheme))
        return sw_format("%s://%s", uri->scheme, uri->path);
    return sw_format("%s://%s%s%s", uri->scheme, uri->host, *uri->path ? "/" : "", uri->path);
}

char *sw_uri_join(const char *uri, const char *relative)
{
    size_t length = strlen(uri);
    bool slash = length && uri[length - 1] == '/';

    return sw_format("%s%s%s", uri, slash || !*relative ? "" : "/", relative);
}

bool sw_uri_is_remote(const char *text)
{
    return strstr(text, "://") != NULL;
}

const char *sw_uri_last(const char *text)
{
    const char *slash = strrchr(text, '/');

    return slash ? slash + 1 : text;
}

char *sw_uri_name(const char *text)
{
    bool web = sw_text_starts(text, "http://") || sw_text_starts(text, "https://");
    const char *end = web ? text + strcspn(text, "?#") : text + strlen(text);
    const char *name = end;
    sw_autofree char *decoded = NULL;

    while (name > text && name[-1] != '/')
        name--;
    decoded = web ? sw_http_decode(name, (size_t)(end - name)) : sw_strdup(name);
    if (strchr(decoded, '/') || strcmp(decoded, ".") == 0 || strcmp(decoded, "..") == 0)
        return sw_strndup(name, (size_t)(end - name));       /* "%2e%2e": no name of a file */
    return sw_take(decoded);
}

/* ---- names ------------------------------------------------------------------------------------ */

int sw_name_check(const char *name, struct sw_error *err)
{
    const char *part = name;

    if (!*name || *name == '/')
        return sw_fail(err, SW_E_REFUSED, "'%s' cannot be a file name here: it is %s", name,
                       *name ? "absolute" : "empty");
    while (*part) {
        size_t length = strcspn(part, "/");

        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && part[0] == '.' && part[1] == '.'))
            return sw_fail(err, SW_E_REFUSED, "'%s' cannot be a file name here: it %s", name,
                           length == 2 ? "leaves its folder" : "has an empty part");
        if (length > NAME_PART_MAX)
            return sw_fail(err, SW_E_REFUSED,
                           "'%.60s...' cannot be a file name here: a part is longer than %d bytes",
                           name, NAME_PART_MAX);
        part += length + (part[length] == '/');
    }
    return 0;
}

/* One [set] of a pattern; *pattern moves behind it. An unclosed one is the character '['. */
static bool set_matches(const char **pattern, char c)
{
    const char *at = *pattern + 1;
    bool negated = *at == '!' || *at == '^';
    bool hit = false;

    at += negated;
    for (const char *first = at; *at && (*at != ']' || at == first); at++) {
        if (at[1] == '-' && at[2] && at[2] != ']') {
            hit |= (unsigned char)c >= (unsigned char)at[0] &&
                   (unsigned char)c <= (unsigned char)at[2];
            at += 2;
        } else {
            hit |= *at == c;
        }
    }
    if (*at != ']') {
        ++*pattern;
        return c == '[';
    }
    *pattern = at + 1;
    return hit != negated;
}

static bool one_matches(const char **pattern, char c)
{
    if (**pattern == '[')
        return set_matches(pattern, c);
    if (**pattern == '\\' && (*pattern)[1])
        ++*pattern;
    else if (**pattern == '?') {
        ++*pattern;
        return true;
    }
    return *(*pattern)++ == c;
}

static bool glob(const char *pattern, const char *name)
{
    const char *star = NULL, *retry = NULL;

    while (*name) {
        const char *try = pattern;

        if (*pattern == '*') {
            star = ++pattern;
            retry = name;
        } else if (*pattern && one_matches(&try, *name)) {
            pattern = try;
            name++;
        } else if (star) {
            pattern = star;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

/* "dir/": some folder on the way to `name`, or its whole path so far, matches "dir". */
static bool folder_matches(const char *pattern, const char *name)
{
    sw_autofree char *folder = sw_strndup(pattern, strlen(pattern) - 1);
    sw_autofree char *path = sw_strdup(name);
    const char *part = path;

    for (char *at = path; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (glob(folder, part) || glob(folder, path))
            return true;
        *at = '/';
        part = at + 1;
    }
    return false;
}

bool sw_name_matches(const char *pattern, const char *name)
{
    if (sw_text_starts(pattern, "./"))
        pattern += 2;
    if (sw_text_ends(pattern, "/") && pattern[1])
        return folder_matches(pattern, name);
    if (glob(pattern, name))
        return true;
    return !strchr(pattern, '/') && glob(pattern, sw_uri_last(name));
}
