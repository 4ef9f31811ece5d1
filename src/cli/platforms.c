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
    { "PLATFORM" }, { "READY" }, { "CREDENTIALS", .drop = 2 }, { "SUMMARY", .least = 20, .drop = 1 },
};

/* "yes", "no" or "not set up". */
static const char *ready_word(const json_t *ready)
{
    const json_t *ok = json_object_get(ready, "ok");

    return json_is_true(ok) ? "yes" : json_is_false(ok) ? "no" : "not set up";
}

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
        const json_t *ready = json_object_get(each, "ready");

        sw_table_cell(table, sw_json_str(each, "name"), NULL);
        sw_table_cell(table, ready_word(ready), json_is_false(json_object_get(ready, "ok")) ? "31" : NULL);
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

/* A sentence for each, as for options; no value is known here. */
static void add_credentials(struct sw_buf *out, const struct cli *cli, const json_t *credentials)
{
    const json_t *each;
    size_t i;

    if (json_array_size(credentials) > 0)
        cli_wrap(out, "\nCredentials, from variables of the environment or ~/.config/tao/.env:", 0,
                 width_of(cli));
    json_array_foreach(credentials, i, each) {
        const char *help = sw_json_str(each, "help");

        sw_buf_addf(out, "\n  %s (%s)\n", sw_json_str(each, "name"),
                    sw_json_bool(each, "present", false) ? "set"
                    : sw_json_bool(each, "required", false) ? "not set, and needed" : "not set");
        cli_wrap(out, help ? help : "", 6, width_of(cli));
    }
}

/* "ready: no: no login host is configured", and what to do. */
static void add_ready(struct sw_buf *out, const struct cli *cli, const json_t *ready)
{
    const char *message = sw_json_str(ready, "message"), *fix = sw_json_str(ready, "fix");
    sw_autofree char *line = sw_format("ready: %s%s%s", ready_word(ready), message ? ": " : "",
                                       message ? message : "");
    sw_autofree char *remedy = fix && *fix ? sw_format("fix: %s", fix) : NULL;

    cli_wrap(out, line, 0, width_of(cli));
    if (remedy)
        cli_wrap(out, remedy, 2, width_of(cli));
}

/* Those that are set, by name; no value is known here. */
static void add_variables(struct sw_buf *out, const struct cli *cli, const json_t *variables)
{
    sw_auto(sw_buf) struct sw_buf set = SW_BUF_INIT;
    const json_t *each;
    size_t i;

    json_array_foreach(variables, i, each)
        if (sw_json_bool(each, "set", false))
            sw_buf_addf(&set, "%s%s", set.length ? ", " : "variables that are set: ", sw_json_str(each,
                    "name"));
    cli_wrap(out, set.length ? sw_buf_text(&set) : "variables that are set: none", 0, width_of(cli));
}

static void add_one(struct sw_buf *out, const struct cli *cli, const json_t *platform)
{
    const char *name = sw_json_str(platform, "name");
    const json_t *options = json_object_get(platform, "options");
    sw_autofree char *head = sw_format("%s: %s", name, sw_json_str(platform, "summary"));
    sw_autofree char *usage = sw_format("Options, in a job file as '%s: {NAME: VALUE}' or as a "
                                        "flag '--set %s.NAME=VALUE':", name, name);

    cli_wrap(out, head, 0, width_of(cli));
    add_ready(out, cli, json_object_get(platform, "ready"));
    add_variables(out, cli, json_object_get(platform, "variables"));
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
        "List the platforms this build can launch jobs on, whether each is ready (it is set up here, and it "
        "answers) and whether its credentials are set (values are never shown). With NAME, show what it "
        "needs: "
        "why it is not ready and what to do, which of its variables are set, its options and credentials.",
    .example = "slipway platforms\nslipway platforms local",
    .shared = { cli_output_document },
    .max_args = 1,
    .run = platforms_run,
};
