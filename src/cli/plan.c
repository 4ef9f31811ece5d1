/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - `slipway plan`: every value with its source, then exactly what would be sent.
 */
#include <string.h>

#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"

/* The value comes last and is never cut: a plan that hides something is no plan. */
static const struct sw_column value_columns[] = { { "KEY" }, { "FROM" }, { "VALUE" } };

static char *value_text(const json_t *value)
{
    if (json_is_real(value))
        return sw_format("%.15g", json_real_value(value));    /* 0.1, not 0.10000000000000001 */
    return json_is_string(value) ? sw_strdup(json_string_value(value)) : sw_json_dump(value);
}

static void add_values(struct sw_buf *out, const struct cli *cli, const json_t *values)
{
    sw_auto(sw_table) struct sw_table *table =
        sw_table_new(value_columns, SW_COUNT(value_columns));
    const json_t *each;
    size_t i;

    json_array_foreach(values, i, each) {
        sw_autofree char *value = value_text(json_object_get(each, "value"));

        sw_table_cell(table, sw_json_str(each, "key"), NULL);
        sw_table_cell(table, sw_json_str(each, "source"), "2");
        sw_table_cell(table, value, NULL);
    }
    sw_table_write(table, 0, cli->screen.out_color, out);
}

/* Settings of this machine that the job's data needs: their values are not shown. */
static void add_settings(struct sw_buf *out, const struct cli *cli, const json_t *settings)
{
    static const struct sw_column columns[] = { { "SETTING" }, { "HOW" }, { "FROM" } };
    sw_auto(sw_table) struct sw_table *table = sw_table_new(columns, SW_COUNT(columns));
    const json_t *each;
    size_t i;

    if (json_array_size(settings) == 0)
        return;
    json_array_foreach(settings, i, each) {
        sw_table_cell(table, sw_json_str(each, "name"), NULL);
        sw_table_cell(table, sw_json_str(each, "how"), NULL);
        sw_table_cell(table, sw_json_str(each, "from"), "2");
    }
    sw_buf_add_char(out, '\n');
    sw_table_write(table, 0, cli->screen.out_color, out);
}

/* What is sent is shown as it is, except that it cannot command the terminal. */
static void add_sends(struct sw_buf *out, const struct cli *cli, const json_t *sends)
{
    const json_t *each;
    size_t i;

    json_array_foreach(sends, i, each) {
        const char *text = sw_json_str(each, "text"), *what = sw_json_str(each, "what");
        sw_autofree char *clean = NULL;

        sw_buf_addf(out, cli->screen.out_color ? "\n\033[1m==> %s\033[0m\n" : "\n==> %s\n",
                    what ? what : "");
        if (!text)
            continue;
        clean = sw_text_printable(text, strlen(text));
        sw_buf_add(out, cli->screen.out_terminal ? clean : text);
        if (*text && !sw_text_ends(text, "\n"))
            sw_buf_add_char(out, '\n');
    }
}

/* Of `platform: [a, b]`: which were skipped, which one it is, which would come next. */
static void add_order(struct sw_buf *out, const json_t *plan)
{
    const json_t *all = json_object_get(plan, "platforms"), *name;
    size_t skipped = json_array_size(json_object_get(plan, "skipped"));
    size_t i;

    if (json_array_size(all) < 2)
        return;
    sw_buf_add(out, "\nplatforms, in this order:");
    json_array_foreach(all, i, name)
        sw_buf_addf(out, "%s %s%s", i ? "," : "", json_string_value(name),
                    i < skipped ? " (skipped)" : i == skipped ? " (this one)" : "");
    sw_buf_add_char(out, '\n');
}

static void add_splits(struct sw_buf *out, const json_t *plan)
{
    const char *group = sw_json_str(plan, "group");
    long long splits = sw_json_int(plan, "splits", 0);

    if (group)
        sw_buf_addf(out, "\nsplits: %lld jobs, %s-0 to %s-%lld; this is the first, SPLIT_ID is 0 in it\n",
                    splits, group, group, splits - 1);
}

int cli_plan_show(struct cli *cli, const struct sw_request *request, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_auto(json) json_t *plan = NULL;

    while (!(plan = cli_document(sw_plan_job(cli->session, request, err), err))) {
        if (!cli_trust_ask(cli, request, err))
            return -1;
        *err = (struct sw_error){ 0 };
    }
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, plan, err);
    add_values(&out, cli, json_object_get(plan, "values"));
    add_settings(&out, cli, json_object_get(plan, "settings"));
    add_order(&out, plan);
    add_splits(&out, plan);
    if (sw_json_str(plan, "place"))
        sw_buf_addf(&out, "\nplace: %s\n", sw_json_str(plan, "place"));
    add_sends(&out, cli, json_object_get(plan, "sends"));
    cli_print(sw_buf_text(&out));
    cli_say(cli, "dry run: nothing was submitted");
    return 0;
}

static int plan_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(sw_request) struct sw_request *request = cli_request(args, true, err);

    if (!request || !cli_session(cli, err))
        return -1;
    return cli_plan_show(cli, request, err);
}

const struct command command_plan = {
    .name = "plan",
    .args = "[FILE] [-- COMMAND...]",
    .summary = "show what run would do, without doing it",
    .description =
        "Show every value of the job and where it came from (flag, job file, profile, environment or "
        "default), the settings of this machine that its data needs (by name), and exactly what would "
        "be sent to the platform. Takes the same file, flags and command as run. Secrets appear by "
        "name only.",
    .example = "slipway plan -f job.yaml -p local --set config.train.lr=0.1",
    .shared = { cli_job_flags, cli_output_document },
    .max_args = 1,
    .takes_command = true,
    .run = plan_run,
};
