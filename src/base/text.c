/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - the helpers of text.h. Pure: no I/O.
 */
#include "base/text.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"

bool sw_text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool sw_text_ends(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);

    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

bool sw_text_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool sw_text_same_nocase(const char *a, const char *b)
{
    return a && b ? strcasecmp(a, b) == 0 : a == b;
}

size_t sw_text_utf8_char(const char *text, size_t left)
{
    const unsigned char *s = (const unsigned char *)text;
    static const struct { unsigned char mask, lead; uint32_t least; } forms[] = {
        { 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 },
    };

    for (size_t n = 0; n < SW_COUNT(forms); n++) {
        uint32_t point;

        if ((s[0] & forms[n].mask) != forms[n].lead)
            continue;
        if (left < n + 1)
            return 0;
        point = s[0] & (unsigned char)~forms[n].mask;
        for (size_t i = 1; i <= n; i++) {
            if ((s[i] & 0xc0) != 0x80)
                return 0;
            point = point << 6 | (s[i] & 0x3f);
        }
        if (point < forms[n].least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
            return 0;
        return n + 1;
    }
    return 0;
}

bool sw_text_is_utf8(const char *text)
{
    size_t left = strlen(text), one;

    for (; left; text += one, left -= one)
        if (!(one = sw_text_utf8_char(text, left)))
            return false;
    return true;
}

char *sw_text_utf8(const char *bytes, size_t length)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    for (size_t i = 0; i < length;) {
        size_t n = sw_text_utf8_char(bytes + i, length - i);

        if (n == 0 || bytes[i] == '\0') {
            sw_buf_add(&out, "\xef\xbf\xbd");
            i++;
        } else {
            sw_buf_add_bytes(&out, bytes + i, n);
            i += n;
        }
    }
    return sw_buf_steal(&out);
}

char *sw_text_printable(const char *bytes, size_t length)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)bytes[i];
        size_t n = sw_text_utf8_char(bytes + i, length - i);

        if (n == 0) {
            sw_buf_add(&out, "\xef\xbf\xbd");
            i++;
        } else if (n == 2 && c == 0xc2 && (unsigned char)bytes[i + 1] < 0xa0) {
            sw_buf_addf(&out, "\\x%02x", (unsigned char)bytes[i + 1]);   /* C1 controls */
            i += 2;
        } else if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f) {
            sw_buf_addf(&out, "^%c", c == 0x7f ? '?' : c + '@');
            i++;
        } else {
            sw_buf_add_bytes(&out, bytes + i, n);
            i += n;
        }
    }
    return sw_buf_steal(&out);
}

/* Edit distance with swaps of neighbours, words of up to 63 characters. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][64];
    size_t la = strlen(a), lb = strlen(b);

    if (la > 63 || lb > 63)
        return SIZE_MAX;
    for (size_t j = 0; j <= lb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[la % 3][lb];
}

const char *sw_text_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *nearest = NULL;
    size_t best = strlen(word) / 3 + 2;      /* further away is a guess, not a help */

    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, candidates[i]);

        if (d < best) {
            best = d;
            nearest = candidates[i];
        }
    }
    return nearest;
}

/* One character of valid UTF-8: its bytes, and how many terminal columns it takes. libc's
 * wcwidth() is not used: it depends on the locale, and ours is always UTF-8. */
static size_t next_char(const char *text, size_t *columns)
{
    static const struct { uint32_t first, last; size_t columns; } ranges[] = {
        { 0x0300, 0x036f, 0 },   { 0x200b, 0x200f, 0 },   { 0xfe00, 0xfe0f, 0 },
        { 0x1100, 0x115f, 2 },   { 0x2e80, 0xa4cf, 2 },   { 0xac00, 0xd7a3, 2 },
        { 0xf900, 0xfaff, 2 },   { 0xfe30, 0xfe6f, 2 },   { 0xff00, 0xff60, 2 },
        { 0xffe0, 0xffe6, 2 },   { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
        { 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
    };
    unsigned char lead = (unsigned char)*text;
    size_t bytes = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t point = bytes == 1 ? lead : lead & (0x7fu >> bytes);

    for (size_t i = 1; i < bytes; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) {
            bytes = i;                     /* cut off in the middle: never past the end */
            break;
        }
        point = point << 6 | ((unsigned char)text[i] & 0x3f);
    }
    *columns = 1;
    for (size_t i = 0; i < SW_COUNT(ranges); i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            *columns = ranges[i].columns;
    return bytes;
}

size_t sw_text_columns(const char *text)
{
    size_t total = 0;

    while (*text) {
        size_t columns;

        text += next_char(text, &columns);
        total += columns;
    }
    return total;
}

char *sw_text_fit(const char *text, size_t width)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    size_t used = 0;

    if (sw_text_columns(text) <= width)
        return sw_strdup(text);
    while (*text) {
        size_t columns, bytes = next_char(text, &columns);

        if (used + columns + 1 > width)
            break;
        sw_buf_add_bytes(&out, text, bytes);
        used += columns;
        text += bytes;
    }
    if (width > 0)
        sw_buf_add(&out, "\xe2\x80\xa6");
    return sw_buf_steal(&out);
}
