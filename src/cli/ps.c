/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps.c - `slipway ps`: all jobs, newest first, one per line. Its columns are ps_columns.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/cli_attach.h"
#include "cli/ps_columns.h"
#include "core/reason.h"

#define NEWEST  20
#define ALL     1000000
#define COLUMNS "columns="

struct ps_options {
    bool all, stored;
    int64_t limit, since_ms;
    const char *state, *platform, *sort;
};

static const struct cli_flag ps_flags[] = {
    { "all", 'a', NULL, "every job, also those that never started (default: the newest 20)", cli_apply_bool,
      offsetof(struct ps_options, all) },
    { "limit", 'n', "N", "the newest N; with --sort, the first N", cli_apply_int64,
      offsetof(struct ps_options, limit) },
    { "sort", 0, "COLUMN", "sort by a column; -COLUMN or COLUMN:desc: from high to low", cli_apply_text,
      offsetof(struct ps_options, sort), .also = "sort-by" },
    { "since", 0, "TIME", "only jobs submitted since then: 2h (ago), 2026-11-01", cli_apply_since,
      offsetof(struct ps_options, since_ms) },
    { "state", 0, "STATE", "only Pending, Running, Error, ... or active", cli_apply_text,
      offsetof(struct ps_options, state), .also = "status" },
    { "platform", 'p', "NAME", "only jobs of this platform", cli_apply_text,
      offsetof(struct ps_options, platform) },
    CLI_LABEL_FLAG,
    { "stored", 0, NULL, "show stored data without asking the platforms", cli_apply_bool,
      offsetof(struct ps_options, stored) },
    { 0 }
};

/* The table has forms of its own; the other words are those of every list. */
static int apply_format(void *field, const struct cli_flag *flag, const char *value, struct sw_error *err)
{
    if (strcmp(value, "wide") == 0 || sw_text_starts(value, COLUMNS)) {
        *(int *)field = CLI_TABLE;
        return 0;
    }
    if (cli_apply_choice(field, &cli_output_jobs[0], value, NULL) == 0)
        return 0;
    return sw_fail(err, SW_E_USAGE, "--%s: '%s' is not one of %s", flag->name, value, flag->arg);
}

static const struct cli_flag ps_output[] = {
    { "format", 'o', "table|wide|columns=NAME,...|json|yaml|name",
      "how to print it; wide: every column, uncut; columns=: these columns; name: bare ids, for pipes",
      apply_format, offsetof(struct cli, format), .also = "output" },
    { 0 }
};

/* Its submit was refused, or came to nothing: `run` said so, and it is no work of the user's. */
static bool never_began(const json_t *job)
{
    const char *reason = sw_json_str(job, "reason");

    return cli_job_state(job) == SW_ERROR && sw_json_int(job, "attempt", 1) == 1 && reason &&
           (strcmp(reason, SW_REASON_REFUSED) == 0 || strcmp(reason, SW_REASON_NOT_STARTED) == 0);
}

/* Takes those out of the rows, unless the user asked for jobs by a word of his own; how many it were. */
static size_t leave_out(json_t *jobs, const struct ps_options *options, const struct cli_args *args)
{
    size_t count = 0;

    if (options->all || options->state || args->word_count)
        return 0;
    for (size_t i = json_array_size(jobs); i > 0; i--)
        if (never_began(json_array_get(jobs, i - 1))) {
            json_array_remove(jobs, i - 1);
            count++;
        }
    return count;
}

static void say_none(const struct cli *cli, const struct cli_args *args, const json_t *document)
{
    int64_t all = sw_json_int(document, "all", 0);

    if (all)
        cli_say_no_match(cli, args, all);
    else
        cli_say(cli, "no jobs; 'slipway run -- COMMAND' starts one");
}

/* -o, else the columns of the user's own, else what the jobs need. */
static int choose_layout(const struct cli *cli, const struct cli_args *args, const json_t *jobs,
                         struct ps_layout *out, struct sw_error *err)
{
    const char *format = cli_given_value(args, "format");

    if (format && sw_text_starts(format, COLUMNS))
        return ps_layout_named(format + strlen(COLUMNS), out, err) < 0 ? sw_wrap(err, "-o") : 0;
    if (!format && cli->columns)
        return ps_layout_named(cli->columns, out, err);
    ps_layout_for(jobs, sw_text_same(format, "wide"), out);
    return 0;
}

