/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - `slipway watch [JOB...]`: a live table until all jobs are over.
 *
 * On a terminal the table is drawn in place, below whatever was there; elsewhere each change is
 * one line, so that the output of a night in CI reads as its history.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/cli_interrupt.h"
#include "cli/cli_progress.h"
#include "cli/cli_zone.h"

#define EVERY_MS 500

static const struct cli_flag watch_flags[] = {
    CLI_LABEL_FLAG,
    { 0 }
};

static const struct cli_flag watch_output[] = {
    { "format", 'o', "table|json", "how to print it; json: one job per line and change",
      cli_apply_choice, offsetof(struct cli, format) },
    { 0 }
};

struct watch_view {
    struct cli *cli;
    struct cli_status_lines live;
    json_t *printed;               /* per id, what was last printed about it */
};

static const struct sw_column columns[] = {
    { "ID", .least = 14 },        { "STATE" },
    { "AGE", .right = true, .drop = 2 }, { "PROGRESS", .drop = 1 },
    { "LAST LINE", .least = 12, .drop = 3 },
};

/* What there is to read about a job right now: its own last words, or why it waits. */
static const char *last_words(const json_t *job, const char *message)
{
    enum sw_state state = cli_job_state(job);
    const char *line = sw_json_str(job, "last_line");

    if (state == SW_RUNNING || state == SW_COMPLETE)
        return sw_text_empty(line) ? message : line;
    return sw_text_empty(message) ? line : message;
}

static void add_job(struct sw_table *table, const json_t *job, size_t bar_width)
{
    enum sw_state state = cli_job_state(job);
    sw_autofree char *progress = cli_progress_cell(job, bar_width), *message = cli_job_message(job);
    char age[24];

    cli_job_age(job, "age_ms", age);
    sw_table_cell(table, sw_json_str(job, "id"), NULL);
    sw_table_cell(table, sw_state_name(state), cli_state_style(state));
    sw_table_cell(table, age, NULL);
    sw_table_cell(table, progress, NULL);
    sw_table_cell(table, last_words(job, message), NULL);
}

/* As many rows as the terminal has; those that are over give way first. */
static size_t add_jobs(struct sw_table *table, const json_t *jobs, size_t room, size_t bar_width)
{
    size_t count = json_array_size(jobs), shown = 0, skip = count > room ? count - room : 0, i;
    const json_t *job;

    json_array_foreach(jobs, i, job) {
        if (skip && sw_state_is_final(cli_job_state(job))) {
            skip--;
            continue;
        }
        if (shown++ < room)
            add_job(table, job, bar_width);
    }
    return count > room ? count - room : 0;
}

static void draw(struct watch_view *w, const json_t *document)
{
    sw_auto(sw_table) struct sw_table *table = NULL;
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const json_t *unreachable = json_object_get(document, "unreachable"), *each;
    size_t width, rows, hidden = 0, i;

    cli_screen_size(w->live.fd, &width, &rows);
    for (i = 0; i < CLI_BARS && (!table || !sw_table_fits(table, width - 1)); i++) {
        sw_table_free(table);
        table = sw_table_new(columns, SW_COUNT(columns));
        hidden = add_jobs(table, json_object_get(document, "jobs"), rows > 5 ? rows - 4 : 1,
                          cli_bar_widths[i]);
    }
    sw_table_write(table, width - 1, w->cli->screen.out_color, &out);
    if (hidden)
        sw_buf_addf(&out, "and %zu more\n", hidden);
    json_array_foreach(unreachable, i, each) {
        sw_autofree char *text = sw_format("%s does not answer, its jobs are shown as last seen",
                                           sw_json_str(each, "platform"));
        sw_autofree char *cut = sw_text_fit(text, width - 1);

        sw_buf_addf(&out, "%s\n", cut);
    }
    if (out.length)
        out.data[--out.length] = '\0';          /* no line end after the last */
    cli_status_lines_draw(&w->live, sw_buf_text(&out));
}

/* What makes a new line when it changes. */
static char *line_of(const json_t *job)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    enum sw_state state = cli_job_state(job);
    const char *message = sw_json_str(job, "message");
    struct cli_progress progress;

    if (sw_json_int(job, "attempt", 1) > 1)
        sw_buf_addf(&out, "attempt %lld  ", (long long)sw_json_int(job, "attempt", 1));
    if (sw_state_is_final(state)) {
        sw_autofree char *outcome = cli_job_outcome(job);

        sw_buf_add(&out, outcome);
    } else {
        sw_buf_add(&out, sw_state_name(state));
    }
    if (state != SW_COMPLETE && state != SW_RUNNING && !sw_text_empty(message))
        sw_buf_addf(&out, ": %s", message);
    if (state == SW_RUNNING && cli_progress_read(job, &progress)) {
        progress.step = progress.epoch >= 0 ? -1 : progress.step;    /* epochs make a line, steps not */
        sw_buf_add(&out, "  ");
        cli_progress_words(&out, &progress);
    }
    return sw_text_printable(sw_buf_text(&out), out.length);
}

