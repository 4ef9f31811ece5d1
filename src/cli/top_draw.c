/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_draw.c - one frame of `slipway top`: the list of jobs, the log of one, the keys.
 *
 * The list takes what it needs up to a third of the screen (with 'l': three rows), the log has the
 * rest. Every line is cut to the screen before it is coloured, so no terminal ever wraps one.
 *
 * Pure: documents and sizes in, text out.
 */
#include "cli/top_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/table.h"
#include "base/text.h"
#include "cli/cli_progress.h"

#define BAR_WIDTH 10
#define KEYS "q quit  \xe2\x86\x91\xe2\x86\x93 select  c cancel  l larger log  f follow  ? help"

#define BEFORE_PLATFORM { "ID", .least = 14 }, { "STATE" }
#define AFTER_PLATFORM                                                                       \
    { "AGE", .right = true, .drop = 3 }, { "PROGRESS", .least = 12, .drop = 2 },             \
    { "GPU", .drop = 4 },                { "MESSAGE", .least = 8, .drop = 5 }

static const struct sw_column columns_of[] = { BEFORE_PLATFORM, AFTER_PLATFORM };
static const struct sw_column columns_with_platform[] = {
    BEFORE_PLATFORM, { "PLATFORM", .drop = 1 }, AFTER_PLATFORM
};

/* Jobs of one platform need no column that says so on every line. */
static bool has_platforms(const json_t *jobs)
{
    const char *first = sw_json_str(json_array_get(jobs, 0), "backend_type");
    const json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job)
        if (!sw_text_same(sw_json_str(job, "backend_type"), first))
            return true;
    return false;
}

static const char *const help_lines[] = {
    "up, k / down, j     select a job",
    "PgUp / PgDn         scroll its log (stops following)",
    "g, Home / G, End    the first / the last job",
    "f                   follow the log again",
    "l                   larger log, or larger list",
    "c                   cancel the selected job (asks)",
    "q, Ctrl-C           quit; the jobs go on",
    "",
    "any key goes back",
};

struct frame {
    struct sw_buf *out;
    size_t columns, rows, used;
    bool color;
};

/* One line, cut; `style` is an SGR parameter or NULL. The last row has no line end. */
static void add_line(struct frame *f, const char *text, const char *style)
{
    sw_autofree char *cut = sw_text_fit(text, f->columns);

    if (f->used >= f->rows)
        return;
    if (f->used++)
        sw_buf_add_char(f->out, '\n');
    if (style)
        sw_buf_addf(f->out, "\033[%sm%s\033[0m", style, cut);
    else
        sw_buf_add(f->out, cut);
}

static void add_filled(struct frame *f, const char *text, const char *style)
{
    size_t columns = sw_text_columns(text);
    int spaces = columns < f->columns ? (int)(f->columns - columns) : 0;
    sw_autofree char *filled = sw_format("%s%*s", text, spaces, "");

    add_line(f, filled, style);
}

static void add_title(struct frame *f, const json_t *document)
{
    const json_t *jobs = json_object_get(document, "jobs"), *job, *each;
    size_t counts[SW_CANCELED + 1] = { 0 }, i;
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    json_array_foreach(jobs, i, job)
        counts[cli_job_state(job)]++;
    sw_buf_addf(&text, "slipway top  %zu running, %zu waiting, %zu over", counts[SW_RUNNING],
                counts[SW_PENDING], counts[SW_COMPLETE] + counts[SW_ERROR] + counts[SW_CANCELED]);
    json_array_foreach(json_object_get(document, "unreachable"), i, each)
        sw_buf_addf(&text, "%s%s", i ? ", " : "  not answering: ", sw_json_str(each, "platform"));
    add_filled(f, sw_buf_text(&text), f->color ? "1;7" : "7");
}

static void add_cells(struct sw_table *table, const json_t *job, bool platform)
{
    enum sw_state state = cli_job_state(job);
    sw_autofree char *progress = cli_progress_cell(job, BAR_WIDTH), *gpu = cli_gpu_cell(job);
    sw_autofree char *message = cli_job_message(job);
    char age[24];

    cli_job_age(job, "age_ms", age);
    sw_table_cell(table, sw_json_str(job, "id"), NULL);
    sw_table_cell(table, sw_state_name(state), cli_state_style(state));
    if (platform)
        sw_table_cell(table, sw_json_str(job, "backend_type"), NULL);
    sw_table_cell(table, age, NULL);
    sw_table_cell(table, progress, NULL);
    sw_table_cell(table, gpu, NULL);
    sw_table_cell(table, state == SW_RUNNING ? sw_json_str(job, "last_line") : message, NULL);
}

