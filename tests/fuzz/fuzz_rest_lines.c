/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_rest_lines.c - a stream of JSON lines gives the same documents however it is cut.
 */
#include <string.h>

#include "fuzz.h"
#include "platform/kit/rest.h"

static int count(void *context, json_t *document)
{
    CLAIM(document != NULL);
    ++*(size_t *)context;
    return 0;
}

static size_t documents(const uint8_t *data, size_t size, size_t step)
{
    size_t found = 0;
    struct sw_rest_lines lines = { .take = count, .context = &found };

    for (size_t i = 0; i < size; i += step)
        if (sw_rest_lines_sink(&lines, NULL, (const char *)data + i,
                              size - i < step ? size - i : step) != 0)
            break;
    sw_rest_lines_done(&lines);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t whole = documents(data, size, size ? size : 1);

    CLAIM(documents(data, size, 1) == whole);
    CLAIM(documents(data, size, 7) == whole);
    return 0;
}
