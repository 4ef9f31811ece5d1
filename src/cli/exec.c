/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.c - `slipway exec JOB -- COMMAND`: run a command beside a running job.
 */
#include <limits.h>

#include "cli/cli.h"

struct exec_options {
    int64_t rank;
};

static const struct cli_flag exec_flags[] = {
    { "rank", 0, "R", "in this rank (default: 0)", cli_apply_int64,
      offsetof(struct exec_options, rank) },
    { 0 }
};

static int exec_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct exec_options *options = args->options;
    int rank = options->rank > INT_MAX ? INT_MAX : (int)options->rank;
    sw_autofree char *id = NULL;

    if (args->rest_count == 0) {
        sw_fail(err, SW_E_USAGE, "no command given");
        return sw_hint(err, "it goes after '--': slipway exec %s -- nvidia-smi", args->words[0]);
    }
    id = cli_select_one(cli, args->words[0], err);
    if (!id)
        return -1;
    if (sw_exec(cli->session, id, rank, args->rest_count > INT_MAX ? INT_MAX
                                                                   : (int)args->rest_count,
                args->rest, &cli->exit_status, err) < 0)
        return sw_wrap(err, "cannot run a command in '%s'", id);
    return 0;
}

const struct command command_exec = {
    .name = "exec",
    .args = "JOB -- COMMAND...",
    .summary = "run a command inside a running job",
    .description =
        "Run a command on your terminal where the job runs: in its container, with its environment, "
        "folder and GPUs, to look around, profile, or copy something out. Waits up to ten seconds for "
        "a job that is just starting, and exits with the command's exit code (127: command not "
        "found). The job itself is not touched.",
    .example = "slipway exec last -- nvidia-smi\nslipway exec train-k3 --rank 1 -- bash",
    .flags = exec_flags,
    .options_size = sizeof(struct exec_options),
    .min_args = 1,
    .max_args = 1,
    .takes_command = true,
    .run = exec_run,
};
