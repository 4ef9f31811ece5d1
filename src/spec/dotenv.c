/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dotenv.c - .env files: NAME=value lines, read once at the start and never overriding.
 *
 * These files hold credentials, so a complaint names the file and the line and nothing of what
 * stands there. Nothing is expanded: "$HOME" stays as it is, because a value that means
 * something else on another machine is a fault that nobody finds.
 *
 * One bad line and nothing is loaded: half of the credentials is worse than none.
 */
#include "spec/spec.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "spec/spec_internal.h"

#define DOTENV_MAX (1024 * 1024)

struct reader {
    const char *at;
    const char *end;
    const char *name;                 /* of the file, in messages */
    int line;
    struct spec_problems *problems;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
}

static void skip_line(struct reader *r)
{
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));

    r->at = newline ? newline + 1 : r->end;
    r->line++;
}

static void complain(struct reader *r, int line, const char *why)
{
    sw_autofree char *where = sw_format("%s:%d", r->name, line);

    spec_problem(r->problems, where, "%s", why);
}

/* NAME or `export NAME`, up to and with the '='. */
static char *read_name(struct reader *r)
{
    const char *start;

    if (r->end - r->at > 7 && strncmp(r->at, "export", 6) == 0 && is_blank(r->at[6])) {
        r->at += 7;
        skip_blanks(r);
    }
    start = r->at;
    while (r->at < r->end && (isalnum((unsigned char)*r->at) || *r->at == '_'))
        r->at++;
    if (r->at > start && !isdigit((unsigned char)*start)) {
        sw_autofree char *name = sw_strndup(start, (size_t)(r->at - start));

        skip_blanks(r);
        if (r->at < r->end && *r->at == '=') {
            r->at++;
            return sw_take(name);
        }
    }
    complain(r, r->line, "expected NAME=value");
    return NULL;
}

static char unescaped(char c)
{
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case '"':
    case '\\':
    case '$': return c;
    default:  return '\0';
    }
}

/* 'as it is' or "with \n and \" inside"; may go over several lines. */
static bool read_quoted(struct reader *r, struct sw_buf *value)
{
    char quote = *r->at++;
    int first_line = r->line;

    for (; r->at < r->end && *r->at != quote; r->at++) {
        char plain = '\0';

        if (quote == '"' && *r->at == '\\' && r->at + 1 < r->end)
            plain = unescaped(r->at[1]);
        if (*r->at == '\n')
            r->line++;
        sw_buf_add_char(value, plain ? plain : *r->at);
        r->at += plain != '\0';
    }
    if (r->at == r->end) {
        complain(r, first_line, "the quote is not closed");
        return false;
    }
    r->at++;
    skip_blanks(r);
    if (r->at < r->end && *r->at != '\n' && *r->at != '#') {
        complain(r, r->line, "there is text after the closing quote");
        return false;
    }
    return true;
}

/* Up to the end of the line or a " #", without the blanks around it. */
static void read_plain(struct reader *r, struct sw_buf *value)
{
    const char *start = r->at, *stop;

    while (r->at < r->end && *r->at != '\n' &&
           !(*r->at == '#' && (r->at == start || is_blank(r->at[-1]))))
        r->at++;
    for (stop = r->at; stop > start && is_blank(stop[-1]);)
        stop--;
    sw_buf_add_bytes(value, start, (size_t)(stop - start));
}

static bool read_value(struct reader *r, struct sw_buf *value)
{
    skip_blanks(r);
    if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
        return read_quoted(r, value);
    read_plain(r, value);
    return true;
}

static void read_line(struct reader *r,
                      void (*fn)(void *context, const char *key, const char *value),
                      void *context)
{
    sw_autofree char *name = NULL;
    sw_auto(sw_buf) struct sw_buf value = SW_BUF_INIT;

    skip_blanks(r);
    if (r->at < r->end && *r->at != '#' && *r->at != '\n') {
        name = read_name(r);
        if (name && read_value(r, &value) && fn)
            fn(context, name, sw_buf_text(&value));
    }
    skip_line(r);
}

static int read_all(const char *text, size_t length, const char *name,
                    void (*fn)(void *context, const char *key, const char *value), void *context,
                    struct sw_error *err)
{
    sw_auto(spec_problems) struct spec_problems problems = SPEC_PROBLEMS_INIT;
    struct reader r = {
        .at = text, .end = text + length, .name = name, .line = 1, .problems = &problems,
    };

    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        r.at += 3;
    while (r.at < r.end)
        read_line(&r, fn, context);
    if (problems.count == 0)
        return 0;
    spec_problems_report(&problems, err);
    return sw_hint(err, "each line is NAME=value, NAME='value' or NAME=\"value\"");
}

int sw_dotenv_parse(const char *text, size_t length, const char *name,
                    void (*fn)(void *context, const char *key, const char *value), void *context,
                    struct sw_error *err)
{
    if (length > 0 && memchr(text, '\0', length))
        return sw_fail(err, SW_E_SPEC, "%s: holds a NUL character", name);
    if (length == 0)
        return 0;
    if (read_all(text, length, name, NULL, NULL, err) < 0)
        return -1;
    return fn ? read_all(text, length, name, fn, context, err) : 0;
}

static void set_variable(void *context, const char *key, const char *value)
{
    (void)context;
    setenv(key, value, 0);
}

int sw_dotenv_load(const char *path, void (*warn)(void *context, const char *text),
                   void *warn_context, struct sw_error *err)
{
    sw_autofree char *text = NULL;
    sw_autofree char *warning = NULL;
    struct stat info;
    size_t length = 0;

    if (stat(path, &info) < 0)
        return 0;
    text = sw_file_read(path, DOTENV_MAX, &length, err);
    if (!text)
        return -1;
    if (sw_dotenv_parse(text, length, path, set_variable, NULL, err) < 0)
        return -1;
    if (warn && (info.st_mode & (S_IRWXG | S_IRWXO))) {
        sw_auto(sw_buf) struct sw_buf quoted = SW_BUF_INIT;

        sw_buf_add_quoted(&quoted, path);
        warning = sw_format("others can read '%s', which may hold credentials: run chmod 600 %s",
                            path, sw_buf_text(&quoted));
        warn(warn_context, warning);
    }
    return 0;
}
