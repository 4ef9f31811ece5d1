/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_read.c - YAML to a value with places, over libyaml's events.
 *
 * Events rather than libyaml's document tree, because an alias must be counted before it is
 * copied: nine lines of aliases to aliases would otherwise become gigabytes. Every alias is a
 * copy of its own, so that a later change of a value changes one place only.
 *
 * Stricter than YAML where laxness hides mistakes: a key given twice, a second document, a
 * tag we cannot honour, a number that means two things (yaml_scalar.c) are errors.
 */
#include "base/document_internal.h"

#include <string.h>
#include <yaml.h>

#include "base/text.h"

struct yaml_reader {
    const struct sw_source *source;
    yaml_parser_t parser;
    json_t *anchors;              /* name -> value, shared with the document */
    json_t *anchored;             /* name -> where that value is, as a number */
    size_t nodes, bytes;          /* of the document, aliases counted in full */
};

static inline void yaml_event_auto(yaml_event_t *event)
{
    yaml_event_delete(event);
}

static struct sw_position place_of(yaml_mark_t mark)
{
    return (struct sw_position){ (int)mark.line + 1, (int)mark.column + 1 };
}

static json_t *refuse(const struct yaml_reader *r, yaml_mark_t mark, const char *why)
{
    sw_source_fail(r->source, place_of(mark), "%s", why);
    return NULL;
}

/* libyaml counts characters, not bytes. */
static bool is_tab_at(const struct sw_source *source, size_t character)
{
    size_t at = 0;

    while (character-- > 0 && at < source->length)
        at += sw_text_utf8_char(source->text + at, source->length - at);
    return at < source->length && source->text[at] == '\t';
}

/* libyaml's words are good, except for the one mistake everybody makes: a tab. */
static int fail_syntax(const struct yaml_reader *r)
{
    const yaml_parser_t *p = &r->parser;
    struct sw_position place = place_of(p->problem_mark);

    if (p->error == YAML_READER_ERROR)
        return sw_source_fail(r->source, sw_source_place(r->source, p->problem_offset), "%s",
                              p->problem);
    if (is_tab_at(r->source, p->problem_mark.index))
        return sw_source_fail(r->source, place, "tab in indentation: YAML requires spaces");
    if (p->context && p->context_mark.line != p->problem_mark.line)
        return sw_source_fail(r->source, place, "%s, %s that began on line %zu", p->problem,
                              p->context, p->context_mark.line + 1);
    return sw_source_fail(r->source, place, "%s", p->problem ? p->problem : "not valid YAML");
}

static int next(struct yaml_reader *r, yaml_event_t *event)
{
    return yaml_parser_parse(&r->parser, event) ? 0 : fail_syntax(r);
}

/* ---- scalars and aliases ------------------------------------------------------------------ */

static bool is_plain(const yaml_event_t *event)
{
    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && event->data.scalar.plain_implicit;
}

/* A tag such as !!int must agree with what the word means anyway; !!str makes any word a text. */
static json_t *read_tagged(const yaml_event_t *event, const char *text, const char **why)
{
    const char *tag = (const char *)event->data.scalar.tag;
    sw_auto(json) json_t *value = NULL;

    if (strcmp(tag, YAML_STR_TAG) == 0 || strcmp(tag, "!") == 0)
        return json_stringn(text, event->data.scalar.length);
    value = sw_yaml_resolve(text, event->data.scalar.length, why);
    if (!value)
        return NULL;
    if (strcmp(tag, YAML_FLOAT_TAG) == 0 && json_is_integer(value))
        return json_real((double)json_integer_value(value));
    if ((strcmp(tag, YAML_INT_TAG) == 0 && json_is_integer(value)) ||
        (strcmp(tag, YAML_FLOAT_TAG) == 0 && json_is_real(value)) ||
        (strcmp(tag, YAML_BOOL_TAG) == 0 && json_is_boolean(value)) ||
        (strcmp(tag, YAML_NULL_TAG) == 0 && json_is_null(value)))
        return sw_take(value);
    *why = "the value does not fit its tag, or the tag is not supported";
    return NULL;
}

