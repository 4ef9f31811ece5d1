/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs.c - `slipway logs JOB`: what a job wrote, and with -f what it goes on to write.
 */
#include <limits.h>

#include "cli/cli_follow.h"
#include "cli/cli_interrupt.h"
#include "core/selector.h"

struct logs_options {
    bool follow, timestamps;
    int64_t tail, rank, attempt, since_ms, status_every_ms;
};

static const struct cli_flag logs_flags[] = {
    { "follow", 'f', NULL, "go on until the job is over, then end with its code",
      cli_apply_bool, offsetof(struct logs_options, follow) },
    { "tail", 'n', "N", "only the last N lines", cli_apply_int64,
      offsetof(struct logs_options, tail) },
    { "since", 0, "DURATION|TIME", "only what was written since then: 10m, 2026-05-21T22:50",
      cli_apply_since, offsetof(struct logs_options, since_ms) },
    { "timestamps", 't', NULL, "begin each line with the time it was written", cli_apply_bool,
      offsetof(struct logs_options, timestamps) },
    { "rank", 0, "R", "only this rank, byte for byte (default: all)", cli_apply_int64,
      offsetof(struct logs_options, rank) },
    { "attempt", 0, "N", "an earlier attempt (default: the newest)", cli_apply_int64,
      offsetof(struct logs_options, attempt) },
    { "status-every", 0, "DURATION", CLI_STATUS_EVERY_HELP, cli_apply_duration,
      offsetof(struct logs_options, status_every_ms) },
    { 0 }
};

static int bounded(int64_t number)
{
    return number > INT_MAX ? INT_MAX : (int)number;
}

/* An attempt that never was is a mistake worth words, not an empty log. */
static int check_attempt(struct cli *cli, const char *id, int attempt, struct sw_error *err)
{
    sw_auto(json) json_t *job = NULL;
    int64_t newest;

    if (attempt == 0)
        return 0;
    job = cli_document(sw_status(cli->session, id, SW_LOOK_STORED, err), err);
    if (!job)
        return -1;
    newest = sw_json_int(job, "attempt", 1);
    if (attempt <= newest)
        return 0;
    return sw_fail(err, SW_E_NOT_FOUND, "job '%s' has no attempt %d: it has %lld", id, attempt,
                   (long long)newest);
}

static int read_log(struct cli_follow *follow, const struct sw_log_options *options,
                    struct sw_error *err)
{
    struct sw_error trouble = { 0 };
    int rc = sw_logs(follow->cli->session, follow->id, options, cli_follow_bytes, follow,
                     &trouble);

    cli_follow_end(follow);
    if (follow->log.error)
        return cli_log_failed(&follow->log, follow->cli, err);
    if (rc == 0)
        return 0;
    if (err)
        *err = trouble;
    return sw_wrap(err, "cannot read the log of '%s'", follow->id);
}

static int logs_of(struct cli *cli, const struct cli_args *args, const char *id, struct sw_error *err)
{
    const struct logs_options *options = args->options;
    struct sw_log_options log_options = {
        .size = sizeof log_options,
        .attempt = bounded(options->attempt),
        .one_replica = cli_given_value(args, "rank"),
        .replica = bounded(options->rank),
        .tail_lines = cli_given_value(args, "tail") && options->tail == 0 ? SW_LOG_NEW : options->tail,
        .since_ms = options->since_ms,
        .follow = options->follow,
        .idle = options->follow ? cli_follow_idle : NULL,
        .attempt_began = options->follow ? cli_follow_attempt : NULL,
        .times = options->timestamps,
    };
    bool every = cli_given_value(args, "status-every");
    struct cli_follow follow;
    int rc;

    if (check_attempt(cli, id, log_options.attempt, err) < 0)
        return -1;
    cli_follow_init(&follow, cli, id, log_options.one_replica ? log_options.replica : -1,
                    every ? options->status_every_ms : CLI_STATUS_EVERY_MS);
    follow.log.timestamps = options->timestamps;
    follow.silent = !options->follow;
    if (options->follow)
        cli_interrupt_catch();
    rc = read_log(&follow, &log_options, err);
    if (rc == 0 && options->follow && !follow.log.error)
        rc = sw_wait(cli->session, id, -1, cli_follow_idle, &follow, &cli->exit_status, err);
    cli_follow_done(&follow);
    return cli_interrupt_count() == 0 ? rc : cli_leave(cli, id, err);
}

/* The splits of a group one after the other, each under its name; the first code that is not 0 counts. */
static int logs_of_split(struct cli *cli, const char *id, const void *args, struct sw_error *err)
{
    int before = cli->exit_status, rc;

    if (cli_interrupt_count())
        return 0;
    cli_say_job(cli, id, "its log:");
    rc = logs_of(cli, args, id, err);
    cli->exit_status = before ? before : cli->exit_status;
    return rc;
}

static int logs_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    bool state = sw_selector_group(args->words[0]);
    sw_autofree char *one = state ? cli_select_one(cli, args->words[0], err) : NULL;
    sw_auto(json) json_t *ids = state ? NULL : cli_select(cli, args, err);

    if (one || json_array_size(ids) == 1)
        return logs_of(cli, args, one ? one : json_string_value(json_array_get(ids, 0)), err);
    return ids ? cli_each(cli, ids, logs_of_split, args, err) : -1;
}

const struct command command_logs = {
    .name = "logs",
    .alias = "log",
    .args = "[JOB]",
    .summary = "show a job's log",
    .description =
        "Print what the job wrote to stdout and stderr, byte for byte unless stdout is a terminal; "
        "lines that begin with \"slipway: \" come from the runner around it. In a job of several ranks "
        "every line begins with its rank (\"0| \"), in an array with its task. With -f, wait for the "
        "job to start, miss and repeat nothing, and exit with the job's exit code when it finishes. A "
        "log that no longer exists, because its container or folder was removed, is an error (66). "
        "Times without a zone are UTC; on Slurm the times of -t are accurate to 5 seconds. The logs "
        "of a group of splits follow one another. Without JOB, the newest job's log is shown.",
    .example = "slipway logs -f last\nslipway logs train-k3 --rank 0 --since 10m -t",
    .flags = logs_flags,
    .options_size = sizeof(struct logs_options),
    .max_args = 1,
    .last_job = true,
    .run = logs_run,
};
