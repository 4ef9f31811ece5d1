/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toml_read.c - TOML 1.0: lines, keys and tables.
 *
 * The hard part of TOML is not its values but which table may be extended where: [a.b] twice is
 * wrong, [a] after [a.b] is right, a.b = 1 after [a.b] is wrong again. So each table carries a
 * mark of how it came to be (enum toml_kind), kept beside the value by its address, and the
 * two walks below - along a header, along a dotted key - are the only places that ask for it.
 *
 * See docs/decisions/0003-our-own-toml.md for why this is ours.
 */
#include "base/toml.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/toml_internal.h"

/* ---- the text ---------------------------------------------------------------------------- */

int toml_peek_at(const struct toml *t, size_t ahead)
{
    size_t at = t->at + ahead;

    return at < t->source->length ? (unsigned char)t->source->text[at] : -1;
}

int toml_peek(const struct toml *t)
{
    return toml_peek_at(t, 0);
}

void toml_skip(struct toml *t, size_t bytes)
{
    for (; bytes > 0; bytes--, t->at++) {
        if (toml_peek(t) == '\n')
            t->place = (struct sw_position){ t->place.line + 1, 1 };
        else
            t->place.column += (toml_peek(t) & 0xc0) != 0x80;
    }
}

int toml_fail(const struct toml *t, struct sw_position place, const char *fmt, ...)
{
    char why[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    return sw_source_fail(t->source, place, "%s", why);
}

void toml_skip_space(struct toml *t)
{
    while (toml_peek(t) == ' ' || toml_peek(t) == '\t')
        toml_skip(t, 1);
}

bool toml_at_line_end(const struct toml *t)
{
    return toml_peek(t) == '\n' || (toml_peek(t) == '\r' && toml_peek_at(t, 1) == '\n');
}

static int skip_comment(struct toml *t)
{
    if (toml_peek(t) != '#')
        return 0;
    for (; toml_peek(t) >= 0 && !toml_at_line_end(t); toml_skip(t, 1)) {
        int c = toml_peek(t);

        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return toml_fail(t, t->place, "control character in a comment");
    }
    return 0;
}

static void skip_line_end(struct toml *t)
{
    toml_skip(t, toml_peek(t) == '\r' ? 2 : 1);
}

int toml_skip_lines(struct toml *t)
{
    for (;;) {
        toml_skip_space(t);
        if (skip_comment(t) < 0)
            return -1;
        if (!toml_at_line_end(t))
            return 0;
        skip_line_end(t);
    }
}

/* After a header or a pair nothing but a comment may follow on its line. */
static int end_line(struct toml *t)
{
    toml_skip_space(t);
    if (skip_comment(t) < 0)
        return -1;
    if (toml_peek(t) >= 0 && !toml_at_line_end(t))
        return toml_fail(t, t->place, "expected a new line");
    return 0;
}

/* ---- marks ------------------------------------------------------------------------------- */

static struct toml_mark *mark_slot(struct toml_mark *marks, size_t room, const json_t *value)
{
    size_t i = ((uintptr_t)value >> 4) * (size_t)0x9e3779b97f4a7c15u & (room - 1);

    while (marks[i].value && marks[i].value != value)
        i = (i + 1) & (room - 1);
    return &marks[i];
}

static void grow_marks(struct toml *t)
{
    size_t room = t->marks_room ? t->marks_room * 2 : 64;
    struct toml_mark *marks = sw_alloc(room * sizeof *marks);

    for (size_t i = 0; i < t->marks_room; i++)
        if (t->marks[i].value)
            *mark_slot(marks, room, t->marks[i].value) = t->marks[i];
    free(t->marks);
    t->marks = marks;
    t->marks_room = room;
}

void toml_mark(struct toml *t, const json_t *value, enum toml_kind kind)
{
    struct toml_mark *slot;

    if ((t->marks_count + 1) * 2 > t->marks_room)
        grow_marks(t);
    slot = mark_slot(t->marks, t->marks_room, value);
    if (!slot->value)
        t->marks_count++;
    *slot = (struct toml_mark){ value, kind };
}

static enum toml_kind kind_of(const struct toml *t, const json_t *value)
{
    return t->marks_room ? mark_slot(t->marks, t->marks_room, value)->kind : TOML_NO_TABLE;
}

int toml_count_node(struct toml *t, int depth)
{
    if (++t->nodes > SW_DOCUMENT_NODES)
        return toml_fail(t, t->place, "more than %d values", SW_DOCUMENT_NODES);
    if (depth > SW_DOCUMENT_DEPTH)
        return toml_fail(t, t->place, "nested deeper than %d levels", SW_DOCUMENT_DEPTH);
    return 0;
}

/* ---- keys -------------------------------------------------------------------------------- */

static void toml_key_auto(struct toml_key *key)
{
    for (size_t i = 0; i < key->count; i++)
        free(key->parts[i].text);
}

static bool is_bare(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static int read_part(struct toml *t, struct toml_key *key)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    struct sw_position place = t->place;

    if (key->count == SW_COUNT(key->parts))
        return toml_fail(t, place, "nested deeper than %d levels", SW_DOCUMENT_DEPTH);
    if (toml_peek(t) == '"' || toml_peek(t) == '\'') {
        if (toml_read_string(t, true, &text) < 0)
            return -1;
    } else {
        for (; is_bare(toml_peek(t)); toml_skip(t, 1))
            sw_buf_add_char(&text, (char)toml_peek(t));
        if (text.length == 0)
            return toml_fail(t, place, "key expected");
    }
    key->parts[key->count].place = place;
    key->parts[key->count].length = text.length;
    key->parts[key->count++].text = sw_buf_steal(&text);
    return 0;
}

static int read_key(struct toml *t, struct toml_key *key)
{
    for (;;) {
        if (read_part(t, key) < 0)
            return -1;
        toml_skip_space(t);
        if (toml_peek(t) != '.')
            return 0;
        toml_skip(t, 1);
        toml_skip_space(t);
    }
}

/* ---- walks ------------------------------------------------------------------------------- */

/* A table while we walk: the value, its path, its level. */
struct spot {
    json_t *table;
    sw_where where;
    int depth;
};

static json_t *member(const struct spot *spot, const struct toml_part *part)
{
    return json_object_getn(spot->table, part->text, part->length);
}

static int fail_again(const struct toml *t, const struct toml_part *part, sw_where where)
{
    struct sw_position first = sw_positions_get(t->source->positions, where);

    if (first.line == 0)
        return toml_fail(t, part->place, "duplicate key '%s'", part->text);
    return toml_fail(t, part->place, "duplicate key '%s' (first on line %d)", part->text,
                     first.line);
}

static void go_down(struct spot *spot, json_t *table, sw_where where)
{
    *spot = (struct spot){ table, where, spot->depth + 1 };
}

static int make_table(struct toml *t, struct spot *spot, const struct toml_part *part,
                      enum toml_kind kind)
{
    json_t *table = json_object();
    sw_where where = sw_where_key(spot->where, part->text, part->length);

    json_object_setn_new(spot->table, part->text, part->length, table);
    toml_mark(t, table, kind);
    sw_positions_add(t->source->positions, where, part->place);
    go_down(spot, table, where);
    return toml_count_node(t, spot->depth);
}

static void enter_last(struct spot *spot, json_t *list, sw_where where)
{
    size_t last = json_array_size(list) - 1;

    go_down(spot, list, where);
    go_down(spot, json_array_get(list, last), sw_where_index(where, last));
}

/* Along [a.b.c] to the table that shall hold c. */
static int walk_header(struct toml *t, const struct toml_key *key, struct spot *spot)
{
    for (size_t i = 0; i + 1 < key->count; i++) {
        const struct toml_part *part = &key->parts[i];
        sw_where where = sw_where_key(spot->where, part->text, part->length);
        json_t *value = member(spot, part);
        enum toml_kind kind = value ? kind_of(t, value) : TOML_NO_TABLE;

        if (!value) {
            if (make_table(t, spot, part, TOML_IMPLIED) < 0)
                return -1;
        } else if (kind == TOML_TABLE_LIST) {
            enter_last(spot, value, where);
        } else if (kind == TOML_NO_TABLE || kind == TOML_INLINE) {
            return fail_again(t, part, where);
        } else {
            go_down(spot, value, where);
        }
    }
    return 0;
}

/* Along a.b.c = to the table that shall hold c: only through what such keys made themselves. */
static int walk_dotted(struct toml *t, const struct toml_key *key, struct spot *spot)
{
    for (size_t i = 0; i + 1 < key->count; i++) {
        const struct toml_part *part = &key->parts[i];
        sw_where where = sw_where_key(spot->where, part->text, part->length);
        json_t *value = member(spot, part);

        if (!value) {
            if (make_table(t, spot, part, TOML_DOTTED) < 0)
                return -1;
        } else if (kind_of(t, value) != TOML_DOTTED) {
            return fail_again(t, part, where);
        } else {
            go_down(spot, value, where);
        }
    }
    return 0;
}

static int open_table(struct toml *t, const struct toml_key *key, struct spot *spot)
{
    const struct toml_part *last = &key->parts[key->count - 1];
    sw_where where;
    json_t *value;

    if (walk_header(t, key, spot) < 0)
        return -1;
    value = member(spot, last);
    if (!value)
        return make_table(t, spot, last, TOML_HEADER);
    where = sw_where_key(spot->where, last->text, last->length);
    if (kind_of(t, value) != TOML_IMPLIED)
        return fail_again(t, last, where);
    toml_mark(t, value, TOML_HEADER);
    go_down(spot, value, where);
    return 0;
}

static int open_list_element(struct toml *t, const struct toml_key *key, struct spot *spot)
{
    const struct toml_part *last = &key->parts[key->count - 1];
    sw_where where;
    json_t *list, *element;

    if (walk_header(t, key, spot) < 0)
        return -1;
    where = sw_where_key(spot->where, last->text, last->length);
    list = member(spot, last);
    if (list && kind_of(t, list) != TOML_TABLE_LIST)
        return fail_again(t, last, where);
    if (!list) {
        list = json_array();
        json_object_setn_new(spot->table, last->text, last->length, list);
        toml_mark(t, list, TOML_TABLE_LIST);
        sw_positions_add(t->source->positions, where, last->place);
    }
    element = json_object();
    json_array_append_new(list, element);
    toml_mark(t, element, TOML_HEADER);
    enter_last(spot, list, where);
    sw_positions_add(t->source->positions, spot->where, last->place);
    return toml_count_node(t, spot->depth);
}

/* [a.b] or [[a.b]]; afterwards `spot` is the table that following pairs belong to. */
static int read_header(struct toml *t, struct spot *spot)
{
    sw_auto(toml_key) struct toml_key key = { .count = 0 };
    size_t brackets = toml_peek_at(t, 1) == '[' ? 2 : 1;

    toml_skip(t, brackets);
    toml_skip_space(t);
    if (read_key(t, &key) < 0)
        return -1;
    for (size_t i = 0; i < brackets; i++, toml_skip(t, 1))
        if (toml_peek(t) != ']')
            return toml_fail(t, t->place, "expected ']' to close the header");
    return (brackets == 2 ? open_list_element : open_table)(t, &key, spot);
}

int toml_read_pair(struct toml *t, json_t *table, sw_where where, int depth)
{
    sw_auto(toml_key) struct toml_key key = { .count = 0 };
    struct spot spot = { table, where, depth };
    const struct toml_part *last;
    json_t *value;

    if (read_key(t, &key) < 0)
        return -1;
    if (toml_peek(t) != '=')
        return toml_fail(t, t->place, "expected '=' after the key");
    toml_skip(t, 1);
    toml_skip_space(t);
    if (walk_dotted(t, &key, &spot) < 0)
        return -1;
    last = &key.parts[key.count - 1];
    where = sw_where_key(spot.where, last->text, last->length);
    if (member(&spot, last))
        return fail_again(t, last, where);
    sw_positions_add(t->source->positions, where, last->place);
    value = toml_read_value(t, where, spot.depth + 1);
    if (!value)
        return -1;
    json_object_setn_new(spot.table, last->text, last->length, value);
    return 0;
}

static int read_lines(struct toml *t, json_t *root)
{
    const struct spot top = { root, SW_WHERE_ROOT, 0 };
    struct spot spot = top;

    for (;;) {
        if (toml_skip_lines(t) < 0)
            return -1;
        if (toml_peek(t) < 0)
            return 0;
        if (toml_peek(t) == '[') {
            spot = top;
            if (read_header(t, &spot) < 0)
                return -1;
        } else if (toml_read_pair(t, spot.table, spot.where, spot.depth) < 0) {
            return -1;
        }
        if (end_line(t) < 0)
            return -1;
    }
}

json_t *sw_toml_read(const char *text, size_t length, const char *name, bool tagged,
                     struct sw_positions *positions, struct sw_error *err)
{
    struct sw_source source = { text, length, name, positions, err };
    struct toml toml = { .source = &source, .tagged = tagged, .place = { 1, 1 } };
    sw_auto(json) json_t *root = json_object();
    int result;

    if (sw_source_check(&source) < 0)
        return NULL;
    sw_positions_add(positions, SW_WHERE_ROOT, toml.place);
    result = read_lines(&toml, root);
    free(toml.marks);
    return result < 0 ? NULL : sw_take(root);
}
