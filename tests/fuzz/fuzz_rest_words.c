/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_rest_words.c - any bytes as an error body: the words are printable and bounded, and there is a field
 * only where there is a document.
 */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "platform/kit/rest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *field = NULL;
    char *words = sw_rest_words((const char *)data, size, &field);
    char *again = words ? sw_text_printable(words, strlen(words)) : NULL;

    CLAIM(!words || (*words && sw_text_is_utf8(words)));
    CLAIM(!words || strlen(words) <= 400 * 4);         /* each byte shown as \xNN at most */
    CLAIM(sw_text_same(words, again));
    CLAIM(!field || memchr(data, '{', size));
    free(again);
    free(field);
    free(words);
    return 0;
}
