/* SPDX-License-Identifier: Apache-2.0 */
/*
 * platforms.c - `slipway platforms [NAME]`: where jobs can run, and what each place offers.
 */
#include <string.h>

#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"

#define WIDTH 79

static const struct sw_column platform_columns[] = {
    { "PLATFORM" }, { "CREDENTIALS", .drop = 2 }, { "SUMMARY", .least = 20, .drop = 1 },
};
static const struct sw_column credential_columns[] = {
    { "CREDENTIAL" }, { "HERE" }, { "MEANING", .least = 20 },
};

/* "set", "missing HF_TOKEN", "none set" (and none is required), or "none needed". */
static char *credential_state(const json_t *credentials)
{
    const json_t *each;
    bool any = false;
    size_t i;

    json_array_foreach(credentials, i, each) {
        bool present = sw_json_bool(each, "present", false);

        if (sw_json_bool(each, "required", false) && !present)
            return sw_format("missing %s", sw_json_str(each, "name"));
        any = any || present;
    }
    return sw_strdup(!json_array_size(credentials) ? "none needed" : any ? "set" : "none set");
}

static void add_list(struct sw_buf *out, const struct cli *cli, const json_t *platforms)
{
    sw_auto(sw_table) struct sw_table *table =
        sw_table_new(platform_columns, SW_COUNT(platform_columns));
    const json_t *each;
    size_t i;

    json_array_foreach(platforms, i, each) {
        sw_autofree char *state = credential_state(json_object_get(each, "credentials"));

        sw_table_cell(table, sw_json_str(each, "name"), NULL);
        sw_table_cell(table, state, sw_text_starts(state, "missing") ? "33" : NULL);
        sw_table_cell(table, sw_json_str(each, "summary"), NULL);
    }
    sw_table_write(table, cli->screen.width, cli->screen.out_color, out);
}

static size_t width_of(const struct cli *cli)
{
    return cli->screen.width && cli->screen.width < WIDTH ? cli->screen.width : WIDTH;
}

/* Meanings are sentences: they are folded, not cut as cells of a table would be. */
static void add_options(struct sw_buf *out, const struct cli *cli, const json_t *options)
{
    const json_t *each;
    size_t i;

    json_array_foreach(options, i, each) {
        sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
        const char *initial = sw_json_str(each, "default"), *env = sw_json_str(each, "env");

        sw_buf_addf(out, "\n  %s (%s)\n", sw_json_str(each, "name"), sw_json_str(each, "type"));
        sw_buf_add(&text, sw_json_str(each, "help"));
        if (initial)
            sw_buf_addf(&text, "\ndefault: %s", initial);
        if (env)
            sw_buf_addf(&text, "\nvariable: %s", env);
        cli_wrap(out, sw_buf_text(&text), 6, width_of(cli));
    }
}

static void add_credentials(struct sw_buf *out, const struct cli *cli, const json_t *credentials)
{
    sw_auto(sw_table) struct sw_table *table =
        sw_table_new(credential_columns, SW_COUNT(credential_columns));
    const json_t *each;
    size_t i;

    if (json_array_size(credentials) == 0)
        return;
    json_array_foreach(credentials, i, each) {
        bool present = sw_json_bool(each, "present", false);

        sw_table_cell(table, sw_json_str(each, "name"), NULL);
        sw_table_cell(table, present ? "yes" : "no", present ? "32" : "33");
        sw_table_cell(table, sw_json_str(each, "help"), NULL);
    }
    sw_buf_add_char(out, '\n');
    sw_table_write(table, cli->screen.width, cli->screen.out_color, out);
}

static void add_one(struct sw_buf *out, const struct cli *cli, const json_t *platform)
{
    const char *name = sw_json_str(platform, "name");
    const json_t *options = json_object_get(platform, "options");
    sw_autofree char *head = sw_format("%s: %s", name, sw_json_str(platform, "summary"));
    sw_autofree char *usage = sw_format("Options, in a job file as '%s: {NAME: VALUE}' or as a "
                                        "flag '--set %s.NAME=VALUE':", name, name);

    cli_wrap(out, head, 0, width_of(cli));
    if (json_array_size(options) > 0) {
        sw_buf_add_char(out, '\n');
        cli_wrap(out, usage, 0, width_of(cli));
        add_options(out, cli, options);
    }
    add_credentials(out, cli, json_object_get(platform, "credentials"));
}

static int platforms_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const char *name = args->word_count ? args->words[0] : NULL;
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_auto(json) json_t *document = NULL;
    const json_t *platforms;

    if (!cli_session(cli, err))
        return -1;
    document = cli_document(sw_platforms(cli->session, name, err), err);
    if (!document)
        return -1;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    platforms = json_is_array(document) ? document : json_object_get(document, "platforms");
    if (name)
        add_one(&out, cli, json_array_get(platforms, 0));
    else
        add_list(&out, cli, platforms);
    cli_print(sw_buf_text(&out));
    return 0;
}

const struct command command_platforms = {
    .name = "platforms",
    .args = "[NAME]",
    .summary = "list where jobs can run, and their options",
    .description =
        "List the platforms this build can launch jobs on and whether their credentials are set "
        "(values are never shown); whether a platform answers is shown by doctor. With NAME, list all "
        "options of that platform.",
    .example = "slipway platforms\nslipway platforms local",
    .shared = { cli_output_document },
    .max_args = 1,
    .run = platforms_run,
};
