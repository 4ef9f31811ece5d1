/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_text.c - a text from the command line, the environment or a table becomes a value.
 *
 * This only guesses the shape that the row asks for; whether the value is right is decided by
 * the same check that reads job files. A text that does not fit stays a text, and the check
 * then says what was expected.
 */
#include "spec/spec_internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

char *spec_text_of_number(const json_t *number)
{
    char text[40];

    if (json_is_integer(number))
        return sw_format("%" JSON_INTEGER_FORMAT, json_integer_value(number));
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, json_real_value(number));
        if (strtod(text, NULL) == json_real_value(number))
            break;
    }
    /* 2.0 was written as a real number: keep that visible. */
    return sw_format("%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

json_t *spec_number_as_written(const json_t *number, const char *written)
{
    sw_autofree char *plain = spec_text_of_number(number);

    return !written || strcmp(plain, written) == 0 ? json_copy((json_t *)number) : sw_json_text(written);
}

static json_t *whole_of(const char *text)
{
    char *end = NULL;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (isspace((unsigned char)*text) || end == text || *end || errno)
        return NULL;
    return json_integer(value);
}

static json_t *number_of(const char *text)
{
    json_t *whole = whole_of(text);
    char *end = NULL;
    double value;

    if (whole)
        return whole;
    value = strtod(text, &end);
    if (isspace((unsigned char)*text) || end == text || *end || !isfinite(value) ||
        strpbrk(text, "xX"))
        return NULL;
    return json_real(value);
}

static json_t *flag_of(const char *text)
{
    static const struct { const char *word; bool value; } words[] = {
        { "true", true }, { "yes", true }, { "on", true }, { "1", true },
        { "false", false }, { "no", false }, { "off", false }, { "0", false },
    };

    for (size_t i = 0; i < SW_COUNT(words); i++)
        if (sw_text_same_nocase(text, words[i].word))
            return json_boolean(words[i].value);
    return NULL;
}

/* true, 3, 0.1, null, "3": what JSON takes for a scalar is one; anything else is text. */
static json_t *free_of(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    if (json_is_object(value) || json_is_array(value)) {
        json_decref(value);
        return NULL;
    }
    return value;
}

static json_t *written_of(const char *text)
{
    sw_auto(json) json_t *value = free_of(text);

    return json_is_number(value) ? spec_number_as_written(value, text) : sw_take(value);
}

json_t *spec_value_of_text(const struct sw_option *row, const char *text)
{
    json_t *value = NULL;

    switch (row->type) {
    case SW_WHOLE:  value = whole_of(text); break;
    case SW_NUMBER: value = number_of(text); break;
    case SW_FLAG:   value = flag_of(text); break;
    case SW_FREE:   value = row->as_written ? written_of(text) : free_of(text); break;
    default:        break;
    }
    return value ? value : sw_json_text(text);
}
