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

#include "base/text.h"
#include "cli/cli_follow.h"
#include "cli/cli_interrupt.h"

#define SECOND_CTRL_C_MS 2000

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
    if (sw_json_int(json_object_get(json_object_get(job, "runner"), "out"), "empty", 0) > 0)
        say_field(cli, "message", job, "message");
    if (cli_job_state(job) != SW_COMPLETE) {
        say_field(cli, "message", job, "message");
        say_field(cli, "cause", job, "cause");
        say_field(cli, "advice", job, "suggestion");
    }
    say_field(cli, "results", job, "results_dir");
    cli_say(cli, "  next     slipway %s %s", cli_job_state(job) == SW_ERROR ? "why" : "get", id);
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
static int follow_log(struct cli_follow *f, struct sw_error *err)
{
    struct sw_log_options options = {
        .size = sizeof options, .replica = -1, .tail_lines = -1, .follow = true,
        .idle = cli_follow_idle, .attempt_began = cli_follow_attempt,
    };
    struct sw_error trouble = { 0 };
    int rc = sw_logs(f->cli->session, f->id, &options, cli_follow_bytes, f, &trouble);

    cli_follow_end(f);
    if (f->log.error) {
        cli_say_job(f->cli, f->id, "goes on; its log has no reader any more");
        return cli_log_failed(&f->log, f->cli, err);
    }
    if (rc < 0 && trouble.code != SW_E_INTERRUPTED)
        cli_warn(f->cli, "the log cannot be shown, waiting for the end: %s", trouble.message);
    return 0;
}

/* A job that ended while Ctrl-C was pressed has ended: sw_wait() looks before it asks us. */
int cli_attach(struct cli *cli, const char *id, int64_t status_every_ms, struct sw_error *err)
{
    struct cli_follow follow;
    struct sw_error trouble = { 0 };
    int rc;

    cli_interrupt_attend();
    cli_follow_init(&follow, cli, id, -1, status_every_ms);
    follow.tells_start = true;
    rc = follow_log(&follow, err);
    if (rc == 0 && !follow.log.error)
        rc = sw_wait(cli->session, id, -1, cli_follow_idle, &follow, &cli->exit_status, &trouble);
    cli_follow_done(&follow);
    if (trouble.code == SW_E_INTERRUPTED)
        return leave(cli, id, err);
    if (trouble.code != SW_OK) {
        if (err)
            *err = trouble;
        return sw_wrap(err, "cannot wait for '%s'", id);
    }
    if (rc == 0 && !follow.log.error)
        say_summary(cli, id);
    return rc;
}
