/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_draw.c - one frame of `slipway top`: the list of jobs, the log of one, the keys.
 *
 * The list takes what it needs up to a third of the screen (with 'l': three rows), the log has the
 * rest. Where it is narrow, the bar of the progress goes before its numbers do. Every line is cut to the
 * screen before it is coloured, so no terminal ever wraps one.
 *
 * Pure: documents and sizes in, text out.
 */
#include "cli/top_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/table.h"
#include "base/text.h"
#include "cli/cli_progress.h"

#define KEYS \
    "q quit  \xe2\x86\x91\xe2\x86\x93 select  w why  a attempts  c cancel  r retry  / filter  ? help"

/* Columns that not every list needs. */
enum { WITH_PLATFORM = 1, WITH_GPU = 2 };
#define HEAD    { "ID", .least = 14 }, { "STATE" }
#define PLACE   { "PLATFORM", .drop = 1 }
#define MIDDLE  { "AGE", .right = true, .drop = 3 }, { "PROGRESS", .drop = 2 }
#define GPU     { "GPU", .drop = 4 }
#define TAIL    { "MESSAGE", .least = 12, .drop = 5 }

static const struct top_columns {
    struct sw_column columns[7];
    size_t count;
} layouts[] = {
    [0] = { { HEAD, MIDDLE, TAIL }, 5 },
    [WITH_PLATFORM] = { { HEAD, PLACE, MIDDLE, TAIL }, 6 },
    [WITH_GPU] = { { HEAD, MIDDLE, GPU, TAIL }, 6 },
    [WITH_PLATFORM | WITH_GPU] = { { HEAD, PLACE, MIDDLE, GPU, TAIL }, 7 },
};

/* Jobs of one platform need no column that says so on every line, and jobs without GPUs none for those. */
static unsigned needed(const json_t *jobs)
{
    const char *first = sw_json_str(json_array_get(jobs, 0), "backend_type");
    const json_t *job;
    unsigned columns = 0;
    size_t i;

    json_array_foreach(jobs, i, job) {
        sw_autofree char *gpu = cli_gpu_cell(job);

        if (!sw_text_same(sw_json_str(job, "backend_type"), first))
            columns |= WITH_PLATFORM;
        if (*gpu)
            columns |= WITH_GPU;
    }
    return columns;
}

