/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.c - `slipway results JOB...`: where the results are.
 */
#include <stdio.h>

#include "cli/cli.h"

static int print_one(struct cli *cli, const char *id, const void *context, struct sw_error *err)
{
    char *place = sw_results_dir(cli->session, id, err);

    (void)context;
    if (!place)
        return sw_wrap(err, "results of '%s'", id);
    cli_printf("%s\n", place);
    sw_text_free(place);
    return 0;
}

static int results_run(struct cli *cli, const void *options, const struct cli_args *args,
                       struct sw_error *err)
{
    sw_auto(json) json_t *ids = cli_select(cli, args, err);

    (void)options;
    return ids ? cli_each(cli, ids, print_one, NULL, err) : -1;
}

const struct command command_results = {
    .name = "results",
    .args = "JOB...",
    .summary = "tell where a job's results are",
    .description = "You get the folder or URI of the results on stdout, one line per job, ready "
                   "for another command.",
    .example = "ls \"$(slipway results last)\"",
    .max_args = CLI_MANY,
    .run = results_run,
};
