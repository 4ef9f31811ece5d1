/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_clean.h - the bytes of a log as a terminal may have them: colours pass, nothing else is obeyed.
 */
#ifndef SW_CLI_CLEAN_H
#define SW_CLI_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { CLI_CLEAN_SEQUENCE = 64, CLI_CLEAN_ACTIVE = 128 };

/* All zero: a new stream. */
struct cli_clean {
    bool colors;                       /* colour sequences pass; false: they are dropped */
    char held[CLI_CLEAN_SEQUENCE];     /* a sequence or character whose end is still to come */
    size_t held_length;
    char active[CLI_CLEAN_ACTIVE];     /* the colour sequences since the last reset */
    size_t active_length;
    bool painted;                      /* the terminal has them now */
};

/* The next bytes of the stream, in pieces of any length. A colour ends with its line and begins again with
 * the next one's text, so that what is put in front of a line keeps its own. */
void cli_clean_add(struct cli_clean *clean, const char *bytes, size_t length, struct sw_buf *out);
/* The stream ends: what was held is shown, colours are reset. */
void cli_clean_end(struct cli_clean *clean, struct sw_buf *out);

#endif
