/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_text.c - base64 of either alphabet. Pure.
 */
#include <string.h>

#include "platform/docker/docker_internal.h"

static int digit_of(char c)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = strchr(alphabet, c == '-' ? '+' : c == '_' ? '/' : c);

    return c && found ? (int)(found - alphabet) : -1;
}

char *docker_unbase64(const char *text)
{
    size_t length = strlen(text), used = 0;
    char *out = sw_alloc(length + 1);
    unsigned bits = 0;
    int have = 0;

    while (length && strchr("=\r\n ", text[length - 1]))
        length--;
    for (size_t i = 0; i < length; i++) {
        int digit = digit_of(text[i]);

        bits = (bits << 6) | (unsigned)(digit & 63);
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[used++] = (char)(bits >> have & 255);
        }
        if (digit < 0 || (used && !out[used - 1])) {
            explicit_bzero(out, used);
            free(out);
            return NULL;
        }
    }
    return out;
}
