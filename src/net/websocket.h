/* SPDX-License-Identifier: Apache-2.0 */
/*
 * websocket.h - messages in both directions over a connection that began as HTTP (RFC 6455), over any
 * connection the pool has: socket, TLS, proxy. Nothing here waits, except the handshake.
 *
 *     while (sw_websocket_read(ws, take, context) == 0)
 *         poll sw_websocket_fd(ws), for writing too if sw_websocket_unsent(ws), at most SW_WEBSOCKET_WAKE_MS
 *
 * The frames are our own (docs/decisions/0060).
 */
#ifndef SW_NET_WEBSOCKET_H
#define SW_NET_WEBSOCKET_H

#include "net/http_stream.h"
#include "net/websocket_frames.h"

/* A connection that rests is pinged this often, so that no proxy forgets it. A minute without an answer ends
 * it, unless the other side may still be busy with what it got before. */
#define SW_WEBSOCKET_WAKE_MS 5000

struct sw_websocket;

/* Ask for a WebSocket at request->url with one of `protocols` ("a, b", in the order of preference; NULL:
 * none) and wait for the answer. The request stays the caller's. NULL: it was refused; `reply` (the caller's
 * to release in any case) says why, as sw_http_ask's does. A status of 2xx is a refusal, too. */
struct sw_websocket *sw_websocket_open(struct sw_http *http, const struct sw_http_request *request,
                                       const char *protocols, struct sw_http_reply *reply);
/* Says goodbye if that can be done at once. */
void sw_websocket_close(struct sw_websocket *ws);
SW_DEFINE_AUTO(sw_websocket, struct sw_websocket *, sw_websocket_close)

const char *sw_websocket_protocol(const struct sw_websocket *ws);      /* the chosen one; "": none */
int sw_websocket_fd(const struct sw_websocket *ws);

/* Takes a whole message of text or bytes, at most 4 MiB, borrowed. Non-zero stops. */
typedef int sw_websocket_take(void *context, const char *bytes, size_t length);

/* Hand over all messages that came, and send what can be sent. 0: more may come, 1: it is over (see
 * sw_websocket_end), -1: take() stopped it. */
int sw_websocket_read(struct sw_websocket *ws, sw_websocket_take *take, void *context);

/* Send `first` and `bytes` as one binary message. Always taken, -1: it is over. A caller with much to send
 * waits until nothing is unsent. */
int sw_websocket_send(struct sw_websocket *ws, const void *first, size_t first_length, const void *bytes,
                      size_t length);
size_t sw_websocket_unsent(const struct sw_websocket *ws);
size_t sw_websocket_flush(struct sw_websocket *ws);      /* send what can be sent; returns what is unsent */

struct sw_websocket_end {
    bool closed;                     /* the other side closed it, with this code */
    enum sw_ws_code code;
    char why[256];                   /* in its words, printable; else in ours; "": it said nothing */
};
/* How it ended, once read() returned 1. */
const struct sw_websocket_end *sw_websocket_end(const struct sw_websocket *ws);

#endif