static json_t *read_scalar(struct yaml_reader *r, const yaml_event_t *event, sw_where where)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    const char *why = "not valid text";
    json_t *value;

    r->bytes += length;
    if (memchr(text, '\0', length))
        return refuse(r, event->start_mark, "a string cannot contain a NUL character");
    if (event->data.scalar.tag && !event->data.scalar.plain_implicit &&
        !event->data.scalar.quoted_implicit)
        value = read_tagged(event, text, &why);
    else if (is_plain(event))
        value = sw_yaml_resolve(text, length, &why);
    else
        value = json_stringn(text, length);
    if (value && is_plain(event))
        sw_positions_write(r->source->positions, where, value, text);
    return value ? value : refuse(r, event->start_mark, why);
}

struct weight {
    size_t nodes, bytes;
    int depth;
};

static struct weight weigh(const json_t *value)
{
    struct weight sum = { .nodes = 1, .bytes = json_string_length(value) };
    const char *key;
    json_t *child;
    size_t i;

    json_array_foreach(value, i, child) {
        struct weight w = weigh(child);

        sum = (struct weight){ sum.nodes + w.nodes, sum.bytes + w.bytes,
                               w.depth >= sum.depth ? w.depth + 1 : sum.depth };
    }
    json_object_foreach((json_t *)value, key, child) {
        struct weight w = weigh(child);

        sum = (struct weight){ sum.nodes + w.nodes, sum.bytes + w.bytes + strlen(key),
                               w.depth >= sum.depth ? w.depth + 1 : sum.depth };
    }
    return sum;
}

static sw_where where_of(const json_t *places, const char *name)
{
    return (sw_where)json_integer_value(json_object_get(places, name));
}

static void set_where(json_t *places, const char *name, sw_where where)
{
    json_object_set_new(places, name, json_integer((json_int_t)where));
}

static json_t *read_alias(struct yaml_reader *r, const yaml_event_t *event, sw_where where, int depth)
{
    const char *name = (const char *)event->data.alias.anchor;
    const json_t *value = json_object_get(r->anchors, name);
    struct weight w;

    if (!value) {
        sw_source_fail(r->source, place_of(event->start_mark),
                       "unknown anchor *%s", name);
        return NULL;
    }
    w = weigh(value);
    r->nodes += w.nodes;
    r->bytes += w.bytes;
    if (r->nodes > SW_DOCUMENT_NODES || r->bytes > SW_DOCUMENT_MAX ||
        depth + w.depth > SW_DOCUMENT_DEPTH)
        return refuse(r, event->start_mark, "the aliases make this document too large");
    sw_positions_copy_written(r->source->positions, value, where_of(r->anchored, name), where);
    return json_deep_copy(value);
}

/* ---- lists and mappings -------------------------------------------------------------------- */

static json_t *read_node(struct yaml_reader *r, const yaml_event_t *event, sw_where where, int depth);

static json_t *read_list(struct yaml_reader *r, sw_where where, int depth)
{
    sw_auto(json) json_t *list = json_array();

    for (size_t i = 0;; i++) {
        sw_auto(yaml_event) yaml_event_t event = { 0 };
        sw_where element = sw_where_index(where, i);
        json_t *value;

        if (next(r, &event) < 0)
            return NULL;
        if (event.type == YAML_SEQUENCE_END_EVENT)
            return sw_take(list);
        sw_positions_add(r->source->positions, element, place_of(event.start_mark));
        value = read_node(r, &event, element, depth + 1);
        if (!value)
            return NULL;
        json_array_append_new(list, value);
    }
}

/* What a mapping takes over: values, and where each of them was read. */
struct yaml_inherited {
    json_t *values, *places;
};

static void inherited_done(struct yaml_inherited *inherited)
{
    json_decref(inherited->values);
    json_decref(inherited->places);
}
static inline void inherited_auto(struct yaml_inherited *inherited) { inherited_done(inherited); }

static int inherit(struct yaml_inherited *inherited, const json_t *value, sw_where where)
{
    const char *key;
    json_t *child;

    json_object_foreach((json_t *)value, key, child)
        if (!json_object_get(inherited->values, key)) {
            json_object_set(inherited->values, key, child);
            set_where(inherited->places, key, sw_where_key(where, key, strlen(key)));
        }
    return 0;
}

