/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_write.c - a document as text.
 *
 * jansson's own writer looks at every character by itself, which was half the time of a list of a thousand
 * jobs; this one copies what needs no escape in one piece. It also writes each float with as many digits as
 * that float needs, where jansson has one number of digits for all: 17 are always right but turn 0.1 into
 * 0.10000000000000001.
 */
#include "base/json.h"

#include "base/document_internal.h"

#define COMPACT (-1)

static void put_real(struct sw_buf *out, const json_t *value)
{
    size_t digits = (size_t)sw_real_digits(json_real_value(value));
    sw_autofree char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));

    sw_buf_add(out, text ? text : "null");
}

/* What is neither text, number nor filled container. */
static const char *word_of(const json_t *value)
{
    return json_is_object(value) ? "{}" : json_is_array(value) ? "[]" : json_is_true(value) ? "true"
         : json_is_false(value) ? "false" : "null";
}

void sw_put_quoted(struct sw_buf *out, const char *text, size_t length, bool del)
{
    static const char letters[] = "btn?fr";           /* 8 to 13 */
    size_t from = 0;

    sw_buf_add_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c >= 0x20 && c != '"' && c != '\\' && !(del && c == 0x7f))
            continue;
        sw_buf_add_bytes(out, text + from, i - from);
        from = i + 1;
        if (c == '"' || c == '\\')
            sw_buf_addf(out, "\\%c", c);
        else if (c >= 8 && c <= 13 && c != 11)
            sw_buf_addf(out, "\\%c", letters[c - 8]);
        else
            sw_buf_addf(out, "\\u%04X", c);
    }
    sw_buf_add_bytes(out, text + from, length - from);
    sw_buf_add_char(out, '"');
}

static void put_line(struct sw_buf *out, int depth)
{
    if (depth == COMPACT)
        return;
    sw_buf_add_char(out, '\n');
    for (int i = 0; i < depth; i++)
        sw_buf_add(out, "  ");
}

static void put_value(struct sw_buf *out, const json_t *value, int depth);

/* `depth` of what is inside. */
static void put_object(struct sw_buf *out, const json_t *object, int depth)
{
    const char *key, *between = "{";
    json_t *member;
    size_t length;

    json_object_keylen_foreach((json_t *)object, key, length, member) {
        sw_buf_add(out, between);
        put_line(out, depth);
        sw_put_quoted(out, key, length, false);
        sw_buf_add(out, depth == COMPACT ? ":" : ": ");
        put_value(out, member, depth);
        between = ",";
    }
}

static void put_array(struct sw_buf *out, const json_t *array, int depth)
{
    const json_t *member;
    size_t i;

    json_array_foreach(array, i, member) {
        sw_buf_add(out, i ? "," : "[");
        put_line(out, depth);
        put_value(out, member, depth);
    }
}

static void put_value(struct sw_buf *out, const json_t *value, int depth)
{
    int inside = depth == COMPACT ? COMPACT : depth + 1;

    if (json_object_size(value)) {
        put_object(out, value, inside);
        put_line(out, depth);
        sw_buf_add_char(out, '}');
    } else if (json_array_size(value)) {
        put_array(out, value, inside);
        put_line(out, depth);
        sw_buf_add_char(out, ']');
    } else if (json_is_string(value)) {
        sw_put_quoted(out, json_string_value(value), json_string_length(value), false);
    } else if (json_is_integer(value)) {
        sw_buf_add_number(out, json_integer_value(value));
    } else if (json_is_real(value)) {
        put_real(out, value);
    } else {
        sw_buf_add(out, word_of(value));
    }
}

void sw_json_put(struct sw_buf *out, const json_t *document)
{
    put_value(out, document, COMPACT);
}

char *sw_json_dump(const json_t *document)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    put_value(&out, document, COMPACT);
    return sw_buf_steal(&out);
}

char *sw_json_dump_pretty(const json_t *document)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    put_value(&out, document, 0);
    sw_buf_add_char(&out, '\n');
    return sw_buf_steal(&out);
}
