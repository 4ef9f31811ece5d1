/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs_many.c - the logs of several jobs in one stream.
 *
 * Each line begins with the id of its job, padded to the same width and on a terminal in a colour of its
 * own. Followed, they come as they are written, and the verb ends when all jobs have, as `wait` does.
 */
#include "cli/cli_attach.h"
#include "cli/cli_interrupt.h"
#include "cli/logs_internal.h"

struct many_logs;

struct one_log {
    struct many_logs *all;
    struct cli_log log;
    char *front;
};

struct many_logs {
    struct cli_outcomes outcomes;      /* first: cli_outcome() gets this struct */
    struct one_log *logs;
    size_t count;
    struct one_log *last;              /* wrote the last bytes; NULL: none did */
    struct cli_log *failed;            /* could not write; NULL: all could */
};

static const char *const colors[] = { "36", "33", "32", "35", "34", "31" };

static char *front_of(const struct cli *cli, const char *id, int width, size_t index)
{
    if (!cli->screen.out_color)
        return sw_format("%-*s | ", width, id);
    return sw_format("\033[%sm%-*s |\033[0m ", colors[index % SW_COUNT(colors)], width, id);
}

/* This one writes now. Non-zero: stdout takes no more. */
static int switch_to(struct one_log *one)
{
    struct many_logs *all = one->all;
    struct one_log *before = all->last;

    all->last = one;
    if (!before || before == one || cli_log_break(&before->log) == 0)
        return 0;
    all->failed = &before->log;
    return 1;
}

static int on_bytes(void *context, int rank, int64_t at_ms, const char *bytes, size_t length)
{
    struct one_log *one = context;

    if (cli_interrupt_count() > 0 || switch_to(one))
        return 1;
    if (cli_log_write(&one->log, rank, at_ms, bytes, length) == 0)
        return 0;
    one->all->failed = &one->log;
    return 1;
}

/* Nothing is new: what there was is read. */
static int on_idle(void *context)
{
    struct many_logs *all = context;

    for (size_t i = 0; i < all->count; i++)
        if (cli_log_catch_up(&all->logs[i].log)) {
            all->failed = &all->logs[i].log;
            return 1;
        }
    return cli_interrupt_count() > 0;
}

static void on_attempt(void *context, int attempt)
{
    struct one_log *one = context;

    cli_log_break(&one->log);
    cli_say_job(one->all->outcomes.cli, one->log.id, "attempt %d", attempt);
}

static void on_end(void *context, const struct sw_outcome *outcome)
{
    struct many_logs *all = context;
    struct one_log *one = &all->logs[outcome->index];

    if (!all->failed && switch_to(one) == 0)
        cli_log_end(&one->log);
    if (one->log.error)
        all->failed = &one->log;
    cli_outcome(&all->outcomes, outcome);
}

static void say_nothing(struct cli *cli, const struct sw_outcome *outcome)
{
    (void)cli, (void)outcome;
}

static void init(struct many_logs *all, struct cli *cli, const json_t *ids,
                 const struct logs_request *request)
{
    int width = 0, length;

    for (size_t i = 0; i < all->count; i++) {
        length = (int)json_string_length(json_array_get(ids, i));
        width = length > width ? length : width;
    }
    for (size_t i = 0; i < all->count; i++) {
        struct one_log *one = &all->logs[i];
        const char *id = json_string_value(json_array_get(ids, i));

        one->all = all;
        one->front = front_of(cli, id, width, i);
        cli_log_init(&one->log, cli, id, request->options.one_replica ? request->options.replica : -1);
        logs_prepare(request, &one->log);
        one->log.front = one->front;
    }
}

/* Read them all. 0 also when the reader of stdout went away. */
static int read_logs(struct many_logs *all, struct cli *cli, const struct logs_request *request,
                     struct sw_error *err)
{
    struct sw_log_options options = request->options;
    sw_autofree struct sw_log_job *jobs = sw_alloc((all->count + 1) * sizeof *jobs);
    struct sw_error why = { 0 };
    int rc;

    options.whole_lines = true;
    options.idle = options.follow ? on_idle : NULL;
    options.attempt_began = options.follow ? on_attempt : NULL;
    for (size_t i = 0; i < all->count; i++)
        jobs[i] = (struct sw_log_job){ all->logs[i].log.id, &all->logs[i] };
    rc = sw_logs_many(cli->session, jobs, all->count, &options, on_bytes, on_end, all, &why);
    for (size_t i = 0; i < all->count; i++)
        if (!all->failed)
            cli_log_end(&all->logs[i].log);
    if (all->failed)
        return cli_log_failed(all->failed, cli, err);
    if (cli_interrupt_count())
        return cli_leave(cli, NULL, err);
    return rc < 0 && !all->outcomes.failed ? sw_pass(err, &why) : 0;
}

int logs_of_many(struct cli *cli, const json_t *ids, const struct logs_request *request, struct sw_error *err)
{
    struct many_logs all = {
        .outcomes = { .cli = cli, .verb = "read the log of", .tell = say_nothing },
        .count = json_array_size(ids),
    };
    sw_autofree struct one_log *logs = sw_alloc((all.count + 1) * sizeof *logs);
    const json_t *each;
    size_t i;
    int rc;

    json_array_foreach(ids, i, each)
        if (logs_check_attempt(cli, json_string_value(each), request->options.attempt, err) < 0)
            return -1;
    all.logs = logs;
    init(&all, cli, ids, request);
    cli_interrupt_catch();
    rc = read_logs(&all, cli, request, err);
    for (i = 0; i < all.count; i++)
        free(logs[i].front);
    if (rc < 0 || all.failed)
        return rc;
    if (request->options.follow && cli_wait(cli, ids, -1, err) < 0)
        return -1;
    return cli_outcomes_done(&all.outcomes, err);
}
