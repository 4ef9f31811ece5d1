/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keypath.c - reading and writing one place of a document by its path.
 *
 * The path is cut into steps (a key, or an index into the list before it); every function walks
 * the same steps. Pure: no I/O.
 */
#include "core/keypath.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"

struct step {
    char *key;               /* owned; NULL: an index */
    size_t index;
};

struct keypath_steps {
    struct step *items;
    size_t count;
};

static void steps_auto(struct keypath_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        free(steps->items[i].key);
    free(steps->items);
}

static void add_step(struct keypath_steps *steps, char *key, size_t index)
{
    steps->items = sw_realloc_array(steps->items, steps->count + 1, sizeof *steps->items);
    steps->items[steps->count++] = (struct step){ key, index };
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* ^\w+\[\d+\]$: length of the word, or 0 when the segment is something else. */
static size_t indexed_word(const char *segment, size_t length, size_t *index)
{
    size_t word = 0, at;

    while (word < length && is_word_char(segment[word]))
        word++;
    if (word == 0 || word + 3 > length || segment[word] != '[' || segment[length - 1] != ']')
        return 0;
    *index = 0;
    for (at = word + 1; at < length - 1; at++) {
        if (!isdigit((unsigned char)segment[at]))
            return 0;
        if (*index <= SW_KEYPATH_INDEX_MAX)
            *index = *index * 10 + (size_t)(segment[at] - '0');
    }
    return word;
}

static void cut(const char *path, struct keypath_steps *out)
{
    for (;;) {
        size_t length = strcspn(path, "."), index = 0;
        size_t word = indexed_word(path, length, &index);

        add_step(out, sw_strndup(path, word ? word : length), 0);
        if (word)
            add_step(out, NULL, index);
        if (!path[length])
            return;
        path += length + 1;
    }
}

static json_t *child(const json_t *at, const struct step *step)
{
    return step->key ? json_object_get(at, step->key) : json_array_get(at, step->index);
}

json_t *sw_keypath_get(const json_t *document, const char *path)
{
    __attribute__((cleanup(steps_auto))) struct keypath_steps steps = { 0 };
    const json_t *at = document;

    cut(path, &steps);
    for (size_t i = 0; at && i < steps.count; i++)
        at = child(at, &steps.items[i]);
    return (json_t *)at;
}

static int put(json_t *at, const struct step *step, json_t *value)
{
    if (step->key)
        return json_object_set_new(at, step->key, value);
    return json_array_set_new(at, step->index, value);
}

/* Room for an index: empty maps before it, and null or a map at it. */
static void pad(json_t *list, size_t index, bool is_last)
{
    while (json_array_size(list) <= index)
        json_array_append_new(list, is_last && json_array_size(list) == index ? json_null()
                                                                             : json_object());
}

/* The container that the next step needs; NULL: something else stands there. */
static json_t *container(json_t *at, const struct step *step, const struct step *next)
{
    json_t *there = child(at, step);
    bool fits = next->key ? json_is_object(there) : json_is_array(there);

    if (fits)
        return there;
    if (there && !json_is_null(there) &&
        !(json_is_object(there) && json_object_size(there) == 0))
        return NULL;
    return put(at, step, next->key ? json_object() : json_array()) < 0 ? NULL : child(at, step);
}

int sw_keypath_set(json_t *document, const char *path, json_t *value, struct sw_error *err)
{
    __attribute__((cleanup(steps_auto))) struct keypath_steps steps = { 0 };
    sw_auto(json) json_t *owned = value;
    json_t *at = document;

    cut(path, &steps);
    for (size_t i = 0; i < steps.count; i++) {
        const struct step *step = &steps.items[i];
        bool is_last = i + 1 == steps.count;

        if (!step->key && step->index > SW_KEYPATH_INDEX_MAX)
            return sw_fail(err, SW_E_SPEC, "'%s': the index is too large", path);
        if (!step->key)
            pad(at, step->index, is_last);
        else if (!json_is_object(at))
            return sw_fail(err, SW_E_SPEC, "'%s': '%s' is not in a mapping", path, step->key);
        if (is_last)
            return put(at, step, sw_take(owned)) == 0
                       ? 0 : sw_fail(err, SW_E_SPEC, "'%s' cannot be set", path);
        at = container(at, step, &steps.items[i + 1]);
        if (!at)
            return sw_fail(err, SW_E_SPEC, "'%s': a value is in the way", path);
    }
    return sw_fail(err, SW_E_SPEC, "an empty path names nothing");
}

int sw_keypath_check(const char *path, struct sw_error *err)
{
    for (const char *segment = path;;) {
        size_t length = strcspn(segment, "."), index, word = 0;

        while (word < length && (is_word_char(segment[word]) || segment[word] == '-'))
            word++;
        if (length == 0 || (word < length && !indexed_word(segment, length, &index))) {
            sw_fail(err, SW_E_SPEC, "'%s' is not a path of a config", path);
            return sw_hint(err, "write it like train.dataset[0].images");
        }
        if (!segment[length])
            return 0;
        segment += length + 1;
    }
}

char *sw_keypath_flat(const char *path, const char *also)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    for (; *path; path++) {
        if (*path == ']')
            continue;
        /* A key from outside becomes one file name: never a path, never hidden from the walk. */
        sw_buf_add_char(&out, strchr(".[/", *path) || strchr(also, *path) ? '_' : *path);
    }
    return out.data ? sw_buf_steal(&out) : sw_strdup("_");
}
