/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.h - a TCP port of a job as a stream (core/stream.h), for the slot `port_open`.
 *
 * A platform takes one of two ways: a descriptor that leads there already, or the runner, which is run beside
 * the job and connects there (runner/port.c). What it cannot do it says as output 2.
 */
#ifndef SW_PLATFORM_KIT_PORT_H
#define SW_PLATFORM_KIT_PORT_H

#include "core/stream.h"

/* ---- port_stream.c: over a socket ---------------------------------------------------------------- */

struct sw_socket_stream {            /* embed it, or use it alone */
    struct sw_stream stream;
    bool ended;
};
/* Fills it in; the socket is the stream's. A platform with more to close has ops of its own, of these. */
void sw_socket_stream_init(struct sw_socket_stream *stream, int fd);
int sw_socket_read(struct sw_stream *stream, sw_stream_put *put, void *context);
ssize_t sw_socket_write(struct sw_stream *stream, const char *bytes, size_t length);
void sw_socket_finish(struct sw_stream *stream);
void sw_socket_close(struct sw_stream *stream);

/* A port of this machine's loopback address. SW_E_UNREACHABLE: nothing listens there. */
int sw_port_open_here(int port, struct sw_stream **out, struct sw_error *err);

/* ---- over a command beside the job ---------------------------------------------------------------- */

struct sw_port_command {
    char port[8];
    char *argv[4];                   /* NULL-ended; points into this struct */
};
void sw_port_command_init(struct sw_port_command *command, int port);

#endif