static const char *const help_lines[] = {
    "up, k / down, j     select a job",
    "PgUp / PgDn         scroll its log (stops following)",
    "g, Home / G, End    the first / the last job",
    "f                   follow the log again",
    "l                   larger log, or larger list",
    "w                   why it failed or is waiting; again: its log",
    "a                   its attempts; again: its log",
    "u                   the CPUs, memory and GPUs it uses; again: its log",
    "c                   cancel the selected job (asks)",
    "r                   retry the selected job (asks)",
    "/                   show only jobs that hold a text; Esc: all",
    "q, Ctrl-C           quit; the jobs continue",
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

static void add_title(struct frame *f, const json_t *document, const struct top_view *view)
{
    const json_t *jobs = json_object_get(document, "jobs"), *job, *each;
    size_t counts[SW_CANCELED + 1] = { 0 }, i;
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    json_array_foreach(jobs, i, job)
        counts[cli_job_state(job)]++;
    sw_buf_addf(&text, "slipway top  %zu running, %zu waiting, %zu finished", counts[SW_RUNNING],
                counts[SW_PENDING], counts[SW_COMPLETE] + counts[SW_ERROR] + counts[SW_CANCELED]);
    json_array_foreach(json_object_get(document, "unreachable"), i, each)
        sw_buf_addf(&text, "%s%s", i ? ", " : "  not answering: ", sw_json_str(each, "platform"));
    if (view->filter[0])
        sw_buf_addf(&text, "  filter: %s", view->filter);
    add_filled(f, sw_buf_text(&text), f->color ? "1;7" : "7");
}

static void add_cells(struct sw_table *table, const json_t *job, unsigned columns, size_t bar_width)
{
    enum sw_state state = cli_job_state(job);
    sw_autofree char *progress = cli_progress_cell(job, bar_width), *gpu = cli_gpu_cell(job);
    sw_autofree char *message = cli_job_message(job);
    char age[24];

    cli_job_age(job, "age_ms", age);
    sw_table_cell(table, sw_json_str(job, "id"), NULL);
    sw_table_cell(table, sw_state_name(state), cli_state_style(state));
    if (columns & WITH_PLATFORM)
        sw_table_cell(table, sw_json_str(job, "backend_type"), NULL);
    sw_table_cell(table, age, NULL);
    sw_table_cell(table, progress, NULL);
    if (columns & WITH_GPU)
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

/* The jobs in sight, with the longest bar that leaves room for all columns. */
static struct sw_table *table_of(const struct frame *f, const json_t *jobs, const struct top_view *view,
                                 size_t room)
{
    unsigned columns = needed(jobs);
    const struct top_columns *layout = &layouts[columns];
    struct sw_table *table = NULL;

    for (size_t b = 0; b < CLI_BARS; b++) {
        sw_table_free(table);
        table = sw_table_new(layout->columns, layout->count);
        for (size_t i = view->first_job; i < json_array_size(jobs) && i < view->first_job + room; i++)
            add_cells(table, json_array_get(jobs, i), columns, cli_bar_widths[b]);
        if (sw_table_fits(table, f->columns))
            break;
    }
    return table;
}

/* The table is written twice, plain and coloured: the selected row is one colour throughout. */
static void add_list(struct frame *f, const json_t *jobs, struct top_view *view, size_t room)
{
    sw_auto(sw_table) struct sw_table *table = NULL;
    sw_auto(sw_buf) struct sw_buf plain = SW_BUF_INIT, colored = SW_BUF_INIT;
    const char *a, *b;

    keep_in_sight(view, json_array_size(jobs), room);
    table = table_of(f, jobs, view, room);
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

static const char *mode_of(const struct top_view *view, const json_t *job)
{
    static const char *const panes[] = { [TOP_WHY] = " why ", [TOP_ATTEMPTS] = " attempts ",
                                         [TOP_USE] = " use " };

    if (view->pane != TOP_LOG)
        return panes[view->pane];
    if (!view->follow)
        return " scrolled back ";
    return sw_state_is_final(cli_job_state(job)) ? " finished " : " following ";
}

static void add_separator(struct frame *f, const json_t *job, const struct top_view *view)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_autofree char *name = sw_format(" %s ", job ? sw_json_str(job, "id") : "no job");
    const char *mode = mode_of(view, job);
    size_t taken = sw_text_columns(name) + strlen(mode) + 4;

    sw_buf_addf(&text, "\xe2\x94\x80\xe2\x94\x80%s", name);
    for (; taken < f->columns; taken++)
        sw_buf_add(&text, "\xe2\x94\x80");
    sw_buf_addf(&text, "%s\xe2\x94\x80\xe2\x94\x80", mode);
    add_line(f, sw_buf_text(&text), f->color ? "2" : NULL);
}

/* What else is known about the job, in place of its log. */
static void add_detail(struct frame *f, const json_t *detail, enum top_pane pane, size_t room)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    const char *rest;

    if (!detail)
        sw_buf_add(&text, "asking ...");
    else if (pane == TOP_WHY)
        cli_why_card(&text, detail, f->columns, false);
    else if (pane == TOP_USE)
        cli_use_card(&text, detail);
    else
        cli_attempts_table(&text, detail, f->columns, false);
    rest = sw_buf_text(&text);
    for (size_t i = 0; i < room; i++) {
        sw_autofree char *line = next_line(&rest);

        add_line(f, line, NULL);
    }
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

/* A question, the filter as it is typed, a note, or the keys. */
static void add_last_line(struct frame *f, const struct top_frame *frame, const struct top_view *view)
{
    sw_autofree char *typed = sw_format("filter: %s_  (Enter: done, Esc: all jobs)", view->filter);
    const char *text = view->question[0] ? view->question : view->typing ? typed
                       : *frame->note    ? frame->note    : KEYS;

    add_filled(f, text, f->color && view->question[0] ? "1;33" : "7");
}

static const char *nothing_to_list(const json_t *document, const struct top_view *view)
{
    if (!document)
        return "asking ...";
    return view->filter[0] ? "no job matches; Esc shows all" : "no jobs; 'slipway run -- COMMAND' starts one";
}

void top_draw(struct sw_buf *out, const struct top_frame *frame, struct top_view *view)
{
    struct frame f = { .out = out, .columns = frame->columns, .rows = frame->rows, .color = frame->color };
    const json_t *jobs = json_object_get(frame->document, "jobs");
    size_t count = json_array_size(jobs), list = list_rows(view, count, f.rows);
    size_t rest = f.rows > list + 4 ? f.rows - list - 4 : 0;     /* title, head, separator, keys */

    add_title(&f, frame->document, view);
    add_list(&f, jobs, view, list);
    if (count == 0)
        add_line(&f, nothing_to_list(frame->document, view), NULL);
    add_separator(&f, json_array_get(jobs, view->selected), view);
    if (view->help)
        add_help(&f, rest);
    else if (view->pane != TOP_LOG)
        add_detail(&f, frame->detail, view->pane, rest);
    else
        add_log(&f, frame->log, view, rest);
    add_last_line(&f, frame, view);
}

/* ---- the filter ------------------------------------------------------------------------------------ */

static bool holds(const json_t *job, const char *filter)
{
    static const char *const keys[] = { "id", "name", "status", "backend_type", "message" };

    for (size_t i = 0; i < SW_COUNT(keys); i++) {
        const char *text = sw_json_str(job, keys[i]);

        if (text && strcasestr(text, filter))
            return true;
    }
    return false;
}

json_t *top_filtered(json_t *document, const char *filter)
{
    json_t *some, *jobs, *job;
    size_t i;

    if (!document || !*filter)
        return json_incref(document);
    some = json_copy(document);
    jobs = json_array();
    json_array_foreach(json_object_get(document, "jobs"), i, job)
        if (holds(job, filter))
            json_array_append(jobs, job);
    json_object_set_new(some, "jobs", jobs);
    return some;
}