static void print_change(struct watch_view *w, const json_t *job)
{
    const char *id = sw_json_str(job, "id");
    sw_autofree char *line = line_of(job);
    char now[CLI_TIME_SIZE];

    if (sw_text_same(sw_json_str(w->printed, id), line))
        return;
    json_object_set_new(w->printed, id, sw_json_text(line));
    if (w->cli->format == CLI_JSON) {
        cli_document_line(job);
        return;
    }
    cli_time_line(sw_now_ms(), 0, now);
    cli_printf("%s  %s  %s\n", now, id, line);
}

static int on_round(void *context, const char *text)
{
    struct watch_view *w = context;
    sw_auto(json) json_t *document = sw_json_parse(text, strlen(text), "answer", NULL);
    const json_t *job;
    size_t i;

    if (cli_interrupt_count() > 0)      /* the terminal put "^C" into our lines: draw no more */
        return 1;
    if (!document)
        return 0;
    if (w->cli->live) {
        draw(w, document);
    } else {
        json_array_foreach(json_object_get(document, "jobs"), i, job)
            print_change(w, job);
        if (cli_flush() < 0)
            return 1;
    }
    return cli_interrupt_count() > 0;
}

/* The first code that is not 0, in the order of the ids; jobs that are not over have none. */
static int first_code(struct cli *cli, const json_t *ids)
{
    const json_t *id;
    size_t i;

    json_array_foreach(ids, i, id) {
        int status = 0;

        if (sw_wait(cli->session, json_string_value(id), 0, NULL, NULL, &status, NULL) == 0 &&
            status)
            return status;
    }
    return 0;
}

static int watch_jobs(struct watch_view *w, const json_t *ids, struct sw_error *err)
{
    struct sw_watch_options options = { .size = sizeof options, .every_ms = EVERY_MS };
    sw_autofree const char **list = cli_list(ids);
    struct sw_error trouble = { 0 };
    int rc = sw_watch(w->cli->session, list, json_array_size(ids), &options, on_round, w, &trouble);

    cli_status_lines_keep(&w->live);
    w->cli->live = NULL;
    if (cli_interrupt_count() > 0)
        return cli_leave(w->cli, NULL, err);
    if (rc < 0)
        return sw_pass(err, &trouble);
    w->cli->exit_status = first_code(w->cli, ids);
    return 0;
}

/* Without a word for them: all that are not over. */
static json_t *choose(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const char *active = "active";
    json_t *ids;

    if (args->word_count || cli_given_value(args, "label"))
        return cli_select(cli, args, err);
    if (!cli_session(cli, err))
        return NULL;
    ids = cli_document(sw_select(cli->session, &active, 1, NULL, 0, err), err);
    if (ids && json_array_size(ids) == 0)
        cli_say(cli, "all jobs have finished; 'slipway ps' lists them");
    return ids;
}

static int watch_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(json) json_t *ids = choose(cli, args, err);
    sw_auto(json) json_t *printed = json_object();
    struct watch_view w = { .cli = cli, .live = { .fd = STDOUT_FILENO }, .printed = printed };

    if (!ids)
        return -1;
    if (json_array_size(ids) == 0)
        return 0;
    if (cli->screen.out_terminal && cli->screen.moves && cli->format == CLI_TABLE)
        cli->live = &w.live;
    cli_interrupt_catch();
    return watch_jobs(&w, ids, err);
}

const struct command command_watch = {
    .name = "watch",
    .args = "[JOB...]",
    .summary = "watch jobs until they finish",
    .description =
        "Show a live table with state, age, progress and the last line of the log, for the jobs you "
        "name or for all unfinished jobs. It ends when all have finished, with the first exit code "
        "that is not 0; Ctrl-C leaves it, and the jobs continue. When stdout is not a terminal, each "
        "change is printed on a line of its own.\n\n"
        "Retries, hooks, notifications and guards are carried out meanwhile, once, no matter how many "
        "watch.",
    .example = "slipway watch\nslipway watch last -o json",
    .flags = watch_flags,
    .shared = { watch_output },
    .max_args = CLI_MANY,
    .run = watch_run,
};
