/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.c - `slipway version`.
 */
#include <stdio.h>

#include "cli/cli.h"

static int version_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    (void)cli, (void)args, (void)err;
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
    .run = version_run,
};
