/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - `slipway run`: start a job, stay with it, end with its exit code.
 */
#include <stdio.h>

#include "cli/cli_attach.h"
#include "cli/cli_follow.h"
#include "cli/cli_interrupt.h"
#include "cli/cli_transfer.h"

struct run_options {
    bool detach;
    bool dry_run;
    bool wait_for_capacity;
    int64_t status_every_ms;
};

static const struct cli_flag run_flags[] = {
    { "detach", 'd', NULL, "do not wait: print the job's id and return", cli_apply_bool,
      offsetof(struct run_options, detach) },
    { "dry-run", 0, NULL, "show what would be sent and send nothing (= plan)", cli_apply_bool,
      offsetof(struct run_options, dry_run) },
    { "wait-for-capacity", 0, NULL, "keep a job in the queue that the platform can never schedule as it is",
      cli_apply_bool, offsetof(struct run_options, wait_for_capacity) },
    { "status-every", 0, "DURATION", CLI_STATUS_EVERY_HELP, cli_apply_duration,
      offsetof(struct run_options, status_every_ms) },
    { 0 }
};

static int submit(struct cli *cli, const struct sw_request *request, char id[SW_ID_SIZE],
                  bool *already, struct sw_error *err)
{
    int result;

    id[0] = '\0';
    cli_interrupt_catch();
    cli->sending = true;
    result = sw_submit_once(cli->session, request, id, already, err);
    cli->sending = false;
    cli_transfer_end(cli);
    if (result == 0)
        return 0;
    if (id[0])
        cli_say(cli, "the job is remembered as %s: 'slipway status %s' tells what is known", id,
                id);
    return -1;
}

static void say_submitted(struct cli *cli, const char *id, bool already)
{
    sw_auto(json) json_t *job = NULL;
    sw_autofree char *outcome = NULL;

    if (cli->quiet)
        return;
    job = cli_document(sw_status(cli->session, id, SW_LOOK_STORED, NULL), NULL);
    outcome = job && already ? cli_job_outcome(job) : NULL;
    if (outcome)
        cli_say_job(cli, id, "is there already: %s", outcome);
    else
        cli_say_job(cli, id, "submitted to %s", job ? sw_json_str(job, "backend_type") : "?");
}

static int run_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct run_options *options = args->options;
    sw_auto(sw_request) struct sw_request *request = cli_request(args, true, err);
    char id[SW_ID_SIZE];
    bool already = false;

    if (!request || !cli_session(cli, err))
        return -1;
    if (options->dry_run)
        return cli_plan_show(cli, request, err);
    while (submit(cli, request, id, &already, err) < 0) {
        if (!cli_trust_ask(cli, request, err))
            return -1;
        *err = (struct sw_error){ 0 };
    }
    say_submitted(cli, id, already);
    if (!options->detach)
        return cli_attach(cli, id, cli_given_value(args, "status-every")
                                       ? options->status_every_ms : CLI_STATUS_EVERY_MS,
                          options->wait_for_capacity, err);
    cli_attend(cli, id);
    cli_printf("%s\n", id);
    if (cli_flush() < 0)             /* the job runs: its id must not be lost */
        cli_warn(cli, "the job is %s", id);
    return cli_interrupt_count() ? cli_leave(cli, id, err) : 0;
}

const struct command command_run = {
    .name = "run",
    .args = "[FILE] [-- COMMAND...]",
    .summary = "start a job and stay with it to the end",
    .description =
        "You get a job on the platform of your choice, its log on your screen, and its own exit "
        "code. The job is described by a file (job.yaml when neither file nor command is "
        "given), by flags, or both: flags win.\n"
        "\n"
        "The log goes to stdout, exactly as the job wrote it when that is not a terminal; all "
        "other words go to stderr. Ctrl-C leaves the job running and shows how to come back to "
        "it; 'slipway cancel' stops it. A terminal shows progress as "
        "a bar below the log when the log tells it. With -d only the job's id is printed.\n"
        "\n"
        "A job that the platform can never schedule as it is (more nodes than there are, a limit below what "
        "it asks for) is canceled, and the exit status is 76; --wait-for-capacity keeps it in the queue.",
    .example = "slipway run --gpus 1 --env LR=0.1 -- python train.py",
    .flags = run_flags,
    .shared = { cli_job_flags },
    .options_size = sizeof(struct run_options),
    .max_args = 1,
    .takes_command = true,
    .run = run_run,
};
