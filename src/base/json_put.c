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

/* How many bytes from here on need no care. */
static size_t plain_length(const char *text, const char *end)
{
    const char *at = text;

    while (at < end && is_plain((unsigned char)*at))
        at++;
    return (size_t)(at - text);
}

/* One character that needs it; returns what follows. */
static const char *put_with_care(struct sw_buf *out, const char *text, const char *end)
{
    size_t wide = sw_text_utf8_char(text, (size_t)(end - text));

    if (wide == 1)
        put_escaped(out, *text);
    else
        sw_buf_add_bytes(out, wide ? text : "\xef\xbf\xbd", wide ? wide : 3);
    return text + (wide ? wide : 1);
}

static void put_text(struct sw_buf *out, const char *text)
{
    size_t length = strlen(text);
    const char *end = text + length;

    sw_buf_reserve(out, length + 2);
    sw_buf_add_bytes(out, "\"", 1);
    while (text < end) {
        size_t plain = plain_length(text, end);

        sw_buf_add_bytes(out, text, plain);
        text += plain;
        if (text < end)
            text = put_with_care(out, text, end);
    }
    sw_buf_add_bytes(out, "\"", 1);
}

static void put_time(struct sw_buf *out, int64_t at_ms)
{
    char text[40];

    sw_time_format(at_ms, text);
    put_text(out, text);
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
        if (field->text)
            put_text(out, field->text);
        else
            sw_buf_add_bytes(out, "null", 4);
        break;
    case SW_PUTS_NUMBER:
        sw_buf_add_number(out, field->number);
        break;
    case SW_PUTS_TIME:
        if (field->number)
            put_time(out, field->number);
        else
            sw_buf_add_bytes(out, "null", 4);
        break;
    case SW_PUTS_DOCUMENT:
        put_document(out, field->document);
        break;
    }
}

static bool is_left_out(const struct sw_json_put *field)
{
    return !field->key || (field->kind == SW_PUTS_DOCUMENT && !field->document);
}

void sw_json_put_object_of(struct sw_buf *out, const struct sw_json_put *fields, size_t count)
{
    char before = '{';

    for (size_t i = 0; i < count; i++) {
        size_t length;
        char *at;

        if (is_left_out(&fields[i]))
            continue;
        length = strlen(fields[i].key);
        at = sw_buf_reserve(out, length + 4);
        at[0] = before;
        at[1] = '"';
        memcpy(at + 2, fields[i].key, length);
        memcpy(at + 2 + length, "\":", sizeof "\":");
        out->length += length + 4;
        put_value(out, &fields[i]);
        before = ',';
    }
    sw_buf_add(out, before == '{' ? "{}" : "}");
}
