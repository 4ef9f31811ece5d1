/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_last_lines.c - see cli_last_lines.h. A ring that grows up to what is wanted.
 */
#include "cli/cli_last_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

static void drop_first(struct cli_last_lines *last)
{
    last->bytes -= last->lengths[last->first];
    free(sw_take(last->texts[last->first]));
    last->first = (last->first + 1) % last->room;
    last->count--;
}

/* The lines keep their order, beginning at 0. */
static void grow(struct cli_last_lines *last)
{
    size_t room = last->room ? last->room * 2 : 64;
    char **texts = sw_alloc(room * sizeof *texts);
    size_t *lengths = sw_alloc(room * sizeof *lengths);

    for (size_t i = 0; i < last->count; i++) {
        texts[i] = last->texts[(last->first + i) % last->room];
        lengths[i] = last->lengths[(last->first + i) % last->room];
    }
    free(last->texts);
    free(last->lengths);
    last->texts = texts;
    last->lengths = lengths;
    last->room = room;
    last->first = 0;
}

void cli_last_lines_add(struct cli_last_lines *last, const char *text, size_t length)
{
    size_t at;

    while (last->count && (last->count >= last->wanted || last->bytes + length > CLI_LAST_LINES_BYTES))
        drop_first(last);
    if (last->count == last->room)
        grow(last);
    at = (last->first + last->count++) % last->room;
    last->texts[at] = sw_alloc(length + 1);
    memcpy(last->texts[at], text, length);
    last->lengths[at] = length;
    last->bytes += length;
}

void cli_last_lines_take(struct cli_last_lines *last, struct sw_buf *out)
{
    while (last->count) {
        sw_buf_add_bytes(out, last->texts[last->first], last->lengths[last->first]);
        drop_first(last);
    }
    free(last->texts);
    free(last->lengths);
    *last = (struct cli_last_lines){ 0 };
}
