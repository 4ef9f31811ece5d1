/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ls.c - `slipway ls URI`: what is at a path or URI.
 */
#include "base/table.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/cli_zone.h"

struct ls_options {
    const char *platform;
    bool recursive, plain;
};

static const struct cli_flag ls_flags[] = {
    { "platform", 'p', "NAME", "list a folder as that platform's jobs see it", cli_apply_text,
      offsetof(struct ls_options, platform) },
    { "recursive", 'r', NULL, "list everything below, not one level", cli_apply_bool,
      offsetof(struct ls_options, recursive) },
    { "names", '1', NULL, "only the names, one per line", cli_apply_bool,
      offsetof(struct ls_options, plain) },
    { 0 }
};

static const struct sw_column columns[] = {
    { "SIZE", .right = true }, { "MODIFIED" }, { "NAME", .least = 10 },
};

static void add_table(struct sw_buf *out, const struct cli *cli, const json_t *objects)
{
    sw_auto(sw_table) struct sw_table *table = sw_table_new(columns, SW_COUNT(columns));
    const json_t *each;
    size_t i;

    json_array_foreach(objects, i, each) {
        const char *modified = sw_json_str(each, "modified");
        char size[32] = "-", when[CLI_TIME_SIZE];

        cli_time_shown(modified, when);
        if (json_is_integer(json_object_get(each, "size")))
            sw_size_format(sw_json_int(each, "size", 0), size);
        sw_table_cell(table, size, NULL);
        sw_table_cell(table, *when ? when : modified ? modified : "-", NULL);
        sw_table_cell(table, sw_json_str(each, "name"), NULL);
    }
    sw_table_write(table, cli->screen.width, cli->screen.out_color, out);
}

/* The names that a platform tells, in the form of a list of objects. */
static json_t *platform_says(struct cli *cli, const char *platform, const char *path,
                             struct sw_error *err)
{
    sw_auto(json) json_t *names = NULL;
    json_t *objects = json_array();
    const json_t *name;
    size_t i;

    if (cli_session(cli, err))
        names = cli_document(sw_list_path(cli->session, platform, path, err), err);
    json_array_foreach(names, i, name)
        json_array_append_new(objects, json_pack("{s:O,s:n,s:n,s:n,s:n}", "name", name, "kind", "size",
                                                 "modified", "etag"));
    if (!names)
        json_decref(objects);
    return names ? sw_json_object(SW_INT("version", 1), SW_STR("uri", path),
                                  SW_SUB("objects", objects)) : NULL;
}

static json_t *listed(struct cli *cli, const struct ls_options *flags, const char *uri,
                      struct sw_error *err)
{
    if (!flags->platform)
        return cli_document(sw_list_uri(NULL, uri, flags->recursive, err), err);
    if (!flags->recursive)
        return platform_says(cli, flags->platform, uri, err);
    return sw_null(sw_fail(err, SW_E_USAGE,
                           "a platform lists one folder at a time: leave -r out"));
}

static int ls_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct ls_options *flags = args->options;
    const char *uri = args->word_count ? args->words[0] : ".";
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_auto(json) json_t *document = listed(cli, flags, uri, err);
    const json_t *objects = json_object_get(document, "objects"), *each;
    size_t i;

    if (!document)
        return sw_wrap(err, "cannot list '%s'", uri);
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    if (flags->plain)
        json_array_foreach(objects, i, each)
            sw_buf_addf(&out, "%s\n", sw_json_str(each, "name"));
    else if (json_array_size(objects))
        add_table(&out, cli, objects);
    cli_print(sw_buf_text(&out));
    return 0;
}

const struct command command_ls = {
    .name = "ls",
    .args = "[URI]",
    .summary = "list the contents of a path or URI",
    .description =
        "List one level below URI (default: the current folder), folders with a trailing slash, sizes "
        "and times where known. URI is a path, s3://bucket/prefix, hf_model://org/name, "
        "ngc://org/name:version, ... With -p it is a folder as the jobs of that platform see it.",
    .example = "slipway ls s3://bucket/coco/\nslipway ls -r -1 ./results\n"
               "slipway ls -p docker /data",
    .flags = ls_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct ls_options),
    .max_args = 1,
    .run = ls_run,
};
