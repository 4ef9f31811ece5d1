/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_shown.c - any text, with URIs or without: what is shown is never longer, and shows no more or less
 * when it is shown again.
 */
#include <string.h>

#include "base/auto.h"
#include "base/shown.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    sw_autofree char *shown = sw_uri_shown(text), *again = sw_uri_shown(shown);

    CLAIM(strlen(shown) <= strlen(text));
    CLAIM(strcmp(shown, again) == 0);
    return 0;
}
