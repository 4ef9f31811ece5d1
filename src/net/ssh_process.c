/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_process.c - a child of ours (ssh, or sh when local) and its channels.
 *
 * Its standard input is a socket on our side, so that writing to a child that died is an error
 * and not a signal. It is in a process group of its own: Ctrl-C at the terminal is for us, and
 * we decide what becomes of a call that is under way.
 */
#include "net/ssh_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"

extern char **environ;

struct ends {                    /* ours and the child's, of all channels */
    int in[2], out[2], err[2];
};

static void close_ends(struct ends *ends, int side)
{
    int *all[] = { &ends->in[side], &ends->out[side], &ends->err[side] };

    for (size_t i = 0; i < SW_COUNT(all); i++) {
        if (*all[i] >= 0)
            close(*all[i]);
        *all[i] = -1;
    }
}

/* Side 0 is ours. Pipes for what we read: a socket cannot be opened by name (/dev/stdout). */
static int open_ends(struct ends *ends, enum ssh_wiring wiring, int given)
{
    int pair[2];

    memset(ends, -1, sizeof *ends);
    ends->in[1] = given;
    if (wiring == SSH_PIPES) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->in) < 0 ||
            pipe2(pair, O_CLOEXEC) < 0)
            return -1;
        ends->out[0] = pair[0];
        ends->out[1] = pair[1];
    }
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    ends->err[0] = pair[0];
    ends->err[1] = pair[1];
    return 0;
}

static int spawn(pid_t *pid, char *const argv[], const struct ends *ends, enum ssh_wiring wiring)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    int failed;

    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGINT);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, ends->in[1], 0);
    posix_spawn_file_actions_adddup2(&actions, wiring == SSH_PIPES ? ends->out[1] : ends->in[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends->err[1], 2);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                             POSIX_SPAWN_SETPGROUP);
    failed = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

struct silent {
    char *const *argv;
    int err;
};

static void become_silent(void *context, struct sw_start_failure *why)
{
    const struct silent *silent = context;
    int null = open("/dev/null", O_RDWR);

    setpgid(0, 0);
    signal(SIGINT, SIG_DFL);
    if (null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(silent->err, 2) == 2)
        execvp(silent->argv[0], silent->argv);
    why->error = errno;
}

/* A login. It ends with us: a later process would find the lock free and log in beside it. */
static int start_silent(pid_t *pid, char *const argv[], const struct ends *ends)
{
    struct silent silent = { argv, ends->err[1] };
    struct sw_start_failure why;

    *pid = sw_proc_start(become_silent, &silent, &why, NULL);
    return *pid > 0 ? 0 : why.error ? why.error : EAGAIN;
}

static void unblock(int fd)
{
    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

int ssh_process_start(struct ssh_process *process, char *const argv[], enum ssh_wiring wiring,
                      struct sw_error *err)
{
    int failed, given = wiring == SSH_GIVEN ? process->in : -1;
    struct ends ends;
    pid_t pid = 0;

    *process = (struct ssh_process)SSH_PROCESS_NONE;
    failed = open_ends(&ends, wiring, given) < 0 ? errno :
             wiring == SSH_SILENT ? start_silent(&pid, argv, &ends) : spawn(&pid, argv, &ends, wiring);
    close_ends(&ends, 1);
    if (failed) {
        close_ends(&ends, 0);
        sw_fail(err, failed == ENOENT ? SW_E_UNSUPPORTED : SW_E_IO, "cannot run %s: %s", argv[0],
                strerror(failed));
        return failed == ENOENT ? sw_hint(err, "install the OpenSSH client (openssh-client)") : -1;
    }
    *process = (struct ssh_process){ pid, ends.in[0], ends.out[0], ends.err[0] };
    unblock(process->out);
    unblock(process->err);
    if (wiring == SSH_PIPES)
        unblock(process->in);
    return 0;
}

static void close_channels(struct ssh_process *process)
{
    int *all[] = { &process->in, &process->out, &process->err };

    for (size_t i = 0; i < SW_COUNT(all); i++) {
        if (*all[i] >= 0)
            close(*all[i]);
        *all[i] = -1;
    }
}

/* Has it ended? Within `wait_ms`; its wait status. */
static bool reaped(pid_t pid, int64_t wait_ms, int *status)
{
    int64_t until = sw_monotonic_ms() + wait_ms;

    for (int64_t pause = 1;; pause = pause < 20 ? pause * 2 : 20) {
        pid_t got = waitpid(pid, status, WNOHANG);

        if (got == pid || (got < 0 && errno == ECHILD))
            return true;
        if (sw_monotonic_ms() >= until)
            return false;
        sw_sleep_ms(pause);
    }
}

void ssh_process_end(struct ssh_process *process)
{
    int status;

    close_channels(process);
    if (process->pid > 0) {
        kill(process->pid, SIGTERM);     /* not waiting for the far side to agree */
        if (!reaped(process->pid, 500, &status)) {
            kill(process->pid, SIGKILL);
            waitpid(process->pid, &status, 0);
        }
    }
    process->pid = 0;
}

bool ssh_read_some(int fd, struct sw_buf *to, size_t limit)
{
    char piece[4096];
    ssize_t got;

    while ((got = read(fd, piece, sizeof piece)) > 0) {
        size_t room = to->length < limit ? limit - to->length : 0;

        sw_buf_add_bytes(to, piece, (size_t)got < room ? (size_t)got : room);
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}

int ssh_process_wait(struct ssh_process *process, struct sw_buf *said, int64_t until_ms)
{
    bool open = true;
    int status = 0;

    while (open) {
        struct pollfd wait = { .fd = process->err, .events = POLLIN };
        int64_t left = until_ms - sw_monotonic_ms();

        if (left <= 0)
            return -1;
        /* A background child of ssh may keep the channel: the process itself counts, too. */
        poll(&wait, 1, left < 50 ? (int)left : 50);
        open = ssh_read_some(process->err, said, 16384);
        if (open && reaped(process->pid, 0, &status)) {
            ssh_read_some(process->err, said, 16384);
            break;
        }
    }
    if (!open && !reaped(process->pid, until_ms - sw_monotonic_ms(), &status))
        return -1;
    process->pid = 0;
    close_channels(process);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
