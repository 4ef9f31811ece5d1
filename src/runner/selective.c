/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selective.c - the files that an annotation file speaks of, so that only those of a large folder
 * are fetched.
 *
 * json (a list of maps, a map of maps, or a map with lists of maps inside), jsonl and csv; every one
 * of the keys counts, and a value may be a list. Parquet would need a library of its own: it is
 * refused by name instead of being ignored.
 */
#include "runner/runner.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum { ANNOTATION_MAX = 512 * 1024 * 1024 };

struct selected_names {
    json_t *list;
    json_t *seen;                  /* object used as a set */
    const json_t *keys;
};

static void add_name(struct selected_names *names, const char *name)
{
    while (sw_text_starts(name, "./"))
        name += 2;
    if (!*name || json_object_get(names->seen, name))
        return;
    json_object_set_new(names->seen, name, json_true());
    json_array_append_new(names->list, sw_json_text(name));
}

static bool is_key(const struct selected_names *names, const char *key)
{
    size_t i;
    json_t *one;

    json_array_foreach(names->keys, i, one)
        if (json_is_string(one) && strcmp(json_string_value(one), key) == 0)
            return true;
    return false;
}

static void add_value(struct selected_names *names, const json_t *value)
{
    size_t i;
    json_t *element;

    if (json_is_string(value))
        add_name(names, json_string_value(value));
    json_array_foreach(value, i, element)
        if (json_is_string(element))
            add_name(names, json_string_value(element));
}

/* The document is bounded in depth by its reader. */
static void collect(struct selected_names *names, const json_t *value)
{
    const char *key;
    json_t *inside;
    size_t i;

    json_object_foreach((json_t *)value, key, inside) {
        if (is_key(names, key))
            add_value(names, inside);
        else
            collect(names, inside);
    }
    json_array_foreach(value, i, inside)
        collect(names, inside);
}

static int read_json_lines(struct selected_names *names, const char *text, struct sw_error *err)
{
    int number = 0;

    while (*text) {
        size_t length = strcspn(text, "\n");
        sw_auto(json) json_t *line = NULL;

        number++;
        if (strspn(text, " \t\r") < length) {
            line = json_loadb(text, length, JSON_DECODE_ANY, NULL);
            if (!line)
                return sw_fail(err, SW_E_SPEC, "line %d of the annotation is not JSON", number);
            collect(names, line);
        }
        text += length + (text[length] == '\n');
    }
    return 0;
}

/* One field of a csv record; *at moves behind it and its comma. */
static char *csv_field(const char **at, bool *last)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *p = *at;
    bool quoted = *p == '"';

    if (quoted)
        p++;
    for (; *p; p++) {
        if (quoted && *p == '"' && p[1] == '"') {
            p++;
        } else if (quoted && *p == '"') {
            quoted = false;
            continue;
        } else if (!quoted && (*p == ',' || *p == '\n' || *p == '\r')) {
            break;
        }
        sw_buf_add_char(&out, *p);
    }
    *last = *p != ',';
    if (*p == ',')
        p++;
    if (*last && *p == '\r')
        p++;
    if (*last && *p == '\n')
        p++;
    *at = p;
    return out.data ? sw_buf_steal(&out) : sw_strdup("");
}

static void read_csv(struct selected_names *names, const char *text)
{
    bool wanted[256] = { false };
    bool header = true;

    while (*text) {
        bool last = false;

        for (size_t column = 0; !last; column++) {
            sw_autofree char *field = csv_field(&text, &last);

            if (column >= SW_COUNT(wanted))
                continue;
            if (header)
                wanted[column] = is_key(names, field);
            else if (wanted[column])
                add_name(names, field);
        }
        header = false;
    }
}

static const char *format_of(const char *path, const char *said)
{
    if (said && strcmp(said, "json") != 0)
        return said;
    if (sw_text_ends(path, ".jsonl"))
        return "jsonl";
    if (sw_text_ends(path, ".csv"))
        return "csv";
    return sw_text_ends(path, ".parquet") ? "parquet" : "json";
}

json_t *runner_selected(const char *annotation, const char *said, const json_t *keys,
                        struct sw_error *err)
{
    const char *format = format_of(annotation, said);
    size_t length = 0;
    sw_autofree char *text = sw_file_read(annotation, ANNOTATION_MAX, &length, err);
    sw_auto(json) json_t *seen = json_object(), *list = json_array(), *document = NULL;
    struct selected_names names = { list, seen, keys };

    if (!text)
        return NULL;
    if (strcmp(format, "jsonl") == 0) {
        if (read_json_lines(&names, text, err) < 0)
            return NULL;
    } else if (strcmp(format, "csv") == 0) {
        read_csv(&names, text);
    } else if (strcmp(format, "json") == 0) {
        document = json_loadb(text, length, 0, NULL);
        if (!document)
            return sw_null(sw_fail(err, SW_E_SPEC, "the annotation '%s' is not JSON", annotation));
        collect(&names, document);
    } else {
        sw_fail(err, SW_E_UNSUPPORTED, "annotations in '%s' cannot be read here", format);
        sw_hint(err, "use json, jsonl or csv, or leave out `selective` to fetch the whole folder");
        return NULL;
    }
    if (json_array_size(list) == 0)
        return sw_null(sw_fail(err, SW_E_SPEC,
                               "the annotation '%s' has no files under these keys",
                               annotation));
    return sw_take(list);
}
