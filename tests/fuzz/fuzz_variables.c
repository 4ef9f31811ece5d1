/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_variables.c - any text with variables: a text or a reason, bounded, and what is escaped stays as it
 * is.
 */
#include <string.h>

#include "fuzz.h"
#include "spec/spec_internal.h"

static const char *value_of(void *unused, const char *name)
{
    (void)unused;
    return strcmp(name, "A") == 0 ? "${A}$" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct spec_variables from = { value_of, NULL, NULL, NULL };
    sw_autofree char *text = sw_strndup((const char *)data, size);
    sw_auto(sw_buf) struct sw_buf escaped = SW_BUF_INIT;
    sw_autofree char *why = NULL, *filled = spec_expand(&from, text, &why);
    sw_autofree char *never = NULL, *again = NULL, *bare = spec_bare_variable(text);

    CLAIM((filled == NULL) == (why != NULL));
    CLAIM(!filled || strlen(filled) <= (1 << 20) + 16);
    CLAIM(!bare || (*bare && strstr(text, bare)));
    for (const char *at = text; *at; at++) {
        if (*at == '$')
            sw_buf_add_char(&escaped, '$');
        sw_buf_add_char(&escaped, *at);
    }
    again = spec_expand(&from, sw_buf_text(&escaped), &never);
    CLAIM(strlen(text) > (1 << 20) || (again && strcmp(again, text) == 0));
    return 0;
}
