/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.c - `slipway cancel JOB...`: stop jobs, wherever they run.
 */
#include "cli/cli.h"
#include "cli/cli_attach.h"

struct cancel_options {
    bool yes, undo;
};

static const struct cli_flag cancel_flags[] = {
    { "yes", 'y', NULL, "do not ask, even for several jobs", cli_apply_bool,
      offsetof(struct cancel_options, yes) },
    { "undo", 0, NULL, "withdraw a cancel that the platform has not confirmed", cli_apply_bool,
      offsetof(struct cancel_options, undo) },
    CLI_LABEL_FLAG,
    { 0 }
};

static void tell_canceled(struct cli *cli, const struct sw_outcome *outcome)
{
    if (outcome->state == SW_CANCELED)
        cli_say_job(cli, outcome->id, "canceled");
    else if (!sw_state_is_final(outcome->state))
        cli_say_job(cli, outcome->id, "canceled; not recorded in the job store yet");
    else                               /* it was faster than we were */
        cli_say_job(cli, outcome->id, "has finished: %s", sw_state_name(outcome->state));
}

static void tell_undone(struct cli *cli, const struct sw_outcome *outcome)
{
    cli_say_job(cli, outcome->id, "continues: its cancel was withdrawn");
}

static void say_over(struct cli *cli, const char *id)
{
    sw_auto(json) json_t *job =
        cli_document(sw_status(cli->session, id, SW_LOOK_STORED, NULL), NULL);

    if (job)
        cli_say_job(cli, id, "has already finished: %s", sw_state_name(cli_job_state(job)));
}

/* Those that are not over. Of the others only the ones that were named are worth words. */
static json_t *still_active(struct cli *cli, const json_t *ids, bool named, struct sw_error *err)
{
    sw_auto(json) json_t *active = cli_ids_in_state(cli, "active", err);
    json_t *left = active ? json_array() : NULL, *id;
    size_t i;

    json_array_foreach(ids, i, id) {
        if (!left)
            break;
        if (json_object_get(active, json_string_value(id)))
            json_array_append(left, id);
        else if (named)
            say_over(cli, json_string_value(id));
    }
    if (left && !named && json_array_size(ids) && !json_array_size(left))
        cli_say(cli, "nothing to cancel: all these jobs have finished");
    return left;
}

static int cancel_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct cancel_options *options = args->options;
    sw_auto(json) json_t *ids = cli_select(cli, args, err), *left = NULL;
    sw_autofree char *question = NULL;
    sw_autofree const char **list = NULL;
    struct cli_outcomes outcomes = { .cli = cli, .verb = "cancel", .tell = tell_canceled };

    if (!ids)
        return -1;
    if (options->undo) {
        outcomes.tell = tell_undone;
        outcomes.verb = "withdraw the cancel of";
        cli_outcome_each(&outcomes, ids, sw_cancel_undo);
        return cli_outcomes_end(&outcomes, err);
    }
    left = still_active(cli, ids, cli_names_each(args, ids), err);
    if (!left)
        return -1;
    question = sw_format("cancel %zu jobs?", json_array_size(left));
    if (json_array_size(left) > 1 && !options->yes && !cli_confirm(cli, question)) {
        cli_say(cli, "nothing was canceled");
        return cli_outcomes_end(&outcomes, err);
    }
    list = cli_list(left);
    if (sw_cancel_many(cli->session, list, json_array_size(left), cli_outcome, &outcomes, NULL) < 0)
        cli_attend(cli, NULL);           /* one that is not confirmed is repeated */
    return cli_outcomes_end(&outcomes, err);
}

const struct command command_cancel = {
    .name = "cancel",
    .alias = "stop",
    .args = "JOB...",
    .summary = "stop jobs",
    .description =
        "Stop jobs: each may save its work (TERM, then KILL after its grace time), and the command "
        "returns when the platform confirms that nothing of it is running. A job that has finished is "
        "left alone. If the platform does not answer, the exit status is 69; the job is then canceled "
        "as soon as it answers and any slipway command asks it; until then --undo withdraws the cancel. "
        "On a terminal, canceling several jobs asks first, unless -y is given.",
    .example = "slipway cancel last\nslipway cancel -y -l team=vision",
    .flags = cancel_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct cancel_options),
    .max_args = CLI_MANY,
    .run = cancel_run,
};
