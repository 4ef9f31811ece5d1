/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - `slipway check URI...`: is it there, and may we read it? With -p the words are paths on
 * that platform's machine, and the platform checks it.
 */
#include <stdio.h>

#include "base/units.h"
#include "cli/cli.h"

struct check_options {
    const char *platform;
};

static const struct cli_flag check_flags[] = {
    { "platform", 'p', "NAME", "check paths as that platform's jobs see them", cli_apply_text,
      offsetof(struct check_options, platform) },
    { 0 }
};

/* What a platform says about one of its paths, in the form of an answer about a URI. */
static json_t *platform_says(struct cli *cli, const char *platform, const char *path,
                             struct sw_error *err)
{
    bool exists = false;

    if (!cli_session(cli, err) ||
        sw_check_path(cli->session, platform, path, &exists, err) < 0)
        return NULL;
    return sw_json_object(SW_STR("uri", path), SW_BOOL("exists", exists), SW_STR("kind", "path"),
                          SW_NULL("size"), SW_NULL("etag"), SW_NULL("error"));
}

/* For -o json: what was found, or that it could not be found out. */
static void add_row(json_t *rows, const char *uri, const json_t *found, const struct sw_error *why)
{
    json_t *row = found ? json_copy((json_t *)found)
                        : sw_json_object(SW_STR("uri", uri), SW_NULL("exists"), SW_NULL("kind"),
                                         SW_NULL("size"), SW_NULL("etag"));

    json_object_del(row, "version");
    json_object_set_new(row, "error", why->code ? cli_error_json(why) : json_null());
    json_array_append_new(rows, row);
}

static int check_one(struct cli *cli, const char *platform, const char *uri, json_t *rows,
                     struct sw_error *err)
{
    sw_auto(json) json_t *found = platform ? platform_says(cli, platform, uri, err)
                                           : cli_document(sw_check_uri(NULL, uri, err), err);
    char size[32] = "";

    if (!found)
        sw_wrap(err, "cannot check '%s'", uri);
    else if (!sw_json_bool(found, "exists", false))
        sw_fail(err, SW_E_NOT_FOUND, "there is nothing at '%s'", uri);
    add_row(rows, uri, found, err);
    if (err->code || cli->format != CLI_TABLE)
        return err->code ? -1 : 0;
    if (json_is_integer(json_object_get(found, "size")))
        sw_size_format(sw_json_int(found, "size", 0), size);
    cli_printf("%s\t%s%s%s\n", sw_json_str(found, "uri"), sw_json_str(found, "kind"),
               *size ? "\t" : "", size);
    return 0;
}

/* All are checked; the command ends with the worst that was found, which is printed last. */
static int check_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct check_options *flags = args->options;
    struct sw_error worst = { 0 };
    sw_auto(json) json_t *rows = json_array(), *document = NULL;

    for (size_t i = 0; i < args->word_count; i++) {
        struct sw_error failed = { 0 };

        if (check_one(cli, flags->platform, args->words[i], rows, &failed) == 0)
            continue;
        if (worst.code && sw_code_exit_status(failed.code) <= sw_code_exit_status(worst.code)) {
            cli_complain(cli, &failed);
            continue;
        }
        if (worst.code)
            cli_complain(cli, &worst);
        worst = failed;
    }
    document = sw_json_object(SW_INT("version", 1), SW_BOOL("ok", !worst.code), SW_SUB_COPY("uris", rows));
    if (cli->format != CLI_TABLE && cli_document_print(cli, document, err) < 0)
        return -1;
    *err = worst;
    return worst.code ? -1 : 0;
}

const struct command command_check = {
    .name = "check",
    .args = "URI...",
    .summary = "check that data exists and can be read",
    .description =
        "Show the kind and size of each URI. All are checked; the exit status is 0 when all exist, "
        "else the highest of 66 (one does not exist), 69 (a server does not answer) and 77 (a "
        "credential is missing or refused; the message names the variable). Nothing is copied. With "
        "-p the arguments are paths as the jobs of that platform see them, checked there: on the "
        "engine's machine or the cluster's login node.",
    .example = "slipway check s3://bucket/coco/ hf_model://org/name\nslipway check -p docker /data/coco",
    .flags = check_flags,
    .options_size = sizeof(struct check_options),
    .shared = { cli_output_document },
    .min_args = 1,
    .max_args = CLI_MANY,
    .run = check_run,
};
