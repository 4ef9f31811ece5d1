/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.c - see labels.h.
 */
#include "platform/kit/labels.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "platform/kit/answers.h"

enum { LABEL_MAX = 63 };

bool sw_is_label(const char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && (i == 0 || i == length - 1 || !strchr("-_.", text[i])))
            return false;
    return length <= LABEL_MAX;
}

char *sw_label_text(const char *text)
{
    char *out = sw_strndup(text, LABEL_MAX);

    for (char *at = out; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-_.", *at))
            *at = '.';
    for (size_t length = strlen(out); length && strchr("-_.", out[length - 1]); length--)
        out[length - 1] = '\0';
    return out;
}

const char *sw_named(const json_t *list, const char *name)
{
    return sw_json_str(sw_find(list, "name", name), "value");
}

void sw_named_add(json_t *list, const char *name, const char *value)
{
    if (value)
        json_array_append_new(list, sw_json_object(SW_STR("name", name), SW_STR("value", value)));
}

void sw_named_add_all(json_t *list, const json_t *object)
{
    json_t *value;
    const char *name;

    json_object_foreach((json_t *)object, name, value)
        sw_named_add(list, name, json_string_value(value));
}
