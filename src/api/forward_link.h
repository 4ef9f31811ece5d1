/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward_link.h - one connection of a client here to a port of a job: bytes in both directions, none of them
 * waited for.
 */
#ifndef SW_API_FORWARD_LINK_H
#define SW_API_FORWARD_LINK_H

#include <poll.h>

#include "base/buf.h"
#include "core/stream.h"

enum { LINK_PIECE = 32 * 1024, LINK_POLLS = 2 };

struct forward_link {
    int client;                      /* a socket, ours */
    struct sw_stream *stream;        /* ours */
    size_t port;                     /* which of the forwarded ports */
    struct sw_buf out;               /* for the client */
    size_t out_sent;                 /* so much of it has gone */
    char in[LINK_PIECE];             /* for the job */
    size_t in_count, in_sent;
    bool client_ended, stream_ended;
    bool answered;                   /* something came from the job */
    int64_t quiet_since_ms;          /* nothing came since */
    struct sw_buf words;             /* what was said about a failure */
};

/* Takes both, whatever happens. */
struct forward_link *forward_link_new(int client, struct sw_stream *stream, size_t port);
void forward_link_free(struct forward_link *link);
/* Move what can be moved. True: it is over. */
bool forward_link_step(struct forward_link *link, int64_t now_ms);
/* What it waits for, and for how long at most (-1: as long as it takes). */
int forward_link_polls(const struct forward_link *link, struct pollfd polls[LINK_POLLS]);
/* Why nothing came, owned; NULL: all went well. */
char *forward_link_trouble(struct forward_link *link);

#endif
