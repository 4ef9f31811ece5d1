/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.c - `slipway trust`: let the files of a folder decide where we connect and what runs here.
 *
 * The same words are asked by run, plan and preflight on a terminal (cli_trust_ask): what is shown is
 * what is trusted, by the hash of the content that was shown.
 */
#include <stddef.h>
#include <string.h>

#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"

struct trust_options {
    bool list, remove;
};

static const struct cli_flag trust_flags[] = {
    { "list", 0, NULL, "show the files that are trusted", cli_apply_bool,
      offsetof(struct trust_options, list) },
    { "remove", 0, NULL, "stop trusting these files", cli_apply_bool,
      offsetof(struct trust_options, remove) },
    { 0 }
};

/* ---- what is in a file ------------------------------------------------------------------------- */

static char *keys_text(const json_t *file)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const json_t *key;
    size_t i;

    json_array_foreach(json_object_get(file, "keys"), i, key)
        sw_buf_addf(&out, "%s%s", out.length ? ", " : "", json_string_value(key));
    if (out.length == 0)
        sw_buf_add(&out, "nothing that needs trust");
    return sw_text_printable(sw_buf_text(&out), out.length);
}

static char *path_text(const json_t *file)
{
    const char *path = sw_json_str(file, "path");

    return sw_text_printable(path, strlen(path));
}

/* ---- asked by other verbs ---------------------------------------------------------------------- */

bool cli_trust_ask(struct cli *cli, const struct sw_request *request, const struct sw_error *why)
{
    struct sw_error err = { 0 };
    sw_auto(json) json_t *files = NULL;
    const json_t *file;
    size_t i;

    if (why->code != SW_E_UNTRUSTED || !cli_can_ask(cli))
        return false;
    files = cli_document(sw_untrusted(cli->session, request, &err), &err);
    if (json_array_size(files) == 0)
        return false;
    json_array_foreach(files, i, file) {
        sw_autofree char *path = path_text(file), *keys = keys_text(file);

        cli_warn(cli, "%s decides where slipway connects or what runs here: %s", path, keys);
    }
    if (!cli_agree(cli, "trust these files as they are now?"))
        return false;
    json_array_foreach(files, i, file)
        if (sw_trust(cli->session, sw_json_str(file, "path"), sw_json_str(file, "sha256"),
                     &err) < 0) {
            cli_complain(cli, &err);
            return false;
        }
    return true;
}

/* ---- the verb ---------------------------------------------------------------------------------- */

static int show_list(struct cli *cli, struct sw_error *err)
{
    static const struct sw_column columns[] = { { "TRUSTED" }, { "SINCE", .drop = 1 },
                                                { "FILE", .least = 20 } };
    sw_auto(sw_table) struct sw_table *table = sw_table_new(columns, SW_COUNT(columns));
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_auto(json) json_t *document = cli_document(sw_trusted(cli->session, err), err);
    const json_t *file;
    size_t i;

    if (!document)
        return -1;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    json_array_foreach(json_object_get(document, "files"), i, file) {
        sw_autofree char *path = path_text(file);

        sw_table_cell(table, sw_json_bool(file, "trusted", false) ? "yes" : "changed", NULL);
        sw_table_cell(table, sw_json_str(file, "at"), NULL);
        sw_table_cell(table, path, NULL);
    }
    if (i == 0)
        cli_say(cli, "no files are trusted");
    sw_table_write(table, cli->screen.width, cli->screen.out_color, &out);
    cli_print(i ? sw_buf_text(&out) : "");
    return 0;
}

static int trust_one(struct cli *cli, const char *where, struct sw_error *err)
{
    sw_auto(json) json_t *files = cli_document(sw_trust_look(cli->session, where, err), err);
    const json_t *file;
    size_t i;

    if (!files)
        return -1;
    if (json_array_size(files) == 0)
        return sw_fail(err, SW_E_NOT_FOUND,
                       "no env.toml, .env or job.yaml in '%s'", where);
    json_array_foreach(files, i, file) {
        sw_autofree char *path = path_text(file), *keys = keys_text(file);

        if (sw_trust(cli->session, sw_json_str(file, "path"), sw_json_str(file, "sha256"),
                     err) < 0)
            return -1;
        cli_say(cli, "trusted until it changes: %s (%s)", path, keys);
    }
    return 0;
}

static int trust_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct trust_options *options = args->options;

    if (options->list && (options->remove || args->word_count))
        return sw_fail(err, SW_E_USAGE, "--list takes no file");
    if (options->remove && args->word_count == 0)
        return sw_fail(err, SW_E_USAGE, "--remove needs a file");
    if (!cli_session(cli, err))
        return -1;
    if (options->list)
        return show_list(cli, err);
    if (args->word_count == 0)
        return trust_one(cli, ".", err);
    for (size_t i = 0; i < args->word_count; i++)
        if ((options->remove ? sw_untrust(cli->session, args->words[i], err)
                             : trust_one(cli, args->words[i], err)) < 0)
            return -1;
    return 0;
}

const struct command command_trust = {
    .name = "trust",
    .args = "[FILE|FOLDER...]",
    .summary = "let a folder's files decide where to connect",
    .description =
        "Let env.toml, .env or job.yaml of a folder (default: the current one) decide which servers "
        "are used and what runs on this machine: hosts, contexts, ssh and proxy settings, setup "
        "lines, scheduler arguments, hooks. A folder may come from anywhere, so run, plan and "
        "preflight accept such keys only from files that you trusted, and only while their content "
        "stays the same; on a terminal they ask. All other keys need no trust.",
    .example = "slipway trust\nslipway trust --list\nslipway trust --remove env.toml",
    .flags = trust_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct trust_options),
    .max_args = CLI_MANY,
    .run = trust_run,
};
