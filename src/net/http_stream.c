/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_stream.c - see http_stream.h.
 *
 * libcurl makes the connection (CURLOPT_CONNECT_ONLY) and carries the bytes, TLS included; it knows no
 * upgrade but WebSocket's, and that not everywhere, so the one request and its answer are written and read
 * here. That is all the HTTP we speak ourselves (docs/decisions/0030, 0060).
 */
#include "net/http_stream.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/text.h"
#include "net/http_internal.h"

enum { HEAD_MOST = 16 * 1024, ANSWER_MS = 60000, PIECE = 4096,
       REFUSAL_MOST = 64 * 1024, REFUSAL_MS = 5000 };

struct sw_http_stream {
    struct http_transfer transfer;            /* only its way and its handle */
    curl_socket_t fd;
    bool tls;
    struct sw_buf early;             /* came with the head; read first */
    size_t early_used;
};

void sw_http_stream_close(struct sw_http_stream *stream)
{
    const struct curl_functions *curl;

    if (!stream)
        return;
    curl = stream->transfer.http->curl;
    if (stream->transfer.easy)
        curl->easy_cleanup(stream->transfer.easy);
    curl->slist_free_all(stream->transfer.headers);
    curl->slist_free_all(stream->transfer.connect_to);
    sw_http_request_done(&stream->transfer.request);
    sw_http_reply_done(&stream->transfer.reply);
    sw_buf_done(&stream->early);
    free(stream);
}

/* ---- the connection -------------------------------------------------------------------------- */

