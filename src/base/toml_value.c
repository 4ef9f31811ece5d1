/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toml_value.c - TOML values: arrays, inline tables, numbers, booleans.
 *
 * A number is first cleaned (underscores checked and removed) and only then converted, so that
 * strtoimax and strtod see nothing they would read differently. What a document cannot hold
 * (infinity, 1e999) is refused unless the caller asked for tagged values.
 */
#include "base/toml_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char digits[] = "0123456789";

/* A value that is not a table: as it is, or with its type beside it. Steals `value`. */
static json_t *leaf(const struct toml *t, const char *type, json_t *value, const char *text,
                    size_t length)
{
    json_t *object;

    if (!t->tagged)
        return value;
    json_decref(value);
    object = json_object();
    json_object_set_new(object, "type", json_string(type));
    json_object_set_new(object, "value", json_stringn(text, length));
    return object;
}

static json_t *read_text(struct toml *t)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    const char *bytes;

    if (toml_read_string(t, false, &text) < 0)
        return NULL;
    bytes = sw_buf_text(&text);
    return leaf(t, "string", json_stringn(bytes, text.length), bytes, text.length);
}

/* ---- numbers ----------------------------------------------------------------------------- */

/* Digits with single underscores between them; moves `*at` behind them. */
static bool take_digits(const char **at, const char *allowed, struct sw_buf *out)
{
    size_t before = out->length;

    for (;;) {
        size_t run = strspn(*at, allowed);

        if (run == 0)
            return false;
        sw_buf_add_bytes(out, *at, run);
        *at += run;
        if (**at != '_')
            return out->length > before;
        (*at)++;
    }
}

static bool take_sign(const char **at, struct sw_buf *out)
{
    if (**at != '-' && **at != '+')
        return false;
    sw_buf_add_char(out, **at);
    (*at)++;
    return true;
}

static bool has_leading_zero(const char *cleaned)
{
    cleaned += *cleaned == '-' || *cleaned == '+';
    return cleaned[0] == '0' && strchr(digits, cleaned[1]) && cleaned[1];
}

/* The base of an integer, with its digits in `out`; 0: it is none. */
static int integer_base(const char *word, struct sw_buf *out)
{
    static const struct { const char *prefix, *digits; int base; } forms[] = {
        { "0x", "0123456789abcdefABCDEF", 16 }, { "0o", "01234567", 8 }, { "0b", "01", 2 },
    };

    for (size_t i = 0; i < SW_COUNT(forms); i++) {
        const char *at = word + 2;

        if (strncmp(word, forms[i].prefix, 2) == 0)
            return take_digits(&at, forms[i].digits, out) && !*at ? forms[i].base : 0;
    }
    take_sign(&word, out);
    if (!take_digits(&word, digits, out) || *word || has_leading_zero(sw_buf_text(out)))
        return 0;
    return 10;
}

static json_t *integer_leaf(const struct toml *t, const char *cleaned, int base,
                            struct sw_position place)
{
    char text[32];
    intmax_t number;

    errno = 0;
    number = strtoimax(cleaned, NULL, base);
    if (errno == ERANGE || number > INT64_MAX || number < INT64_MIN) {
        toml_fail(t, place, "the number does not fit in 64 bits");
        return NULL;
    }
    snprintf(text, sizeof text, "%" PRIdMAX, number);
    return leaf(t, "integer", json_integer(number), text, strlen(text));
}

static bool clean_real(const char *word, struct sw_buf *out)
{
    take_sign(&word, out);
    if (!take_digits(&word, digits, out) || has_leading_zero(sw_buf_text(out)))
        return false;
    if (*word == '.') {
        sw_buf_add_char(out, *word++);
        if (!take_digits(&word, digits, out))
            return false;
    }
    if (*word == 'e' || *word == 'E') {
        sw_buf_add_char(out, *word++);
        take_sign(&word, out);
        if (!take_digits(&word, digits, out))
            return false;
    }
    return *word == '\0';
}

static json_t *real_leaf(const struct toml *t, const char *cleaned, struct sw_position place)
{
    double number = 0;

    if (sw_real_parse(cleaned, &number) < 0 && !t->tagged) {
        toml_fail(t, place, "the number is too large");
        return NULL;
    }
    return leaf(t, "float", json_real(number), cleaned, strlen(cleaned));
}

