/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.c - `slipway doctor`: is everything in order here, and if not, what fixes it.
 */
#include "cli/cli_checks.h"

static int doctor_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(json) json_t *checks = NULL;

    (void)args;
    if (!cli_session(cli, err))
        return -1;
    checks = cli_document(sw_doctor(cli->session, err), err);
    return checks ? cli_checks_show(cli, checks, checks, err) : -1;
}

const struct command command_doctor = {
    .name = "doctor",
    .args = "",
    .summary = "check that everything is in order here",
    .description = "You get a list of checks (store, platforms, helper programs, GPUs, files "
                   "with credentials) and for each that fails the command that fixes it. A "
                   "platform that no job was sent to and that does not answer is not set up: '-', "
                   "which is no failure. Ends with 1 when something is wrong.",
    .example = "slipway doctor",
    .shared = { cli_output_document },
    .run = doctor_run,
};
