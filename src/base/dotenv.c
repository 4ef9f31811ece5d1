/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dotenv.c - .env files: NAME=value lines.
 *
 * These files hold credentials, so a complaint names the file and the line and nothing of what
 * is there. Nothing is expanded: "$HOME" stays as it is, because a value that means
 * something else on another machine is a fault that is hard to find.
 *
 * Other tools write .env files, too, in their own dialects. A line that we do not understand is left
 * out with a warning: it must not keep a job from being sent.
 */
#include "base/environment.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

enum { DOTENV_MAX = 1024 * 1024, LINES_NAMED = 3 };

struct dotenv_reader {
    const char *at;
    const char *end;
    const char *name;                 /* of the file, in messages */
    int line;
    size_t bad_lines;
    struct sw_environment *into;
    sw_env_warn_fn *warn;
    void *warn_context;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct dotenv_reader *r)
{
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
}

static void skip_line(struct dotenv_reader *r)
{
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));

    r->at = newline ? newline + 1 : r->end;
    r->line++;
}

static void complain(struct dotenv_reader *r, int line, const char *why)
{
    sw_autofree char *text = NULL;

    if (++r->bad_lines > LINES_NAMED || !r->warn)
        return;
    text = sw_format("%s:%d: %s: line ignored", r->name, line, why);
    r->warn(r->warn_context, text);
}

/* NAME or `export NAME`, up to and with the '='. */
static char *read_name(struct dotenv_reader *r)
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

/* 'as it is' or "with \n and \" inside"; may go over several lines. Where it is not closed, only its
 * first line is lost. */
static bool read_quoted(struct dotenv_reader *r, struct sw_buf *value)
{
    const char *first = r->at;
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
        r->at = first;
        r->line = first_line;
        return false;
    }
    r->at++;
    skip_blanks(r);
    if (r->at < r->end && *r->at != '\n' && *r->at != '#') {
        complain(r, r->line, "text after the closing quote");
        return false;
    }
    return true;
}

/* Up to the end of the line or a " #", without the blanks around it. */
static void read_plain(struct dotenv_reader *r, struct sw_buf *value)
{
    const char *start = r->at, *stop;

    while (r->at < r->end && *r->at != '\n' &&
           !(*r->at == '#' && (r->at == start || is_blank(r->at[-1]))))
        r->at++;
    for (stop = r->at; stop > start && is_blank(stop[-1]);)
        stop--;
    sw_buf_add_bytes(value, start, (size_t)(stop - start));
}

static bool read_value(struct dotenv_reader *r, struct sw_buf *value)
{
    skip_blanks(r);
    if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
        return read_quoted(r, value);
    read_plain(r, value);
    return true;
}

static void read_line(struct dotenv_reader *r)
{
    sw_autofree char *name = NULL;
    struct sw_buf value = SW_BUF_INIT;

    skip_blanks(r);
    if (r->at < r->end && *r->at != '#' && *r->at != '\n') {
        name = read_name(r);
        if (name && read_value(r, &value) &&
            !sw_environment_add(r->into, name, sw_buf_text(&value)))
            complain(r, r->line, "too many names");
    }
    if (value.data)
        explicit_bzero(value.data, value.room);
    sw_buf_done(&value);
    skip_line(r);
}

static void warn_of(const char *path, const char *why, sw_env_warn_fn *warn, void *warn_context)
{
    sw_autofree char *text = warn ? sw_format("%s: %s: ignored", path, why) : NULL;

    if (text)
        warn(warn_context, text);
}

void sw_dotenv_parse(const char *text, size_t length, const char *name,
                     struct sw_environment *into, sw_env_warn_fn *warn, void *warn_context)
{
    struct dotenv_reader r = {
        .at = text, .end = text + length, .name = name, .line = 1, .into = into, .warn = warn,
        .warn_context = warn_context,
    };

    if (length == 0)
        return;
    if (memchr(text, '\0', length)) {
        warn_of(name, "contains a NUL character", warn, warn_context);
        return;
    }
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        r.at += 3;
    while (r.at < r.end)
        read_line(&r);
    if (r.bad_lines > LINES_NAMED && warn) {
        sw_autofree char *more = sw_format("%s: %zu more lines ignored", name,
                                           r.bad_lines - LINES_NAMED);

        warn(warn_context, more);
    }
}

/* ---- the file ---------------------------------------------------------------------------------- */

static void warn_of_readers(const char *path, sw_env_warn_fn *warn, void *warn_context)
{
    sw_auto(sw_buf) struct sw_buf quoted = SW_BUF_INIT;
    sw_autofree char *text = NULL;
    struct stat info;

    if (stat(path, &info) < 0 || !(info.st_mode & (S_IRWXG | S_IRWXO)))
        return;
    sw_buf_add_quoted(&quoted, path);
    text = sw_format("others can read '%s', which may contain credentials: run chmod 600 %s", path,
                     sw_buf_text(&quoted));
    warn(warn_context, text);
}

char *sw_dotenv_read(const char *path, size_t *length, sw_env_warn_fn *warn, void *warn_context)
{
    struct sw_error why = { 0 };
    char *text = sw_file_read_plain(path, DOTENV_MAX, length, &why);
    sw_autofree char *told = NULL;

    if (text && warn)
        warn_of_readers(path, warn, warn_context);
    if (!text && why.code != SW_E_NOT_FOUND && warn) {
        told = sw_format("%s: ignored", why.message);
        warn(warn_context, told);
    }
    return text;
}

void sw_dotenv_load(const char *path, struct sw_environment *into, sw_env_warn_fn *warn,
                    void *warn_context)
{
    size_t length = 0;
    char *text = sw_dotenv_read(path, &length, warn, warn_context);

    if (!text)
        return;
    sw_dotenv_parse(text, length, path, into, warn, warn_context);
    explicit_bzero(text, length);
    free(text);
}

char *sw_dotenv_home(void)
{
    return sw_path_home(".config/tao/.env");
}
