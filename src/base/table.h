/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - text tables that fit: widths in terminal columns, long cells cut with an ellipsis.
 *
 *     static const struct sw_column columns[] = {
 *         { "ID" }, { "MESSAGE", .least = 10, .drop = 1 },
 *     };
 *     sw_auto(sw_table) struct sw_table *table = sw_table_new(columns, SW_COUNT(columns));
 *     sw_table_cell(table, job_id, NULL);
 *     sw_table_cell(table, message, NULL);
 *     sw_table_write(table, 80, color, &out);
 */
#ifndef SW_BASE_TABLE_H
#define SW_BASE_TABLE_H

#include <stdbool.h>

#include "base/buf.h"

struct sw_column {
    const char *title;
    bool right;         /* numbers and ages read better flush right */
    size_t least;       /* the column may be cut down to this width; 0: it is never cut */
    int drop;           /* left out when cutting is not enough, the highest first; 0: never,
                           and cut only after the others are gone */
};

struct sw_table;

/* `columns` is borrowed as long as the table lives. */
struct sw_table *sw_table_new(const struct sw_column *columns, size_t count);
void sw_table_free(struct sw_table *table);
SW_DEFINE_AUTO(sw_table, struct sw_table *, sw_table_free)

/* The next cell, row by row. Control characters are made harmless, line breaks become spaces.
 * `style` is an SGR parameter such as "32" (borrowed), or NULL. NULL text is an empty cell. */
void sw_table_cell(struct sw_table *table, const char *text, const char *style);

/* Can it be written in that width with no column left out? */
bool sw_table_fits(const struct sw_table *table, size_t width);

/* Titles and rows. `width` 0: as wide as the cells are, nothing is cut. */
void sw_table_write(const struct sw_table *table, size_t width, bool color, struct sw_buf *out);

#endif
