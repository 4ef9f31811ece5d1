/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_ports.c - a TCP port of a pod as a stream, over a WebSocket.
 *
 * Servers speak one of two protocols, both offered in one handshake. From 1.31 on the WebSocket carries
 * SPDY/3.1 with two streams, one for errors and one for data. Older ones pass the WebSocket on to the
 * container runtime: messages begin with a channel, 0 for data and 1 for errors, and the first message of
 * each holds the number of the port. There the end of the input cannot be told.
 */
#include "platform/kube/kube_streams.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "platform/kube/kube_spdy.h"

enum { PIECE = 32 * 1024, WORDS_MOST = 4096, ERROR_STREAM = 1, DATA_STREAM = 3 };
enum { DATA = 0, ERRORS = 1, CHANNELS };

#define TUNNEL   "SPDY/3.1+portforward.k8s.io"
#define CHANNEL4 "v4.channel.k8s.io"

struct kube_port {
    struct sw_stream stream;
    struct sw_websocket *ws;
    bool tunnel;                     /* SPDY; else channels */
    struct kube_spdy spdy;
    size_t skipped[CHANNELS];        /* bytes of the port's number that came */
    bool ended, errors_ended;        /* no more data comes, no more errors */
    bool cut;                        /* the server left before */
    struct sw_buf words;             /* what went wrong, in the server's words */
    uint16_t number;
    sw_stream_put *put;              /* during a read */
    void *put_context;
};

/* ---- what comes -------------------------------------------------------------------------------- */

static int take_bytes(struct kube_port *port, bool is_error, const char *bytes, size_t length)
{
    size_t room = WORDS_MOST - port->words.length;

    if (!is_error)
        return length ? port->put(port->put_context, 1, bytes, length) : 0;
    sw_buf_add_bytes(&port->words, bytes, length < room ? length : room);
    return 0;
}

static int take_event(void *context, const struct kube_spdy_event *event)
{
    struct kube_port *port = context;
    bool ends = event->kind == KUBE_SPDY_END || event->kind == KUBE_SPDY_RESET;

    if (event->kind == KUBE_SPDY_DATA && (event->stream == DATA_STREAM || event->stream == ERROR_STREAM))
        return take_bytes(port, event->stream == ERROR_STREAM, event->bytes, event->length);
    if (event->kind == KUBE_SPDY_PING)
        sw_websocket_send(port->ws, event->bytes, event->length, NULL, 0);
    if (event->kind == KUBE_SPDY_AWAY && !port->ended)
        port->cut = true;
    port->ended |= (ends && event->stream == DATA_STREAM) || port->cut;
    port->errors_ended |= (ends && event->stream == ERROR_STREAM) || port->cut;
    return 0;
}

static int take_channel(struct kube_port *port, const char *bytes, size_t length)
{
    unsigned char channel = length ? (unsigned char)bytes[0] : CHANNELS;
    size_t skip;

    if (channel >= CHANNELS)
        return 0;
    bytes++, length--;
    skip = sizeof port->number - port->skipped[channel];
    skip = skip < length ? skip : length;
    port->skipped[channel] += skip;
    return take_bytes(port, channel == ERRORS, bytes + skip, length - skip);
}

static int take_message(void *context, const char *bytes, size_t length)
{
    struct kube_port *port = context;
    int result;

    if (!port->tunnel)
        return take_channel(port, bytes, length);
    result = kube_spdy_feed(&port->spdy, bytes, length);
    if (result < 0) {
        sw_buf_add(&port->words, "the answer is not SPDY");
        port->ended = port->errors_ended = true;
        return 0;
    }
    return result;
}

/* ---- the stream -------------------------------------------------------------------------------- */

static void note(struct kube_port *port)
{
    port->stream.unsent = sw_websocket_unsent(port->ws) > 0;
}

static int port_read(struct sw_stream *stream, sw_stream_put *put, void *context)
{
    struct kube_port *port = (struct kube_port *)stream;
    int over;

    port->put = put;
    port->put_context = context;
    over = sw_websocket_read(port->ws, take_message, port);
    note(port);
    if (over == 0 && port->ended && port->errors_ended)
        return 1;
    return over;
}

static ssize_t port_write(struct sw_stream *stream, const char *bytes, size_t length)
{
    struct kube_port *port = (struct kube_port *)stream;
    size_t n = length < PIECE ? length : PIECE;
    unsigned char head[KUBE_SPDY_HEAD] = { DATA };

    if (port->ended)
        return -1;
    if (sw_websocket_flush(port->ws) > 0)
        return 0;
    if (port->tunnel)
        kube_spdy_data(head, DATA_STREAM, n, false);
    if (sw_websocket_send(port->ws, head, port->tunnel ? sizeof head : 1, bytes, n) < 0)
        return -1;
    note(port);
    return (ssize_t)n;
}

