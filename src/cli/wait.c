/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.c - `slipway wait JOB...`: return when jobs are over, with their exit code.
 */
#include "base/units.h"
#include "cli/cli_attach.h"
#include "cli/cli_interrupt.h"

struct wait_options {
    int64_t timeout_ms;
};

static const struct cli_flag wait_flags[] = {
    { "timeout", 0, "DURATION", "give up after this time and exit with 75; the jobs continue",
      cli_apply_duration, offsetof(struct wait_options, timeout_ms) },
    CLI_LABEL_FLAG,
    { 0 }
};

static int stop_waiting(void *context)
{
    (void)context;
    return cli_interrupt_count() > 0;
}

/* The exit status is that of the first in the order given which is not 0, whichever ended first. */
struct statuses {
    struct cli_outcomes outcomes;      /* first: cli_outcomes_tell() gets this struct */
    size_t first;
    int status;
};

static void take_status(void *context, const struct sw_outcome *outcome)
{
    struct statuses *all = context;

    if (!outcome->err && outcome->exit_status && (all->status == 0 || outcome->index < all->first)) {
        all->status = outcome->exit_status;
        all->first = outcome->index;
    }
    cli_outcome(&all->outcomes, outcome);
}

static void tell_ended(struct cli *cli, const struct sw_outcome *outcome)
{
    sw_autofree char *text = cli->quiet ? NULL : cli_outcome_text(outcome);

    if (text)
        cli_say_job(cli, outcome->id, "%s", text);
}

typedef int end_fn(struct cli_outcomes *all, struct sw_error *err);

static int wait_for(struct cli *cli, const json_t *ids, int64_t timeout_ms, end_fn *end,
                    struct sw_error *err)
{
    sw_autofree const char **list = cli_list(ids);
    struct statuses all = { .outcomes = { .cli = cli, .verb = "wait for", .tell = tell_ended } };
    struct sw_error why = { 0 };
    int waited;

    cli_interrupt_catch();
    waited = sw_wait_many(cli->session, list, json_array_size(ids), timeout_ms, stop_waiting, take_status,
                          &all, &why);
    cli->exit_status = all.status;
    if (waited < 0 && cli_interrupt_count()) {
        cli_outcomes_done(&all.outcomes, NULL);
        return cli_leave(cli, json_array_size(ids) == 1 ? list[0] : NULL, err);
    }
    if (waited < 0 && !all.outcomes.failed) {
        cli_outcomes_done(&all.outcomes, NULL);
        if (err)
            *err = why;
        return json_array_size(ids) > 1 ? sw_wrap(err, "waiting for %zu jobs", json_array_size(ids))
                                        : sw_wrap(err, "waiting for '%s'", list[0]);
    }
    return end(&all.outcomes, err);
}

int cli_wait(struct cli *cli, const json_t *ids, int64_t timeout_ms, struct sw_error *err)
{
    return wait_for(cli, ids, timeout_ms, cli_outcomes_done, err);
}

static int wait_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct wait_options *options = args->options;
    sw_auto(json) json_t *ids = cli_select(cli, args, err);

    return ids ? wait_for(cli, ids, cli_given_value(args, "timeout") ? options->timeout_ms : -1,
                          cli_outcomes_end, err) : -1;
}

const struct command command_wait = {
    .name = "wait",
    .args = "JOB...",
    .summary = "wait for jobs to finish",
    .description =
        "Wait for jobs to finish and exit with the job's exit code; with several jobs, the first that "
        "is not 0, in the order given. 75 means that --timeout passed first; the jobs continue.",
    .example = "slipway wait last --timeout 2h && echo trained",
    .flags = wait_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct wait_options),
    .max_args = CLI_MANY,
    .run = wait_run,
};
