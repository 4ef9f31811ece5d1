/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_ask.c - ask a small program: a line in, its output back, bounded in size and time.
 */
#include "base/proc.h"

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

enum { ANSWER_MAX = 65536, PATIENCE_MS = 30000 };

extern char **environ;

static pid_t start(char *const argv[], char *const environment[], int input, int output,
                   struct sw_error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, pipes;
    pid_t pid = -1;
    int failed;

    sigemptyset(&none);
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &pipes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    failed = posix_spawnp(&pid, argv[0], &actions, &attributes, argv,
                          environment ? environment : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        sw_fail(err, SW_E_NOT_FOUND, "%s cannot be started: %s", argv[0], strerror(failed));
        return -1;
    }
    return pid;
}

/* All of its output. -1: it takes too long, or is too much. */
static int read_output(int fd, size_t most, int64_t deadline_ms, struct sw_buf *out)
{
    sw_buf_reserve(out, most);               /* once, so that growing leaves no copy behind */
    while (out->length < most) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        int64_t left = deadline_ms - sw_monotonic_ms();
        ssize_t got;

        if (left <= 0 || (poll(&wait, 1, (int)left) < 0 && errno != EINTR))
            return -1;
        if (!wait.revents)
            continue;
        got = read(fd, out->data + out->length, most - out->length);
        if (got == 0)
            return 0;
        if (got < 0 && errno != EINTR)
            return -1;
        out->length += got > 0 ? (size_t)got : 0;
        out->data[out->length] = '\0';
    }
    return -1;
}

static int wait_for_end(pid_t pid, bool answered)
{
    int status = 0;

    if (!answered)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return answered && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int sw_proc_ask_begin(char *const argv[], char *const environment[], const char *input,
                      struct sw_proc_asking *asking, struct sw_error *err)
{
    int to[2], from[2];

    /* A socket, because a program that ends without reading its input must not raise SIGPIPE here. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to) < 0)
        return sw_fail_errno(err, SW_E_IO, "%s", argv[0]);
    if (pipe2(from, O_CLOEXEC) < 0) {
        close(to[0]);
        close(to[1]);
        return sw_fail_errno(err, SW_E_IO, "%s", argv[0]);
    }
    asking->pid = start(argv, environment, to[0], from[1], err);
    asking->from = from[0];
    close(to[0]);
    close(from[1]);
    if (asking->pid > 0)
        (void)!send(to[1], input, strlen(input), MSG_NOSIGNAL);
    else
        close(from[0]);
    close(to[1]);
    return asking->pid > 0 ? 0 : -1;
}

int sw_proc_ask_end(struct sw_proc_asking *asking, size_t most, int64_t deadline_ms, struct sw_buf *output)
{
    int status = wait_for_end(asking->pid, read_output(asking->from, most, deadline_ms, output) == 0);

    close(asking->from);
    return status;
}

int sw_proc_ask(char *const argv[], const char *input, struct sw_buf *output, int *status,
                struct sw_error *err)
{
    struct sw_proc_asking asking;

    if (sw_proc_ask_begin(argv, NULL, input, &asking, err) < 0)
        return -1;
    *status = sw_proc_ask_end(&asking, ANSWER_MAX, sw_monotonic_ms() + PATIENCE_MS, output);
    return 0;
}
