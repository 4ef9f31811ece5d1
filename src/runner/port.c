/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.c - `slipway-runner port PORT`: standard input and output become a connection to a port of this place.
 * The job's half of `slipway forward`, where there is no way to a port but a command beside the job.
 *
 * A process of its own sends, so that a server that does not read keeps nothing from being read. When the
 * input has ended, the server has a minute of silence before the connection counts as given up: a client
 * that went away must leave nothing that waits for ever.
 */
#include "runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loopback.h"

enum { PIECE = 64 * 1024, SILENCE_MS = 60 * 1000, NOT_CONNECTED = 1 };

static ssize_t read_some(int fd, char *bytes)
{
    ssize_t n;

    do
        n = read(fd, bytes, PIECE);
    while (n < 0 && errno == EINTR);
    return n;
}

static void pass(int from, int to)
{
    static char bytes[PIECE];
    ssize_t n;

    while ((n = read_some(from, bytes)) > 0)
        if (sw_write_all(to, bytes, (size_t)n) < 0)
            break;
}

/* Until the server closes the connection, or is silent after `sends` has ended. */
static void receive(int server, int sends)
{
    static char bytes[PIECE];
    struct pollfd ends[] = { { .fd = server, .events = POLLIN }, { .fd = sends, .events = POLLIN } };
    ssize_t n = 1;

    while (n > 0) {
        int ready = poll(ends, 2, ends[1].fd < 0 ? SILENCE_MS : -1);

        if (ready == 0)
            return;
        if (ready > 0 && ends[1].revents)
            ends[1].fd = -1;
        if (ready > 0 && ends[0].revents) {
            n = read_some(server, bytes);
            if (n > 0 && sw_write_all(STDOUT_FILENO, bytes, (size_t)n) < 0)
                return;
        }
    }
}

int runner_port(const char *number)
{
    int server = sw_loopback_connect(atoi(number)), sends[2];
    pid_t sender;

    if (server < 0 || pipe2(sends, O_CLOEXEC) < 0) {
        runner_complain(strerror(errno));
        return NOT_CONNECTED;
    }
    signal(SIGPIPE, SIG_IGN);
    sender = fork();
    if (sender == 0) {
        close(sends[0]);
        pass(STDIN_FILENO, server);
        shutdown(server, SHUT_WR);
        _exit(0);
    }
    close(sends[1]);
    receive(server, sends[0]);
    if (sender > 0)
        kill(sender, SIGKILL);
    return 0;
}
