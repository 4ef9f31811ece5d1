/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rerun.c - `slipway rerun JOB`: a new job from an old one's request.
 */
#include "cli/cli_run.h"

static int rerun_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_autofree char *id = cli_select_one(cli, args->words[0], err);
    sw_auto(sw_request) struct sw_request *request = sw_request_new();

    if (!id || sw_request_again(cli->session, request, id, err) < 0 ||
        cli_request_change(request, args, err) < 0)
        return -1;
    return cli_run_request(cli, args, request, err);
}

const struct command command_rerun = {
    .name = "rerun",
    .args = "[JOB] [-- COMMAND...]",
    .summary = "run a job again as a new one, with changes",
    .description =
        "Submit a new job with the file, flags and command of an earlier one (default: the newest), and "
        "follow "
        "it as run does. Flags change what they name: another platform, more GPUs, --set config.lr=0.1. The "
        "job file is taken as it was then, code and data as they are now. 'slipway retry' runs the same job "
        "again under its own id; 'slipway diff' shows what differs between two jobs.",
    .example = "slipway rerun last --set config.lr=0.01\nslipway rerun train -p slurm -d",
    .flags = cli_run_flags,
    .shared = { cli_job_flags, cli_output_document },
    .options_size = sizeof(struct cli_run_options),
    .max_args = 1,
    .last_job = true,
    .takes_command = true,
    .run = rerun_run,
};
