/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toml_write.c - a value as TOML 1.0.
 *
 * In TOML everything after a [header] belongs to that header, so each table first writes its
 * plain pairs and then its sub-tables: the order of keys within one kind is kept, the kinds are
 * not mixed. A list becomes [[blocks]] when all its elements are tables, and stays inline
 * otherwise. TOML has no null; writing one is an error that names the path.
 */
#include "base/toml.h"

#include <stdio.h>
#include <string.h>

#include "base/document_internal.h"
#include "base/text.h"

/* Headers repeat the keys above them: one huge key over many tables would fill the memory. */
enum { LARGEST_OUTPUT = 8 * SW_DOCUMENT_MAX };

struct toml_writer {
    struct sw_buf *out;
    bool tagged;
    struct sw_buf header;        /* a.b."c d", as written between brackets */
    struct sw_buf path;          /* a.b["c d"], for messages */
    struct sw_error *err;
};

/* How long both names were, to return to the parent. */
struct level {
    size_t header, path;
};

static void cut(struct sw_buf *buf, size_t length)
{
    buf->length = length;
    if (buf->data)
        buf->data[length] = '\0';
}

static void leave(struct toml_writer *w, struct level level)
{
    cut(&w->header, level.header);
    cut(&w->path, level.path);
}

static int fail(const struct toml_writer *w, const char *why)
{
    return sw_fail(w->err, SW_E_SPEC, "'%s' cannot be written as TOML: %s",
                   w->path.length ? sw_buf_text(&w->path) : ".", why);
}

/* ---- texts and keys ------------------------------------------------------------------------ */

static void add_key(struct sw_buf *out, const char *key, size_t length)
{
    static const char bare[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

    if (length > 0 && strspn(key, bare) == length)
        sw_buf_add_bytes(out, key, length);
    else
        sw_put_quoted(out, key, length, true);
}

static struct level enter(struct toml_writer *w, const char *key, size_t length)
{
    struct level level = { w->header.length, w->path.length };

    if (w->header.length)
        sw_buf_add_char(&w->header, '.');
    add_key(&w->header, key, length);
    sw_path_add_key(&w->path, key);
    return level;
}

/* ---- values -------------------------------------------------------------------------------- */

/* {"type": "integer", "value": "42"}: one value in toml-test's clothes. */
static bool is_tagged_leaf(const struct toml_writer *w, const json_t *value)
{
    return w->tagged && json_object_size(value) == 2 &&
           json_is_string(json_object_get(value, "type")) &&
           json_is_string(json_object_get(value, "value"));
}

static bool is_table(const struct toml_writer *w, const json_t *value)
{
    return json_is_object(value) && !is_tagged_leaf(w, value);
}

static bool is_table_list(const struct toml_writer *w, const json_t *value)
{
    const json_t *element;
    size_t i;

    json_array_foreach(value, i, element)
        if (!is_table(w, element))
            return false;
    return json_array_size(value) > 0;
}

static int write_tagged(struct toml_writer *w, const json_t *value)
{
    const char *type = sw_json_str(value, "type");
    const json_t *text = json_object_get(value, "value");
    const char *word = json_string_value(text);

    if (strcmp(type, "string") == 0) {
        sw_put_quoted(w->out, word, json_string_length(text), true);
        return 0;
    }
    sw_buf_add(w->out, word);
    if (strcmp(type, "float") == 0 && word[strcspn(word, ".eEin")] == '\0')
        sw_buf_add(w->out, ".0");
    return 0;
}

static int write_value(struct toml_writer *w, const json_t *value);

static int write_array(struct toml_writer *w, const json_t *array)
{
    const json_t *element;
    size_t i;

    sw_buf_add_char(w->out, '[');
    json_array_foreach(array, i, element) {
        struct level level = { w->header.length, w->path.length };

        if (i)
            sw_buf_add(w->out, ", ");
        sw_path_add_index(&w->path, i);
        if (write_value(w, element) < 0)
            return -1;
        leave(w, level);
    }
    sw_buf_add_char(w->out, ']');
    return 0;
}

static int write_inline_table(struct toml_writer *w, const json_t *table)
{
    const char *key, *separator = " ";
    size_t length;
    json_t *value;

    sw_buf_add_char(w->out, '{');
    json_object_keylen_foreach((json_t *)table, key, length, value) {
        struct level level = enter(w, key, length);

        sw_buf_add(w->out, separator);
        separator = ", ";
        add_key(w->out, key, length);
        sw_buf_add(w->out, " = ");
        if (write_value(w, value) < 0)
            return -1;
        leave(w, level);
    }
    sw_buf_add(w->out, json_object_size(table) ? " }" : "}");
    return 0;
}

static int write_value(struct toml_writer *w, const json_t *value)
{
    char number[40];

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return is_tagged_leaf(w, value) ? write_tagged(w, value) : write_inline_table(w, value);
    case JSON_ARRAY:
        return write_array(w, value);
    case JSON_STRING:
        sw_put_quoted(w->out, json_string_value(value), json_string_length(value), true);
        return 0;
    case JSON_INTEGER:
        sw_buf_addf(w->out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return 0;
    case JSON_REAL:
        sw_real_format(json_real_value(value), number);
        sw_buf_add(w->out, number);
        return 0;
    case JSON_TRUE:
    case JSON_FALSE:
        sw_buf_add(w->out, json_is_true(value) ? "true" : "false");
        return 0;
    case JSON_NULL:
        break;
    }
    return fail(w, "TOML has no null");
}

/* ---- tables -------------------------------------------------------------------------------- */

static bool is_block(const struct toml_writer *w, const json_t *value)
{
    return is_table(w, value) || is_table_list(w, value);
}

static int write_pairs(struct toml_writer *w, const json_t *table)
{
    const char *key;
    size_t length;
    json_t *value;

    json_object_keylen_foreach((json_t *)table, key, length, value) {
        struct level level;

        if (is_block(w, value))
            continue;
        level = enter(w, key, length);
        add_key(w->out, key, length);
        sw_buf_add(w->out, " = ");
        if (write_value(w, value) < 0)
            return -1;
        sw_buf_add_char(w->out, '\n');
        leave(w, level);
    }
    return 0;
}

static int write_header(struct toml_writer *w, const char *open, const char *close)
{
    if (w->out->length + w->header.length > LARGEST_OUTPUT)
        return fail(w, "it would be far too long");
    sw_buf_addf(w->out, "%s%s%s%s\n", w->out->length ? "\n" : "", open, sw_buf_text(&w->header),
                close);
    return 0;
}

/* A table that only holds tables is implied by their headers. */
static bool needs_header(const struct toml_writer *w, const json_t *table)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)table, key, value)
        if (!is_block(w, value))
            return true;
    return json_object_size(table) == 0;
}