static int connect_to(struct sw_http_stream *stream, struct sw_http *http,
                      const struct sw_http_request *request)
{
    struct http_transfer *transfer = &stream->transfer;
    const struct curl_functions *curl = http->curl;
    CURLcode result;

    transfer->http = http;
    transfer->request = (struct sw_http_request)SW_HTTP_REQUEST_INIT;
    strcpy(transfer->request.method, "GET");
    transfer->request.url = sw_strdup(request->url);
    transfer->easy = curl->easy_init();
    transfer_prepare(transfer);
    if (http_tls_required(request))
        curl->easy_setopt(transfer->easy, CURLOPT_PROTOCOLS_STR, "https");
    curl->easy_setopt(transfer->easy, CURLOPT_CONNECT_ONLY, 1L);
    curl->easy_setopt(transfer->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl->easy_setopt(transfer->easy, CURLOPT_HTTPPROXYTUNNEL, 1L);      /* if there is a proxy */
    result = curl->easy_perform(transfer->easy);
    if (result != CURLE_OK) {
        transfer_judge(transfer, result);
        return -1;
    }
    if (http->options.serve)
        http_socketpair_new(http);
    stream->tls = sw_text_starts(request->url, "https://");
    return curl->easy_getinfo(transfer->easy, CURLINFO_ACTIVESOCKET, &stream->fd) == CURLE_OK &&
                   stream->fd != CURL_SOCKET_BAD ? 0 : -1;
}

static bool wait_for(const struct sw_http_stream *stream, short events, int64_t until_ms)
{
    struct pollfd one = { .fd = stream->fd, .events = events };
    int64_t left_ms = until_ms - sw_monotonic_ms();

    return left_ms > 0 && poll(&one, 1, (int)left_ms) > 0;
}

static int send_all(struct sw_http_stream *stream, const char *bytes, size_t length,
                    int64_t until_ms)
{
    while (length > 0) {
        ssize_t n = sw_http_stream_write(stream, bytes, length);

        if (n == SW_HTTP_LATER && wait_for(stream, POLLOUT, until_ms))
            continue;
        if (n <= 0)
            return -1;
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

/* ---- the one request ------------------------------------------------------------------------- */

/* To be wiped: it may hold a credential. */
static void request_text(struct sw_buf *out, const struct sw_http_request *request, const char *protocol)
{
    const char *host = strstr(request->url, "://") + strlen("://");
    size_t length = strcspn(host, "/?#");

    sw_buf_addf(out, "%s %s%s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: slipway/" SW_VERSION "\r\n"
                     "Connection: Upgrade\r\nUpgrade: %s\r\n", request->method,
                host[length] == '/' ? "" : "/", host + length, (int)length, host, protocol);
    for (size_t i = 0; i < request->header_count; i++)
        sw_buf_addf(out, "%s\r\n", request->headers[i]);
    if (request->body_length > 0)
        sw_buf_addf(out, "Content-Length: %lld\r\n", (long long)request->body_length);
    sw_buf_add(out, "\r\n");
    if (request->body_length > 0)
        sw_buf_add_bytes(out, request->body, (size_t)request->body_length);
}

/* More of the answer into `early`. false: no more comes until then. */
static bool read_more(struct sw_http_stream *stream, int64_t until_ms)
{
    for (;;) {
        char bytes[PIECE];
        size_t n = 0;
        CURLcode result = stream->transfer.http->curl->easy_recv(stream->transfer.easy, bytes,
                                                                 sizeof bytes, &n);

        if (result == CURLE_AGAIN && wait_for(stream, POLLIN, until_ms))
            continue;
        if (result != CURLE_OK || n == 0)
            return false;
        sw_buf_add_bytes(&stream->early, bytes, n);
        return true;
    }
}

/* Up to the empty line that ends it; what came behind it stays in `early`. NULL: no such head. */
static const char *read_head(struct sw_http_stream *stream, int64_t until_ms)
{
    const char *end = NULL;

    while (!end && stream->early.length < HEAD_MOST && read_more(stream, until_ms))
        end = strstr(sw_buf_text(&stream->early), "\r\n\r\n");
    return end;
}

/* The head in the words of every other reply: status, headers line by line, and what came behind. */
static void take_reply(struct sw_http_stream *stream, const char *end, struct sw_http_reply *reply)
{
    const char *head = sw_buf_text(&stream->early);
    const char *line = strstr(head, "\r\n");

    if (sscanf(head, "HTTP/1.%*d %d", &reply->status) != 1)
        reply->status = 0;
    for (line += 2; line < end + 2; line = strstr(line, "\r\n") + 2)
        sw_buf_addf(&reply->headers, "%.*s\n", (int)(strstr(line, "\r\n") - line), line);
    stream->early_used = (size_t)(end + 4 - head);
}

static bool is_agreed(int status, const char *protocol)
{
    return status == 101 || (status == 200 && strcmp(protocol, "tcp") == 0);
}

/* ---- a refusal's words ------------------------------------------------------------------------ */

/* Lengths and data by turns; what is no such text ends it. True: the last piece is there. */
static bool join_chunks(const char *text, size_t length, struct sw_buf *body)
{
    const char *end = text + length;

    sw_buf_clear(body);
    while (text < end) {
        const char *line = memmem(text, (size_t)(end - text), "\r\n", 2);
        size_t size = line ? strtoul(text, NULL, 16) : 0, left = line ? (size_t)(end - line) - 2 : 0;

        if (!line)
            return false;
        if (size == 0)
            return true;
        sw_buf_add_bytes(body, line + 2, size < left ? size : left);
        if (left < size + 2)
            return false;
        text = line + 2 + size + 2;
    }
    return false;
}

/* As much of the body as comes soon: the server keeps the connection, so its end need not show. */
static void read_refusal(struct sw_http_stream *stream, struct sw_http_reply *reply)
{
    int64_t until_ms = sw_monotonic_ms() + REFUSAL_MS;
    sw_autofree char *length = sw_http_header(reply, "Content-Length");
    sw_autofree char *coding = sw_http_header(reply, "Transfer-Encoding");
    bool chunked = coding && strcasestr(coding, "chunked");
    size_t wanted = !chunked && length ? strtoul(length, NULL, 10) : REFUSAL_MOST;
    bool all;

    do {
        const char *begin = sw_buf_text(&stream->early) + stream->early_used;
        size_t have = stream->early.length - stream->early_used;

        all = have >= wanted || have >= REFUSAL_MOST;
        if (chunked) {
            all |= join_chunks(begin, have, &reply->body);
        } else {
            sw_buf_clear(&reply->body);
            sw_buf_add_bytes(&reply->body, begin, have < wanted ? have : wanted);
        }
    } while (!all && read_more(stream, until_ms));
}

static int cut(struct sw_http_reply *reply)
{
    reply->status = 0;
    reply->failure = SW_E_UNREACHABLE;
    snprintf(reply->why, sizeof reply->why, "the connection was cut");
    return -1;
}

static int agree(struct sw_http_stream *stream, const struct sw_http_request *request, const char *protocol,
                 struct sw_http_reply *reply)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    int64_t until_ms = sw_monotonic_ms() + ANSWER_MS;
    const char *end;

    request_text(&text, request, protocol);
    end = send_all(stream, text.data, text.length, until_ms) == 0 ? read_head(stream, until_ms) : NULL;
    explicit_bzero(text.data, text.length);
    if (!end)
        return cut(reply);
    take_reply(stream, end, reply);
    if (is_agreed(reply->status, protocol))
        return 0;
    if (!reply->status)
        return cut(reply);
    read_refusal(stream, reply);
    return -1;
}

struct sw_http_stream *sw_http_upgrade(struct sw_http *http, const struct sw_http_request *request,
                                       const char *protocol, struct sw_http_reply *reply)
{
    sw_auto(sw_http_stream) struct sw_http_stream *stream = sw_new(struct sw_http_stream);

    *reply = (struct sw_http_reply){ .length = -1 };
    if (connect_to(stream, http, request) < 0) {
        *reply = stream->transfer.reply;
        stream->transfer.reply = (struct sw_http_reply){ 0 };
        return NULL;
    }
    return agree(stream, request, protocol, reply) == 0 ? sw_take(stream) : NULL;
}

/* ---- the stream ------------------------------------------------------------------------------ */

int sw_http_stream_fd(const struct sw_http_stream *stream)
{
    return stream->fd;
}

ssize_t sw_http_stream_read(struct sw_http_stream *stream, char *bytes, size_t size)
{
    size_t early = stream->early.length - stream->early_used, n = 0;
    CURLcode result;

    if (early > 0) {
        n = early < size ? early : size;
        memcpy(bytes, stream->early.data + stream->early_used, n);
        stream->early_used += n;
        return (ssize_t)n;
    }
    result = stream->transfer.http->curl->easy_recv(stream->transfer.easy, bytes, size, &n);
    return result == CURLE_OK ? (ssize_t)n : result == CURLE_AGAIN ? SW_HTTP_LATER : -1;
}

ssize_t sw_http_stream_write(struct sw_http_stream *stream, const char *bytes, size_t length)
{
    size_t n = 0;
    CURLcode result = stream->transfer.http->curl->easy_send(stream->transfer.easy, bytes, length, &n);

    return result == CURLE_OK ? (ssize_t)n : result == CURLE_AGAIN ? SW_HTTP_LATER : -1;
}

bool sw_http_stream_finish(struct sw_http_stream *stream)
{
    return !stream->tls && shutdown(stream->fd, SHUT_WR) == 0;
}
