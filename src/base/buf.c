/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.c - the growing text of buf.h.
 *
 * Shell quoting lives here because this is the only way a value enters a shell script:
 * words made of harmless characters stay bare, everything else goes between single quotes
 * (the rule of contract.md 3.1, so that rendered scripts compare equal).
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sw_buf_done(struct sw_buf *buf)
{
    free(buf->data);
    *buf = (struct sw_buf)SW_BUF_INIT;
}

char *sw_buf_reserve(struct sw_buf *buf, size_t more)
{
    size_t need = buf->length + more + 1;

    if (need > buf->room) {
        size_t room = buf->room ? buf->room : 64;

        while (room < need)
            room *= 2;
        buf->data = sw_realloc_array(buf->data, room, 1);
        buf->room = room;
        buf->data[buf->length] = '\0';
    }
    return buf->data + buf->length;
}

void sw_buf_add_bytes(struct sw_buf *buf, const void *bytes, size_t length)
{
    char *end = sw_buf_reserve(buf, length);

    if (length)
        memcpy(end, bytes, length);
    buf->length += length;
    buf->data[buf->length] = '\0';
}

void sw_buf_add(struct sw_buf *buf, const char *text)
{
    sw_buf_add_bytes(buf, text, strlen(text));
}

void sw_buf_add_char(struct sw_buf *buf, char c)
{
    sw_buf_add_bytes(buf, &c, 1);
}

void sw_buf_add_number(struct sw_buf *buf, int64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;

    do
        digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0)
        digits[--at] = '-';
    sw_buf_add_bytes(buf, digits + at, sizeof digits - at);
}

void sw_buf_addf(struct sw_buf *buf, const char *fmt, ...)
{
    va_list args, again;
    size_t room = 120;          /* enough for most; else once more with what is needed */
    int used;

    va_start(args, fmt);
    va_copy(again, args);
    used = vsnprintf(sw_buf_reserve(buf, room), room + 1, fmt, args);
    if (used > (int)room)
        used = vsnprintf(sw_buf_reserve(buf, (size_t)used), (size_t)used + 1, fmt, again);
    va_end(again);
    va_end(args);
    if (used > 0)
        buf->length += (size_t)used;
}

void sw_buf_add_quoted(struct sw_buf *buf, const char *text)
{
    static const char harmless[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                   "0123456789_@%+=:,./-";

    if (*text && text[strspn(text, harmless)] == '\0') {
        sw_buf_add(buf, text);
        return;
    }
    sw_buf_add_char(buf, '\'');
    for (;;) {
        size_t plain = strcspn(text, "'");

        sw_buf_add_bytes(buf, text, plain);
        text += plain;
        if (!*text++)
            break;
        sw_buf_add(buf, "'\"'\"'");
    }
    sw_buf_add_char(buf, '\'');
}

void sw_buf_clear(struct sw_buf *buf)
{
    buf->length = 0;
    if (buf->data)
        buf->data[0] = '\0';
}

const char *sw_buf_text(const struct sw_buf *buf)
{
    return buf->data ? buf->data : "";
}

char *sw_buf_steal(struct sw_buf *buf)
{
    char *text = buf->data ? buf->data : sw_strdup("");

    *buf = (struct sw_buf)SW_BUF_INIT;
    return text;
}
