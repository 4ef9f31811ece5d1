/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - laying out text tables.
 *
 * A table is cut only as far as it must be. Columns that may be left out are cut first, the
 * widest first, one terminal column at a time, so short cells stay whole; then they are left
 * out; what must stay (a job's id is useless without its end) is cut last of all.
 *
 * Pure: no I/O.
 */
#include "base/table.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

#define GAP 2

struct cell {
    char *text;
    const char *style;
    size_t columns;
};

struct sw_table {
    const struct sw_column *columns;
    size_t column_count;
    struct cell *cells;
    size_t cell_count, cell_room;
};

struct sw_table *sw_table_new(const struct sw_column *columns, size_t count)
{
    struct sw_table *table = sw_new(struct sw_table);

    table->columns = columns;
    table->column_count = count;
    return table;
}

void sw_table_free(struct sw_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table);
}

void sw_table_cell(struct sw_table *table, const char *text, const char *style)
{
    struct cell *cell;

    if (table->cell_count == table->cell_room) {
        table->cell_room = table->cell_room ? table->cell_room * 2 : 64;
        table->cells = sw_realloc_array(table->cells, table->cell_room, sizeof *table->cells);
    }
    cell = &table->cells[table->cell_count++];
    cell->text = sw_text_printable(text ? text : "", text ? strlen(text) : 0);
    for (char *c = cell->text; *c; c++)
        if (*c == '\n' || *c == '\r' || *c == '\t')
            *c = ' ';
    cell->style = style;
    cell->columns = sw_text_columns(cell->text);
}

#define LEFT_OUT SIZE_MAX

static size_t total_width(const size_t *widths, size_t count)
{
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        if (widths[i] != LEFT_OUT)
            total += widths[i] + GAP;
    return total ? total - GAP : 0;
}

/* Take one terminal column from the widest that can spare it. */
static bool shrink(const struct sw_column *columns, size_t *widths, size_t count, bool essential)
{
    size_t widest = count;

    for (size_t i = 0; i < count; i++)
        if (widths[i] != LEFT_OUT && columns[i].least && widths[i] > columns[i].least &&
            (columns[i].drop == 0) == essential &&
            (widest == count || widths[i] > widths[widest]))
            widest = i;
    if (widest == count)
        return false;
    widths[widest]--;
    return true;
}

static bool leave_out(const struct sw_column *columns, size_t *widths, size_t count)
{
    size_t first = count;

    for (size_t i = 0; i < count; i++)
        if (widths[i] != LEFT_OUT && columns[i].drop &&
            (first == count || columns[i].drop > columns[first].drop))
            first = i;
    if (first == count)
        return false;
    widths[first] = LEFT_OUT;
    return true;
}

static void measure(const struct sw_table *table, size_t *widths)
{
    for (size_t i = 0; i < table->column_count; i++)
        widths[i] = sw_text_columns(table->columns[i].title);
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t column = i % table->column_count;

        if (table->cells[i].columns > widths[column])
            widths[column] = table->cells[i].columns;
    }
}

/* Dropping a column gives its neighbours their room back: measure again each time. */
static void fit(const struct sw_table *table, size_t width, size_t *widths)
{
    size_t count = table->column_count;
    sw_autofree size_t *natural = sw_alloc(sizeof *natural * count);

    measure(table, natural);
    memcpy(widths, natural, sizeof *widths * count);
    while (width && total_width(widths, count) > width) {
        if (shrink(table->columns, widths, count, false))
            continue;
        if (leave_out(table->columns, widths, count)) {
            for (size_t i = 0; i < count; i++)
                if (widths[i] != LEFT_OUT)
                    widths[i] = natural[i];
        } else if (!shrink(table->columns, widths, count, true)) {
            return;
        }
    }
}

bool sw_table_fits(const struct sw_table *table, size_t width)
{
    size_t count = table->column_count;
    sw_autofree size_t *widths = sw_alloc(sizeof *widths * count);

    measure(table, widths);
    for (size_t i = 0; i < count; i++)
        if (table->columns[i].drop && table->columns[i].least && widths[i] > table->columns[i].least)
            widths[i] = table->columns[i].least;
    return width == 0 || total_width(widths, count) <= width;
}

/* As much of the text as fits; returns the columns used. */
static size_t add_cut(struct sw_buf *out, const char *text, size_t columns, size_t width)
{
    sw_autofree char *cut = NULL;

    if (columns <= width) {
        sw_buf_add(out, text);
        return columns;
    }
    cut = sw_text_fit(text, width);
    sw_buf_add(out, cut);
    return sw_text_columns(cut);
}

static void add_spaces(struct sw_buf *out, size_t count)
{
    while (count-- > 0)
        sw_buf_add_char(out, ' ');
}

static void add_cell(struct sw_buf *out, const struct cell *cell, size_t width, bool right,
                     bool last, bool color)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    size_t used = add_cut(&text, cell->text, cell->columns, width);

    if (right)
        add_spaces(out, width - used);
    if (color && cell->style && text.length)
        sw_buf_addf(out, "\033[%sm%s\033[0m", cell->style, sw_buf_text(&text));
    else
        sw_buf_add(out, sw_buf_text(&text));
    if (!last)
        add_spaces(out, (right ? 0 : width - used) + GAP);
}

static void add_row(struct sw_buf *out, const struct sw_table *table, const struct cell *row,
                    const size_t *widths, bool color)
{
    size_t last = 0;

    for (size_t i = 0; i < table->column_count; i++)
        if (widths[i] != LEFT_OUT && row[i].columns)
            last = i;
    for (size_t i = 0; i <= last; i++)
        if (widths[i] != LEFT_OUT)
            add_cell(out, &row[i], widths[i], table->columns[i].right, i == last, color);
    sw_buf_add_char(out, '\n');
}

void sw_table_write(const struct sw_table *table, size_t width, bool color, struct sw_buf *out)
{
    size_t count = table->column_count;
    sw_autofree size_t *widths = sw_alloc(sizeof *widths * count);
    sw_autofree struct cell *titles = sw_alloc(sizeof *titles * count);

    fit(table, width, widths);
    for (size_t i = 0; i < count; i++) {
        titles[i].text = (char *)table->columns[i].title;
        titles[i].columns = sw_text_columns(titles[i].text);
        titles[i].style = "1";
    }
    add_row(out, table, titles, widths, color);
    for (size_t i = 0; i + count <= table->cell_count; i += count)
        add_row(out, table, &table->cells[i], widths, color);
}
