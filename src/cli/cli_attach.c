/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_attach.c - what `slipway run` does after it submitted.
 *
 * The end of the log is never taken for the end of the job: the exit status comes from
 * sw_wait(), also when the log could not be read. Ctrl-C leaves the job alone; only a second
 * one within two seconds offers to cancel it, and only after a "y".
 */
#include "cli/cli_attach.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/cli_interrupt.h"
#include "cli/cli_log.h"

#define LOOK_EVERY_MS    200      /* into the store only: following asks the platform itself */
#define PATIENCE_MS      1000
#define SECOND_CTRL_C_MS 2000

struct attach {
    struct cli *cli;
    const char *id;
    struct cli_log log;
    int64_t begun_ms, next_look_ms;     /* monotonic */
    char *told;                 /* the last news, so that nothing is said twice */
    bool log_begun;
};

static const char *const words[] = {
    [SW_UNKNOWN] = "its state is unknown", [SW_PENDING] = "waiting",
    [SW_RUNNING] = "running",              [SW_PAUSED] = "paused",
};

/* "waiting: 2 GPUs are in use"; NULL for states that the summary will tell. */
static char *news_of(const json_t *job)
{
    enum sw_state state = cli_job_state(job);
    const char *message = sw_json_str(job, "message");

    if (sw_state_is_final(state))
        return NULL;
    if (state == SW_RUNNING || sw_text_empty(message))
        return sw_strdup(words[state]);
    return sw_format("%s: %s", words[state], message);
}

static void tell(struct attach *a, char *news)
{
    if (!news || sw_text_same(news, a->told)) {
        free(news);
        return;
    }
    cli_say_job(a->cli, a->id, "%s", news);
    free(a->told);
    a->told = news;
}

static void look(struct attach *a)
{
    int64_t now_ms = sw_monotonic_ms();
    sw_auto(json) json_t *job = NULL;
    sw_autofree char *news = NULL;

    if (a->cli->quiet || now_ms < a->next_look_ms)
        return;
    a->next_look_ms = now_ms + LOOK_EVERY_MS;
    job = cli_document(sw_status(a->cli->session, a->id, SW_LOOK_STORED, NULL), NULL);
    news = job ? news_of(job) : NULL;
    if (sw_text_same(news, words[SW_PENDING]) && now_ms < a->begun_ms + PATIENCE_MS)
        return;                 /* a job that is about to start does not "wait" */
    tell(a, sw_take(news));
}

/* Bytes prove that it runs; the platform's answer may be a moment behind its log. */
static void begin_log(struct attach *a)
{
    sw_auto(json) json_t *job = NULL;

    if (a->log_begun || a->cli->quiet)
        return;
    a->log_begun = true;
    job = cli_document(sw_status(a->cli->session, a->id, SW_LOOK_STORED, NULL), NULL);
    if (job && !sw_state_is_final(cli_job_state(job)))
        tell(a, sw_strdup(words[SW_RUNNING]));
}

static int while_idle(void *context)
{
    struct attach *a = context;

    look(a);
    return cli_interrupt_count() > 0;
}

static int on_bytes(void *context, int rank, int64_t at_ms, const char *bytes, size_t length)
{
    struct attach *a = context;

    (void)at_ms;
    if (cli_interrupt_count() > 0)
        return 1;
    begin_log(a);
    look(a);
    return cli_log_write(&a->log, rank, bytes, length);
}

static void say_next_commands(const struct cli *cli, const char *id)
{
    cli_say(cli, "  slipway logs -f %s    follow its log again", id);
    cli_say(cli, "  slipway status %s     see how it is doing", id);
    cli_say(cli, "  slipway cancel %s     stop it", id);
}

static void say_field(const struct cli *cli, const char *label, const json_t *job,
                      const char *key)
{
    const char *text = sw_json_str(job, key);

    if (!sw_text_empty(text))
        cli_say(cli, "  %-8s %s", label, text);
}

