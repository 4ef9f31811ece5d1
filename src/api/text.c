/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - answers as text that the caller owns; the version.
 */
#include "api/api_internal.h"

#include <stdlib.h>

char *api_text(json_t *document)
{
    char *text;

    if (!document)
        return NULL;
    text = sw_json_dump(document);
    json_decref(document);
    return text;
}

void sw_text_free(char *text)
{
    free(text);
}

const char *sw_version(void)
{
    return SW_VERSION;
}
