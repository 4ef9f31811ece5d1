/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry.c - `slipway retry JOB...`: try finished jobs again under the same id.
 */
#include "cli/cli.h"

struct retry_options {
    bool avoid_node;
    const char *label;
};

static const struct cli_flag retry_flags[] = {
    { "avoid-node", 0, NULL, "keep away from the node it ran on", cli_apply_bool,
      offsetof(struct retry_options, avoid_node) },
    { "label", 'l', "KEY[=VALUE]", "jobs with this label", cli_apply_text,
      offsetof(struct retry_options, label) },
    { 0 }
};

static void tell_retried(struct cli *cli, const struct sw_outcome *outcome)
{
    cli_say_job(cli, outcome->id, "submitted again, attempt %d", outcome->attempt);
}

static int retry_run(struct cli *cli, const void *given, const struct cli_args *args,
                     struct sw_error *err)
{
    const struct retry_options *options = given;
    sw_auto(json) json_t *ids = cli_select(cli, args, options->label, err);
    sw_autofree const char **list = cli_list(ids);
    struct cli_outcomes outcomes = { .cli = cli, .verb = "retry", .tell = tell_retried };

    if (!ids)
        return -1;
    sw_retry_many(cli->session, list, json_array_size(ids), options->avoid_node, cli_outcome, &outcomes,
                  NULL);
    return cli_outcomes_end(&outcomes, err);
}

const struct command command_retry = {
    .name = "retry",
    .args = "JOB...",
    .summary = "try finished jobs again, under the same id",
    .description =
        "You get another attempt of exactly the same job: same id, same plan, a number higher. "
        "The logs and exit codes of earlier attempts stay ('slipway logs JOB --attempt 1'). A "
        "job that is not over is left alone: cancel it first.",
    .example = "slipway retry last --avoid-node\nslipway retry failed",
    .flags = retry_flags,
    .options_size = sizeof(struct retry_options),
    .max_args = CLI_MANY,
    .run = retry_run,
};
