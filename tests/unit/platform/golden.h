/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden.h - what is sent, compared with files below $GOLDEN that are reviewed like code.
 *
 * SLIPWAY_GOLDEN_WRITE=1 writes them anew. After cmocka.h.
 */
#ifndef SW_TESTS_GOLDEN_H
#define SW_TESTS_GOLDEN_H

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

static inline void compare_text(const char *file, const char *text)
{
    sw_autofree char *path = sw_format("%s/%s", getenv("GOLDEN"), file), *golden = NULL;

    if (getenv("SLIPWAY_GOLDEN_WRITE"))
        assert_int_equal(sw_file_write(path, text, strlen(text), 0644, NULL), 0);
    golden = sw_file_read(path, 1 << 20, NULL, NULL);
    assert_non_null(golden);
    assert_string_equal(text, golden);
}

/* In NAME.json. */
static inline void compare_document(const char *name, const json_t *document)
{
    sw_autofree char *file = sw_format("%s.json", name), *text = sw_json_dump_pretty(document);

    compare_text(file, text);
}

#endif
