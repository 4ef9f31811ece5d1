/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - `slipway run`: start a job, stay with it, end with its exit code.
 */
#include <stdio.h>

#include "cli/cli_attach.h"
#include "cli/cli_interactive.h"
#include "cli/cli_run.h"
#include "cli/cli_follow.h"
#include "cli/cli_interrupt.h"
#include "cli/cli_transfer.h"

const struct cli_flag cli_run_flags[] = {
    { "detach", 'd', NULL, "do not wait: print the job's id and return", cli_apply_bool,
      offsetof(struct cli_run_options, detach) },
    { "interactive", 'i', NULL, "run the command, or a shell without one, on this terminal", cli_apply_bool,
      offsetof(struct cli_run_options, interactive) },
    { "dry-run", 0, NULL, "show what would be sent and send nothing (= plan)", cli_apply_bool,
      offsetof(struct cli_run_options, dry_run) },
    { "wait-for-capacity", 0, NULL, "keep the job queued even if the platform can never schedule it as it "
                                    "is",
      cli_apply_bool, offsetof(struct cli_run_options, wait_for_capacity) },
    { "status-every", 0, "DURATION", CLI_STATUS_EVERY_HELP, cli_apply_duration,
      offsetof(struct cli_run_options, status_every_ms) },
    { 0 }
};

/* What was submitted: one job, or the splits of a group. */
struct run_jobs {
    struct cli *cli;
    char group[SW_ID_SIZE];          /* "": no splits */
    json_t *ids;
    size_t already;                  /* of them, under the id that was given */
    struct cli_outcomes outcomes;    /* for -o json */
};

static void take_job(void *context, const struct sw_outcome *outcome)
{
    struct run_jobs *jobs = context;

    if (outcome->err) {
        cli_say(jobs->cli, "recorded as %s; see 'slipway status %s'",
                outcome->id, outcome->id);
        return;
    }
    cli_outcome(&jobs->outcomes, outcome);
    json_array_append_new(jobs->ids, json_string(outcome->id));
    jobs->already += outcome->already;
}

static int submit(struct cli *cli, const struct sw_request *request, struct run_jobs *jobs,
                  struct sw_error *err)
{
    int result;

    json_array_clear(jobs->ids);
    json_array_clear(jobs->outcomes.rows);
    jobs->already = 0;
    cli_interrupt_catch();
    cli->sending = true;
    result = sw_submit_many(cli->session, request, jobs->group, take_job, jobs, err);
    cli->sending = false;
    cli_transfer_end(cli);
    if (result < 0 && json_array_size(jobs->ids))
        cli_say(cli, "%s: only %zu split%s submitted", jobs->group, json_array_size(jobs->ids),
                json_array_size(jobs->ids) == 1 ? " was" : "s were");
    return result;
}

static void say_submitted(const struct run_jobs *jobs)
{
    struct cli *cli = jobs->cli;
    const char *id = json_string_value(json_array_get(jobs->ids, 0)), *platform;
    sw_auto(json) json_t *job = NULL;
    sw_autofree char *outcome = NULL;

    if (cli->quiet)
        return;
    job = cli_document(sw_status(cli->session, id, SW_LOOK_STORED, NULL), NULL);
    platform = job ? sw_json_str(job, "backend_type") : "?";
    outcome = job && jobs->already && !jobs->group[0] ? cli_job_outcome(job) : NULL;
    if (outcome)
        cli_say_job(cli, id, "already exists: %s", outcome);
    else if (!jobs->group[0])
        cli_say_job(cli, id, "submitted to %s", platform);
    else if (jobs->already)
        cli_say_job(cli, jobs->group, "%zu splits, of which %zu already existed",
                    json_array_size(jobs->ids), jobs->already);
    else
        cli_say_job(cli, jobs->group, "%zu splits submitted to %s", json_array_size(jobs->ids), platform);
}

