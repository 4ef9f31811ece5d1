/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_forms.c - a secret as base64, URL and JSON write it.
 *
 * Inside of a longer text base64 writes the same bytes in one of three ways, by what comes before
 * them. Of each way only the letters that depend on the secret alone are looked for: the first and
 * the last one may hold bits of a neighbour.
 */
#include "base/secret_forms.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

struct forms {
    const char *value;
    void (*take)(void *context, const char *form, size_t length);
    void *context;
    struct sw_buf text;                 /* the form being made */
};

static void begin(struct forms *forms)
{
    sw_buf_clear(&forms->text);
    sw_buf_reserve(&forms->text, 8 * strlen(forms->value) + 16);     /* never moved: no copy stays behind */
}

static void give(struct forms *forms)
{
    if (forms->text.length >= SW_SECRET_FORM_LEAST &&
        strcmp(sw_buf_text(&forms->text), forms->value) != 0)
        forms->take(forms->context, forms->text.data, forms->text.length);
}

/* ---- base64 -------------------------------------------------------------------------------------- */

static void add_base64(struct forms *forms, size_t before, const char letters[2])
{
    static const char common[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const unsigned char *bytes = (const unsigned char *)forms->value;
    size_t bits = 8 * (before + strlen(forms->value));

    begin(forms);
    /* Letter i holds the bits 6i to 6i+5 of the whole; the first 8*before of them are another's. */
    for (size_t i = (8 * before + 5) / 6; 6 * (i + 1) <= bits; i++) {
        unsigned value = 0;

        for (size_t bit = 6 * i; bit < 6 * i + 6; bit++)
            value = value << 1 | (bytes[bit / 8 - before] >> (7 - bit % 8) & 1);
        sw_buf_add_char(&forms->text, value < 62 ? common[value] : letters[value - 62]);
    }
    give(forms);
}

/* ---- URLs ---------------------------------------------------------------------------------------- */

static void add_url(struct forms *forms, const char *digits, const char *plain)
{
    static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    begin(forms);
    for (const char *at = forms->value; *at; at++) {
        if (strchr(unreserved, *at) || strchr(plain, *at)) {
            sw_buf_add_char(&forms->text, *at);
            continue;
        }
        sw_buf_add_char(&forms->text, '%');
        sw_buf_add_char(&forms->text, digits[(unsigned char)*at >> 4]);
        sw_buf_add_char(&forms->text, digits[(unsigned char)*at & 15]);
    }
    give(forms);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

/* The character that begins at `at` and how many bytes it takes; a byte that is no UTF-8 counts as
 * itself. */
static uint32_t character(const char *at, size_t *length)
{
    unsigned char first = (unsigned char)*at;
    size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    uint32_t code = more ? first & (0x3fu >> more) : first;

    *length = 1;
    for (size_t i = 1; i <= more; i++) {
        if (((unsigned char)at[i] & 0xc0) != 0x80)
            return first;
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    }
    *length = more + 1;
    return code;
}

static void add_unit(struct forms *forms, uint32_t unit)
{
    char text[8];

    snprintf(text, sizeof text, "\\u%04x", (unsigned)(unit & 0xffff));
    sw_buf_add(&forms->text, text);
}

static void add_escaped(struct forms *forms, uint32_t code)
{
    if (code > 0xffff) {
        add_unit(forms, 0xd800 + ((code - 0x10000) >> 10));
        add_unit(forms, 0xdc00 + ((code - 0x10000) & 0x3ff));
    } else {
        add_unit(forms, code);
    }
}

static void add_json(struct forms *forms, bool ascii_only, bool slashes)
{
    static const char special[] = "\"\\\b\f\n\r\t", written[] = "\"\\bfnrt";
    size_t length;

    begin(forms);
    for (const char *at = forms->value; *at; at += length) {
        uint32_t code = character(at, &length);
        const char *known = length == 1 ? strchr(special, *at) : NULL;

        if (known || (slashes && *at == '/')) {
            sw_buf_add_char(&forms->text, '\\');
            sw_buf_add_char(&forms->text, known ? written[known - special] : '/');
        } else if (code < 0x20 || (code > 0x7e && ascii_only)) {
            add_escaped(forms, code);
        } else {
            sw_buf_add_bytes(&forms->text, at, length);
        }
    }
    give(forms);
}

void sw_secret_forms(const char *value, void (*take)(void *context, const char *form, size_t length),
                     void *context)
{
    struct forms forms = { .value = value, .take = take, .context = context };
    static const char *const alphabets[] = { "+/", "-_" };

    if (strlen(value) < SW_SECRET_LEAST)
        return;
    take(context, value, strlen(value));
    for (size_t before = 0; before < 3; before++)
        for (size_t i = 0; i < SW_COUNT(alphabets); i++)
            add_base64(&forms, before, alphabets[i]);
    add_url(&forms, "0123456789ABCDEF", "");
    add_url(&forms, "0123456789abcdef", "");
    add_url(&forms, "0123456789ABCDEF", "/");
    add_json(&forms, false, false);
    add_json(&forms, true, false);
    add_json(&forms, false, true);
    if (forms.text.data)
        explicit_bzero(forms.text.data, forms.text.room);
    sw_buf_done(&forms.text);
}
