/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.c - signals as events, and waiting for a child with them.
 *
 * We may be the first process of a container, where nobody else reaps and where TERM comes to us
 * alone: so whatever comes is passed on, after TERM or INT the grace runs, and then KILL does what
 * TERM could not. QUIT is how a cancel of ours says what it is: the command hears TERM, and the
 * report tells it from a machine that goes down. All orphans are reaped on the way.
 */
#include "runner/runner.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"

static const int noticed[] = { SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGHUP };

static void all_noticed(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < SW_COUNT(noticed); i++)
        sigaddset(set, noticed[i]);
}

void runner_block_signals(void)
{
    sigset_t set;

    all_noticed(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);           /* a log that nobody reads must not end us */
}

int runner_next_signal(int64_t wait_ms)
{
    struct timespec wait = { .tv_sec = wait_ms > 0 ? wait_ms / 1000 : 0,
                             .tv_nsec = wait_ms > 0 ? wait_ms % 1000 * 1000000 : 0 };
    sigset_t set;
    int signal;

    all_noticed(&set);
    signal = sigtimedwait(&set, NULL, &wait);
    return signal < 0 ? 0 : signal;
}

/* Reap everything that ended; true: the child is among it. */
static bool reap(pid_t child, int *status)
{
    bool over = false;
    int how;

    for (pid_t pid; (pid = waitpid(-1, &how, WNOHANG)) > 0;)
        if (pid == child) {
            *status = how;
            over = true;
        }
    return over;
}

/* From now on it has the grace. Returns when that is over. */
static int64_t begin_to_end(struct runner_result *result, int64_t grace_ms)
{
    result->stopped = true;
    result->stop_at_ms = sw_monotonic_ms() + grace_ms;
    return result->stop_at_ms;
}

/* Is there a reason of our own to end it? */
static bool must_end(struct runner_result *result)
{
    if (result->deadline_ms && sw_monotonic_ms() >= result->deadline_ms)
        result->timed_out = true;
    return result->timed_out || result->stop_wanted;
}

/* How long to wait for a signal: until the next tick, the end of the grace, or of the time. */
static int64_t wait_for(const struct runner_result *result, int64_t kill_at)
{
    enum { TICK_MS = 1000 };
    int64_t until = kill_at ? kill_at : result->deadline_ms;
    int64_t left = until ? until - sw_monotonic_ms() : TICK_MS;

    return left < TICK_MS ? left : TICK_MS;
}

int runner_watch(pid_t child, bool group, int64_t grace_ms, struct runner_result *result,
                 void (*tick)(void *context), void *context)
{
    pid_t target = group ? -child : child;
    int64_t kill_at = 0;
    int status = 0;

    while (!reap(child, &status)) {
        int signal = runner_next_signal(wait_for(result, kill_at));

        if (signal == SIGQUIT) {
            result->canceled = true;
            if (!kill_at) {
                kill(target, SIGTERM);
                kill_at = begin_to_end(result, grace_ms);
            }
        } else if (signal && signal != SIGCHLD) {
            kill(target, signal);
            if (!kill_at && (signal == SIGTERM || signal == SIGINT))
                kill_at = begin_to_end(result, grace_ms);
        } else if (!kill_at && must_end(result)) {
            kill(target, SIGTERM);
            kill_at = begin_to_end(result, grace_ms);
        } else if (!signal && kill_at && sw_monotonic_ms() >= kill_at) {
            kill(target, SIGKILL);
            kill_at = sw_monotonic_ms() + 1000;
        }
        if (tick)
            tick(context);
    }
    return status;
}
