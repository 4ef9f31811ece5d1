/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_stream.h - a connection that begins as HTTP and becomes a stream of bytes in both directions
 * (`Upgrade: tcp`, `Upgrade: websocket`), over any connection the pool has: socket, TLS, ssh, proxy.
 */
#ifndef SW_NET_HTTP_STREAM_H
#define SW_NET_HTTP_STREAM_H

#include "net/http.h"

struct sw_http_stream;

#define SW_HTTP_LATER (-2)           /* not now: poll its descriptor */

/* Send `request` (method, URL, headers, a body from memory) with `Upgrade: PROTOCOL` on a connection of its
 * own, and wait for the server to agree: with 101, for "tcp" also with 200. The request stays the caller's.
 * NULL: it did not agree; `reply` (the caller's to release in any case) says why, as sw_http_ask's does. Its
 * headers are filled in either way. */
struct sw_http_stream *sw_http_upgrade(struct sw_http *http, const struct sw_http_request *request,
                                       const char *protocol, struct sw_http_reply *reply);
void sw_http_stream_close(struct sw_http_stream *stream);
SW_DEFINE_AUTO(sw_http_stream, struct sw_http_stream *, sw_http_stream_close)

int sw_http_stream_fd(const struct sw_http_stream *stream);       /* to poll; read first, then poll */
/* Bytes; 0: the other side is through; SW_HTTP_LATER; -1: cut. */
ssize_t sw_http_stream_read(struct sw_http_stream *stream, char *bytes, size_t size);
ssize_t sw_http_stream_write(struct sw_http_stream *stream, const char *bytes, size_t length);
/* Say that no more will be written. false: this way cannot (TLS: libcurl has no such word). */
bool sw_http_stream_finish(struct sw_http_stream *stream);

#endif
