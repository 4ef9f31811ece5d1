/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_positions.c - the line and column of each path of a document, the text that a number was written
 * with, and how a path is spelled.
 *
 * The table holds no path texts, only a 64-bit hash made step by step: a document with one
 * very long key above many elements would otherwise need that key once for each of them. Two
 * paths with one hash would cost a wrong line number in a message, never a wrong value.
 */
#include "base/document_internal.h"

#include <stdio.h>
#include <string.h>

struct slot {
    sw_where where;               /* 0: free */
    struct sw_position place;     /* 0:0: none of its own, as below an alias */
    char *written;                /* NULL: the value says it all */
};

struct sw_positions {
    struct slot *slots;
    size_t room, count;           /* room is a power of two, at most two thirds in use */
};

static sw_where hash_bytes(sw_where hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

/* FNV alone spreads its low bits badly, and the low bits choose the slot. */
static sw_where finish(sw_where hash)
{
    hash ^= hash >> 32;
    hash *= 0x9fb21c651e98df25u;
    hash ^= hash >> 29;
    return hash ? hash : 1;
}

sw_where sw_where_key(sw_where parent, const char *key, size_t length)
{
    return finish(hash_bytes(hash_bytes(parent, ".", 1), key, length));
}

sw_where sw_where_index(sw_where parent, size_t index)
{
    uint64_t number = index;

    return finish(hash_bytes(hash_bytes(parent, "[", 1), &number, sizeof number));
}

struct sw_positions *sw_positions_new(void)
{
    return sw_new(struct sw_positions);
}

void sw_positions_free(struct sw_positions *positions)
{
    if (!positions)
        return;
    for (size_t i = 0; i < positions->room; i++)
        free(positions->slots[i].written);
    free(positions->slots);
    free(positions);
}

static struct slot *slot_of(const struct sw_positions *positions, sw_where where)
{
    size_t i = where & (positions->room - 1);

    while (positions->slots[i].where && positions->slots[i].where != where)
        i = (i + 1) & (positions->room - 1);
    return &positions->slots[i];
}

static void grow(struct sw_positions *positions)
{
    struct sw_positions larger = { .room = positions->room ? positions->room * 2 : 64 };

    larger.slots = sw_alloc(larger.room * sizeof *larger.slots);
    for (size_t i = 0; i < positions->room; i++)
        if (positions->slots[i].where)
            *slot_of(&larger, positions->slots[i].where) = positions->slots[i];
    larger.count = positions->count;
    free(positions->slots);
    *positions = larger;
}

static struct slot *slot_for(struct sw_positions *positions, sw_where where)
{
    struct slot *slot;

    if ((positions->count + 1) * 3 > positions->room * 2)
        grow(positions);
    slot = slot_of(positions, where);
    positions->count += slot->where == 0;
    slot->where = where;
    return slot;
}

/* The first place stays: where a TOML table is reopened, people look for its beginning. */
void sw_positions_add(struct sw_positions *positions, sw_where where, struct sw_position place)
{
    struct slot *slot = positions ? slot_for(positions, where) : NULL;

    if (slot && slot->place.line == 0)
        slot->place = place;
}

/* Does the value alone give this text again? */
static bool says_it_all(const json_t *value, const char *text)
{
    char number[32];

    if (json_is_boolean(value))
        return strcmp(text, json_is_true(value) ? "true" : "false") == 0;
    snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return !json_is_number(value) || (json_is_integer(value) && strcmp(text, number) == 0);
}

void sw_positions_write(struct sw_positions *positions, sw_where where, const json_t *value,
                        const char *text)
{
    struct slot *slot;

    if (!positions || says_it_all(value, text))
        return;
    slot = slot_for(positions, where);
    free(slot->written);
    slot->written = sw_strdup(text);
}

void sw_positions_copy_written(struct sw_positions *positions, const json_t *value, sw_where from,
                               sw_where to)
{
    const char *key, *written = sw_positions_written(positions, from);
    json_t *child;
    size_t i;

    if (written) {
        sw_autofree char *text = sw_strdup(written);         /* the table may move */

        sw_positions_write(positions, to, value, text);
    }
    json_array_foreach(value, i, child)
        sw_positions_copy_written(positions, child, sw_where_index(from, i), sw_where_index(to, i));
    json_object_foreach((json_t *)value, key, child)
        sw_positions_copy_written(positions, child, sw_where_key(from, key, strlen(key)),
                                  sw_where_key(to, key, strlen(key)));
}

const char *sw_positions_written(const struct sw_positions *positions, sw_where where)
{
    return positions && positions->room ? slot_of(positions, where)->written : NULL;
}

struct sw_position sw_positions_get(const struct sw_positions *positions, sw_where where)
{
    if (!positions || positions->room == 0)
        return (struct sw_position){ 0, 0 };
    return slot_of(positions, where)->place;         /* a free slot is all zero */
}

/* ---- paths ------------------------------------------------------------------------------- */

static bool is_odd_key(const char *key)
{
    if (*key == '\0')
        return true;
    for (; *key; key++)
        if (strchr(".[]\"\\", *key) || (unsigned char)*key < 0x20)
            return true;
    return false;
}

void sw_path_add_key(struct sw_buf *path, const char *key)
{
    if (!is_odd_key(key)) {
        if (path->length)
            sw_buf_add_char(path, '.');
        sw_buf_add(path, key);
        return;
    }
    sw_buf_add(path, "[\"");
    for (; *key; key++) {
        if (*key == '\n') {
            sw_buf_add(path, "\\n");
        } else {
            if (*key == '"' || *key == '\\')
                sw_buf_add_char(path, '\\');
            sw_buf_add_char(path, *key);
        }
    }
    sw_buf_add(path, "\"]");
}

void sw_path_add_index(struct sw_buf *path, size_t index)
{
    sw_buf_addf(path, "[%zu]", index);
}

static const char *bracketed_key(const char *at, struct sw_buf *key)
{
    for (; *at && *at != '"'; at++) {
        bool escaped = *at == '\\' && at[1];

        if (escaped)
            at++;
        sw_buf_add_char(key, escaped && *at == 'n' ? '\n' : *at);
    }
    if (*at == '"')
        at++;
    return *at == ']' ? at + 1 : at;
}

/* One step of a path: `*where` goes down, the rest of the path is returned. */
static const char *next_step(const char *at, sw_where *where)
{
    size_t length;

    if (at[0] == '[' && at[1] == '"') {
        sw_auto(sw_buf) struct sw_buf key = SW_BUF_INIT;

        at = bracketed_key(at + 2, &key);
        *where = sw_where_key(*where, sw_buf_text(&key), key.length);
    } else if (at[0] == '[') {
        char *end;

        *where = sw_where_index(*where, strtoull(at + 1, &end, 10));
        at = *end == ']' ? end + 1 : end;
    } else {
        length = strcspn(at, ".[");
        *where = sw_where_key(*where, at, length);
        at += length;
    }
    return *at == '.' ? at + 1 : at;
}

const char *sw_positions_find_written(const struct sw_positions *positions, const char *path)
{
    sw_where where = SW_WHERE_ROOT;

    while (*path) {
        const char *rest = next_step(path, &where);

        if (rest == path)
            return NULL;
        path = rest;
    }
    return sw_positions_written(positions, where);
}

struct sw_position sw_positions_find(const struct sw_positions *positions, const char *path)
{
    sw_where where = SW_WHERE_ROOT;
    struct sw_position nearest = sw_positions_get(positions, where);

    while (*path) {
        struct sw_position here;
        const char *rest = next_step(path, &where);

        if (rest == path)
            break;
        here = sw_positions_get(positions, where);
        if (here.line)
            nearest = here;
        path = rest;
    }
    return nearest;
}
