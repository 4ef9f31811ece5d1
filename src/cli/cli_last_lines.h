/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_last_lines.h - the last N of many lines, in bounded memory.
 */
#ifndef SW_CLI_LAST_LINES_H
#define SW_CLI_LAST_LINES_H

#include <stddef.h>

#include "base/buf.h"

enum { CLI_LAST_LINES_BYTES = 16 * 1024 * 1024 };     /* the oldest give way; the newest line always stays */

struct cli_last_lines {
    size_t wanted;         /* how many; 0: lines are not kept */
    char **texts;          /* a ring of `room`; those in use are owned */
    size_t *lengths;
    size_t room, first, count;
    size_t bytes;
};

void cli_last_lines_add(struct cli_last_lines *last, const char *text, size_t length);
/* All of them, oldest first; afterwards it is empty and keeps no more lines. */
void cli_last_lines_take(struct cli_last_lines *last, struct sw_buf *out);

#endif