static void say_summary(struct cli *cli, const char *id)
{
    sw_auto(json) json_t *job = NULL;
    sw_autofree char *outcome = NULL;

    if (cli->quiet)
        return;
    job = cli_document(sw_status(cli->session, id, SW_LOOK_STORED, NULL), NULL);
    if (!job)
        return;
    outcome = cli_job_outcome(job);
    cli_say_job(cli, id, "%s", outcome);
    if (cli_job_state(job) != SW_COMPLETE) {
        say_field(cli, "message", job, "message");
        say_field(cli, "cause", job, "cause");
        say_field(cli, "advice", job, "suggestion");
    }
    say_field(cli, "results", job, "results_dir");
    cli_say(cli, "  next     slipway get %s", id);
    cli_say(cli, "           slipway status %s", id);
}

static int offer_cancel(struct cli *cli, const char *id, struct sw_error *err)
{
    sw_autofree char *question = sw_format("cancel %s?", id);

    fputc('\n', stderr);
    if (!cli_confirm(cli, question)) {
        cli_say_job(cli, id, "goes on");
        return 0;
    }
    cli_say_job(cli, id, "canceling");
    cli_interrupt_release();                      /* the wish is stored first: leaving is safe */
    if (sw_cancel(cli->session, id, err) < 0)
        return sw_wrap(err, "cannot cancel '%s'", id);
    say_summary(cli, id);
    return sw_wait(cli->session, id, 0, NULL, NULL, &cli->exit_status, err);
}

static int leave(struct cli *cli, const char *id, struct sw_error *err)
{
    int seen = cli_interrupt_count();

    cli->exit_status = 0;
    if (cli->screen.err_terminal)
        fputc('\n', stderr);                      /* after the "^C" that the terminal shows */
    cli_say_job(cli, id, "detached: the job goes on");
    say_next_commands(cli, id);
    if (!cli->screen.err_terminal)
        return 0;
    cli_say(cli, "Ctrl-C again within 2 seconds to cancel it");
    return cli_interrupt_wait(seen, SECOND_CTRL_C_MS) ? offer_cancel(cli, id, err) : 0;
}

/* The log until it ends. 0 also when it cannot be read: the job's code matters more. */
static int follow_log(struct attach *a, struct sw_error *err)
{
    struct sw_log_options options = {
        .size = sizeof options, .replica = -1, .tail_lines = -1, .follow = true,
        .idle = while_idle,
    };
    struct sw_error trouble = { 0 };
    int rc = sw_logs(a->cli->session, a->id, &options, on_bytes, a, &trouble);

    cli_log_end(&a->log);
    if (a->log.error) {
        cli_say_job(a->cli, a->id, "goes on; its log has no reader any more");
        return cli_log_failed(&a->log, a->cli, err);
    }
    if (rc < 0 && trouble.code != SW_E_INTERRUPTED)
        cli_warn(a->cli, "the log cannot be shown, waiting for the end: %s", trouble.message);
    return 0;
}

/* A job that ended while Ctrl-C was pressed has ended: sw_wait() looks before it asks us. */
int cli_attach(struct cli *cli, const char *id, struct sw_error *err)
{
    struct attach a = { .cli = cli, .id = id, .begun_ms = sw_monotonic_ms() };
    struct sw_error trouble = { 0 };
    int rc;

    cli_interrupt_attend();
    cli_log_init(&a.log, cli, id, -1);
    rc = follow_log(&a, err);
    if (rc == 0 && !a.log.error)
        rc = sw_wait(cli->session, id, -1, while_idle, &a, &cli->exit_status, &trouble);
    free(a.told);
    if (trouble.code == SW_E_INTERRUPTED)
        return leave(cli, id, err);
    if (trouble.code != SW_OK) {
        if (err)
            *err = trouble;
        return sw_wrap(err, "cannot wait for '%s'", id);
    }
    if (rc == 0 && !a.log.error)
        say_summary(cli, id);
    return rc;
}
