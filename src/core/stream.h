/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - a command that runs beside a job, as a stream of bytes in both directions and an exit status.
 *
 * A platform embeds struct sw_stream as the first member of its own and fills in `ops`; the terminal belongs
 * to the caller (api/exec_pump.c), never to a platform.
 */
#ifndef SW_CORE_STREAM_H
#define SW_CORE_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* As the first word of a command: the runner of the job itself, wherever it is there (runner/main.c). */
#define SW_EXEC_RUNNER "slipway-runner"

struct sw_exec {                     /* what to run; all borrowed for the call of exec_open() */
    int replica;
    char *const *argv;               /* NULL-ended, at least one */
    int fds[3];                      /* the caller's input, output and errors */
    bool terminal;                   /* input and output are a terminal, and the command may have one */
    const char *term;                /* TERM of the caller; NULL: not set */
    bool endless;                    /* its input ends with the stream: finish() need not reach it */
    int64_t limit_ms;                /* for a stream whose read() stays until the end; 0: none */
};

struct sw_stream;

/* Takes output; 1: standard output, 2: standard error. Non-zero stops. */
typedef int sw_stream_put(void *context, int which, const char *bytes, size_t length);

struct sw_stream_ops {
    /* Hand over all output that came. Never waits, except where neither input nor a terminal has to be
     * passed on meanwhile: there it may stay until the end. 0: more may come, 1: the command ended, -1: put()
     * stopped it. */
    int (*read)(struct sw_stream *stream, sw_stream_put *put, void *context);
    /* With takes_input: bytes taken; 0: none now (poll for writing), -1: the command takes no more. */
    ssize_t (*write)(struct sw_stream *stream, const char *bytes, size_t length);
    void (*finish)(struct sw_stream *stream);            /* no more input will come */
    void (*resize)(struct sw_stream *stream, unsigned rows, unsigned columns);   /* with `terminal` */
    int (*status)(struct sw_stream *stream, int *exit_status, struct sw_error *err);    /* after its end */
    void (*close)(struct sw_stream *stream);             /* ends what still runs, and frees it */
};

struct sw_stream {
    const struct sw_stream_ops *ops;
    int fd;                          /* to poll; read first, then poll; -1: none */
    bool unsent;                     /* something waits to be sent: poll for writing, too, and read */
    int wake_ms;                     /* call read() at least so often; 0: only when something comes */
    bool takes_input;
    bool terminal;                   /* the command has a terminal of its own, as large as resize() says */
    bool passed;                     /* the command has the caller's descriptors: only its end is awaited */
};

#endif