/* `<<: *base` and `<<: [*first, *second]`: earlier ones win, and own keys win over all. */
static int merge(const struct yaml_reader *r, const yaml_event_t *key, struct yaml_inherited *inherited,
                 const json_t *value, sw_where where)
{
    const json_t *one;
    size_t i;

    if (json_is_object(value))
        return inherit(inherited, value, where);
    json_array_foreach(value, i, one)
        if (json_is_object(one))
            inherit(inherited, one, sw_where_index(where, i));
        else
            break;
    if (json_is_array(value) && i == json_array_size(value))
        return 0;
    return sw_source_fail(r->source, place_of(key->start_mark),
                          "<< takes a mapping or a list of mappings");
}

static bool is_null_word(const yaml_event_t *key)
{
    const char *text = (const char *)key->data.scalar.value, *why;
    sw_auto(json) json_t *value = NULL;

    if (is_plain(key))
        value = sw_yaml_resolve(text, key->data.scalar.length, &why);
    return json_is_null(value);
}

static int check_key(const struct yaml_reader *r, const yaml_event_t *key, const json_t *map,
                     sw_where where)
{
    const char *text = (const char *)key->data.scalar.value;

    if (key->type != YAML_SCALAR_EVENT)
        return sw_source_fail(r->source, place_of(key->start_mark), "a key must be a plain string");
    if (is_null_word(key))
        return sw_source_fail(r->source, place_of(key->start_mark), "key expected");
    if (memchr(text, '\0', key->data.scalar.length))
        return sw_source_fail(r->source, place_of(key->start_mark),
                              "a key cannot contain a NUL character");
    if (json_object_get(map, text)) {
        struct sw_position first = sw_positions_get(r->source->positions, where);

        return sw_source_fail(r->source, place_of(key->start_mark),
                              "duplicate key '%s' (first on line %d)", text, first.line);
    }
    return 0;
}

/* Keys that are numbers or booleans keep their spelling: 8: becomes "8". */
static int read_entry(struct yaml_reader *r, const yaml_event_t *key, json_t *map,
                      struct yaml_inherited *inherited, sw_where parent, int depth)
{
    const char *text = (const char *)key->data.scalar.value;
    sw_auto(yaml_event) yaml_event_t event = { 0 };
    sw_auto(json) json_t *value = NULL;
    sw_where where = SW_WHERE_ROOT;

    if (key->type == YAML_SCALAR_EVENT)
        where = sw_where_key(parent, text, key->data.scalar.length);
    if (check_key(r, key, map, where) < 0)
        return -1;
    sw_positions_add(r->source->positions, where, place_of(key->start_mark));
    r->bytes += key->data.scalar.length;
    if (next(r, &event) < 0)
        return -1;
    value = read_node(r, &event, where, depth + 1);
    if (!value)
        return -1;
    if (key->data.scalar.anchor)
        json_object_set_new(r->anchors, (const char *)key->data.scalar.anchor, json_string(text));
    if (is_plain(key) && strcmp(text, "<<") == 0)
        return merge(r, key, inherited, value, where);
    return json_object_set(map, text, value);
}

static json_t *read_map(struct yaml_reader *r, sw_where where, int depth)
{
    sw_auto(json) json_t *map = json_object();
    sw_auto(inherited) struct yaml_inherited inherited = { json_object(), json_object() };
    const char *name;
    json_t *value;

    for (;;) {
        sw_auto(yaml_event) yaml_event_t key = { 0 };

        if (next(r, &key) < 0)
            return NULL;
        if (key.type == YAML_MAPPING_END_EVENT)
            break;
        if (read_entry(r, &key, map, &inherited, where, depth) < 0)
            return NULL;
    }
    json_object_foreach(inherited.values, name, value)
        if (!json_object_get(map, name)) {
            json_object_set(map, name, value);
            sw_positions_copy_written(r->source->positions, value, where_of(inherited.places, name),
                                      sw_where_key(where, name, strlen(name)));
        }
    return sw_take(map);
}

