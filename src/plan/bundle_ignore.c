/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle_ignore.c - .gitignore with git's meaning, compared with `git check-ignore` by the tests.
 *
 * The last pattern that matches decides; "!" takes back; a slash at the beginning or in the middle
 * ties a pattern to its folder; one at the end means folders only; "**" crosses folders. Pure.
 */
#include "plan/bundle.h"

#include <stdlib.h>
#include <string.h>

struct ignore_pattern {
    char *folder;            /* where its .gitignore lies; "" is the root */
    char *text;
    bool negated, folders_only, tied;
};

struct sw_ignore {
    struct ignore_pattern *items;
    size_t count;
};

struct sw_ignore *sw_ignore_new(void)
{
    return sw_new(struct sw_ignore);
}

void sw_ignore_free(struct sw_ignore *ignore)
{
    for (size_t i = 0; ignore && i < ignore->count; i++) {
        free(ignore->items[i].folder);
        free(ignore->items[i].text);
    }
    if (ignore)
        free(ignore->items);
    free(ignore);
}

/* ---- one pattern --------------------------------------------------------------------------- */

/* "[a-z]", "[!a-z]", "[]x]": the character behind it when `c` is in it, or NULL. *closed tells
 * whether it is a class at all. */
static const char *match_class(const char *pattern, char c, bool *closed)
{
    const char *p = pattern + 1;
    bool negated = *p == '!' || *p == '^', found = false, first = true;

    if (negated)
        p++;
    for (; *p && (first || *p != ']'); first = false) {
        char low = *p == '\\' && p[1] ? *++p : *p, high = low;

        p++;
        if (p[0] == '-' && p[1] && p[1] != ']') {
            high = p[1] == '\\' && p[2] ? *(++p + 1) : p[1];
            p += 2;
        }
        found |= (unsigned char)low <= (unsigned char)c && (unsigned char)c <= (unsigned char)high;
    }
    *closed = *p == ']';
    return *closed && found != negated && c != '/' ? p + 1 : NULL;
}

/* Every byte of the pattern is tried against every byte of the path at most once per star; the
 * budget bounds what a hostile pattern can cost. */
static bool match(const char *p, const char *s, int *budget)
{
    if (--*budget < 0)
        return false;
    for (; *p; p++, s++) {
        bool closed = false;
        const char *after;

        switch (*p) {
        case '*':
            if (p[1] == '*') {
                const char *rest = p + 2;
                bool whole = *rest == '/' || !*rest;

                if (whole && *rest == '/' && match(rest + 1, s, budget))
                    return true;                    /* "**" + "/" may stand for nothing */
                for (const char *at = s; ; at++) {
                    if (match(rest, at, budget))
                        return true;
                    if (!*at)
                        return false;
                }
            }
            for (const char *at = s; ; at++) {
                if (match(p + 1, at, budget))
                    return true;
                if (!*at || *at == '/')
                    return false;
            }
        case '?':
            if (!*s || *s == '/')
                return false;
            break;
        case '[':
            after = *s ? match_class(p, *s, &closed) : NULL;
            if (!after)
                return false;                       /* an open class matches nothing, as in git */
            p = after - 1;
            break;
        case '\\':
            if (p[1])
                p++;
            /* fall through */
        default:
            if (*p != *s)
                return false;
        }
    }
    return !*s;
}

bool sw_wildmatch(const char *pattern, const char *path)
{
    int budget = 200000;

    return match(pattern, path, &budget);
}

/* ---- a file of them ------------------------------------------------------------------------ */

/* Blanks at the end do not count, unless a backslash comes before. */
static size_t without_blanks(const char *line, size_t length)
{
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\r')) {
        size_t slashes = 0;

        while (slashes + 1 < length && line[length - 2 - slashes] == '\\')
            slashes++;
        if (line[length - 1] == ' ' && slashes % 2)
            break;
        length--;
    }
    return length;
}

static void add_line(struct sw_ignore *ignore, const char *folder, const char *line,
                     size_t length)
{
    struct ignore_pattern one = { 0 };

    length = without_blanks(line, length);
    if (length == 0 || *line == '#')
        return;
    if (*line == '!') {
        one.negated = true;
        line++;
        length--;
    }
    if (length > 0 && line[length - 1] == '/') {
        one.folders_only = true;
        length--;
    }
    if (length == 0)
        return;
    one.tied = memchr(line, '/', length) != NULL;
    if (*line == '/') {
        line++;
        length--;
    }
    one.folder = sw_strdup(folder);
    one.text = sw_strndup(line, length);
    ignore->items = sw_realloc_array(ignore->items, ignore->count + 1, sizeof *ignore->items);
    ignore->items[ignore->count++] = one;
}

void sw_ignore_add(struct sw_ignore *ignore, const char *folder, const char *text, size_t length)
{
    const char *end = text + length;

    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t line = (size_t)((newline ? newline : end) - text);

        add_line(ignore, folder, text, line);
        text += line + (newline ? 1 : 0);
        if (!newline)
            break;
    }
}

static bool pattern_matches(const struct ignore_pattern *one, const char *path, bool is_folder)
{
    size_t above = strlen(one->folder);
    const char *base = strrchr(path, '/');

    if (one->folders_only && !is_folder)
        return false;
    if (above) {
        if (strncmp(path, one->folder, above) != 0 || path[above] != '/')
            return false;
        path += above + 1;
    }
    return sw_wildmatch(one->text, one->tied ? path : base ? base + 1 : path);
}

bool sw_ignore_matches(const struct sw_ignore *ignore, const char *path, bool is_folder)
{
    for (size_t i = ignore->count; i-- > 0;)
        if (pattern_matches(&ignore->items[i], path, is_folder))
            return !ignore->items[i].negated;
    return false;
}
