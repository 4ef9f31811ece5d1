/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_read.c - JSON with positions.
 *
 * jansson reads the value but forgets where things stood and how numbers were written. So a small
 * scanner walks the same text a second time, when it is already known to be valid JSON, and counts
 * lines: it can be this short because it never has to decide what is right.
 */
#include "base/document_internal.h"

#include <string.h>

struct scanner {
    const struct sw_source *source;
    size_t at;
    struct sw_position place;
    size_t nodes;
};

static char peek(const struct scanner *s)
{
    return s->at < s->source->length ? s->source->text[s->at] : '\0';
}

static void advance(struct scanner *s)
{
    unsigned char c = (unsigned char)peek(s);

    s->at++;
    if (c == '\n')
        s->place = (struct sw_position){ s->place.line + 1, 1 };
    else
        s->place.column += (c & 0xc0) != 0x80;
}

static void skip_space(struct scanner *s)
{
    while (s->at < s->source->length && strchr(" \t\r\n", peek(s)))
        advance(s);
}

static void skip_string(struct scanner *s)
{
    advance(s);
    while (s->at < s->source->length && peek(s) != '"') {
        if (peek(s) == '\\')
            advance(s);
        advance(s);
    }
    advance(s);
}

static void scan_word(struct scanner *s, sw_where where)
{
    size_t from = s->at;
    sw_autofree char *text = NULL;
    sw_auto(json) json_t *value = NULL;

    while (s->at < s->source->length && !strchr(" \t\r\n,]}", peek(s)))
        advance(s);
    text = sw_strndup(s->source->text + from, s->at - from);
    value = json_loads(text, JSON_DECODE_ANY, NULL);
    if (value)
        sw_positions_write(s->source->positions, where, value, text);
}

/* The key as it is meant, not as it is escaped: jansson knows how to read a string. */
static sw_where key_where(const struct scanner *s, size_t from, sw_where parent)
{
    sw_auto(json) json_t *key = json_loadb(s->source->text + from, s->at - from, JSON_DECODE_ANY,
                                           NULL);

    return sw_where_key(parent, json_string_value(key), json_string_length(key));
}

static int scan_value(struct scanner *s, sw_where where, int depth);

static int scan_member(struct scanner *s, sw_where parent, int depth)
{
    struct sw_position place = s->place;
    size_t from = s->at;
    sw_where where;

    skip_string(s);
    where = key_where(s, from, parent);
    sw_positions_add(s->source->positions, where, place);
    skip_space(s);
    advance(s);                                    /* ':' */
    return scan_value(s, where, depth);
}

static int scan_container(struct scanner *s, sw_where where, int depth)
{
    bool is_object = peek(s) == '{';

    advance(s);
    skip_space(s);
    for (size_t i = 0; s->at < s->source->length && !strchr("]}", peek(s)); i++) {
        sw_where element = sw_where_index(where, i);

        if (!is_object)
            sw_positions_add(s->source->positions, element, s->place);
        if ((is_object ? scan_member(s, where, depth) : scan_value(s, element, depth)) < 0)
            return -1;
        skip_space(s);
        if (peek(s) == ',')
            advance(s);
        skip_space(s);
    }
    advance(s);
    return 0;
}

static int scan_value(struct scanner *s, sw_where where, int depth)
{
    skip_space(s);
    if (depth > SW_DOCUMENT_DEPTH)
        return sw_source_fail(s->source, s->place, "nested deeper than %d levels",
                              SW_DOCUMENT_DEPTH);
    if (++s->nodes > SW_DOCUMENT_NODES)
        return sw_source_fail(s->source, s->place, "more than %d values", SW_DOCUMENT_NODES);
    if (peek(s) == '{' || peek(s) == '[')
        return scan_container(s, where, depth + 1);
    if (peek(s) == '"')
        skip_string(s);
    else
        scan_word(s, where);
    return 0;
}

json_t *sw_json_read(const struct sw_source *source)
{
    struct scanner scanner = { .source = source, .place = { 1, 1 } };
    sw_auto(json) json_t *value = sw_json_parse(source->text, source->length, source->name,
                                                source->err);

    if (!value)
        return NULL;
    skip_space(&scanner);
    sw_positions_add(source->positions, SW_WHERE_ROOT, scanner.place);
    return scan_value(&scanner, SW_WHERE_ROOT, 0) < 0 ? NULL : sw_take(value);
}