static void print_table(const struct cli *cli, const json_t *document, const struct ps_layout *layout,
                        size_t left_out)
{
    const json_t *jobs = json_object_get(document, "jobs");
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    int64_t total = sw_json_int(document, "total", 0), shown = (int64_t)json_array_size(jobs);

    if (left_out)
        cli_say(cli, "not shown: %zu that never started, since the submit failed; --all shows "
                     "them", left_out);
    if (shown == 0)
        return;
    ps_write(&out, jobs, layout, cli->screen.width, cli->screen.out_color);
    cli_print(sw_buf_text(&out));
    if (total > shown + (int64_t)left_out && cli->screen.err_terminal)
        cli_say(cli, "%lld of %lld jobs; --all shows every one", (long long)shown,
                (long long)total);
}

static int print_names(const json_t *document)
{
    const json_t *job;
    size_t i;

    json_array_foreach(json_object_get(document, "jobs"), i, job)
        cli_printf("%s\n", sw_json_str(job, "id"));
    return 0;
}

/* The first of all jobs in that order. */
static void sort_jobs(json_t *document, const struct ps_order *order, size_t limit)
{
    json_t *sorted = ps_sorted(json_object_get(document, "jobs"), order);

    while (json_array_size(sorted) > limit)
        json_array_remove(sorted, json_array_size(sorted) - 1);
    json_object_set_new(document, "jobs", sorted);
}

static int print_jobs(struct cli *cli, const struct cli_args *args, json_t *document, struct sw_error *err)
{
    json_t *jobs = json_object_get(document, "jobs");
    struct ps_layout layout;
    size_t left_out;

    if (cli->format == CLI_NAME)
        return print_names(document);
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    left_out = leave_out(jobs, args->options, args);
    if (choose_layout(cli, args, jobs, &layout, err) < 0)
        return -1;
    print_table(cli, document, &layout, left_out);
    cli_say_watcher(cli);
    return 0;
}

static int ps_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct ps_options *options = args->options;
    size_t limit = options->all ? ALL : options->limit ? (size_t)options->limit : NEWEST;
    struct sw_list_options list = {
        .size = sizeof list,
        .look = options->stored ? SW_LOOK_STORED : SW_LOOK_REFRESH,
        .state = options->state,
        .platform = options->platform,
        .selectors = args->word_count ? args->words : NULL,
        .selector_count = args->word_count,
        .limit = options->sort ? ALL : limit,
        .since_ms = options->since_ms,
    };
    sw_autofree const char **labels = cli_given_values(args, "label", &list.label_count);
    sw_auto(json) json_t *document = NULL;
    struct ps_order order = { 0 };
    struct ps_layout checked;
    bool none = cli_given_value(args, "limit") && !options->limit && !options->all;

    list.labels = labels;
    if ((options->sort && ps_order_parse(options->sort, &order, err) < 0) ||
        choose_layout(cli, args, NULL, &checked, err) < 0 || !cli_session(cli, err))
        return -1;
    document = cli_document(sw_list(cli->session, &list, err), err);
    if (!document)
        return -1;
    cli_say_unreachable(cli, document);
    if (sw_json_int(document, "total", 0) == 0)
        say_none(cli, args, document);
    if (options->sort)
        sort_jobs(document, &order, limit);
    if (none)
        json_array_clear(json_object_get(document, "jobs"));
    return print_jobs(cli, args, document, err);
}

const struct command command_ps = {
    .name = "ps",
    .alias = "list",
    .args = "[JOB...]",
    .summary = "list jobs, newest first",
    .description =
        "List one job per line: the newest 20, or the jobs you name ('slipway help selectors'; a name "
        "or the beginning of an id lists every job that matches). All platforms are asked once, in "
        "parallel. A platform that does not answer is named on stderr, and its jobs are listed as "
        "last seen. Jobs whose submit was refused or failed are left out unless --all, --state or JOB "
        "asks for them.\n\n"
        "A column that no job has a value for is not shown (GPUS, PROGRESS), nor is PLACE unless "
        "the jobs are in more than one place (two engines, two clusters). On a narrow terminal, GPUS "
        "gives way first, then PLATFORM, RESULT, PROGRESS and DURATION. '-o wide' prints all columns, "
        "'-o columns=id,state,...' those you name; 'columns' in ~/.config/slipway/config.toml makes "
        "such a list the default. 'slipway help columns' lists the columns.\n\n"
        "--sort looks at all jobs that match, not only the newest 20.",
    .example = "slipway ps --state active\nslipway ps -l team=vision -l sweep=a -o name\n"
               "slipway ps --since 2h --sort -duration -o columns=id,state,duration,labels",
    .flags = ps_flags,
    .shared = { ps_output },
    .options_size = sizeof(struct ps_options),
    .max_args = CLI_MANY,
    .run = ps_run,
};
