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

size_t sw_text_columns(const char *text)
{
    size_t columns = 0;

    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}
