/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs.c - `slipway logs JOB...`: what jobs wrote, and with -f what they go on to write.
 */
#include <limits.h>
#include <regex.h>

#include "cli/cli_follow.h"
#include "cli/cli_interrupt.h"
#include "cli/logs_internal.h"

struct logs_options {
    bool follow, timestamps;
    const char *grep;
    int64_t tail, rank, attempt, since_ms, status_every_ms;
};

static const struct cli_flag logs_flags[] = {
    { "follow", 'f', NULL, "follow until the jobs finish, then exit with their code",
      cli_apply_bool, offsetof(struct logs_options, follow) },
    { "tail", 'n', "N", "only the last N lines of each job; with --grep, of those that match",
      cli_apply_int64, offsetof(struct logs_options, tail) },
    { "grep", 0, "PATTERN", "only lines that match this extended regular expression", cli_apply_text,
      offsetof(struct logs_options, grep) },
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
    CLI_LABEL_FLAG,
    { 0 }
};

static const struct cli_flag logs_output[] = {
    { "format", 'o', "table|json", "how to print it; json: one object per line of the log",
      cli_apply_choice, offsetof(struct cli, format) },
    { 0 }
};

static int bounded(int64_t number)
{
    return number > INT_MAX ? INT_MAX : (int)number;
}

int logs_check_attempt(struct cli *cli, const char *id, int attempt, struct sw_error *err)
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

void logs_prepare(const struct logs_request *request, struct cli_log *log)
{
    log->timestamps = request->timestamps;
    log->grep = request->grep;
    log->last.wanted = request->last_lines;
}

static int logs_of_one(struct cli *cli, const char *id, const struct logs_request *request,
                       struct sw_error *err)
{
    struct sw_log_options options = request->options;
    struct cli_follow follow;
    int rc;

    if (logs_check_attempt(cli, id, options.attempt, err) < 0)
        return -1;
    cli_follow_init(&follow, cli, id, options.one_replica ? options.replica : -1, request->status_every_ms);
    logs_prepare(request, &follow.log);
    options.whole_lines = cli_log_wants_lines(&follow.log);
    options.idle = options.follow ? cli_follow_idle : NULL;
    options.attempt_began = options.follow ? cli_follow_attempt : NULL;
    follow.silent = !options.follow;
    if (options.follow)
        cli_interrupt_catch();
    rc = read_log(&follow, &options, err);
    if (rc == 0 && options.follow && !follow.log.error)
        rc = sw_wait(cli->session, id, -1, cli_follow_idle, &follow, &cli->exit_status, err);
    cli_follow_done(&follow);
    return cli_interrupt_count() == 0 ? rc : cli_leave(cli, id, err);
}

/* The lines that --tail counts are those that --grep leaves: then the whole log is read. */
static void fill_request(const struct cli *cli, const struct cli_args *args, const regex_t *grep,
                         struct logs_request *out)
{
    const struct logs_options *options = args->options;
    bool tail = cli_given_value(args, "tail") != NULL, every = cli_given_value(args, "status-every");

    *out = (struct logs_request){
        .options = {
            .size = sizeof out->options,
            .attempt = bounded(options->attempt),
            .one_replica = cli_given_value(args, "rank"),
            .replica = bounded(options->rank),
            .tail_lines = tail && options->tail == 0 ? SW_LOG_NEW : grep ? 0 : options->tail,
            .since_ms = options->since_ms,
            .follow = options->follow,
            .times = options->timestamps || cli->format == CLI_JSON,
        },
        .grep = grep,
        .last_lines = grep && options->tail > 0 ? (size_t)options->tail : 0,
        .timestamps = options->timestamps,
        .status_every_ms = every ? options->status_every_ms : CLI_STATUS_EVERY_MS,
    };
}

static int compile(const char *pattern, regex_t *out, struct sw_error *err)
{
    int problem = regcomp(out, pattern, REG_EXTENDED | REG_NOSUB);
    char why[128];

    if (problem == 0)
        return 0;
    regerror(problem, out, why, sizeof why);
    sw_fail(err, SW_E_USAGE, "--grep '%s': %s", pattern, why);
    return sw_hint(err, "a pattern is a POSIX extended regular expression, as for 'grep -E'; put a backslash "
                        "before a character that is meant literally");
}

static int logs_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const char *pattern = ((const struct logs_options *)args->options)->grep;
    struct logs_request request;
    regex_t grep;
    sw_auto(json) json_t *ids = NULL;
    int rc = -1;

    if (pattern && compile(pattern, &grep, err) < 0)
        return -1;
    fill_request(cli, args, pattern ? &grep : NULL, &request);
    ids = cli_select(cli, args, err);
    if (ids && json_array_size(ids) == 1)
        rc = logs_of_one(cli, json_string_value(json_array_get(ids, 0)), &request, err);
    else if (ids)                            /* none: that was said */
        rc = json_array_size(ids) == 0 ? 0 : logs_of_many(cli, ids, &request, err);
    if (pattern)
        regfree(&grep);
    return rc;
}

const struct command command_logs = {
    .name = "logs",
    .alias = "log",
    .args = "[JOB...]",
    .summary = "show the logs of jobs",
    .description =
        "Print what the job wrote to stdout and stderr, byte for byte unless stdout is a terminal; there, "
        "colours pass and other control sequences do not. Lines that begin with \"slipway: \" come from "
        "the runner around it. In a job of several ranks every line begins with its rank (\"0| \"), in an "
        "array with its task. With -f, wait for the job to start, miss and repeat nothing, and exit with "
        "the job's exit code when it finishes. A log that no longer exists, because its container or "
        "folder was removed, is an error (66). Times without a zone are UTC; on Slurm the times of -t are "
        "accurate to 5 seconds. Without JOB, the newest job's log is shown.\n"
        "Of several jobs, a label or a group of splits, every line begins with the id of its job; with -f "
        "all are followed at once until all have finished, and the exit code is the first that is not 0, "
        "in the order given. --grep matches lines without their colours; a line of more than 64 KiB is "
        "matched in parts. With -o json each line is an object of job, rank, at and line.",
    .example = "slipway logs -f last\nslipway logs train-k3 --rank 0 --since 10m -t\n"
               "slipway logs -f -l sweep=a --grep 'loss|error'",
    .flags = logs_flags,
    .shared = { logs_output },
    .options_size = sizeof(struct logs_options),
    .max_args = CLI_MANY,
    .last_job = true,
    .run = logs_run,
};
