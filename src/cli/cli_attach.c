/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_attach.c - what `slipway run` does after it submitted.
 *
 * The end of the log is never taken for the end of the job: the exit status comes from
 * sw_wait(), also when the log could not be read. Ctrl-C leaves the job alone.
 */
#include "cli/cli_attach.h"

#include "base/text.h"
#include "cli/cli_follow.h"
#include "cli/cli_interrupt.h"

static void say_next_commands(const struct cli *cli, const char *id)
{
    cli_say(cli, "  slipway logs -f %s    follow its log again", id);
    cli_say(cli, "  slipway status %s     see how it is doing", id);
    cli_say(cli, "  slipway cancel %s     stop it", id);
}

static void say_field(const struct cli *cli, const char *label, const char *text)
{
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
        say_field(cli, "message", sw_json_str(job, "message"));
    if (cli_job_state(job) != SW_COMPLETE) {
        say_field(cli, "message", sw_json_str(job, "message"));
        say_field(cli, "cause", cli_cause(job));
        say_field(cli, "advice", sw_json_str(job, "suggestion"));
    }
    say_field(cli, "results", sw_json_str(job, "results_place"));
    cli_say(cli, "  next     slipway %s %s", cli_job_state(job) == SW_ERROR ? "why" : "get", id);
    cli_say(cli, "           slipway status %s", id);
}

void cli_attend(struct cli *cli, const char *id)
{
    struct sw_error why = { 0 };
    char *said = NULL;

    if (sw_attend(cli->session, id, &said, &why) < 0)
        cli_warn(cli, "no watcher is running for the job: %s", why.message);
    if (said)
        cli_say(cli, "%s", said);
    sw_text_free(said);
}

static int leave(struct cli *cli, const char *id, struct sw_error *err)
{
    cli_attend(cli, id);
    cli_leave(cli, id, err);
    say_next_commands(cli, id);
    return -1;
}

/* The log until it ends. 0 also when it cannot be read: the job's code matters more. */
static int follow_log(struct cli_follow *f, struct sw_error *err)
{
    struct sw_log_options options = {
        .size = sizeof options, .follow = true,
        .idle = cli_follow_idle, .attempt_began = cli_follow_attempt,
    };
    struct sw_error trouble = { 0 };
    int rc = sw_logs(f->cli->session, f->id, &options, cli_follow_bytes, f, &trouble);

    cli_follow_end(f);
    if (f->log.error) {
        cli_say_job(f->cli, f->id, "continues; its log is no longer read");
        return cli_log_failed(&f->log, f->cli, err);
    }
    if (rc < 0 && trouble.code != SW_E_INTERRUPTED)
        cli_warn(f->cli, "cannot show the log; waiting for the job to finish: %s", trouble.message);
    return 0;
}

/* It would be waited for in vain. It may have started at the last moment: then the cancel ends it, and the
 * message says so. */
static int give_up(struct cli *cli, const char *id, struct sw_error *err)
{
    sw_auto(json) json_t *job = cli_document(sw_status(cli->session, id, SW_LOOK_STORED, NULL), NULL);
    const char *message = sw_json_str(job, "message");

    if (sw_cancel(cli->session, id, err) < 0)
        return sw_wrap(err, "'%s' can never be scheduled, and cannot be canceled", id);
    sw_fail(err, SW_E_REFUSED, "'%s' can never be scheduled: %s; it was canceled", id,
            sw_text_empty(message) ? "the platform gives no reason" : message);
    return sw_hint(err, "change what the job asks for, or keep it in the queue with --wait-for-capacity");
}

/* A job that ended while Ctrl-C was pressed has ended: sw_wait() refreshes before it asks the caller. */
int cli_attach(struct cli *cli, const char *id, int64_t status_every_ms, bool wait_for_capacity,
               struct sw_error *err)
{
    struct cli_follow follow;
    struct sw_error trouble = { 0 };
    int rc;

    cli_follow_init(&follow, cli, id, -1, status_every_ms);
    follow.tells_start = true;
    follow.gives_up = !wait_for_capacity;
    rc = follow_log(&follow, err);
    if (rc == 0 && !follow.log.error)
        rc = sw_wait(cli->session, id, -1, cli_follow_idle, &follow, &cli->exit_status, &trouble);
    cli_follow_done(&follow);
    if (follow.stuck && cli_interrupt_count() == 0)
        return give_up(cli, id, err);
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

/* ---- splits ------------------------------------------------------------------------------------- */

static void say_splits(struct cli *cli, const char *group, const json_t *ids)
{
    sw_auto(json) json_t *failed = cli->quiet ? NULL : cli_ids_in_state(cli, sw_state_name(SW_ERROR), NULL);
    size_t bad = 0, i;
    const json_t *id;

    if (cli->quiet)
        return;
    json_array_foreach(ids, i, id)
        bad += json_object_get(failed, json_string_value(id)) != NULL;
    cli_say(cli, "%s: %zu splits finished, %zu of them failed", group, json_array_size(ids), bad);
    if (bad)
        cli_say(cli, "  next     slipway retry --failed %s", group);
    cli_say(cli, "           slipway %s %s", bad ? "why" : "results", group);
}

int cli_attach_splits(struct cli *cli, const char *group, const json_t *ids, struct sw_error *err)
{
    int rc = cli_wait(cli, ids, -1, err);

    if (cli_interrupt_count()) {
        cli_attend(cli, NULL);
        say_next_commands(cli, group);
    } else if (rc == 0) {
        say_splits(cli, group, ids);
    }
    return rc;
}
