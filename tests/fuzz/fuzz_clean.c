/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_clean.c - any log on a terminal: every ESC that is left begins a colour, the last colour is reset, and
 * where the stream is cut makes no difference.
 */
#include <string.h>

#include "base/auto.h"
#include "cli/cli_clean.h"
#include "fuzz.h"

static void clean_in_pieces(const char *bytes, size_t length, size_t piece, struct sw_buf *out)
{
    struct cli_clean clean = { .colors = true };

    for (size_t at = 0; at < length; at += piece)
        cli_clean_add(&clean, bytes + at, length - at < piece ? length - at : piece, out);
    cli_clean_end(&clean, out);
    CLAIM(clean.held_length == 0 && !clean.painted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_auto(sw_buf) struct sw_buf whole = SW_BUF_INIT, parts = SW_BUF_INIT;
    const char *last = NULL;

    clean_in_pieces((const char *)data, size, size ? size : 1, &whole);
    clean_in_pieces((const char *)data, size, 1, &parts);
    CLAIM(strcmp(sw_buf_text(&whole), sw_buf_text(&parts)) == 0);
    for (const char *at = sw_buf_text(&whole); (at = strchr(at, '\033')); at++) {
        CLAIM(at[1] == '[');
        CLAIM(at[2 + strspn(at + 2, "0123456789;:")] == 'm');
        last = at;
    }
    CLAIM(!last || strncmp(last, "\033[0m", 4) == 0);
    return 0;
}