static void send_end(struct kube_port *port, uint32_t stream)
{
    unsigned char head[KUBE_SPDY_HEAD];

    kube_spdy_data(head, stream, 0, true);
    sw_websocket_send(port->ws, head, sizeof head, NULL, 0);
}

static void port_finish(struct sw_stream *stream)
{
    struct kube_port *port = (struct kube_port *)stream;

    if (port->tunnel)
        send_end(port, DATA_STREAM);
    note(port);
}

static void port_resize(struct sw_stream *stream, unsigned rows, unsigned columns)
{
    (void)stream;
    (void)rows;
    (void)columns;
}

static int port_status(struct sw_stream *stream, int *exit_status, struct sw_error *err)
{
    const struct kube_port *port = (struct kube_port *)stream;
    const struct sw_websocket_end *end = sw_websocket_end(port->ws);
    sw_autofree char *words = sw_rest_words(port->words.data, port->words.length, NULL);

    if (words)
        return sw_fail(err, SW_E_REFUSED, "the cluster cannot forward port %d: %s", port->number, words);
    if (port->tunnel ? !port->ended || port->cut : !end->closed)
        return sw_fail(err, SW_E_UNREACHABLE, "the connection to port %d was cut%s%s", port->number,
                       *end->why ? ": " : "", end->why);
    *exit_status = 0;
    return 0;
}

static void port_close(struct sw_stream *stream)
{
    struct kube_port *port = (struct kube_port *)stream;

    sw_websocket_close(port->ws);
    kube_spdy_done(&port->spdy);
    sw_buf_done(&port->words);
    free(port);
}

/* ---- opening ----------------------------------------------------------------------------------- */

/* The two streams belong together by their number of request; that of errors comes first, and nothing is
 * ever sent on it. */
static void open_streams(struct kube_port *port)
{
    sw_auto(sw_buf) struct sw_buf frames = SW_BUF_INIT;
    unsigned char end[KUBE_SPDY_HEAD];
    char number[8];
    struct kube_spdy_header headers[] = { { "streamtype", "error" }, { "port", number },
                                          { "requestid", "0" } };

    snprintf(number, sizeof number, "%d", port->number);
    kube_spdy_open(&frames, ERROR_STREAM, true, headers, SW_COUNT(headers));
    kube_spdy_data(end, ERROR_STREAM, 0, true);
    sw_buf_add_bytes(&frames, end, sizeof end);
    headers[0].value = "data";
    kube_spdy_open(&frames, DATA_STREAM, false, headers, SW_COUNT(headers));
    sw_websocket_send(port->ws, frames.data, frames.length, NULL, 0);
}

static int begin(struct kube_port *port, struct sw_rest *rest, const char *namespace, const char *pod,
                 struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/api/v1/namespaces/%s/pods/%s/portforward?ports=%d", namespace,
                                          pod, (int)port->number);

    port->ws = sw_rest_websocket(rest, &(struct sw_rest_call){ .path = path }, TUNNEL ", " CHANNEL4, err);
    if (!port->ws)
        return -1;
    port->tunnel = strcmp(sw_websocket_protocol(port->ws), TUNNEL) == 0;
    if (port->tunnel)
        open_streams(port);
    port->stream.fd = sw_websocket_fd(port->ws);
    note(port);
    return 0;
}

int kube_port_open(struct sw_rest *rest, const char *namespace, const char *pod, uint16_t number,
                   struct sw_stream **out, struct sw_error *err)
{
    static const struct sw_stream_ops ops = {
        .read = port_read, .write = port_write, .finish = port_finish, .resize = port_resize,
        .status = port_status, .close = port_close,
    };
    struct kube_port *port = sw_new(struct kube_port);

    port->stream = (struct sw_stream){ .ops = &ops, .takes_input = true, .wake_ms = SW_WEBSOCKET_WAKE_MS };
    port->spdy = (struct kube_spdy){ .take = take_event, .context = port };
    port->number = number;
    if (begin(port, rest, namespace, pod, err) < 0) {
        port_close(&port->stream);
        return sw_wrap(err, "cannot reach port %d of pod '%s'", number, pod);
    }
    *out = &port->stream;
    return 0;
}
