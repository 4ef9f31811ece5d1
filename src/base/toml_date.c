/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toml_date.c - the four kinds of TOML dates and times.
 *
 * A document has no type for them, so they become texts in one normal form ("T" between date
 * and time, "Z" for UTC, at most nine digits after the second). Days are checked against the
 * calendar: 2023-02-29 is a mistake the writer wants to hear about.
 *
 * Pure: no I/O. Called by toml_value.c.
 */
#include "base/toml_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* `pattern` with 0 for a digit: moves `*at` behind it. */
static bool take(const char **at, const char *pattern)
{
    const char *p = *at;

    for (; *pattern; pattern++, p++)
        if (*pattern == '0' ? !isdigit((unsigned char)*p) : *p != *pattern)
            return false;
    *at = p;
    return true;
}

static int number(const char *at, int digits)
{
    int value = 0;

    while (digits-- > 0)
        value = value * 10 + (*at++ - '0');
    return value;
}

static bool is_day(int year, int month, int day)
{
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month >= 1 && month <= 12 && day >= 1 &&
           day <= lengths[month - 1] + (leap && month == 2);
}

static bool take_date(const char **at)
{
    const char *p = *at;

    return take(at, "0000-00-00") && is_day(number(p, 4), number(p + 5, 2), number(p + 8, 2));
}

static bool take_time(const char **at, int *fraction_digits)
{
    const char *p = *at;

    if (!take(at, "00:00:00") || number(p, 2) > 23 || number(p + 3, 2) > 59 ||
        number(p + 6, 2) > 60)
        return false;
    *fraction_digits = 0;
    if (**at == '.') {
        *fraction_digits = (int)strspn(*at + 1, "0123456789");
        *at += 1 + *fraction_digits;
        return *fraction_digits > 0;
    }
    return true;
}

/* "Z", "+01:00" or nothing. */
static bool take_offset(const char **at, char out[8])
{
    const char *p = *at;

    out[0] = '\0';
    if (*p == 'Z' || *p == 'z') {
        snprintf(out, 8, "Z");
        (*at)++;
    } else if (*p == '+' || *p == '-') {
        (*at)++;
        if (!take(at, "00:00") || number(p + 1, 2) > 23 || number(p + 4, 2) > 59)
            return false;
        snprintf(out, 8, "%.6s", p);
    }
    return true;
}

static int time_length(int fraction_digits)
{
    return fraction_digits == 0 ? 8 : 9 + (fraction_digits > 9 ? 9 : fraction_digits);
}

const char *toml_date(const char *word, char out[48])
{
    const char *at = word, *time;
    char offset[8];
    int digits;

    if (take(&at, "00:")) {
        at = word;
        if (!take_time(&at, &digits) || *at)
            return NULL;
        snprintf(out, 48, "%.*s", time_length(digits), word);
        return "time-local";
    }
    at = word;
    if (!take_date(&at))
        return NULL;
    if (!*at) {
        snprintf(out, 48, "%.10s", word);
        return "date-local";
    }
    if (!strchr("Tt ", *at))
        return NULL;
    time = ++at;
    if (!take_time(&at, &digits) || !take_offset(&at, offset) || *at)
        return NULL;
    snprintf(out, 48, "%.10sT%.*s%s", word, time_length(digits), time, offset);
    return *offset ? "datetime" : "datetime-local";
}
