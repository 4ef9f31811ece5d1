/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.c - option tables: finding a row, naming a type, and filling a platform's typed struct.
 *
 * Values come checked and in their normal form (spec/spec.h), or from a document that an older version or
 * another machine wrote; so a value of another type is an error here, and its member has the default.
 *
 * Pure.
 */
#include "core/option.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

const struct sw_option *sw_option_find(const struct sw_option *options, const char *name)
{
    for (; options && options->name; options++)
        if (strcmp(options->name, name) == 0)
            return options;
    return NULL;
}

const char *sw_type_name(enum sw_type type)
{
    static const char *const names[] = {
        [SW_TEXT]     = "text",
        [SW_WHOLE]    = "a whole number",
        [SW_NUMBER]   = "a number",
        [SW_FLAG]     = "true or false",
        [SW_DURATION] = "a duration such as 90s, 30m, 12h or 2d",
        [SW_DURATIONS] = "a duration such as 30s, or a range such as 30s..10m",
        [SW_SIZE]     = "a size such as 512MiB or 64GB",
        [SW_GPUS]     = "a number of GPUs such as 8 or H100:8",
        [SW_CHOICE]   = "one of a few words",
        [SW_TEXTS]    = "a list of strings",
        [SW_TEXT_MAP] = "a mapping of strings",
        [SW_GROUP]    = "a mapping",
        [SW_MAP_OF]   = "a mapping",
        [SW_FREE]     = "any document",
    };

    return (size_t)type < SW_COUNT(names) ? names[type] : "a value";
}

/* ---- typed structs ----------------------------------------------------------------------------- */

bool sw_option_fits(const struct sw_option *row)
{
    switch (row->type) {
    case SW_TEXT:
    case SW_GPUS:
    case SW_DURATIONS: return row->member == SW_MEMBER_TEXT;
    case SW_CHOICE:    return row->member == SW_MEMBER_TEXT || row->member == SW_MEMBER_INT;
    case SW_WHOLE:     return row->member == SW_MEMBER_INT || row->member == SW_MEMBER_INT64;
    case SW_NUMBER:    return row->member == SW_MEMBER_DOUBLE;
    case SW_FLAG:      return row->member == SW_MEMBER_BOOL;
    case SW_DURATION:
    case SW_SIZE:      return row->member == SW_MEMBER_INT64;
    default:           return row->member == SW_MEMBER_JSON;
    }
}

static bool choice_of(const struct sw_option *row, const char *word, int64_t *index)
{
    for (*index = 0; row->choices[*index]; ++*index)
        if (strcmp(row->choices[*index], word) == 0)
            return true;
    return false;
}

/* A whole amount, from a value or (value NULL) from the text of a default. */
static bool read_amount(const struct sw_option *row, const json_t *value, const char *text, int64_t *out)
{
    switch (row->type) {
    case SW_WHOLE:
        *out = value ? json_integer_value(value) : strtoll(text, NULL, 10);
        return !value || json_is_integer(value);
    case SW_FLAG:
        *out = value ? json_is_true(value) : strcmp(text, "true") == 0;
        return !value || json_is_boolean(value);
    case SW_DURATION:
        *out = (int64_t)(json_number_value(value) * 1000);
        return text ? sw_duration_parse(text, out, NULL) == 0 : json_is_number(value);
    case SW_SIZE:
        *out = json_integer_value(value);
        return text ? sw_size_parse(text, out, NULL) == 0 : json_is_integer(value);
    default:
        return text && choice_of(row, text, out);
    }
}

static bool is_document(const struct sw_option *row, const json_t *value)
{
    return row->type == SW_FREE ||
           (row->type == SW_TEXTS ? json_is_array(value) || json_is_string(value) : json_is_object(value));
}

/* One of the two is given. False: the value is of another type, and the member is as it was. */
static bool put(const struct sw_option *row, const json_t *value, const char *initial, void *at)
{
    const char *text = value ? json_string_value(value) : initial;
    int64_t amount = 0;

    if (row->member == SW_MEMBER_JSON) {
        if (value && !is_document(row, value))
            return false;
        *(const json_t **)at = value;
    } else if (row->member == SW_MEMBER_DOUBLE) {
        if (value && !json_is_number(value))
            return false;
        *(double *)at = value ? json_number_value(value) : strtod(text, NULL);
    } else if (row->member == SW_MEMBER_TEXT) {
        if (!text || (row->type == SW_CHOICE && !choice_of(row, text, &amount)))
            return false;
        *(const char **)at = text;
    } else {
        if (!read_amount(row, value, text, &amount))
            return false;
        if (row->member == SW_MEMBER_INT64)
            *(int64_t *)at = amount;
        else if (row->member == SW_MEMBER_INT)
            *(int *)at = (int)amount;
        else
            *(bool *)at = amount != 0;
    }
    return true;
}

static void clear(const struct sw_option *row, void *at)
{
    static const size_t sizes[] = {
        [SW_MEMBER_TEXT] = sizeof(char *), [SW_MEMBER_INT] = sizeof(int),
        [SW_MEMBER_INT64] = sizeof(int64_t), [SW_MEMBER_DOUBLE] = sizeof(double),
        [SW_MEMBER_BOOL] = sizeof(bool), [SW_MEMBER_JSON] = sizeof(json_t *),
    };

    memset(at, 0, sizes[row->member]);
}

int sw_options_fill(const struct sw_option *table, const json_t *options, enum sw_scope scope, void *into,
                    struct sw_error *err)
{
    int result = 0;

    assert(into);
    for (const struct sw_option *row = table; row && row->name; row++) {
        const json_t *value = json_object_get(options, row->name);
        void *at = (char *)into + row->offset;

        if (row->scope != scope || row->member == SW_MEMBER_NONE)
            continue;
        assert(sw_option_fits(row));
        clear(row, at);
        if (row->initial && !put(row, NULL, row->initial, at))
            assert(!"the default of an option is of its type");
        if (value && !json_is_null(value) && !put(row, value, NULL, at) && result == 0)
            result = sw_fail(err, SW_E_SPEC, "%s: is not %s", row->name, sw_type_name(row->type));
    }
    return result;
}

void sw_options_read(const struct sw_option *table, const json_t *options, enum sw_scope scope, void *into)
{
    sw_options_fill(table, options, scope, into, NULL);
    for (const struct sw_option *row = table; row && row->name; row++) {
        const char **text = (const char **)(void *)((char *)into + row->offset);

        if (row->scope == scope && row->member == SW_MEMBER_TEXT && sw_text_empty(*text))
            *text = NULL;
    }
}
