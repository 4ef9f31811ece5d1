/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_port.c - a port of a running rank: the runner as a step of its own in the job's allocation, so that a
 * server at the loopback address of its node is reached, whatever the login host may connect to.
 *
 * Each connection is a command of its own over the shared ssh connection, beside the held shell. The command
 * is a constant: the script, whose length comes first, is read from its input.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/file.h"
#include "platform/kit/port.h"

#define TAKE_SCRIPT "exec env LC_ALL=C /bin/sh -c 'read -r n; eval \"$(dd bs=1 count=\"$n\" 2>/dev/null)\"'"

struct slurm_port {
    struct sw_socket_stream socket;
    struct sw_ssh_stream *ssh;
    bool answered;                     /* something came */
    sw_stream_put *put;                /* during a read */
    void *put_context;
};

static int note_answer(void *context, int which, const char *bytes, size_t length)
{
    struct slurm_port *port = context;

    port->answered = true;
    return port->put(port->put_context, which, bytes, length);
}

static int port_read(struct sw_stream *stream, sw_stream_put *put, void *context)
{
    struct slurm_port *port = (struct slurm_port *)stream;

    port->put = put;
    port->put_context = context;
    return sw_socket_read(stream, note_answer, port);
}

/* A server that closes a connection without a word is no failure; a step that could not begin is one. */
static int port_status(struct sw_stream *stream, int *exit_status, struct sw_error *err)
{
    struct slurm_port *port = (struct slurm_port *)stream;

    *exit_status = 0;
    return port->answered ? 0 : sw_ssh_stream_why(port->ssh, err);
}

static void port_close(struct sw_stream *stream)
{
    sw_ssh_stream_close(((struct slurm_port *)stream)->ssh);
    sw_socket_close(stream);
}

static int start(struct sw_connection *conn, const struct sw_buf *script, struct sw_stream **out,
                 struct sw_error *err)
{
    static const struct sw_stream_ops ops = {
        .read = port_read, .write = sw_socket_write, .finish = sw_socket_finish, .status = port_status,
        .close = port_close,
    };
    struct slurm_connection *slurm = slurm_of(conn);
    sw_autofree char *text = sw_format("%zu\n%s", script->length, sw_buf_text(script));
    struct slurm_port *port;
    struct sw_ssh_stream *ssh;
    int fd = -1;

    pthread_mutex_lock(&slurm->lock);
    ssh = sw_ssh_stream_open(slurm->ssh, TAKE_SCRIPT, &fd, err);
    pthread_mutex_unlock(&slurm->lock);
    if (!ssh)
        return -1;
    port = sw_new(struct slurm_port);
    sw_write_all(fd, text, strlen(text));        /* what fails shows when it is read from */
    sw_socket_stream_init(&port->socket, fd);
    port->socket.stream.ops = &ops;
    port->ssh = ssh;
    *out = &port->socket.stream;
    return 0;
}

int slurm_port_open(struct sw_connection *conn, const struct sw_jobref *job, int replica, int port,
                    struct sw_stream **out, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    struct sw_port_command command;

    sw_port_command_init(&command, port);
    if (slurm_exec_script(&script, conn, job, replica, SLURM_STEP_AT_ONCE, command.argv, err) < 0)
        return -1;
    return start(conn, &script, out, err);
}