static bool is_foreign_tag(const yaml_char_t *tag, const char *ours)
{
    return tag && strcmp((const char *)tag, ours) != 0 && strcmp((const char *)tag, "!") != 0;
}

static json_t *read_content(struct yaml_reader *r, const yaml_event_t *event, sw_where where, int depth,
                            const yaml_char_t **anchor)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return read_alias(r, event, where, depth);
    case YAML_SCALAR_EVENT:
        *anchor = event->data.scalar.anchor;
        return read_scalar(r, event, where);
    case YAML_SEQUENCE_START_EVENT:
        *anchor = event->data.sequence_start.anchor;
        if (is_foreign_tag(event->data.sequence_start.tag, YAML_SEQ_TAG))
            return refuse(r, event->start_mark, "this tag is not supported");
        return read_list(r, where, depth);
    case YAML_MAPPING_START_EVENT:
        *anchor = event->data.mapping_start.anchor;
        if (is_foreign_tag(event->data.mapping_start.tag, YAML_MAP_TAG))
            return refuse(r, event->start_mark, "this tag is not supported");
        return read_map(r, where, depth);
    default:
        return refuse(r, event->start_mark, "value expected");
    }
}

static json_t *read_node(struct yaml_reader *r, const yaml_event_t *event, sw_where where, int depth)
{
    const yaml_char_t *anchor = NULL;
    json_t *value;

    if (depth > SW_DOCUMENT_DEPTH) {
        sw_source_fail(r->source, place_of(event->start_mark), "nested deeper than %d levels",
                       SW_DOCUMENT_DEPTH);
        return NULL;
    }
    if (++r->nodes > SW_DOCUMENT_NODES) {
        sw_source_fail(r->source, place_of(event->start_mark), "more than %d values",
                       SW_DOCUMENT_NODES);
        return NULL;
    }
    value = read_content(r, event, where, depth, &anchor);
    if (value && anchor) {
        json_object_set(r->anchors, (const char *)anchor, value);
        set_where(r->anchored, (const char *)anchor, where);
    }
    return value;
}

/* ---- the one document ---------------------------------------------------------------------- */

static int skip(struct yaml_reader *r, yaml_event_type_t wanted, const char *otherwise)
{
    sw_auto(yaml_event) yaml_event_t event = { 0 };

    if (next(r, &event) < 0)
        return -1;
    if (event.type == wanted)
        return 0;
    return sw_source_fail(r->source, place_of(event.start_mark), "%s", otherwise);
}

static json_t *read_document(struct yaml_reader *r)
{
    sw_auto(yaml_event) yaml_event_t start = { 0 }, root = { 0 };
    sw_auto(json) json_t *value = NULL;

    if (skip(r, YAML_STREAM_START_EVENT, "not a YAML stream") < 0 || next(r, &start) < 0)
        return NULL;
    if (start.type == YAML_STREAM_END_EVENT) {
        sw_positions_add(r->source->positions, SW_WHERE_ROOT, (struct sw_position){ 1, 1 });
        return json_null();
    }
    if (next(r, &root) < 0)
        return NULL;
    sw_positions_add(r->source->positions, SW_WHERE_ROOT, place_of(root.start_mark));
    value = read_node(r, &root, SW_WHERE_ROOT, 0);
    if (!value || skip(r, YAML_DOCUMENT_END_EVENT, "expected the end of the document") < 0 ||
        skip(r, YAML_STREAM_END_EVENT, "only one YAML document per file") < 0)
        return NULL;
    return sw_take(value);
}

json_t *sw_yaml_read(const struct sw_source *source)
{
    struct yaml_reader reader = { .source = source, .anchors = json_object(), .anchored = json_object() };
    json_t *value;

    if (!yaml_parser_initialize(&reader.parser)) {
        sw_fail(source->err, SW_E_INTERNAL, "cannot start the YAML reader");
        json_decref(reader.anchors);
        json_decref(reader.anchored);
        return NULL;
    }
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)source->text,
                                 source->length);
    value = read_document(&reader);
    yaml_parser_delete(&reader.parser);
    json_decref(reader.anchors);
    json_decref(reader.anchored);
    return value;
}
