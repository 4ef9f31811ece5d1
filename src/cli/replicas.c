/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replicas.c - `slipway replicas JOB`: the parts of a job, one per node, each with its own state.
 */
#include "cli/cli_generic_table.h"

/* `all`: the answers so far, for -o json. */
static int look_at_one(struct cli *cli, const char *id, const void *all, struct sw_error *err)
{
    sw_auto(json) json_t *document = cli_document(sw_replicas(cli->session, id, err), err);
    const json_t *replicas = json_object_get(document, "replicas");
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    if (!document)
        return sw_wrap(err, "parts of '%s'", id);
    if (cli->format != CLI_TABLE)
        json_array_append((json_t *)all, document);
    else if (cli_is_list_of_objects(replicas))
        cli_generic_table(&out, cli, replicas);
    else
        cli_say(cli, "%s has no replicas yet", id);
    cli_print(sw_buf_text(&out));
    return 0;
}

static int replicas_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(json) json_t *ids = cli_select(cli, args, err), *all = json_array(), *document = NULL;

    if (!ids || cli_each(cli, ids, look_at_one, all, err) < 0)
        return -1;
    if (cli->format == CLI_TABLE)
        return 0;
    document = cli_one_or_many(args, ids, all);
    return cli_document_print(cli, document, err);
}

const struct command command_replicas = {
    .name = "replicas",
    .args = "JOB",
    .summary = "show the parts of a job: nodes, states, exit codes",
    .description =
        "Show one line for each node or container of the job: where it runs, its state, and how it "
        "ended. With -o json, one named job is one object; several are {\"version\", \"jobs\"}.",
    .example = "slipway replicas last",
    .shared = { cli_output_document },
    .max_args = 1,
    .run = replicas_run,
};
