/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redact.c - what the command prints passes through a process that takes secrets out.
 *
 * Where the platform keeps the log itself (a container engine does), no later step can. It is a
 * process of its own, so that a command that prints much is never held up by a transfer of ours.
 * Without secrets there is none, and the command writes where we would; except under Ray, whose logs must
 * be text.
 */
#include "runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/file.h"

enum { PIECE = 64 * 1024, LEFT_OVER_MS = 2000, LOOK_UP_MS = 200 };

struct redacted_stream {
    int from, to;                 /* from -1: over */
    struct sw_redactor *redactor; /* NULL: there are no secrets */
    struct runner_plain_text text;
};

static void pass_on(struct redacted_stream *stream, bool last, struct sw_buf *clean)
{
    sw_auto(sw_buf) struct sw_buf plain = SW_BUF_INIT;

    if (last && stream->redactor)
        sw_redactor_flush(stream->redactor, clean);
    if (runner_is_under_ray()) {
        runner_plain_text(&stream->text, clean->data, clean->length, &plain);
        if (last)
            runner_plain_text_end(&stream->text, &plain);
    }
    if (runner_is_under_ray() ? plain.length : clean->length)
        sw_write_all(stream->to, runner_is_under_ray() ? plain.data : clean->data,
                     runner_is_under_ray() ? plain.length : clean->length);
    sw_buf_clear(clean);
}

static void take_some(struct redacted_stream *stream, char *piece, struct sw_buf *clean)
{
    ssize_t n = read(stream->from, piece, PIECE);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0 && stream->redactor)
        sw_redactor_feed(stream->redactor, piece, (size_t)n, clean);
    else if (n > 0)
        sw_buf_add_bytes(clean, piece, (size_t)n);
    pass_on(stream, n <= 0, clean);
    if (n <= 0) {
        close(stream->from);
        stream->from = -1;
    }
}

static volatile sig_atomic_t stop_child;

/* Schedulers send TERM to every process of a job; only the runner knows when the command is over. */
static void on_term(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    stop_child |= info->si_pid == getppid();
}

/* Until both streams are over. After TERM it takes what is there and waits for nothing more. */
static void pump(struct redacted_stream streams[2])
{
    sw_autofree char *piece = sw_alloc(PIECE);
    sw_auto(sw_buf) struct sw_buf clean = SW_BUF_INIT;

    while (streams[0].from >= 0 || streams[1].from >= 0) {
        struct pollfd wait[2] = { { streams[0].from, POLLIN, 0 }, { streams[1].from, POLLIN, 0 } };
        bool last = stop_child;
        int ready = poll(wait, 2, last ? 0 : LOOK_UP_MS);

        if (ready == 0 && last)
            break;
        for (int i = 0; i < 2 && ready > 0; i++)
            if (wait[i].revents)
                take_some(&streams[i], piece, &clean);
    }
    for (int i = 0; i < 2; i++)
        pass_on(&streams[i], true, &clean);
}

static void become_pump(const int out[2], const int err[2])
{
    struct redacted_stream streams[2] = {
        { .from = out[0], .to = STDOUT_FILENO, .redactor = runner_redactor_new() },
        { .from = err[0], .to = STDERR_FILENO, .redactor = runner_redactor_new() } };
    struct sigaction end = { .sa_sigaction = on_term, .sa_flags = SA_SIGINFO };
    sigset_t none;

    close(out[1]);
    close(err[1]);
    sigaction(SIGTERM, &end, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    pump(streams);
    _exit(0);
}

int runner_redact_begin(struct runner_redaction *redaction, struct sw_error *err)
{
    sw_auto(sw_redactor) struct sw_redactor *needed = runner_redactor_new();
    int out[2], errors[2];

    if (!needed && !runner_is_under_ray())
        return 0;
    if (pipe2(out, O_CLOEXEC) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot create a pipe for the log");
    if (pipe2(errors, O_CLOEXEC) < 0) {
        close(out[0]);
        close(out[1]);
        return sw_fail_errno(err, SW_E_IO, "cannot create a pipe for the log");
    }
    redaction->pump = fork();
    if (redaction->pump == 0)
        become_pump(out, errors);
    close(out[0]);
    close(errors[0]);
    redaction->out = out[1];
    redaction->err = errors[1];
    return redaction->pump > 0 ? 0 : sw_fail_errno(err, SW_E_IO, "cannot start a process");
}

void runner_redact_started(struct runner_redaction *redaction)
{
    if (redaction->out >= 0)
        close(redaction->out);
    if (redaction->err >= 0)
        close(redaction->err);
    redaction->out = redaction->err = -1;
}

/* What the command left running may hold its ends open for ever; it is not waited for long. */
void runner_redact_end(struct runner_redaction *redaction)
{
    int64_t deadline = sw_monotonic_ms() + LEFT_OVER_MS;

    if (redaction->pump <= 0)
        return;
    while (waitpid(redaction->pump, NULL, WNOHANG) == 0) {
        if (deadline && sw_monotonic_ms() > deadline) {
            kill(redaction->pump, SIGTERM);
            deadline = 0;
        }
        sw_sleep_ms(2);
    }
    redaction->pump = 0;
}
