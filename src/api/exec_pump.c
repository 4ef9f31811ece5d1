/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_pump.c - the caller's terminal and a command that runs beside a job: the one owner of raw mode, window
 * size and signals.
 *
 * A command that has a terminal gets every key, Ctrl-C included, and each new size of the window; the
 * caller's terminal is raw meanwhile and restored whatever ends the command. Signals come by a descriptor,
 * beside the bytes: one that ends us must not leave a terminal that shows nothing of what is typed.
 * Otherwise input is passed on to its end. Bytes wait in one direction without stopping the other, or `cat`
 * with much input would never end.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "base/file.h"

enum { PIECE = 32 * 1024 };

struct pump {
    struct sw_stream *stream;
    const int *fds;                  /* the caller's input, output and errors */
    struct termios before;
    sigset_t mask;
    int signals;                     /* a signalfd while the terminal is raw; -1 */
    int ended_by;                    /* the signal that ended us; 0: none */
    char input[PIECE];
    size_t waiting, sent;            /* bytes of `input`, and how many of them were taken */
    bool reads;                      /* our input has more to come */
};

/* ---- the terminal ------------------------------------------------------------------------------ */

static int make_raw(struct pump *pump, struct sw_error *err)
{
    static const int wanted[] = { SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGQUIT };
    struct termios raw;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < SW_COUNT(wanted); i++)
        sigaddset(&set, wanted[i]);
    pump->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (pump->signals < 0 || tcgetattr(pump->fds[0], &pump->before) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot use this terminal");
    pthread_sigmask(SIG_BLOCK, &set, &pump->mask);
    raw = pump->before;
    cfmakeraw(&raw);
    tcsetattr(pump->fds[0], TCSADRAIN, &raw);
    return 0;
}

static void restore(struct pump *pump)
{
    if (pump->signals < 0)
        return;
    tcsetattr(pump->fds[0], TCSADRAIN, &pump->before);
    pthread_sigmask(SIG_SETMASK, &pump->mask, NULL);
    close(pump->signals);
    pump->signals = -1;
}

static void pass_size(const struct pump *pump)
{
    struct winsize size;

    if (pump->stream->terminal && ioctl(pump->fds[1], TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
        pump->stream->ops->resize(pump->stream, size.ws_row, size.ws_col);
}

static void take_signals(struct pump *pump)
{
    struct signalfd_siginfo info;

    while (read(pump->signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGWINCH)
            pump->ended_by = (int)info.ssi_signo;
    pass_size(pump);
}

/* ---- the two directions ------------------------------------------------------------------------- */

static int put(void *context, int which, const char *bytes, size_t length)
{
    const struct pump *pump = context;

    return sw_write_all(pump->fds[which == 2 ? 2 : 1], bytes, length);
}

static void take_input(struct pump *pump)
{
    ssize_t n = read(pump->fds[0], pump->input, sizeof pump->input);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    pump->sent = 0;
    pump->waiting = n > 0 ? (size_t)n : 0;
    pump->reads = n > 0;
    if (n <= 0)
        pump->stream->ops->finish(pump->stream);
}

/* A command that closed its input, or ended, takes no more: its output goes on. */
static void pass_input(struct pump *pump)
{
    while (pump->sent < pump->waiting) {
        ssize_t n = pump->stream->ops->write(pump->stream, pump->input + pump->sent,
                                             pump->waiting - pump->sent);

        if (n == 0)
            return;
        pump->reads = n > 0;
        pump->sent += n > 0 ? (size_t)n : pump->waiting;
        if (n < 0)
            break;
    }
    pump->waiting = pump->sent = 0;
}

/* 1: the command ended; 0: a signal ended us, or the connection was cut. */
static int work(struct pump *pump)
{
    struct sw_stream *stream = pump->stream;
    int ended;

    pass_size(pump);
    while ((ended = stream->ops->read(stream, put, pump)) == 0 && !pump->ended_by) {
        struct pollfd ends[] = {
            { .fd = stream->fd, .events = POLLIN | (pump->waiting || stream->unsent ? POLLOUT : 0) },
            { .fd = pump->reads && !pump->waiting ? pump->fds[0] : -1, .events = POLLIN },
            { .fd = pump->signals, .events = POLLIN },
        };

        if (poll(ends, SW_COUNT(ends), stream->wake_ms ? stream->wake_ms : -1) < 0 && errno != EINTR)
            return 0;
        if (ends[1].revents)
            take_input(pump);
        pass_input(pump);
        if (ends[2].revents)
            take_signals(pump);
    }
    return ended > 0;
}

/* The command shares our terminal: Ctrl-C is for it, and we must outlive it. */
static void ignore_keys(bool ignore)
{
    static struct sigaction interrupt, quit;
    const struct sigaction none = { .sa_handler = SIG_IGN };

    sigaction(SIGINT, ignore ? &none : &interrupt, ignore ? &interrupt : NULL);
    sigaction(SIGQUIT, ignore ? &none : &quit, ignore ? &quit : NULL);
}

int api_exec_pump(struct sw_stream *stream, const int fds[3], int *exit_status, struct sw_error *err)
{
    struct pump pump = { .stream = stream, .fds = fds, .signals = -1, .reads = stream->takes_input };
    int result = 0;
    bool ended, shared = stream->passed && fds[0] == STDIN_FILENO;

    assert(!stream->terminal || !stream->passed);
    if (shared)
        ignore_keys(true);
    if (stream->terminal)
        result = make_raw(&pump, err);
    ended = result == 0 && work(&pump);
    restore(&pump);
    if (shared)
        ignore_keys(false);
    if (ended)
        result = stream->ops->status(stream, exit_status, err);
    stream->ops->close(stream);
    if (pump.ended_by)
        raise(pump.ended_by);
    return result;
}