static bool is_infinite_or_nan(const char *word)
{
    word += *word == '-' || *word == '+';
    return strcmp(word, "inf") == 0 || strcmp(word, "nan") == 0;
}

static json_t *special_leaf(const struct toml *t, const char *word, struct sw_position place)
{
    if (t->tagged)
        return leaf(t, "float", NULL, word, strlen(word));
    toml_fail(t, place, "infinity and not-a-number are not supported");
    return NULL;
}

/* ---- words: everything that is neither quoted nor bracketed -------------------------------- */

static void take_word(struct toml *t, struct sw_buf *word)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789+-_.:";

    for (int c; (c = toml_peek(t)) > 0; toml_skip(t, 1)) {
        /* One blank may stand between a date and its time. */
        bool joins = c == ' ' && word->length == 10 && word->data[4] == '-' &&
                     toml_peek_at(t, 1) >= '0' && toml_peek_at(t, 1) <= '9';

        if (!strchr(allowed, c) && !joins)
            return;
        sw_buf_add_char(word, (char)c);
    }
}

static json_t *read_word(struct toml *t, sw_where where)
{
    sw_auto(sw_buf) struct sw_buf buffer = SW_BUF_INIT, integer = SW_BUF_INIT, real = SW_BUF_INIT;
    struct sw_position place = t->place;
    const char *word, *type;
    json_t *value = NULL;
    char date[48];
    int base;

    take_word(t, &buffer);
    word = sw_buf_text(&buffer);
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        return leaf(t, "bool", json_boolean(*word == 't'), word, strlen(word));
    if (is_infinite_or_nan(word))
        return special_leaf(t, word, place);
    base = integer_base(word, &integer);
    if (base || clean_real(word, &real)) {
        value = base ? integer_leaf(t, sw_buf_text(&integer), base, place)
                     : real_leaf(t, sw_buf_text(&real), place);
        if (value)
            sw_positions_write(t->source->positions, where, value, word);
        return value;
    }
    type = toml_date(word, date);
    if (type)
        return leaf(t, type, json_string(date), date, strlen(date));
    if (!*word)
        toml_fail(t, place, "value expected");
    else
        toml_fail(t, place, "'%.60s' is not a value; strings need quotes", word);
    return NULL;
}

/* ---- arrays and inline tables -------------------------------------------------------------- */

static json_t *read_array(struct toml *t, sw_where where, int depth)
{
    sw_auto(json) json_t *array = json_array();
    struct sw_position start = t->place;

    toml_skip(t, 1);
    for (size_t i = 0;; i++) {
        sw_where element = sw_where_index(where, i);
        json_t *value;

        if (toml_skip_lines(t) < 0)
            return NULL;
        if (toml_peek(t) == ']')
            break;
        sw_positions_add(t->source->positions, element, t->place);
        value = toml_read_value(t, element, depth + 1);
        if (!value)
            return NULL;
        json_array_append_new(array, value);
        if (toml_skip_lines(t) < 0)
            return NULL;
        if (toml_peek(t) == ',')
            toml_skip(t, 1);
        else if (toml_peek(t) != ']') {
            toml_fail(t, t->place, "expected ',' or ']' in the array that starts on line %d",
                      start.line);
            return NULL;
        }
    }
    toml_skip(t, 1);
    return sw_take(array);
}

static json_t *read_inline_table(struct toml *t, sw_where where, int depth)
{
    sw_auto(json) json_t *table = json_object();

    toml_skip(t, 1);
    toml_skip_space(t);
    while (toml_peek(t) != '}' || json_object_size(table) > 0) {
        if (toml_read_pair(t, table, where, depth) < 0)
            return NULL;
        toml_skip_space(t);
        if (toml_peek(t) == '}')
            break;
        if (toml_peek(t) != ',') {
            toml_fail(t, t->place, "expected ',' or '}' on the same line");
            return NULL;
        }
        toml_skip(t, 1);
        toml_skip_space(t);
    }
    toml_skip(t, 1);
    toml_mark(t, table, TOML_INLINE);
    return sw_take(table);
}

json_t *toml_read_value(struct toml *t, sw_where where, int depth)
{
    if (toml_count_node(t, depth) < 0)
        return NULL;
    switch (toml_peek(t)) {
    case '"':
    case '\'':
        return read_text(t);
    case '[':
        return read_array(t, where, depth);
    case '{':
        return read_inline_table(t, where, depth);
    default:
        return read_word(t, where);
    }
}
