/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.c - `slipway usage`: what jobs used, and what that cost.
 */
#include <stdio.h>

#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"

struct usage_options {
    const char *by;
    int64_t since_ms;
    bool stored;
};

static const struct cli_flag usage_flags[] = {
    { "by", 0, "WORD", "a row for each platform, user, day, or value of a label (label KEY)", cli_apply_text,
      offsetof(struct usage_options, by) },
    { "since", 0, "DURATION|TIME", "only what was used since then: 7d, 2026-05-01", cli_apply_since,
      offsetof(struct usage_options, since_ms) },
    { "stored", 0, NULL, "what is remembered, without asking the platforms", cli_apply_bool,
      offsetof(struct usage_options, stored) },
    { 0 }
};

#define COLUMNS                                                                                    \
    { "JOBS", .right = true }, { "GPU HOURS", .right = true }, { "WAITED", .right = true, .drop = 3 },  \
    { "RAN", .right = true, .drop = 4 }, { "RETRIES", .right = true, .drop = 2 },                  \
    { "IDLE GPUS", .right = true, .drop = 1 }, { "COST", .right = true }

static const struct sw_column total_columns[] = { COLUMNS };
static const struct sw_column group_columns[] = { { "GROUP", .least = 8 }, COLUMNS };

static void add_number(struct sw_table *table, const json_t *row, const char *key, double factor,
    const char *format)
    __attribute__((format(printf, 5, 0)));

/* "-": not known. */
static void add_number(struct sw_table *table, const json_t *row, const char *key, double factor,
    const char *format)
{
    const json_t *value = json_object_get(row, key);
    char text[48] = "-";

    if (json_is_number(value))
        snprintf(text, sizeof text, format, factor * json_number_value(value));
    sw_table_cell(table, text, NULL);
}

static void add_duration(struct sw_table *table, const json_t *row, const char *key)
{
    char text[32];

    cli_duration(sw_json_int(row, key, -1), text);
    sw_table_cell(table, text, NULL);
}

static void add_row(struct sw_table *table, const json_t *row)
{
    add_number(table, row, "jobs", 1, "%.0f");
    add_number(table, row, "gpu_hours", 1, "%.2f");
    add_duration(table, row, "waiting_ms");
    add_duration(table, row, "running_ms");
    add_number(table, row, "retries", 1, "%.0f");
    add_number(table, row, "gpu_idle_share", 100, "%.0f%%");
    add_number(table, row, "cost", 1, "%.2f");
}

static void print_table(const struct cli *cli, const json_t *document)
{
    const json_t *rows = json_object_get(document, "rows"), *total = json_object_get(document, "total"), *row;
    bool grouped = sw_json_str(document, "by") != NULL;
    sw_auto(sw_table) struct sw_table *table = grouped ? sw_table_new(group_columns, SW_COUNT(group_columns))
                                                       : sw_table_new(total_columns, SW_COUNT(total_columns));
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    size_t i;

    json_array_foreach(rows, i, row) {
        const char *group = sw_json_str(row, "group");

        sw_table_cell(table, group ? group : "-", NULL);
        add_row(table, row);
    }
    if (grouped)
        sw_table_cell(table, "total", NULL);
    add_row(table, total);
    sw_table_write(table, cli->screen.width, cli->screen.out_color, &out);
    cli_print(sw_buf_text(&out));
}

/* A cost that leaves something out would be taken for the whole. */
static void say_unpriced(const struct cli *cli, const json_t *total)
{
    double hours = json_number_value(json_object_get(total, "unpriced_gpu_hours"));

    if (json_is_number(json_object_get(total, "cost")) && hours >= 0.005)
        cli_say(cli, "COST leaves out %.2f GPU hours: [prices] in ~/.config/slipway/profiles.toml has no "
                     "price for their "
                     "GPU type", hours);
}

static int usage_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct usage_options *options = args->options;
    const struct sw_usage_options what = {
        .size = sizeof what, .look = options->stored ? SW_LOOK_STORED : SW_LOOK_REFRESH, .by = options->by,
        .label = args->word_count ? args->words[0] : NULL, .since_ms = options->since_ms };
    sw_auto(json) json_t *document = NULL;

    if (!cli_session(cli, err))
        return -1;
    document = cli_document(sw_usage(cli->session, &what, err), err);
    if (!document)
        return -1;
    cli_say_unreachable(cli, document);
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    print_table(cli, document);
    say_unpriced(cli, json_object_get(document, "total"));
    return 0;
}

const struct command command_usage = {
    .name = "usage",
    .args = "[KEY]",
    .summary = "show GPU hours, waiting time, retries and cost",
    .description =
        "Add up what the jobs in the store used: GPU hours of all attempts, the time that they waited and "
        "ran, retries, "
        "how much of the GPU time was idle where a platform measures it, and the cost where [prices] in "
        "~/.config/slipway/profiles.toml has a price for the GPU type. Jobs that still run count until now. "
        "--by makes a "
        "row for each platform, user, day (UTC), or value of the label KEY.",
    .example = "slipway usage --by platform --since 7d\nslipway usage --by label team -o json",
    .flags = usage_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct usage_options),
    .max_args = 1,
    .run = usage_run,
};
