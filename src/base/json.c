/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - the helpers of json.h over jansson.
 */
#include "base/json.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

/* Keys are ours or came out of a document: they are not looked at again. */
json_t *sw_json_object_of(const struct sw_json_field *fields, size_t count)
{
    json_t *object = json_object();

    for (size_t i = 0; i < count; i++)
        if (fields[i].value)
            json_object_set_new_nocheck(object, fields[i].key, fields[i].value);
    return object;
}

json_t *sw_json_text(const char *text)
{
    json_t *value;
    sw_autofree char *clean = NULL;

    if (!text)
        return json_null();
    value = json_string(text);
    if (value)
        return value;
    clean = sw_text_utf8(text, strlen(text));
    return json_string(clean);
}

char *sw_json_joined(const json_t *array, const char *between)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    size_t i;
    json_t *each;

    json_array_foreach((json_t *)array, i, each) {
        sw_buf_add(&out, i ? between : "");
        sw_buf_add(&out, json_string_value(each) ? json_string_value(each) : "");
    }
    return sw_buf_steal(&out);
}

bool sw_json_lists(const json_t *array, const char *text)
{
    size_t i;
    json_t *each;

    json_array_foreach((json_t *)array, i, each)
        if (text && json_is_string(each) && strcmp(json_string_value(each), text) == 0)
            return true;
    return false;
}

const char *sw_json_str(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

int64_t sw_json_int(const json_t *object, const char *key, int64_t missing)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? (int64_t)json_integer_value(value) : missing;
}

bool sw_json_bool(const json_t *object, const char *key, bool missing)
{
    const json_t *value = json_object_get(object, key);

    return json_is_boolean(value) ? json_is_true(value) : missing;
}

int64_t sw_json_duration_ms(const json_t *object, const char *key, int64_t missing_ms)
{
    const json_t *value = json_object_get(object, key);
    int64_t ms = missing_ms;

    if (json_is_number(value))
        ms = (int64_t)(json_number_value(value) * 1000);
    else if (json_is_string(value) && sw_duration_parse(json_string_value(value), &ms, NULL) < 0)
        ms = missing_ms;
    return ms;
}

json_t *sw_json_parse(const char *text, size_t length, const char *name, struct sw_error *err)
{
    json_error_t where;
    json_t *document = json_loadb(text, length, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &where);

    if (!document)
        sw_fail(err, SW_E_SPEC, "%s:%d:%d: %s", name, where.line, where.column, where.text);
    return document;
}
