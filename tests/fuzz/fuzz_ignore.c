/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ignore.c - any bytes as a .gitignore, a blank line, and a path: an answer comes, soon, and it
 * is the same the second time.
 */
#include <string.h>

#include "fuzz.h"
#include "plan/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    const char *text = (const char *)input;
    const char *split = size ? memmem(text, size, "\n\n", 2) : NULL;
    size_t length = split ? (size_t)(split - text) : size;
    char *path = split ? sw_strndup(split + 2, size - length - 2) : sw_strdup("a/b.c");
    struct sw_ignore *ignore = sw_ignore_new();
    bool first;

    if (size < 4096) {
        sw_ignore_add(ignore, "", text, length);
        first = sw_ignore_matches(ignore, path, false);
        CLAIM(sw_ignore_matches(ignore, path, false) == first);
    }
    sw_ignore_free(ignore);
    free(path);
    return 0;
}
