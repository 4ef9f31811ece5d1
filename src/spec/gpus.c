/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus.c - "H100:8", "8" or "0": how many GPUs per node, and of which type.
 *
 * A type without a count is refused rather than guessed: "H100" meaning one GPU and "H100"
 * meaning a whole node are both in use elsewhere.
 */
#include "spec/spec.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "spec/spec_internal.h"

#define GPUS_MAX 1024
#define TYPE_MAX 63

static bool is_type(const char *text, size_t length)
{
    if (length == 0 || length > TYPE_MAX || !isalnum((unsigned char)*text))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
            return false;
    return true;
}

/* Digits only, and never more than GPUS_MAX; -1 otherwise. */
static int read_count(const char *text)
{
    int count = 0;

    if (!*text)
        return -1;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text))
            return -1;
        count = count * 10 + (*text - '0');
        if (count > GPUS_MAX)
            return -1;
    }
    return count;
}

int sw_gpus_parse(const char *text, char **type, int *count, struct sw_error *err)
{
    const char *colon = strrchr(text, ':');
    int found = read_count(colon ? colon + 1 : text);
    bool typed = colon && is_type(text, (size_t)(colon - text));
    sw_autofree char *shown = NULL;

    if (found < 0 || (colon && (!typed || found == 0))) {
        shown = spec_shown(text);
        return sw_fail(err, SW_E_SPEC, "'%s' is not a number of GPUs such as 8 or H100:8 "
                       "(0 to %d per node)", shown, GPUS_MAX);
    }
    *type = typed ? sw_strndup(text, (size_t)(colon - text)) : NULL;
    *count = found;
    return 0;
}
