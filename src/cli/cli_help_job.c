/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_help_job.c - `slipway help job [KEY]`: the keys of a job file, made from the schema that checks them.
 */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

enum { WIDTH = 79, COLUMN = 18 };

static void add_row(struct sw_buf *out, const char *name, const json_t *schema)
{
    const char *help = sw_json_str(schema, "description");
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    if (strlen(name) + 4 > COLUMN)
        sw_buf_addf(out, "  %s\n", name);
    cli_wrap(&text, help ? help : "", COLUMN, WIDTH);
    if (strlen(name) + 4 > COLUMN || text.length <= COLUMN)
        sw_buf_add(out, text.length > COLUMN ? sw_buf_text(&text) : "");
    else
        sw_buf_addf(out, "  %-*s%s", COLUMN - 2, name, sw_buf_text(&text) + COLUMN);
}

/* The fields of a group, or of each entry of a map; NULL: it has none. */
static const json_t *fields_of(const json_t *schema)
{
    const json_t *fields = json_object_get(schema, "properties");
    const json_t *entry = json_object_get(schema, "additionalProperties"), *either;
    size_t i;

    if (fields || !json_is_object(entry))
        return fields;
    json_array_foreach(json_object_get(entry, "anyOf"), i, either)
        if (json_object_get(either, "properties"))
            return json_object_get(either, "properties");
    return json_object_get(entry, "properties");
}

static void add_rows(struct sw_buf *out, const json_t *fields)
{
    const char *name;
    json_t *schema;

    json_object_foreach((json_t *)fields, name, schema)
        add_row(out, name, schema);
}

static void add_choices(struct sw_buf *out, const json_t *schema)
{
    const json_t *choices = json_object_get(schema, "enum"), *either, *word;
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    size_t i;

    json_array_foreach(json_object_get(schema, "anyOf"), i, either)
        if (!choices)
            choices = json_object_get(either, "enum");
    json_array_foreach(choices, i, word)
        sw_buf_addf(&text, "%s%s", i ? ", " : "Values: ",
                    json_is_string(word) ? json_string_value(word) : "");
    if (text.length)
        cli_wrap(out, sw_buf_text(&text), 0, WIDTH);
}

static void add_key(struct sw_buf *out, const char *path, const json_t *schema)
{
    const char *help = sw_json_str(schema, "description"), *initial = sw_json_str(schema, "default");
    const json_t *fields = fields_of(schema);
    sw_autofree char *head = sw_format("%s: %s", path, help ? help : "");

    cli_wrap(out, head, 0, WIDTH);
    if (initial)
        sw_buf_addf(out, "Default: %s\n", initial);
    add_choices(out, schema);
    if (!fields)
        return;
    sw_buf_add(out, "\nKeys:\n");
    add_rows(out, fields);
}

static int no_key(const char *path, const json_t *fields, const char *word, size_t length,
                  struct sw_error *err)
{
    sw_autofree char *wrong = sw_strndup(word, length);
    const char *names[256], *name, *nearest;
    size_t count = 0;
    json_t *schema;

    json_object_foreach((json_t *)fields, name, schema)
        if (count < SW_COUNT(names))
            names[count++] = name;
    nearest = sw_text_nearest(wrong, names, count);
    sw_fail(err, SW_E_USAGE, "a job file has no key '%s'", path);
    if (nearest)
        return sw_hint(err, "did you mean 'slipway help job %.*s%s'?", (int)(word - path), path, nearest);
    return sw_hint(err, "'slipway help job' lists the keys");
}

int cli_help_job(const char *path, struct sw_buf *out, struct sw_error *err)
{
    sw_auto(json) json_t *schema = cli_document(sw_schema(err), err);
    const json_t *at = schema;

    if (!schema)
        return -1;
    if (!path) {
        sw_buf_add(out, "Keys of a job file; 'slipway help job KEY' shows more, also of retry.max:\n\n");
        add_rows(out, json_object_get(schema, "properties"));
        return 0;
    }
    for (const char *word = path; *word;) {
        size_t length = strcspn(word, ".");
        sw_autofree char *name = sw_strndup(word, length);
        const json_t *fields = fields_of(at);

        at = json_object_get(fields, name);
        if (!at)
            return no_key(path, fields, word, length, err);
        word += length + (word[length] == '.');
    }
    add_key(out, path, at);
    return 0;
}
