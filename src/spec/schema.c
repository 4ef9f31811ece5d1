/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c - the tables as JSON Schema (draft 2020-12), so that editors complete and check.
 *
 * Made from the same rows as the check. `required` stays out on purpose: a value that the job
 * file lacks may come from the profile or the environment, and an editor cannot know.
 */
#include "spec/spec.h"

#include <string.h>

#include "base/text.h"
#include "spec/spec_internal.h"

#define NUMBER   "[0-9]+([.][0-9]+)?"
#define UNITS    "(ms|[smhdw]|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?)"
#define DURATION "^\\s*" NUMBER "\\s*$|^\\s*(" NUMBER "\\s*" UNITS "\\s*)+$"
#define SIZE     "^\\s*" NUMBER "\\s*[KMGTPkmgtp]?i?[Bb]?\\s*$"
#define GPUS     "^([A-Za-z0-9][A-Za-z0-9._-]*:)?[0-9]+$"

static json_t *schema_of(const struct sw_option *row, struct sw_buf *path);

/* Texts, numbers, true and false: what a list or map of texts takes. */
static json_t *scalar(void)
{
    return json_pack("{s:[s,s,s]}", "type", "string", "number", "boolean");
}

static json_t *quantity(const char *number, const char *pattern)
{
    return json_pack("{s:[s,s], s:s, s:i}", "type", "string", number, "pattern", pattern,
                     "minimum", 0);
}

static void add_rules(json_t *schema, const char *path, enum spec_rule_on on)
{
    for (const struct spec_rule *rule = NULL; (rule = spec_rule_next(rule, path, on));) {
        sw_auto(json) json_t *part = json_loads(rule->schema, 0, NULL);

        json_object_update(schema, part);
    }
}

static json_t *words(const char *const *choices)
{
    json_t *list = json_array();

    for (; choices && *choices; choices++)
        json_array_append_new(list, json_string(*choices));
    return list;
}

static json_t *properties_of(const struct sw_option *rows, struct sw_buf *path)
{
    json_t *properties = json_object();

    for (const struct sw_option *row = rows; row && row->name; row++) {
        size_t mark = path->length;

        sw_path_add_key(path, row->name);
        json_object_set_new(properties, row->name, schema_of(row, path));
        path->length = mark;
        path->data[mark] = '\0';
    }
    return properties;
}

static json_t *group(const struct sw_option *rows, struct sw_buf *path)
{
    return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties_of(rows, path),
                     "additionalProperties", 0);
}

static json_t *whole(const struct sw_option *row)
{
    json_t *schema = json_pack("{s:s}", "type", "integer");

    if (row->least || row->most)
        json_object_set_new(schema, "minimum", json_integer(row->least));
    if (row->most)
        json_object_set_new(schema, "maximum", json_integer(row->most));
    return schema;
}

static json_t *texts(const struct sw_option *row, const char *path)
{
    json_t *item = row->choices ? sw_json_object(SW_SUB("enum", words(row->choices))) : scalar();
    json_t *schema;

    add_rules(item, path, SPEC_ON_EACH);
    schema = json_pack("{s:[O, {s:s, s:O}]}", "anyOf", item, "type", "array", "items", item);
    json_decref(item);
    return schema;
}

static json_t *keys(const char *path)
{
    json_t *schema = json_pack("{s:s}", "type", "string");

    add_rules(schema, path, SPEC_ON_KEYS);
    return schema;
}

static json_t *map_of(const struct sw_option *row, struct sw_buf *path)
{
    sw_autofree char *at = sw_strdup(sw_buf_text(path));
    json_t *entry = json_pack("{s:[{s:s}, o]}", "anyOf", "type", "string",
                              group(row->fields, path));
    json_t *map = json_pack("{s:s, s:o, s:o}", "type", "object", "propertyNames", keys(at),
                            "additionalProperties", entry);

    if (!row->list_shorthand)
        return map;
    return json_pack("{s:[o, {s:s, s:o}]}", "anyOf", map, "type", "array", "items", keys(at));
}

