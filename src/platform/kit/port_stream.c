/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_stream.c - ports of jobs: a socket as a stream, and the command that connects beside a job.
 *
 * Each read() hands over a bounded piece, so that a sender that is faster than its reader is slowed down by
 * the socket, not kept in memory.
 */
#include "platform/kit/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/loopback.h"

enum { PIECE = 64 * 1024 };

int sw_socket_read(struct sw_stream *stream, sw_stream_put *put, void *context)
{
    struct sw_socket_stream *port = (struct sw_socket_stream *)stream;
    char bytes[PIECE];
    ssize_t n;

    if (port->ended)
        return 1;
    do
        n = recv(stream->fd, bytes, sizeof bytes, 0);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        return put(context, 1, bytes, (size_t)n) ? -1 : 0;
    port->ended = n == 0 || errno != EAGAIN;
    return port->ended;
}

ssize_t sw_socket_write(struct sw_stream *stream, const char *bytes, size_t length)
{
    ssize_t n = send(stream->fd, bytes, length, MSG_NOSIGNAL);

    return n >= 0 ? n : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

void sw_socket_finish(struct sw_stream *stream)
{
    shutdown(stream->fd, SHUT_WR);
}

static int socket_status(struct sw_stream *stream, int *exit_status, struct sw_error *err)
{
    (void)stream;
    (void)err;
    *exit_status = 0;
    return 0;
}

void sw_socket_close(struct sw_stream *stream)
{
    close(stream->fd);
    free(stream);
}

void sw_socket_stream_init(struct sw_socket_stream *stream, int fd)
{
    static const struct sw_stream_ops ops = {
        .read = sw_socket_read, .write = sw_socket_write, .finish = sw_socket_finish,
        .status = socket_status, .close = sw_socket_close,
    };

    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    *stream = (struct sw_socket_stream){
        .stream = { .ops = &ops, .fd = fd, .takes_input = true } };
}

int sw_port_open_here(int port, struct sw_stream **out, struct sw_error *err)
{
    int fd = sw_loopback_connect(port);
    struct sw_socket_stream *stream;

    if (fd < 0)
        return sw_fail_errno(err, SW_E_UNREACHABLE, "cannot connect to port %d", port);
    stream = sw_new(struct sw_socket_stream);
    sw_socket_stream_init(stream, fd);
    *out = &stream->stream;
    return 0;
}

void sw_port_command_init(struct sw_port_command *command, int port)
{
    snprintf(command->port, sizeof command->port, "%d", port);
    command->argv[0] = (char *)SW_EXEC_RUNNER;
    command->argv[1] = (char *)"port";
    command->argv[2] = command->port;
    command->argv[3] = NULL;
}