static int write_table(struct toml_writer *w, const json_t *table);

static int write_table_list(struct toml_writer *w, const json_t *list)
{
    const json_t *element;
    size_t i;

    json_array_foreach(list, i, element) {
        struct level level = { w->header.length, w->path.length };

        sw_path_add_index(&w->path, i);
        if (write_header(w, "[[", "]]") < 0 || write_table(w, element) < 0)
            return -1;
        leave(w, level);
    }
    return 0;
}

static int write_block(struct toml_writer *w, const json_t *value)
{
    if (json_is_array(value))
        return write_table_list(w, value);
    if (needs_header(w, value) && write_header(w, "[", "]") < 0)
        return -1;
    return write_table(w, value);
}

static int write_table(struct toml_writer *w, const json_t *table)
{
    const char *key;
    size_t length;
    json_t *value;

    if (write_pairs(w, table) < 0)
        return -1;
    json_object_keylen_foreach((json_t *)table, key, length, value) {
        struct level level;

        if (!is_block(w, value))
            continue;
        level = enter(w, key, length);
        if (write_block(w, value) < 0)
            return -1;
        leave(w, level);
    }
    return 0;
}

int sw_toml_write(struct sw_buf *out, const json_t *value, bool tagged, struct sw_error *err)
{
    struct sw_buf text = SW_BUF_INIT;
    struct toml_writer writer = { .out = &text, .tagged = tagged, .err = err };
    int result = is_table(&writer, value)
                     ? write_table(&writer, value)
                     : fail(&writer, "the whole document must be a table");

    if (result == 0)
        sw_buf_add_bytes(out, sw_buf_text(&text), text.length);
    sw_buf_done(&text);
    sw_buf_done(&writer.header);
    sw_buf_done(&writer.path);
    return result;
}
