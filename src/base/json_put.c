/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_put.c - the writer of json_put.h.
 *
 * A list of a hundred jobs has four thousand fields. As a tree of jansson's objects they cost more than
 * everything else in a refresh together; as text they are copied once. Documents that are trees already
 * are left to jansson.
 */
#include "base/json_put.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"

enum { DIGITS = 20 };

/* Needs no escape, and is a character by itself. */
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static void put_escaped(struct sw_buf *out, char c)
{
    static const struct { char c; const char *text; } short_forms[] = {
        { '"', "\\\"" }, { '\\', "\\\\" }, { '\b', "\\b" }, { '\f', "\\f" }, { '\n', "\\n" },
        { '\r', "\\r" }, { '\t', "\\t" },
    };

    for (size_t i = 0; i < SW_COUNT(short_forms); i++)
        if (short_forms[i].c == c) {
            sw_buf_add(out, short_forms[i].text);
            return;
        }
    sw_buf_addf(out, "\\u%04X", (unsigned)c);
}

static void put_text(struct sw_buf *out, const char *text)
{
    const char *end = text ? text + strlen(text) : NULL;

    if (!text) {
        sw_buf_add(out, "null");
        return;
    }
    sw_buf_add_char(out, '"');
    while (text < end) {
        size_t plain = 0, wide;

        while (is_plain((unsigned char)text[plain]))
            plain++;
        sw_buf_add_bytes(out, text, plain);
        text += plain;
        if (text == end)
            break;
        if ((unsigned char)*text < 0x80) {
            put_escaped(out, *text++);
        } else {
            wide = sw_text_utf8_char(text, (size_t)(end - text));
            sw_buf_add_bytes(out, wide ? text : "\xef\xbf\xbd", wide ? wide : 3);
            text += wide ? wide : 1;
        }
    }
    sw_buf_add_char(out, '"');
}

static void put_number(struct sw_buf *out, int64_t number)
{
    char digits[DIGITS];
    size_t at = DIGITS;
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;

    do
        digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0)
        sw_buf_add_char(out, '-');
    sw_buf_add_bytes(out, digits + at, DIGITS - at);
}

static void put_time(struct sw_buf *out, int64_t at_ms)
{
    char text[40];

    if (at_ms)
        sw_time_format(at_ms, text);
    put_text(out, at_ms ? text : NULL);
}

static void put_document(struct sw_buf *out, const json_t *document)
{
    sw_autofree char *text = sw_json_dump(document);

    sw_buf_add(out, text);
}

static void put_value(struct sw_buf *out, const struct sw_json_put *field)
{
    switch (field->kind) {
    case SW_PUTS_WORD:
        sw_buf_add(out, field->text);
        break;
    case SW_PUTS_TEXT:
        put_text(out, field->text);
        break;
    case SW_PUTS_NUMBER:
        put_number(out, field->number);
        break;
    case SW_PUTS_TIME:
        put_time(out, field->number);
        break;
    case SW_PUTS_DOCUMENT:
        put_document(out, field->document);
        break;
    }
}

void sw_json_put_object_of(struct sw_buf *out, const struct sw_json_put *fields, size_t count)
{
    bool first = true;

    sw_buf_add_char(out, '{');
    for (size_t i = 0; i < count; i++) {
        const struct sw_json_put *field = &fields[i];

        if (!field->key || (field->kind == SW_PUTS_DOCUMENT && !field->document))
            continue;
        sw_buf_add(out, first ? "\"" : ",\"");
        sw_buf_add(out, field->key);
        sw_buf_add_bytes(out, "\":", 2);
        put_value(out, field);
        first = false;
    }
    sw_buf_add_char(out, '}');
}
