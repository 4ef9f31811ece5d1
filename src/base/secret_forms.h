/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_forms.h - how a secret may look in a text: as it is, and as base64, URL and JSON write it.
 *
 * The one list of these forms; whatever takes secrets out of a text asks here.
 */
#ifndef SW_BASE_SECRET_FORMS_H
#define SW_BASE_SECRET_FORMS_H

#include <stddef.h>

enum {
    SW_SECRET_LEAST = 4,        /* a shorter value is not masked: it would turn every log into noise */
    SW_SECRET_FORM_LEAST = 8,   /* nor is an encoded form that is shorter than this */
};

/* Calls take() for the value itself and for each encoded form that differs from it. `form` lives until
 * take() returns and is wiped afterwards. Nothing for a value shorter than SW_SECRET_LEAST. */
void sw_secret_forms(const char *value, void (*take)(void *context, const char *form, size_t length),
                     void *context);

#endif
