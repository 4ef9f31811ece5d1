/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_program.c - a small program asked on this machine: a line in, its output back, bounded in
 * size and time. For credential helpers and for the version of a runtime.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "platform/docker/docker_internal.h"

#define ANSWER_MAX  65536
#define PATIENCE_MS 30000

extern char **environ;

static pid_t start(char *const argv[], int input, int output, struct sw_error *err)
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
    failed = posix_spawnp(&pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        sw_fail(err, SW_E_NOT_FOUND, "%s cannot be started: %s", argv[0], strerror(failed));
        return -1;
    }
    return pid;
}

/* All it says, bounded in size and time. */
static int listen_to(int fd, struct sw_buf *out)
{
    int64_t deadline_ms = sw_monotonic_ms() + PATIENCE_MS;

    sw_buf_reserve(out, ANSWER_MAX);         /* once, so that growing leaves no copy behind */
    while (out->length < ANSWER_MAX) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        int64_t left = deadline_ms - sw_monotonic_ms();
        ssize_t got;

        if (left <= 0 || (poll(&wait, 1, (int)left) < 0 && errno != EINTR))
            return -1;
        if (!wait.revents)
            continue;
        got = read(fd, out->data + out->length, ANSWER_MAX - out->length);
        if (got == 0)
            return 0;
        if (got < 0 && errno != EINTR)
            return -1;
        out->length += got > 0 ? (size_t)got : 0;
        out->data[out->length] = '\0';
    }
    return -1;
}

static int end_of(pid_t pid, bool heard)
{
    int status = 0;

    if (!heard)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return heard && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int docker_program_ask(char *const argv[], const char *input, struct sw_buf *said, int *status,
                       struct sw_error *err)
{
    int to[2], from[2];
    pid_t pid;

    /* A socket, since writing to it can be told not to raise SIGPIPE: it may end unread. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to) < 0)
        return sw_fail_errno(err, SW_E_IO, "%s", argv[0]);
    if (pipe2(from, O_CLOEXEC) < 0) {
        close(to[0]);
        close(to[1]);
        return sw_fail_errno(err, SW_E_IO, "%s", argv[0]);
    }
    pid = start(argv, to[0], from[1], err);
    close(to[0]);
    close(from[1]);
    if (pid > 0)
        (void)!send(to[1], input, strlen(input), MSG_NOSIGNAL);
    close(to[1]);
    if (pid > 0)
        *status = end_of(pid, listen_to(from[0], said) == 0);
    close(from[0]);
    return pid > 0 ? 0 : -1;
}
