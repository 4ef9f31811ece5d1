/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes.c - documents in their public form, and the JSON Schema of that form. Pure.
 */
#include "api/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/text.h"

const struct api_shape *api_shape_of(const char *verb)
{
    for (const struct api_shape *shape = api_shapes; shape->verb; shape++)
        if (strcmp(shape->verb, verb) == 0)
            return shape;
    return NULL;
}

/* ---- the form ------------------------------------------------------------------------------------- */

json_t *api_time(int64_t at_ms)
{
    char text[40];

    if (at_ms <= 0)
        return json_null();
    sw_time_format(at_ms, text);
    return json_string(text);
}

/* Six digits, and of large numbers, such as money, three behind the point. */
static json_t *rounded(const json_t *number)
{
    double value = json_real_value(number);
    char text[400];

    snprintf(text, sizeof text, value > -1000 && value < 1000 ? "%.6g" : "%.3f", value);
    return json_real(strtod(text, NULL));
}

static json_t *shaped_list(const struct api_field *fields, const json_t *given)
{
    json_t *list = json_array();
    const json_t *each;
    size_t i;

    json_array_foreach(given, i, each)
        json_array_append_new(list, api_shaped(fields, each));
    return list;
}

static json_t *shaped_value(const struct api_field *field, json_t *value)
{
    if (field->type == API_TIME && json_is_integer(value))
        return api_time(json_integer_value(value));
    if (field->type == API_POSITIVE && json_is_integer(value) && json_integer_value(value) <= 0)
        return json_null();
    if (field->may == API_NULL && json_is_string(value) && json_string_length(value) == 0)
        return json_null();
    if (field->type == API_NUMBER && json_is_real(value))
        return rounded(value);
    if (field->fields && json_is_object(value))
        return api_shaped(field->fields, value);
    return field->fields && json_is_array(value) ? shaped_list(field->fields, value) : json_incref(value);
}

static bool is_named(const struct api_field *fields, const char *key)
{
    for (; fields->name; fields++)
        if (strcmp(fields->name, key) == 0 || sw_text_same(fields->stored, key))
            return true;
    return false;
}

json_t *api_shaped(const struct api_field *fields, const json_t *given)
{
    json_t *shaped, *value;
    const char *key;

    if (!json_is_object(given))
        return json_incref((json_t *)given);
    shaped = json_object();
    for (const struct api_field *field = fields; field->name; field++) {
        value = json_object_get(given, field->name);
        if (!value && field->stored)
            value = json_object_get(given, field->stored);
        if (value || field->may == API_NULL)
            json_object_set_new(shaped, field->name, value ? shaped_value(field, value) : json_null());
    }
    json_object_foreach((json_t *)given, key, value)
        if (!is_named(fields, key))
            json_object_set(shaped, key, value);
    return shaped;
}

static char *document(const struct api_field *fields, json_t *given)
{
    json_t *shaped;

    if (!given)
        return NULL;
    json_object_set_new(given, "version", json_integer(API_DOCUMENT_VERSION));
    shaped = api_shaped(fields, given);
    json_decref(given);
    return api_text(shaped);
}

char *api_document(const char *verb, json_t *given)
{
    return document(api_shape_of(verb)->fields, given);
}

char *api_document_other(const char *verb, json_t *given)
{
    return document(api_shape_of(verb)->other, given);
}

/* ---- the schema ----------------------------------------------------------------------------------- */

static const char *const type_words[] = {
    [API_TEXT] = "string", [API_TIME] = "string", [API_INT] = "integer", [API_POSITIVE] = "integer",
    [API_NUMBER] = "number", [API_BOOL] = "boolean", [API_OBJECT] = "object", [API_LIST] = "array",
    [API_TEXTS] = "array", [API_MAP] = "object",
};

static json_t *object_schema(const struct api_field *fields);

static json_t *type_schema(const struct api_field *field)
{
    json_t *type = json_string(type_words[field->type]);

    if (field->may != API_NULL)
        return type;
    return json_pack("[o,s]", type, "null");
}

static json_t *field_schema(const struct api_field *field)
{
    bool known = field->type == API_OBJECT && field->fields;
    json_t *schema = known ? object_schema(field->fields) : json_object();

    if (field->type != API_ANY)
        json_object_set_new(schema, "type", type_schema(field));
    json_object_set_new(schema, "description", json_string(field->help));
    if (field->type == API_TIME)
        json_object_set_new(schema, "format", json_string("date-time"));
    if (field->type == API_POSITIVE)
        json_object_set_new(schema, "minimum", json_integer(1));
    if (field->type == API_TEXTS)
        json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string"));
    if (field->type == API_LIST && field->fields)
        json_object_set_new(schema, "items", object_schema(field->fields));
    return schema;
}

static json_t *object_schema(const struct api_field *fields)
{
    json_t *properties = json_object(), *required = json_array();

    for (; fields->name; fields++) {
        json_object_set_new(properties, fields->name, field_schema(fields));
        if (fields->may != API_OPTIONAL)
            json_array_append_new(required, json_string(fields->name));
    }
    return sw_json_object(SW_STR("type", "object"), SW_SUB("properties", properties),
                          SW_SUB("required", required));
}

json_t *api_shape_schema(const struct api_shape *shape)
{
    sw_autofree char *title = sw_format("slipway %s -o json", shape->verb);
    json_t *one = object_schema(shape->fields), *other = shape->other ? object_schema(shape->other) : NULL;
    json_t *schema = sw_json_object(
        SW_STR("$schema", "https://json-schema.org/draft/2020-12/schema"), SW_STR("title", title),
        SW_STR("description", shape->help), SW_BOOL("x-lines", shape->lines));

    if (other) {
        json_object_set_new(other, "description", json_string(shape->other_help));
        json_object_set_new(schema, "anyOf", json_pack("[o,o]", one, other));
    } else {
        json_object_update(schema, one);
        json_decref(one);
    }
    return schema;
}

static void name_shapes(struct sw_buf *out)
{
    for (const struct api_shape *shape = api_shapes; shape->verb; shape++)
        sw_buf_addf(out, "%s%s", out->length ? ", " : "", shape->verb);
}

char *sw_output_schema(const char *verb, struct sw_error *err)
{
    const struct api_shape *shape = api_shape_of(verb);
    sw_auto(sw_buf) struct sw_buf names = SW_BUF_INIT;

    if (shape)
        return api_text(api_shape_schema(shape));
    name_shapes(&names);
    sw_fail(err, SW_E_NOT_FOUND, "'%s' has no JSON output", verb);
    return sw_null(sw_hint(err, "these have: %s", sw_buf_text(&names)));
}
