/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number.c - floating-point numbers as text, the same in every locale.
 *
 * We are also a library: the program around us may have chosen a locale that writes 0,5. And
 * PyYAML takes 1e-05 for a text, since YAML 1.1 wants a point and a signed exponent, so every
 * number is written in the one form that all readers share: 1.0e-05.
 */
#include "base/document_internal.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static locale_t plain_locale;

static void make_plain_locale(void)
{
    plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t enter_plain_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_plain_locale);
    return plain_locale ? uselocale(plain_locale) : uselocale((locale_t)0);
}

int sw_real_parse(const char *text, double *value)
{
    locale_t before = enter_plain_locale();
    char *end;
    double number = strtod(text, &end);

    uselocale(before);
    if (end == text || *end || !isfinite(number))
        return -1;
    *value = number;
    return 0;
}

static int shortest(double value, char out[40])
{
    locale_t before = enter_plain_locale();
    int digits = 15;

    for (; digits <= 17; digits++) {
        snprintf(out, 40, "%.*g", digits, value);
        if (digits == 17 || strtod(out, NULL) == value)
            break;
    }
    uselocale(before);
    return digits;
}

int sw_real_digits(double value)
{
    char text[40];

    return shortest(value, text);
}

void sw_real_format(double value, char out[40])
{
    char text[40];
    char *exponent;

    shortest(value, text);
    exponent = strchr(text, 'e');
    if (strchr(text, '.'))
        snprintf(out, 40, "%s", text);
    else if (exponent)
        snprintf(out, 40, "%.*s.0%s", (int)(exponent - text), text, exponent);
    else
        snprintf(out, 40, "%.30s.0", text);
}
