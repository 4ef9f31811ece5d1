/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toml_string.c - TOML strings: basic and literal, on one line or on several.
 *
 * Line ends inside a string become a single newline, whatever the file uses: a job file edited
 * on Windows must not put carriage returns into a script that runs on Linux.
 */
#include "base/toml_internal.h"

#include <string.h>

struct quoting {
    int quote;                 /* '"' knows escapes, '\'' does not */
    bool many_lines;
    struct sw_position start;
};

static void add_utf8(struct sw_buf *out, uint32_t point)
{
    if (point < 0x80) {
        sw_buf_add_char(out, (char)point);
    } else if (point < 0x800) {
        sw_buf_add_char(out, (char)(0xc0 | point >> 6));
        sw_buf_add_char(out, (char)(0x80 | (point & 0x3f)));
    } else if (point < 0x10000) {
        sw_buf_add_char(out, (char)(0xe0 | point >> 12));
        sw_buf_add_char(out, (char)(0x80 | (point >> 6 & 0x3f)));
        sw_buf_add_char(out, (char)(0x80 | (point & 0x3f)));
    } else {
        sw_buf_add_char(out, (char)(0xf0 | point >> 18));
        sw_buf_add_char(out, (char)(0x80 | (point >> 12 & 0x3f)));
        sw_buf_add_char(out, (char)(0x80 | (point >> 6 & 0x3f)));
        sw_buf_add_char(out, (char)(0x80 | (point & 0x3f)));
    }
}

static int read_code_point(struct toml *t, int digits, struct sw_buf *out)
{
    static const char hex[] = "0123456789abcdef";
    struct sw_position place = t->place;
    uint32_t point = 0;

    toml_skip(t, 2);
    for (int i = 0; i < digits; i++, toml_skip(t, 1)) {
        int c = toml_peek(t);
        const char *digit = c > 0 ? strchr(hex, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c) : NULL;

        if (!digit)
            return toml_fail(t, place, "the escape needs %d hexadecimal digits", digits);
        point = point << 4 | (uint32_t)(digit - hex);
    }
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return toml_fail(t, place, "the escape is not a Unicode character");
    if (point == 0 && !t->tagged)
        return toml_fail(t, place, "a string cannot contain a NUL character");
    add_utf8(out, point);
    return 0;
}

/* A backslash at the end of a line swallows that end and all white space after it. */
static bool skip_line_continuation(struct toml *t)
{
    struct toml before = *t;

    toml_skip(t, 1);
    toml_skip_space(t);
    if (!toml_at_line_end(t)) {
        t->at = before.at;
        t->place = before.place;
        return false;
    }
    while (toml_at_line_end(t) || toml_peek(t) == ' ' || toml_peek(t) == '\t')
        toml_skip(t, 1);
    return true;
}

static int read_escape(struct toml *t, const struct quoting *q, struct sw_buf *out)
{
    static const char letters[] = "btnfr\"\\", meanings[] = "\b\t\n\f\r\"\\";
    int c = toml_peek_at(t, 1);
    const char *letter = c > 0 ? strchr(letters, c) : NULL;

    if (c == 'u' || c == 'U')
        return read_code_point(t, c == 'u' ? 4 : 8, out);
    if (q->many_lines && skip_line_continuation(t))
        return 0;
    if (!letter)
        return toml_fail(t, t->place, "unknown escape; write a backslash as \\\\");
    sw_buf_add_char(out, meanings[letter - letters]);
    toml_skip(t, 2);
    return 0;
}

/* Three quotes close; one or two more in front of them belong to the text. */
static bool closes(struct toml *t, const struct quoting *q, struct sw_buf *out)
{
    size_t run = 0;

    if (toml_peek(t) != q->quote)
        return false;
    if (!q->many_lines) {
        toml_skip(t, 1);
        return true;
    }
    while (run < 5 && toml_peek_at(t, run) == q->quote)
        run++;
    toml_skip(t, run);
    for (size_t i = run < 3 ? 0 : 3; i < run; i++)
        sw_buf_add_char(out, (char)q->quote);
    return run >= 3;
}

static int read_char(struct toml *t, const struct quoting *q, struct sw_buf *out)
{
    int c = toml_peek(t);

    if (c < 0 || (toml_at_line_end(t) && !q->many_lines))
        return toml_fail(t, q->start, "the string that begins here is not closed");
    if (c == '\\' && q->quote == '"')
        return read_escape(t, q, out);
    if (toml_at_line_end(t)) {
        toml_skip(t, c == '\r' ? 2 : 1);
        sw_buf_add_char(out, '\n');
        return 0;
    }
    if ((c < 0x20 && c != '\t') || c == 0x7f)
        return toml_fail(t, t->place, "a control character must be written as an escape");
    sw_buf_add_char(out, (char)c);
    toml_skip(t, 1);
    return 0;
}

int toml_read_string(struct toml *t, bool is_key, struct sw_buf *out)
{
    struct quoting q = { .quote = toml_peek(t), .start = t->place };

    q.many_lines = toml_peek_at(t, 1) == q.quote && toml_peek_at(t, 2) == q.quote;
    if (q.many_lines && is_key)
        return toml_fail(t, q.start, "a key cannot be a multi-line string");
    toml_skip(t, q.many_lines ? 3 : 1);
    if (q.many_lines && toml_at_line_end(t))
        toml_skip(t, toml_peek(t) == '\r' ? 2 : 1);
    for (;;) {
        size_t before = t->at;

        if (closes(t, &q, out))
            return 0;
        if (t->at == before && read_char(t, &q, out) < 0)
            return -1;
    }
}
