/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replicas.c - `slipway replicas JOB`: the parts of a job, one per node, each with its own state.
 */
#include "cli/cli_generic_table.h"

static int show_one(struct cli *cli, const char *id, const void *context, struct sw_error *err)
{
    sw_auto(json) json_t *all = cli_document(sw_replicas(cli->session, id, err), err);
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)context;
    if (!all)
        return sw_wrap(err, "parts of '%s'", id);
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, all, err);
    if (cli_is_list_of_objects(all))
        cli_generic_table(&out, cli, all);
    else
        cli_say(cli, "%s has no parts (yet)", id);
    cli_print(sw_buf_text(&out));
    return 0;
}

static int replicas_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(json) json_t *ids = cli_select(cli, args, err);

    return ids ? cli_each(cli, ids, show_one, NULL, err) : -1;
}

const struct command command_replicas = {
    .name = "replicas",
    .args = "JOB",
    .summary = "show the parts of a job: nodes, states, exit codes",
    .description =
        "Show one line for each node or container of the job: where it runs, its state, and how it "
        "ended.",
    .example = "slipway replicas last",
    .shared = { cli_output_document },
    .max_args = 1,
    .run = replicas_run,
};
