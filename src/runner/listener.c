/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener.c - did a signal come to us alone, or to every process of the job?
 *
 * A scheduler may signal all processes of a job, the command among them; were the signal passed on then,
 * the command would get it twice. So a process of ours stays beside the command, in a group of its own as
 * the command is, and says what it heard. The first process of a container needs none: what is sent to a
 * container comes to that process alone.
 *
 * One runner has one command: what is known of the listener is kept here.
 */
#include "runner/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { ALL_HEARD_MS = 200 };        /* in which one round of signals reaches all processes */

static struct {
    pid_t pid;                      /* 0: there is none */
    int from;                       /* one byte for each signal it heard */
    bool heard[32];
} listener = { 0, -1, { 0 } };

static void listen_for_ever(int to)
{
    static const int asked[] = { SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGHUP };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < SW_COUNT(asked); i++)
        sigaddset(&set, asked[i]);
    for (;;) {
        unsigned char signal = (unsigned char)sigwaitinfo(&set, NULL);

        if (signal < 32 && write(to, &signal, 1) < 0)
            _exit(0);
    }
}

/* Signals are blocked already, so none is missed from the beginning on. */
void runner_listener_start(void)
{
    pid_t parent = getpid();
    int ends[2];

    if (getpid() == 1 || listener.pid || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return;
    listener.pid = fork();
    if (listener.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        setpgid(0, 0);
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
            close(fd);                       /* the log may be waited for until its last writer is gone */
        listen_for_ever(ends[1]);
    }
    close(ends[1]);
    if (listener.pid > 0) {
        listener.from = ends[0];
    } else {
        close(ends[0]);
        listener.pid = 0;
    }
}

bool runner_heard_by_all(int signal)
{
    int64_t until = sw_monotonic_ms() + ALL_HEARD_MS, left;
    unsigned char heard;

    while (listener.pid > 0 && !listener.heard[signal] && (left = until - sw_monotonic_ms()) > 0) {
        struct pollfd wait = { .fd = listener.from, .events = POLLIN };

        if (poll(&wait, 1, (int)left) > 0 && read(listener.from, &heard, 1) != 1)
            break;                           /* it was ended */
        if (wait.revents)
            listener.heard[heard & 31] = true;
    }
    if (!listener.heard[signal])
        return false;
    listener.heard[signal] = false;
    return true;
}

void runner_listener_end(void)
{
    if (listener.pid <= 0)
        return;
    if (waitpid(listener.pid, NULL, WNOHANG) == 0) {     /* else its number may be another's by now */
        kill(listener.pid, SIGKILL);
        waitpid(listener.pid, NULL, 0);
    }
    close(listener.from);
    listener.pid = 0;
    listener.from = -1;
}
