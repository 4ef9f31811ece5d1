/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs.c - `slipway logs JOB`: what a job wrote, and with -f what it goes on to write.
 */
#include <limits.h>

#include "cli/cli_log.h"

struct logs_options {
    bool follow;
    int64_t tail, rank, attempt;
};

static const struct cli_flag logs_flags[] = {
    { "follow", 'f', NULL, "go on until the job is over, then end with its code",
      cli_apply_bool, offsetof(struct logs_options, follow) },
    { "tail", 'n', "N", "only the last N lines", cli_apply_int64,
      offsetof(struct logs_options, tail) },
    { "rank", 0, "R", "only this rank, byte for byte (default: all)", cli_apply_int64,
      offsetof(struct logs_options, rank) },
    { "attempt", 0, "N", "an earlier attempt (default: the newest)", cli_apply_int64,
      offsetof(struct logs_options, attempt) },
    { 0 }
};

static int on_bytes(void *context, int rank, int64_t at_ms, const char *bytes, size_t length)
{
    (void)at_ms;
    return cli_log_write(context, rank, bytes, length);
}

static int bounded(int64_t number)
{
    return number > INT_MAX ? INT_MAX : (int)number;
}

static int logs_run(struct cli *cli, const void *given, const struct cli_args *args,
                    struct sw_error *err)
{
    const struct logs_options *options = given;
    sw_autofree char *id = cli_select_one(cli, args->words[0], err);
    struct sw_log_options log_options = {
        .size = sizeof log_options,
        .attempt = bounded(options->attempt),
        .replica = cli_given_value(args, "rank") ? bounded(options->rank) : -1,
        .tail_lines = cli_given_value(args, "tail") ? options->tail : -1,
        .follow = options->follow,
    };
    struct cli_log log;
    int rc;

    if (!id)
        return -1;
    cli_log_init(&log, cli, id, log_options.replica);
    rc = sw_logs(cli->session, id, &log_options, on_bytes, &log, err);
    cli_log_end(&log);
    if (log.error) {
        if (err)
            *err = (struct sw_error){ 0 };
        return cli_log_failed(&log, cli, err);
    }
    if (rc < 0)
        return sw_wrap(err, "cannot read the log of '%s'", id);
    if (!options->follow)
        return 0;
    return sw_wait(cli->session, id, -1, NULL, NULL, &cli->exit_status, err);
}

const struct command command_logs = {
    .name = "logs",
    .alias = "log",
    .args = "JOB",
    .summary = "show a job's log",
    .description =
        "You get what the job wrote to stdout and stderr, on stdout, byte for byte unless that "
        "is a terminal. A job of several ranks has each line begin with its rank (\"0| \"). "
        "With -f it waits for the job to start, misses and repeats nothing, and ends with the "
        "job's own exit code when the job is over.",
    .example = "slipway logs -f last\nslipway logs train-k3 --rank 0 --tail 50",
    .flags = logs_flags,
    .options_size = sizeof(struct logs_options),
    .min_args = 1,
    .max_args = 1,
    .run = logs_run,
};