static json_t *shape_of(const struct sw_option *row, struct sw_buf *path)
{
    const char *at = sw_buf_text(path);

    switch (row->type) {
    case SW_TEXT:     return json_pack("{s:s}", "type", "string");
    case SW_WHOLE:    return whole(row);
    case SW_NUMBER:   return json_pack("{s:s}", "type", "number");
    case SW_FLAG:     return json_pack("{s:s}", "type", "boolean");
    case SW_DURATION: return quantity("number", DURATION);
    case SW_DURATIONS: return quantity("number", "^[0-9]");
    case SW_SIZE:     return quantity("integer", SIZE);
    case SW_GPUS:     return quantity("integer", GPUS);
    case SW_CHOICE:   return sw_json_object(SW_SUB("enum", words(row->choices)));
    case SW_TEXTS:    return texts(row, at);
    case SW_TEXT_MAP: return json_pack("{s:s, s:o, s:o}", "type", "object", "propertyNames",
                                       keys(at), "additionalProperties", scalar());
    case SW_GROUP:    return group(row->fields, path);
    case SW_MAP_OF:   return map_of(row, path);
    case SW_FREE:     break;
    }
    return json_object();
}

static json_t *schema_of(const struct sw_option *row, struct sw_buf *path)
{
    json_t *schema = shape_of(row, path);
    sw_auto(sw_buf) struct sw_buf help = SW_BUF_INIT;

    sw_buf_add(&help, row->help ? row->help : row->name);
    if (row->required)
        sw_buf_add(&help, " (required)");
    if (row->variables)
        sw_buf_add(&help, " (${NAME} is filled in)");
    if (row->env)
        sw_buf_addf(&help, " (environment: %s)", row->env);
    json_object_set_new(schema, "description", sw_json_text(sw_buf_text(&help)));
    if (row->initial)
        json_object_set_new(schema, "default", spec_value_of_text(row, row->initial));
    add_rules(schema, sw_buf_text(path), SPEC_ON_VALUE);
    return schema;
}

/* `platform` may only name the platforms there are. */
static void name_platforms(json_t *properties, const struct sw_spec_platform *platforms,
                           size_t count)
{
    json_t *schema = json_object_get(properties, "platform");
    sw_auto(json) json_t *names = json_array();
    sw_auto(json) json_t *item = NULL;

    for (size_t i = 0; i < count; i++) {
        json_array_append_new(names, json_string(platforms[i].name));
        if (platforms[i].alias)
            json_array_append_new(names, json_string(platforms[i].alias));
    }
    item = sw_json_object(SW_SUB_COPY("enum", names));
    json_object_set_new(schema, "anyOf",
                        json_pack("[O, {s:s, s:O}]", item, "type", "array", "items", item));
}

json_t *sw_spec_schema(const struct sw_spec_platform *platforms, size_t count)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    json_t *properties = properties_of(sw_spec_keys, &path);

    name_platforms(properties, platforms, count);
    for (size_t i = 0; i < count; i++) {
        sw_autofree char *help = sw_format("options of the %s platform", platforms[i].name);
        const struct sw_option row = {
            platforms[i].name, SW_GROUP, .fields = platforms[i].options, .help = help,
        };

        sw_buf_clear(&path);
        sw_path_add_key(&path, row.name);
        json_object_set_new(properties, row.name, schema_of(&row, &path));
        if (platforms[i].alias)
            json_object_set(properties, platforms[i].alias, json_object_get(properties, row.name));
    }
    return sw_json_object(
        SW_STR("$schema", "https://json-schema.org/draft/2020-12/schema"),
        SW_STR("title", "Slipway job file"),
        SW_STR("type", "object"),
        SW_SUB("properties", properties),
        SW_SUB("patternProperties", json_pack("{s:{}}", "^" SPEC_ANCHORS)),
        SW_BOOL("additionalProperties", false));
}
