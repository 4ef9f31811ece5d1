/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps_columns.h - the columns of `slipway ps`: one table, read by -o columns=, --sort, config.toml, help and
 * completion.
 */
#ifndef SW_CLI_PS_COLUMNS_H
#define SW_CLI_PS_COLUMNS_H

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/table.h"

struct ps_column {
    const char *name;               /* as users write it; NULL ends the table */
    const char *about;              /* one line for help and completion */
    struct sw_column shape;
    enum {
        PS_ALWAYS,
        PS_IF_KNOWN,                /* when at least one of the jobs has it */
        PS_IF_SEVERAL,              /* when the jobs differ in it */
        PS_WIDE,                    /* with -o wide, or when it is asked for */
    } when;
    char *(*text)(const json_t *job);       /* owned; "": it has none */
    double (*number)(const json_t *job);    /* what to sort by, NAN: it has none; NULL: by the text */
};

extern const struct ps_column ps_columns[];
#define PS_COLUMNS_MOST 32

/* Which columns, in which order. */
struct ps_layout {
    const struct ps_column *columns[PS_COLUMNS_MOST];
    size_t count;
    bool whole;                     /* nothing is cut or left out, however narrow the terminal is */
    bool chosen;                    /* named one by one: none is left out */
};

/* "id,state,..." -> a layout; SW_E_USAGE names the unknown one and lists those that exist. */
int ps_layout_named(const char *names, struct ps_layout *out, struct sw_error *err);
/* What these jobs need. */
void ps_layout_for(const json_t *jobs, bool wide, struct ps_layout *out);
/* The table for a terminal of that width (0: no terminal). */
void ps_write(struct sw_buf *out, const json_t *jobs, const struct ps_layout *layout, size_t width,
              bool color);

/* The column of that name; NULL + SW_E_USAGE, which lists those that exist. */
const struct ps_column *ps_column_find(const char *name, struct sw_error *err);

/* ps_sort.c: "duration", "-duration", "duration:desc" -> how to sort. */
struct ps_order {
    const struct ps_column *column;         /* NULL: newest first, as they come */
    bool descending;
};
int ps_order_parse(const char *word, struct ps_order *out, struct sw_error *err);
/* The same jobs, sorted, as a new array; equal ones stay newest first, those without a value come last. */
json_t *ps_sorted(const json_t *jobs, const struct ps_order *order);

/* "id, name, state, ...": for messages. */
void ps_column_names(struct sw_buf *out);

#endif