/* The list scrolls only as far as the selection makes it. */
static void keep_in_sight(struct top_view *view, size_t count, size_t room)
{
    if (view->selected >= count)
        view->selected = count ? count - 1 : 0;
    if (view->selected < view->first_job)
        view->first_job = view->selected;
    if (view->selected >= view->first_job + room)
        view->first_job = view->selected - room + 1;
    if (view->first_job + room > count)
        view->first_job = count > room ? count - room : 0;
}

static char *next_line(const char **text)
{
    size_t length = strcspn(*text, "\n");
    char *line = sw_strndup(*text, length);

    *text += length + ((*text)[length] == '\n');
    return line;
}

/* The table is laid out twice, plain and coloured: the selected row is one colour throughout. */
static void add_list(struct frame *f, const json_t *jobs, struct top_view *view, size_t room)
{
    bool platforms = has_platforms(jobs);
    sw_auto(sw_table) struct sw_table *table =
        platforms ? sw_table_new(columns_with_platform, SW_COUNT(columns_with_platform))
                  : sw_table_new(columns_of, SW_COUNT(columns_of));
    sw_auto(sw_buf) struct sw_buf plain = SW_BUF_INIT, colored = SW_BUF_INIT;
    const char *a, *b;
    size_t count = json_array_size(jobs);

    keep_in_sight(view, count, room);
    for (size_t i = view->first_job; i < count && i < view->first_job + room; i++)
        add_cells(table, json_array_get(jobs, i), platforms);
    sw_table_write(table, f->columns, false, &plain);
    sw_table_write(table, f->columns, f->color, &colored);
    a = sw_buf_text(&plain);
    b = sw_buf_text(&colored);
    for (size_t i = 0; *a; i++) {
        sw_autofree char *row = next_line(&a), *bright = next_line(&b);

        if (i > 0 && view->first_job + i - 1 == view->selected) {
            add_filled(f, row, "7");
        } else if (f->color && f->used < f->rows && sw_text_columns(row) <= f->columns) {
            sw_buf_addf(f->out, "\n%s", bright);
            f->used++;
        } else {
            add_line(f, row, NULL);
        }
    }
}

static void add_separator(struct frame *f, const char *id, const struct top_view *view)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_autofree char *name = sw_format(" %s ", id ? id : "no job");
    const char *mode = view->follow ? " following " : " scrolled back ";
    size_t taken = sw_text_columns(name) + strlen(mode) + 4;

    sw_buf_addf(&text, "\xe2\x94\x80\xe2\x94\x80%s", name);
    for (; taken < f->columns; taken++)
        sw_buf_add(&text, "\xe2\x94\x80");
    sw_buf_addf(&text, "%s\xe2\x94\x80\xe2\x94\x80", mode);
    add_line(f, sw_buf_text(&text), f->color ? "2" : NULL);
}

static void add_log(struct frame *f, const struct top_log *log, struct top_view *view, size_t room)
{
    size_t most = log->count > room ? log->count - room : 0, first;

    if (view->follow)
        view->scrolled = 0;
    if (view->scrolled > most)
        view->scrolled = most;
    first = most - view->scrolled;
    for (size_t i = 0; i < room; i++)
        add_line(f, first + i < log->count ? top_log_line(log, first + i) : "", NULL);
}

static void add_help(struct frame *f, size_t room)
{
    for (size_t i = 0; i < room; i++) {
        sw_autofree char *line = sw_format("  %s", i < SW_COUNT(help_lines) ? help_lines[i] : "");

        add_line(f, line, NULL);
    }
}

static size_t list_rows(const struct top_view *view, size_t count, size_t rows)
{
    size_t most = view->large_log ? 3 : rows / 3;

    if (most < 1)
        most = 1;
    return count < most ? (count ? count : 1) : most;
}

void top_draw(struct sw_buf *frame, const json_t *document, const struct top_log *log,
              struct top_view *view, const char *note, size_t columns, size_t rows, bool color)
{
    struct frame f = { .out = frame, .columns = columns, .rows = rows, .color = color };
    const json_t *jobs = json_object_get(document, "jobs");
    size_t count = json_array_size(jobs), list = list_rows(view, count, rows);
    size_t rest = rows > list + 4 ? rows - list - 4 : 0;     /* title, head, separator, keys */
    const char *last = view->question[0] ? view->question : *note ? note : KEYS;

    add_title(&f, document);
    add_list(&f, jobs, view, list);
    if (count == 0)
        add_line(&f, document ? "no jobs; 'slipway run -- COMMAND' starts one" : "asking ...",
                 NULL);
    add_separator(&f, sw_json_str(json_array_get(jobs, view->selected), "id"), view);
    if (view->help)
        add_help(&f, rest);
    else
        add_log(&f, log, view, rest);
    add_filled(&f, last, color && view->question[0] ? "1;33" : "7");
}
