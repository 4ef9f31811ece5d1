/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.c - signals as events, and waiting for a child with them.
 *
 * We may be the first process of a container, where no other reaps and where TERM comes to us alone:
 * so what comes is passed on, after TERM or INT the grace runs, and then KILL does what TERM could not.
 * However often we get a stop, the command gets one TERM: a second one would end many programs in
 * the middle of their save. QUIT marks a cancel of ours: the command gets TERM, and the report can tell it
 * from a machine that goes down. XCPU says that its time is up, where a platform counts it: that may leave
 * the command another grace. All orphans are reaped on the way.
 */
#include "runner/runner.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/stop.h"

static const int noticed[] = { SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGHUP,
                               SIGXCPU };

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
    signal(SIGPIPE, SIG_IGN);           /* a log that is not read must not end us */
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

pid_t runner_fork(enum runner_child_kind kind)
{
    pid_t parent = getpid(), pid = fork();
    sigset_t none;

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (kind == RUNNER_LAST_PHASE) {
        /* A scheduler may signal every process of a job: the outputs are brought all the same. */
        setpgid(0, 0);
        for (size_t i = 0; i < SW_COUNT(noticed); i++)
            signal(noticed[i], noticed[i] == SIGCHLD ? SIG_DFL : SIG_IGN);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return 0;
}

/* Reap everything that ended; true: the child is among it. */
static bool reap(pid_t child, int *status)
{
    bool over = false;
    int how;

    for (pid_t pid; (pid = waitpid(-1, &how, WNOHANG | WUNTRACED)) > 0;)
        if (WIFSTOPPED(how)) {
            if (pid == child)
                runner_terminal_stopped(child, WSTOPSIG(how));
        } else if (pid == child) {
            *status = how;
            over = true;
        }
    return over;
}

/* ---- ending it ------------------------------------------------------------------------------- */

static void signal_child(const struct runner_child *child, int signal)
{
    kill(child->kind == RUNNER_COMMAND ? -child->pid : child->pid, signal);
}

/* A signal that came from outside: a place that signals all processes has reached the command, too. */
static void pass_on(const struct runner_child *child, int signal)
{
    if (child->kind == RUNNER_COMMAND && runner_heard_by_all(signal))
        return;
    signal_child(child, signal);
}

/* From now on it has the grace. */
static void begin_to_end(struct runner_child *child, struct runner_result *result)
{
    if (child->kind == RUNNER_LAST_PHASE) {
        if (!child->kill_at_ms)
            child->kill_at_ms = result->stopped_ms + sw_stop_ms(child->grace_ms);
        return;
    }
    if (child->kill_at_ms)
        return;
    result->stopped = true;
    child->kill_at_ms = sw_monotonic_ms() + child->grace_ms;
}

/* TERM, once, however many reasons there are. */
static void send_term(struct runner_child *child, bool from_outside)
{
    if (child->term_sent || child->kind == RUNNER_LAST_PHASE)
        return;
    child->term_sent = true;
    if (from_outside)
        pass_on(child, SIGTERM);
    else
        signal_child(child, SIGTERM);
}

static void stop_child(struct runner_child *child, struct runner_result *result, int signal)
{
    if (!result->stopped_ms)
        result->stopped_ms = sw_monotonic_ms();
    result->canceled |= signal == SIGQUIT;
    if (signal == SIGXCPU && !child->kill_at_ms) {
        result->timed_out = true;
        if (child->time_grace_ms > 0)
            child->grace_ms = child->time_grace_ms;
        result->grace_ms = child->grace_ms;
    }
    if (child->kind == RUNNER_COMMAND && signal == SIGINT)
        pass_on(child, SIGINT);
    else
        send_term(child, signal == SIGTERM);
    begin_to_end(child, result);
}

static void take_signal(struct runner_child *child, struct runner_result *result, int signal)
{
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGXCPU)
        stop_child(child, result, signal);
    else if (child->kind == RUNNER_COMMAND)
        pass_on(child, signal);              /* USR1 and the like are between others and the command */
}

/* Is there a reason of our own to end it? */
static bool must_end(const struct runner_child *child, struct runner_result *result)
{
    if (child->kind == RUNNER_LAST_PHASE)
        return false;                        /* the time limit is the command's */
    if (result->deadline_ms && sw_monotonic_ms() >= result->deadline_ms)
        result->timed_out = true;
    return result->timed_out || result->stop_wanted;
}

/* How long to wait for a signal: until the next tick, the end of the grace, or of the time. */
static int64_t wait_for(const struct runner_child *child, const struct runner_result *result)
{
    enum { TICK_MS = 1000 };
    int64_t until = child->kill_at_ms                      ? child->kill_at_ms
                    : child->kind != RUNNER_LAST_PHASE ? result->deadline_ms
                                                       : 0;
    int64_t left = until ? until - sw_monotonic_ms() : TICK_MS;

    return left < TICK_MS ? left : TICK_MS;
}

int64_t runner_grace_ms(const struct runner *runner, const struct runner_result *result)
{
    return result->grace_ms ? result->grace_ms : runner->payload->grace_ms;
}

int runner_watch(struct runner_child *child, struct runner_result *result)
{
    int status = 0;

    assert(child->pid > 0);              /* kill(0) and kill(-1) would reach others */
    while (!reap(child->pid, &status)) {
        int signal = runner_next_signal(wait_for(child, result));

        if (signal && signal != SIGCHLD) {
            take_signal(child, result, signal);
        } else if (!child->kill_at_ms && must_end(child, result)) {
            send_term(child, false);
            begin_to_end(child, result);
        } else if (!signal && child->kill_at_ms && sw_monotonic_ms() >= child->kill_at_ms) {
            signal_child(child, SIGKILL);
            child->killed = true;
            child->kill_at_ms = sw_monotonic_ms() + 1000;
        }
        if (child->tick)
            child->tick(child->context);
    }
    return status;
}
