/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_scalar.c - what an unquoted YAML word means.
 *
 * The YAML 1.2 core rules: only true and false are booleans, so `no` and `on` stay texts, and
 * so do dates and 12:30. Where the YAML versions give one spelling two numbers (0123 is 123 or
 * 83) we ask for quotes instead of choosing. Infinity and not-a-number have no JSON value.
 *
 * Pure: no I/O. Called by yaml_read.c.
 */
#include "base/document_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const struct {
    const char *word;
    enum { MEANS_NULL, MEANS_TRUE, MEANS_FALSE, MEANS_NOTHING } meaning;
} words[] = {
    { "", MEANS_NULL },         { "~", MEANS_NULL },
    { "null", MEANS_NULL },     { "Null", MEANS_NULL },     { "NULL", MEANS_NULL },
    { "true", MEANS_TRUE },     { "True", MEANS_TRUE },     { "TRUE", MEANS_TRUE },
    { "false", MEANS_FALSE },   { "False", MEANS_FALSE },   { "FALSE", MEANS_FALSE },
    { ".nan", MEANS_NOTHING },  { ".NaN", MEANS_NOTHING },  { ".NAN", MEANS_NOTHING },
    { ".inf", MEANS_NOTHING },  { ".Inf", MEANS_NOTHING },  { ".INF", MEANS_NOTHING },
    { "-.inf", MEANS_NOTHING }, { "-.Inf", MEANS_NOTHING }, { "-.INF", MEANS_NOTHING },
    { "+.inf", MEANS_NOTHING }, { "+.Inf", MEANS_NOTHING }, { "+.INF", MEANS_NOTHING },
};

static json_t *resolve_word(size_t i, const char **why)
{
    switch (words[i].meaning) {
    case MEANS_NULL:
        return json_null();
    case MEANS_TRUE:
        return json_true();
    case MEANS_FALSE:
        return json_false();
    case MEANS_NOTHING:
        break;
    }
    *why = "infinity and not-a-number are not supported; quote it if you mean a string";
    return NULL;
}

static const char digits[] = "0123456789";

/* The base of an integer in `text`, and where its digits begin; 0: it is not one. */
static int integer_base(const char *text, const char **first)
{
    static const struct { const char *prefix, *digits; int base; } forms[] = {
        { "0x", "0123456789abcdefABCDEF", 16 }, { "0o", "01234567", 8 }, { "", digits, 10 },
    };
    const char *unsigned_part = text + (*text == '-' || *text == '+');

    for (size_t i = 0; i < SW_COUNT(forms); i++) {
        size_t skip = strlen(forms[i].prefix);

        *first = (skip ? text : unsigned_part) + skip;
        if (strncmp(text, forms[i].prefix, skip) == 0 && **first &&
            (*first)[strspn(*first, forms[i].digits)] == '\0')
            return forms[i].base;
    }
    return 0;
}

static json_t *resolve_integer(const char *text, const char *first, int base, const char **why)
{
    intmax_t number;

    if (base == 10 && first[0] == '0' && first[1]) {
        *why = "YAML readers disagree about numbers with leading zeros; quote it if you mean a string";
        return NULL;
    }
    errno = 0;
    number = strtoimax(base == 10 ? text : first, NULL, base);
    if (errno == ERANGE || number > INT64_MAX || number < INT64_MIN) {
        *why = "the number does not fit in 64 bits; quote it if you mean a string";
        return NULL;
    }
    return json_integer(number);
}

/* [-+]? ( .5 | 5 | 5. | 5.5 ) ( e [-+]? 5 )? */
static bool looks_real(const char *text)
{
    const char *at = text + (*text == '-' || *text == '+');
    size_t whole = strspn(at, digits), fraction = 0;

    at += whole;
    if (*at == '.') {
        fraction = strspn(++at, digits);
        at += fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '-' || at[1] == '+');
        if (strspn(at, digits) == 0)
            return false;
        at += strspn(at, digits);
    }
    return *at == '\0';
}

static json_t *resolve_real(const char *text, const char **why)
{
    double number;

    if (sw_real_parse(text, &number) < 0) {
        *why = "the number is too large; quote it if you mean a string";
        return NULL;
    }
    return json_real(number);
}

json_t *sw_yaml_resolve(const char *text, size_t length, const char **why)
{
    const char *first;
    int base;

    for (size_t i = 0; i < SW_COUNT(words); i++)
        if (strcmp(text, words[i].word) == 0)
            return resolve_word(i, why);
    base = integer_base(text, &first);
    if (base)
        return resolve_integer(text, first, base, why);
    if (looks_real(text))
        return resolve_real(text, why);
    return json_stringn(text, length);
}
