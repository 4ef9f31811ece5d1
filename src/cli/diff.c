/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.c - `slipway diff JOB [JOB]`: what differs between two jobs, or what one had not committed.
 */
#include <stdio.h>

#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"

static const struct sw_column columns[] = {
    { "KEY" }, { "FIRST", .least = 8 }, { "SECOND", .least = 8 }, { "FROM", .least = 8, .drop = 1 },
};

static void add_value(struct sw_table *table, const json_t *value)
{
    sw_autofree char *text = json_is_string(value) ? sw_strdup(json_string_value(value))
                             : !value || json_is_null(value) ? sw_strdup("-") : sw_json_dump(value);

    sw_table_cell(table, text, NULL);
}

static void print_table(const struct cli *cli, const json_t *differences)
{
    sw_auto(sw_table) struct sw_table *table = sw_table_new(columns, SW_COUNT(columns));
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    json_t *each;
    size_t i;

    json_array_foreach(differences, i, each) {
        const char *one = sw_json_str(each, "first_source"), *other = sw_json_str(each, "second_source");
        sw_autofree char *from = !one && !other ? sw_strdup("") : sw_text_same(one, other) ? sw_strdup(one)
                                 : sw_format("%s / %s", one ? one : "-", other ? other : "-");

        sw_table_cell(table, sw_json_str(each, "key"), NULL);
        add_value(table, json_object_get(each, "first"));
        add_value(table, json_object_get(each, "second"));
        sw_table_cell(table, from, NULL);
    }
    sw_table_write(table, cli->screen.width, cli->screen.out_color, &out);
    cli_print(sw_buf_text(&out));
}

static bool is_cut(const struct cli *cli, const char *id)
{
    sw_auto(json) json_t *job = cli_document(sw_status(cli->session, id, SW_LOOK_STORED, NULL), NULL);

    return sw_json_bool(json_object_get(job, "git"), "diff_cut", false);
}

static int print_changes(struct cli *cli, const char *id, struct sw_error *err)
{
    char *text = sw_changes(cli->session, id, err);
    sw_auto(json) json_t *document = text ? sw_json_object(SW_INT("version", 1), SW_STR("job", id),
                                                           SW_STR("changes", text)) : NULL;

    if (text && !*text)
        cli_say_job(cli, id, "no uncommitted changes are recorded");
    if (text && is_cut(cli, id))
        cli_warn(cli, "the uncommitted changes of %s were cut after 256 KiB; 'git apply' refuses the last "
                      "file", id);
    if (text && cli->format == CLI_TABLE)
        cli_print(text);
    sw_text_free(text);
    if (!document)
        return -1;
    return cli->format == CLI_TABLE ? 0 : cli_document_print(cli, document, err);
}

static int diff_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_autofree char *first = cli_select_one(cli, args->words[0], err), *second = NULL;
    sw_auto(json) json_t *document = NULL;

    if (!first)
        return -1;
    if (args->word_count < 2)
        return print_changes(cli, first, err);
    second = cli_select_one(cli, args->words[1], err);
    document = second ? cli_document(sw_compare(cli->session, first, second, err), err) : NULL;
    if (!document)
        return -1;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    if (json_array_size(json_object_get(document, "differences")) == 0)
        cli_say(cli, "%s and %s do not differ", first, second);
    else
        print_table(cli, json_object_get(document, "differences"));
    return 0;
}

const struct command command_diff = {
    .name = "diff",
    .args = "JOB [JOB]",
    .summary = "show what differs between two jobs",
    .description =
        "Compare two jobs: every value in which they differ and where each came from, commit, branch and "
        "image "
        "digest. With one JOB, print what was not committed in its repository when it was submitted, as git "
        "diff writes it (at most 256 KiB, without secrets and files of credentials).",
    .example = "slipway diff last-1 last\nslipway diff last | git apply",
    .shared = { cli_output_document },
    .min_args = 1,
    .max_args = 2,
    .run = diff_run,
};
