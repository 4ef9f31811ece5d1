/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.c - `slipway wait JOB...`: return when jobs are over, with their exit code.
 */
#include "base/clock.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/cli_interrupt.h"

struct wait_options {
    int64_t timeout_ms;
};

static const struct cli_flag wait_flags[] = {
    { "timeout", 0, "DURATION", "give up after this time and end with 75; jobs go on",
      cli_apply_duration, offsetof(struct wait_options, timeout_ms) },
    CLI_LABEL_FLAG,
    { 0 }
};

static int stop_waiting(void *context)
{
    (void)context;
    return cli_interrupt_count() > 0;
}

static int wait_for(struct cli *cli, const char *id, int64_t timeout_ms, struct sw_error *err)
{
    sw_auto(json) json_t *job = NULL;
    sw_autofree char *outcome = NULL;
    int status = 0;

    if (sw_wait(cli->session, id, timeout_ms, stop_waiting, NULL, &status, err) < 0)
        return cli_interrupt_count() ? cli_leave(cli, id, err) : sw_wrap(err, "waiting for '%s'", id);
    if (cli->exit_status == 0)
        cli->exit_status = status;
    if (cli->quiet)
        return 0;
    job = cli_document(sw_status(cli->session, id, SW_LOOK_STORED, NULL), NULL);
    outcome = job ? cli_job_outcome(job) : NULL;
    if (outcome)
        cli_say_job(cli, id, "%s", outcome);
    return 0;
}

static int wait_run(struct cli *cli, const void *given, const struct cli_args *args,
                    struct sw_error *err)
{
    const struct wait_options *options = given;
    sw_auto(json) json_t *ids = cli_select(cli, args, err);
    int64_t deadline_ms = cli_given_value(args, "timeout")
                              ? sw_monotonic_ms() + options->timeout_ms
                              : -1;
    const json_t *id;
    size_t i;

    if (!ids)
        return -1;
    cli_interrupt_catch();
    json_array_foreach(ids, i, id) {
        int64_t left_ms = deadline_ms < 0 ? -1 : deadline_ms - sw_monotonic_ms();

        if (deadline_ms >= 0 && left_ms < 0)
            left_ms = 0;
        if (wait_for(cli, json_string_value(id), left_ms, err) < 0)
            return -1;
    }
    return 0;
}

const struct command command_wait = {
    .name = "wait",
    .args = "JOB...",
    .summary = "wait until jobs are over",
    .description =
        "You get the job's own exit code as the exit status; of several jobs the first that is "
        "not 0, in the order given. 75 means that --timeout passed first: the jobs go on.",
    .example = "slipway wait last --timeout 2h && echo trained",
    .flags = wait_flags,
    .options_size = sizeof(struct wait_options),
    .max_args = CLI_MANY,
    .run = wait_run,
};
