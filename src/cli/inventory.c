/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inventory.c - `slipway inventory [PLATFORM]`: what is there: machines, GPUs, partitions, limits.

 * Every platform tells other things, so the shape of the answer decides how it is shown.
 */
#include "cli/cli_generic_table.h"

static void add_lines(struct sw_buf *out, const json_t *inventory)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)inventory, key, value) {
        sw_autofree char *words = cli_generic_title(key), *text = cli_generic_value(key, value);

        if (!cli_is_list_of_objects(value))
            sw_buf_addf(out, "%-13s %s\n", words, *text ? text : "none");
    }
}

static void add_tables(struct sw_buf *out, const struct cli *cli, const json_t *inventory)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)inventory, key, value) {
        sw_autofree char *words = cli_generic_title(key);

        if (!cli_is_list_of_objects(value))
            continue;
        sw_buf_addf(out, "\n%s\n", words);
        cli_generic_table(out, cli, value);
    }
}

static int inventory_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_auto(json) json_t *document = NULL;
    const json_t *inventory;

    if (!cli_session(cli, err))
        return -1;
    document = cli_document(sw_inventory(cli->session, args->word_count ? args->words[0] : NULL, err), err);
    if (!document)
        return -1;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    inventory = json_object_get(document, "inventory");
    add_lines(&out, inventory);
    add_tables(&out, cli, inventory);
    cli_print(sw_buf_text(&out));
    return 0;
}

const struct command command_inventory = {
    .name = "inventory",
    .args = "[PLATFORM]",
    .summary = "show what a platform has: machines, GPUs, limits",
    .description =
        "Show what exists and what is free: on a cluster its partitions with nodes, GPUs and time "
        "limits, on an engine its machine and GPUs. Without PLATFORM, show this machine. Options come "
        "from the profile and the environment.",
    .example = "slipway inventory slurm",
    .shared = { cli_output_document },
    .max_args = 1,
    .run = inventory_run,
};
