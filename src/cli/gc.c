/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gc.c - `slipway gc`: what we left behind somewhere, and its removal.
 *
 * Without --yes nothing is ever touched, and there is no question either: what is listed is for
 * reading, and a script that forgets the flag does no harm.
 */
#include "base/table.h"
#include "cli/cli.h"

struct gc_options {
    bool yes, results, caches;
};

static const struct cli_flag gc_flags[] = {
    { "yes", 'y', NULL, "remove what is listed", cli_apply_bool,
      offsetof(struct gc_options, yes) },
    { "results", 0, NULL, "also remove results on an engine that were never fetched", cli_apply_bool,
      offsetof(struct gc_options, results) },
    { "caches", 0, NULL, "also remove what jobs share and none uses now", cli_apply_bool,
      offsetof(struct gc_options, caches) },
    { 0 }
};

static const struct sw_column columns[] = {
    { "PLATFORM", .drop = 1 }, { "WHAT" }, { "JOB", .drop = 2 }, { "WHERE", .least = 20 },
    { "REMOVED" }, { "OWNER", .drop = 3 },
};

/* Whose it is, or why it stays. */
static const char *remark_of(const json_t *each)
{
    const char *owner = sw_json_str(each, "owner"), *kept = sw_json_str(each, "kept");

    return owner ? owner : kept ? kept : "this store";
}

/* *ours: how many were there to be removed. */
static size_t print_table(const struct cli *cli, const json_t *list, size_t *ours)
{
    sw_auto(sw_table) struct sw_table *table = sw_table_new(columns, SW_COUNT(columns));
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const json_t *each;
    size_t i, removed = 0;

    json_array_foreach(list, i, each) {
        bool gone = sw_json_bool(each, "removed", false);

        removed += gone;
        *ours += !sw_json_str(each, "owner") && !sw_json_str(each, "kept");
        sw_table_cell(table, sw_json_str(each, "platform"), NULL);
        sw_table_cell(table, sw_json_str(each, "what"), NULL);
        sw_table_cell(table, sw_json_str(each, "job"), NULL);
        sw_table_cell(table, sw_json_str(each, "where"), NULL);
        sw_table_cell(table, gone ? "yes" : "no", gone ? "32" : NULL);
        sw_table_cell(table, remark_of(each), NULL);
    }
    sw_table_write(table, cli->screen.width, cli->screen.out_color, &out);
    cli_print(sw_buf_text(&out));
    return removed;
}

static int gc_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct gc_options *options = args->options;
    sw_auto(json) json_t *document = NULL;
    const json_t *list;
    const struct sw_gc_options wanted = { .size = sizeof wanted, .remove = options->yes,
                                        .results = options->results, .caches = options->caches };
    size_t ours = 0, removed;

    (void)args;
    if (!cli_session(cli, err))
        return -1;
    document = cli_document(sw_gc_with(cli->session, &wanted, err), err);
    if (!document)
        return -1;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    list = json_object_get(document, "leftovers");
    if (json_array_size(list) == 0) {
        cli_say(cli, "no leftovers found");
        return 0;
    }
    removed = print_table(cli, list, &ours);
    if (!options->yes && ours > 0)
        cli_say(cli, "nothing was removed; 'slipway gc --yes' removes what this store left");
    else if (removed < ours)
        cli_warn(cli, "%zu of %zu could not be removed", ours - removed, ours);
    return 0;
}

const struct command command_gc = {
    .name = "gc",
    .args = "",
    .summary = "list leftovers of jobs, and remove them",
    .description =
        "List leftovers on all platforms: objects that carry the mark of Slipway and belong to no job "
        "of this store. With --yes those that this very store left are removed; what other people or "
        "other stores left is shown with its owner and never touched. Results that were never fetched "
        "stay unless --results is given. To remove finished jobs that are still listed, use 'slipway "
        "rm'.",
    .example = "slipway gc\nslipway gc --yes",
    .flags = gc_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct gc_options),
    .run = gc_run,
};
