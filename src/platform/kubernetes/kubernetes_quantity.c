/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_quantity.c - amounts as Kubernetes writes them: "500m", "64Gi", "1.5e3", in thousandths.
 *
 * What is less than a thousandth is rounded up, as the API server does; what no number holds is the largest
 * one. Resources are never negative, so a negative quantity is none.
 *
 * Pure.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <ctype.h>
#include <string.h>

enum { DIGITS_MAX = 18, EXPONENT_MAX = 1000 };

__extension__ typedef unsigned __int128 wide;

struct quantity {
    wide digits;                 /* at most DIGITS_MAX of them */
    int count;                   /* without zeros in front */
    int tens, twos;              /* digits * 10^tens * 2^twos */
    bool more;                   /* a digit was left out that is not 0 */
    bool any;
};

static const struct {
    char suffix[3];
    int tens, twos;
} suffixes[] = {
    { "n", -9, 0 },  { "u", -6, 0 },  { "m", -3, 0 },  { "", 0, 0 },    { "k", 3, 0 },   { "M", 6, 0 },
    { "G", 9, 0 },   { "T", 12, 0 },  { "P", 15, 0 },  { "E", 18, 0 },  { "Ki", 0, 10 }, { "Mi", 0, 20 },
    { "Gi", 0, 30 }, { "Ti", 0, 40 }, { "Pi", 0, 50 }, { "Ei", 0, 60 },
};

static void add_digit(struct quantity *q, int digit, bool fraction)
{
    q->any = true;
    if (q->count < DIGITS_MAX) {
        q->digits = q->digits * 10 + (unsigned)digit;
        q->count += q->digits != 0;
        q->tens -= fraction;
        return;
    }
    q->more |= digit != 0;
    q->tens += !fraction && q->tens < EXPONENT_MAX;
}

static const char *read_digits(struct quantity *q, const char *text)
{
    text += *text == '+';
    for (; isdigit((unsigned char)*text); text++)
        add_digit(q, *text - '0', false);
    if (*text != '.')
        return text;
    for (text++; isdigit((unsigned char)*text); text++) {
        if (q->tens > -EXPONENT_MAX)
            add_digit(q, *text - '0', true);
        else
            q->more |= *text != '0';
    }
    return text;
}

/* "e3", "E-3". */
static bool read_exponent(struct quantity *q, const char *text)
{
    bool negative = text[1] == '-';
    int exponent = 0;

    text += 1 + (text[1] == '-' || text[1] == '+');
    if (!isdigit((unsigned char)*text))
        return false;
    for (; isdigit((unsigned char)*text); text++)
        exponent = exponent < EXPONENT_MAX ? exponent * 10 + (*text - '0') : exponent;
    q->tens += negative ? -exponent : exponent;
    return *text == '\0';
}

static bool read_suffix(struct quantity *q, const char *text)
{
    if ((*text == 'e' || *text == 'E') && text[1])
        return text[1] != 'i' ? read_exponent(q, text) : *text == 'E' && !text[2] && (q->twos = 60);
    for (size_t i = 0; i < SW_COUNT(suffixes); i++)
        if (strcmp(text, suffixes[i].suffix) == 0) {
            q->tens += suffixes[i].tens;
            q->twos = suffixes[i].twos;
            return true;
        }
    return false;
}

int64_t k8s_quantity(const char *text)
{
    struct quantity q = { 0 };
    wide value;

    text = text ? read_digits(&q, text) : NULL;
    if (!text || !q.any || !read_suffix(&q, text))
        return -1;
    value = q.digits << q.twos;
    q.tens += 3;
    for (; q.tens > 0 && value && value <= INT64_MAX; q.tens--)
        value *= 10;
    for (; q.tens < 0 && value; q.tens++) {
        q.more |= value % 10 != 0;
        value /= 10;
    }
    value += q.more;
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}
