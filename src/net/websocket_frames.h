/* SPDX-License-Identifier: Apache-2.0 */
/*
 * websocket_frames.h - the frames of a WebSocket (RFC 6455), read and written by a client. Pure: the caller
 * chooses the masks.
 */
#ifndef SW_NET_WEBSOCKET_FRAMES_H
#define SW_NET_WEBSOCKET_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum sw_ws_kind {
    SW_WS_MORE = 0,                  /* the message before goes on */
    SW_WS_TEXT = 1,
    SW_WS_BINARY = 2,
    SW_WS_CLOSE = 8,
    SW_WS_PING = 9,
    SW_WS_PONG = 10,
};

enum sw_ws_code {                    /* of a close frame */
    SW_WS_DONE = 1000,
    SW_WS_BROKEN = 1002,             /* the other side does not keep the rules */
    SW_WS_NOT_SAID = 1005,
    SW_WS_TOO_LARGE = 1009,
};

/* A whole message (never SW_WS_MORE), borrowed for the call. Text is not checked for UTF-8. Non-zero
 * stops. */
typedef int sw_ws_take(void *context, enum sw_ws_kind kind, const char *bytes, size_t length);

struct sw_ws_reader {
    sw_ws_take *take;
    void *context;
    size_t limit;                    /* bytes of a message, its pieces together */

    unsigned char head[10];
    size_t have;                     /* bytes of `head` */
    bool in_payload;
    uint64_t left;                   /* bytes of this frame's payload to come */
    enum sw_ws_kind message_kind;    /* SW_WS_MORE: no message has begun */
    struct sw_buf message, control;  /* a ping may come between the pieces of a message */
    const char *wrong;               /* why feed() gave up; NULL: it did not */
    enum sw_ws_code code;            /* what to tell the other side then */
};

/* 0; 1: take() stopped; -1: reader->wrong. After 1 and -1 the reader takes no more. */
int sw_ws_feed(struct sw_ws_reader *reader, const char *bytes, size_t length);
void sw_ws_reader_done(struct sw_ws_reader *reader);

/* Append one frame that is a whole message, `first` and `bytes` behind each other, masked. */
void sw_ws_frame(struct sw_buf *out, enum sw_ws_kind kind, const unsigned char mask[4], const void *first,
                 size_t first_length, const void *bytes, size_t length);

#endif
