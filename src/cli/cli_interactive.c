/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_interactive.c - `slipway run -i` (cli_interactive.h).
 *
 * The job's own command waits; the program on the terminal runs beside it, as `slipway exec` does, and leaves
 * its exit code in a file, with which the job ends. The job ends, too, when that program is gone without one,
 * when none comes, and after a day: a client that dies leaves nothing that runs for ever.
 */
#include "cli/cli_interactive.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli_attach.h"
#include "cli/cli_interrupt.h"

enum { LOOK_EVERY_MS = 500 };

static const char *const wait_text[] = {
#include "cli/interactive_wait.sh.inc"
    NULL
};
static const char *const session_text[] = {
#include "cli/interactive_session.sh.inc"
    NULL
};

static char *script_of(const char *const *lines)
{
    struct sw_buf out = SW_BUF_INIT;

    for (; *lines; lines++)
        sw_buf_add(&out, *lines);
    return sw_buf_steal(&out);
}

int cli_interactive_prepare(struct cli *cli, struct sw_request *request, struct sw_error *err)
{
    sw_autofree char *script = script_of(wait_text);
    const char *const argv[] = { "sh", "-c", script };

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        sw_fail(err, SW_E_USAGE, "-i needs a terminal as its input and output");
        return sw_hint(err, "leave out -i to run the command without one");
    }
    if (sw_request_argv(request, SW_COUNT(argv), argv, err) < 0 ||
        sw_request_set(request, "retry.max", "0", err) < 0)
        return -1;
    return sw_check_terminal(cli->session, request, err);
}

/* 1: it runs; 0: it is over; -1: Ctrl-C, or it cannot be looked at. */
static int await_running(struct cli *cli, const char *id, struct sw_error *err)
{
    bool said = false;

    for (;; sw_sleep_ms(LOOK_EVERY_MS)) {
        sw_auto(json) json_t *job = cli_document(sw_status(cli->session, id, SW_LOOK_REFRESH, err), err);
        enum sw_state state;

        if (!job)
            return -1;
        state = cli_job_state(job);
        if (state == SW_RUNNING || sw_state_is_final(state))
            return state == SW_RUNNING;
        if (cli_interrupt_count())
            return sw_fail(err, SW_E_INTERRUPTED, "stopped before the job started");
        if (!said)
            cli_say_job(cli, id, "waits to start; Ctrl-C cancels it");
        said = true;
    }
}

static volatile sig_atomic_t closed;             /* the terminal */

/* A terminal that closes signals the leader of its session alone: on this machine we pass it on. */
static void pass_on(int number)
{
    closed = 1;
    cli_interrupt_note(number);
    signal(number, SIG_IGN);
    kill(0, number);
}

static int run_session(struct cli *cli, const char *id, const struct cli_args *args, struct sw_error *err)
{
    sw_autofree char *script = script_of(session_text);
    sw_autofree const char **words = sw_alloc((args->rest_count + 4) * sizeof *words);
    int ignored;

    words[0] = "sh";
    words[1] = "-c";
    words[2] = script;
    words[3] = "sh";
    for (size_t i = 0; i < args->rest_count; i++)
        words[i + 4] = args->rest[i];
    return sw_exec(cli->session, id, 0, (int)args->rest_count + 4, words, &ignored, err);
}

static int cancel(struct cli *cli, const char *id)
{
    struct sw_error why = { 0 };

    if (sw_cancel(cli->session, id, &why) < 0)
        cli_warn(cli, "'%s' could not be canceled: %s", id, why.message);
    else
        cli_say_job(cli, id, "canceled");
    return -1;
}

int cli_interactive_attach(struct cli *cli, const char *id, const struct cli_args *args,
                           struct sw_error *err)
{
    sw_auto(json) json_t *ids = json_pack("[s]", id);
    int runs;

    cli_interrupt_catch();
    runs = await_running(cli, id, err);
    if (!cli_interrupt_ignored(SIGHUP))
        sigaction(SIGHUP, &(struct sigaction){ .sa_handler = pass_on }, NULL);
    if (runs < 0 || (runs > 0 && run_session(cli, id, args, err) < 0))
        return cancel(cli, id);
    if (closed) {
        sw_fail(err, SW_E_INTERRUPTED, "its terminal was closed");
        return cancel(cli, id);
    }
    cli_interrupt_forget();          /* Ctrl-C as the program began was for it, and we may hear it, too */
    return cli_wait(cli, ids, -1, err);
}
