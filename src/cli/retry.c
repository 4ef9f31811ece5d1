/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry.c - `slipway retry JOB...`: try finished jobs again under the same id.
 */
#include "cli/cli.h"

struct retry_options {
    bool avoid_node, collect;
    const char *label;
};

static const struct cli_flag retry_flags[] = {
    { "avoid-node", 0, NULL, "keep away from the node it ran on", cli_apply_bool,
      offsetof(struct retry_options, avoid_node) },
    { "collect", 0, NULL, "do not run the command: only bring its outputs to their destinations again",
      cli_apply_bool, offsetof(struct retry_options, collect) },
    { "label", 'l', "KEY[=VALUE]", "jobs with this label", cli_apply_text,
      offsetof(struct retry_options, label) },
    { 0 }
};

static int retry_one(struct cli *cli, const char *id, const void *context, struct sw_error *err)
{
    const struct retry_options *options = context;
    int attempt = 0;

    if (options->collect ? sw_collect_again(cli->session, id, &attempt, err) < 0
                         : sw_retry(cli->session, id, options->avoid_node, &attempt, err) < 0)
        return sw_wrap(err, "cannot retry '%s'", id);
    cli_say_job(cli, id, options->collect ? "its outputs are brought again, attempt %d"
                                          : "submitted again, attempt %d", attempt);
    return 0;
}

static int retry_run(struct cli *cli, const void *given, const struct cli_args *args,
                     struct sw_error *err)
{
    const struct retry_options *options = given;
    sw_auto(json) json_t *ids = NULL;

    if (options->collect && options->avoid_node)
        return sw_fail(err, SW_E_USAGE, "--collect goes where the outputs are: it takes no --avoid-node");
    ids = cli_select(cli, args, options->label, err);
    return ids ? cli_each(cli, ids, retry_one, options, err) : -1;
}

const struct command command_retry = {
    .name = "retry",
    .args = "JOB...",
    .summary = "try finished jobs again, under the same id",
    .description =
        "You get another attempt of exactly the same job: same id, same plan, a number higher. "
        "The logs and exit codes of earlier attempts stay ('slipway logs JOB --attempt 1'). A "
        "job that is not over is left alone: cancel it first.\n\n"
        "When only the upload failed, the training need not be repeated: '--collect' brings what the "
        "command left to the destinations under 'outputs:' and ends with the command's own exit code. "
        "A failure of the network is repeated that way without being asked.",
    .example = "slipway retry last --avoid-node\nslipway retry failed\nslipway retry --collect last",
    .flags = retry_flags,
    .options_size = sizeof(struct retry_options),
    .max_args = CLI_MANY,
    .run = retry_run,
};