static int detach(struct run_jobs *jobs, struct sw_error *err)
{
    struct cli *cli = jobs->cli;
    const json_t *id;
    size_t i;

    json_array_foreach(jobs->ids, i, id) {
        cli_attend(cli, json_string_value(id));
        if (cli->format == CLI_TABLE)
            cli_printf("%s\n", json_string_value(id));
    }
    if (cli_rows_print(cli, true, json_incref(jobs->outcomes.rows), err) < 0)
        return -1;
    id = json_array_get(jobs->ids, 0);
    if (cli_flush() < 0)             /* the job runs: its id must not be lost */
        cli_warn(cli, "the job is %s", jobs->group[0] ? jobs->group : json_string_value(id));
    return cli_interrupt_count() ? cli_leave(cli, jobs->group[0] ? NULL : json_string_value(id), err) : 0;
}

int cli_run_request(struct cli *cli, const struct cli_args *args, struct sw_request *request,
                    struct sw_error *err)
{
    const struct cli_run_options *options = args->options;
    sw_auto(json) json_t *ids = json_array(), *rows = json_array();
    struct run_jobs jobs = { .cli = cli, .ids = ids, .outcomes = { .cli = cli, .rows = rows } };

    if (options->interactive && (options->detach || cli_given_value(args, "split")))
        return sw_fail(err, SW_E_USAGE, "-i runs one job on this terminal: it goes with neither -d nor "
                       "--split");
    if (cli->format != CLI_TABLE && !options->detach && !options->dry_run)
        return sw_fail(err, SW_E_USAGE, "-o goes with -d: otherwise the log of the job is on stdout");
    if (options->interactive && cli_interactive_prepare(cli, request, err) < 0)
        return -1;
    if (options->dry_run)
        return cli_plan_show(cli, request, err);
    while (submit(cli, request, &jobs, err) < 0) {
        if (!cli_trust_ask(cli, request, err))
            return -1;
        *err = (struct sw_error){ 0 };
    }
    say_submitted(&jobs);
    if (options->detach)
        return detach(&jobs, err);
    if (options->interactive)
        return cli_interactive_attach(cli, json_string_value(json_array_get(ids, 0)), args, err);
    if (jobs.group[0])
        return cli_attach_splits(cli, jobs.group, ids, err);
    return cli_attach(cli, json_string_value(json_array_get(ids, 0)),
                      cli_given_value(args, "status-every") ? options->status_every_ms : CLI_STATUS_EVERY_MS,
                      options->wait_for_capacity, err);
}

static int run_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct cli_run_options *options = args->options;
    sw_auto(sw_request) struct sw_request *request = NULL;

    request = options->interactive ? cli_request_any(args, err) : cli_request(args, true, err);
    return request && cli_session(cli, err) ? cli_run_request(cli, args, request, err) : -1;
}

const struct command command_run = {
    .name = "run",
    .args = "[FILE] [-- COMMAND...]",
    .summary = "start a job and follow it until it finishes",
    .description =
        "Start a job on the platform of your choice, show its log, and exit with its exit code. "
        "Describe the job in a file (default: job.yaml when neither file nor command is given), with "
        "flags, or both: flags win.\n\n"
        "The log goes to stdout, byte for byte unless stdout is a terminal; everything else goes to "
        "stderr. Ctrl-C leaves the job running and shows how to come back to it; 'slipway cancel' "
        "stops it. On a terminal, a progress bar appears below the log as soon as the log reports "
        "progress. With -d only the job's id is printed, or with -o json a document about it.\n\n"
        "With -i the command runs on this terminal, with the job's image, GPUs and data; without a command "
        "it is a shell, also with a job file. Its exit code is the job's, and closing the terminal cancels "
        "the job.\n\n"
        "A job that the platform can never schedule as it is (more nodes than exist, a limit below "
        "what it asks for) is canceled, and the exit status is 76; --wait-for-capacity keeps it in "
        "the queue.\n\n"
        "--split N submits a group of N jobs that differ only in SPLIT_ID (0 to N-1), waits for all "
        "of them, shows how each ended, and exits with the first code that is not 0. 'slipway logs "
        "GROUP' shows their logs, 'slipway retry --failed GROUP' repeats the failed ones. -d prints "
        "one id per line. With --id GROUP, a repeated submit sends only the splits that are missing.",
    .example = "slipway run --gpus 1 --env LR=0.1 -- python train.py",
    .flags = cli_run_flags,
    .shared = { cli_job_flags, cli_output_document },
    .options_size = sizeof(struct cli_run_options),
    .max_args = 1,
    .takes_command = true,
    .run = run_run,
};
