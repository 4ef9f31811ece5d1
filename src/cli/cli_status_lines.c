/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_status_lines.c - a few lines at the bottom of the terminal, drawn again in place.
 *
 * A terminal that was made narrower has broken our lines into more rows than we drew. How many
 * is computed from the text and the width as it is now, so that a resize leaves nothing behind.
 * Everything is one write: no flicker, and nothing in between when we are killed.
 */
#include "cli/cli_screen.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

/* Columns of one line; colours ("ESC [ ... m") take none. */
static size_t visible_columns(const char *line, size_t length)
{
    sw_auto(sw_buf) struct sw_buf plain = SW_BUF_INIT;

    for (size_t i = 0; i < length; i++) {
        if (line[i] == '\033')
            i += strcspn(line + i, "m");
        else
            sw_buf_add_char(&plain, line[i]);
    }
    return sw_text_columns(sw_buf_text(&plain));
}

/* How many rows above the cursor the drawn text reaches. */
static size_t rows_above(const char *text, size_t width)
{
    size_t rows = 0;

    for (;;) {
        size_t length = strcspn(text, "\n");
        size_t columns = visible_columns(text, length);

        rows += columns ? (columns - 1) / width : 0;
        if (!text[length])
            return rows;
        rows++;
        text += length + 1;
    }
}

static void add_erase(struct sw_buf *out, const struct cli_status_lines *live)
{
    size_t width, rows, up;

    if (!live->shown)
        return;
    cli_screen_size(live->fd, &width, &rows);
    up = rows_above(live->shown, width);
    sw_buf_add(out, "\r");
    if (up)
        sw_buf_addf(out, "\033[%zuA", up);
    sw_buf_add(out, "\033[J");
}

static void put(const struct cli_status_lines *live, const struct sw_buf *out)
{
    if (out->length)
        (void)!sw_write_all(live->fd, out->data, out->length);
}

void cli_status_lines_draw(struct cli_status_lines *live, const char *lines)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    if (sw_text_same(live->shown, lines))
        return;
    add_erase(&out, live);
    sw_buf_add(&out, lines);
    put(live, &out);
    free(live->shown);
    live->shown = sw_strdup(lines);
}

void cli_status_lines_erase(struct cli_status_lines *live)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    if (!live || !live->shown)
        return;
    add_erase(&out, live);
    put(live, &out);
    free(sw_take(live->shown));
}

void cli_status_lines_keep(struct cli_status_lines *live)
{
    if (!live->shown)
        return;
    (void)!sw_write_all(live->fd, "\n", 1);
    free(sw_take(live->shown));
}
