/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_uri.c - any text as a URI, a name and a pattern: a URI or a reason, what is printed parses
 * back, and an accepted name has no part that climbs.
 */
#include <string.h>

#include "fuzz.h"
#include "storage/uri.h"

static void try_uri(const char *text)
{
    sw_auto(sw_uri) struct sw_uri uri = { 0 };
    sw_auto(sw_uri) struct sw_uri again = { 0 };
    sw_autofree char *printed = NULL;
    struct sw_error err = { 0 };
    int result = sw_uri_parse(text, &uri, &err);

    CLAIM((result == 0) == (err.code == SW_OK) && (result == 0) == (uri.path != NULL));
    if (result < 0)
        return;
    printed = sw_uri_text(&uri);
    CLAIM(sw_uri_parse(printed, &again, NULL) == 0);
    CLAIM(strcmp(uri.scheme, again.scheme) == 0 && strcmp(uri.path, again.path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    char *middle = text + strlen(text) / 2;

    try_uri(text);
    if (sw_name_check(text, NULL) == 0) {
        CLAIM(text[0] != '/' && !strstr(text, "/../") && !strstr(text, "//"));
        CLAIM(strcmp(text, "..") != 0 && strncmp(text, "../", 3) != 0);
    }
    sw_name_matches(text, middle);
    CLAIM(sw_name_matches("*", text));
    return 0;
}
