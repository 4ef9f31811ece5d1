/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.c - `slipway version`.
 */
#include <stdio.h>

#include "cli/cli.h"

static int version_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(json) json_t *document = sw_json_object(SW_INT("version", 1), SW_STR("release", sw_version()));

    (void)args;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    cli_printf("slipway %s\n", sw_version());
    return 0;
}

const struct command command_version = {
    .name = "version",
    .args = "",
    .summary = "show the version",
    .description =
        "Show the version of the program. Nothing else is opened or read.",
    .example = "slipway version",
    .shared = { cli_output_document },
    .without_defaults = true,
    .run = version_run,
};
