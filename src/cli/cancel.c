/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.c - `slipway cancel JOB...`: stop jobs, wherever they run.
 */
#include "cli/cli.h"

struct cancel_options {
    bool yes;
    const char *label;
};

static const struct cli_flag cancel_flags[] = {
    { "yes", 'y', NULL, "do not ask, even for several jobs", cli_apply_bool,
      offsetof(struct cancel_options, yes) },
    { "label", 'l', "KEY[=VALUE]", "jobs with this label", cli_apply_text,
      offsetof(struct cancel_options, label) },
    { 0 }
};

static int cancel_one(struct cli *cli, const char *id, const void *context, struct sw_error *err)
{
    sw_auto(json) json_t *job = NULL;

    (void)context;
    if (sw_cancel(cli->session, id, err) < 0)
        return sw_wrap(err, "cannot cancel '%s'", id);
    job = cli_document(sw_status(cli->session, id, SW_LOOK_STORED, err), err);
    if (!job)
        return -1;
    if (cli_job_state(job) == SW_CANCELED)
        cli_say_job(cli, id, "canceled");
    else                               /* it was faster than we were */
        cli_say_job(cli, id, "is over: %s", sw_state_name(cli_job_state(job)));
    return 0;
}

static int cancel_run(struct cli *cli, const void *given, const struct cli_args *args,
                      struct sw_error *err)
{
    const struct cancel_options *options = given;
    sw_auto(json) json_t *ids = cli_select(cli, args, options->label, err);
    size_t count = json_array_size(ids);
    sw_autofree char *question = sw_format("cancel %zu jobs?", count);

    if (!ids)
        return -1;
    if (count > 1 && !options->yes && !cli_confirm(cli, question)) {
        cli_say(cli, "nothing was canceled");
        return 0;
    }
    return cli_each(cli, ids, cancel_one, NULL, err);
}

const struct command command_cancel = {
    .name = "cancel",
    .alias = "stop",
    .args = "JOB...",
    .summary = "stop jobs",
    .description =
        "You get the job stopped: it may save its work (TERM, then KILL after its grace time), "
        "and the command returns when the platform confirms that nothing of it runs any more. "
        "A job that is already over is left alone. On a terminal several jobs are canceled "
        "only after a question, unless -y is given.",
    .example = "slipway cancel last\nslipway cancel -y -l team=vision",
    .flags = cancel_flags,
    .options_size = sizeof(struct cancel_options),
    .max_args = CLI_MANY,
    .run = cancel_run,
};
