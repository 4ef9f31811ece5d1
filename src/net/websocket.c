/* SPDX-License-Identifier: Apache-2.0 */
/*
 * websocket.c - see websocket.h.
 *
 * What is sent waits in two buffers: `sending` is with libcurl and keeps its place until all of it went,
 * because TLS wants a write that could not be done repeated with the same bytes; `queue` takes what comes
 * meanwhile.
 */
#include "net/websocket.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/text.h"

enum { MESSAGE_MOST = 4 * 1024 * 1024, PIECE = 32 * 1024, SILENCE_MS = 60000, KEY_BYTES = 16 };

struct sw_websocket {
    struct sw_http_stream *stream;
    char *protocol;
    struct sw_ws_reader reader;
    sw_websocket_take *take;         /* during a read */
    void *take_context;
    struct sw_buf sending, queue;
    size_t sent;                     /* bytes of `sending` that went */
    bool over;
    struct sw_websocket_end end;

    int64_t pinged_ms;               /* when the last ping went */
    int64_t asked_ms;                /* since when pings are unanswered; 0: they are answered */
    uint32_t ping;                   /* number of the last ping */
    uint32_t busy_until;             /* a pong with this number: the other side has read all our data */
    bool busy;                       /* it may be reading still, and answers no ping meanwhile */
};

/* ---- the handshake ---------------------------------------------------------------------------- */

static void random_bytes(void *out, size_t length)
{
    size_t have = 0;

    while (have < length) {
        ssize_t n = getrandom((char *)out + have, length - have, 0);

        have += n > 0 ? (size_t)n : 0;
    }
}

static char *new_key(void)
{
    unsigned char bytes[KEY_BYTES];

    random_bytes(bytes, sizeof bytes);
    return sw_base64(bytes, sizeof bytes);
}

static char *answer_to(const char *key)
{
    static const char fixed[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    unsigned char out[SW_DIGEST_SIZE];
    struct sw_digest digest;
    size_t length;

    sw_digest_init(&digest, SW_SHA1);
    sw_digest_add(&digest, key, strlen(key));
    sw_digest_add(&digest, fixed, strlen(fixed));
    length = sw_digest_end(&digest, out);
    return sw_base64(out, length);
}

/* Is this one of "a, b"? */
static bool was_offered(const char *protocols, const char *chosen)
{
    size_t length = strlen(chosen);

    for (const char *one = protocols; one && *one; one += strcspn(one, ",")) {
        one += strspn(one, ", ");
        if (strncmp(one, chosen, length) == 0 && (!one[length] || strchr(", ", one[length])))
            return true;
    }
    return false;
}

/* The answer to our key shows that the server knows what was asked; a cache or a page does not. */
static const char *wrong_answer(const struct sw_http_reply *reply, const char *key, const char *protocols,
                                char **chosen)
{
    sw_autofree char *accept = sw_http_header(reply, "Sec-WebSocket-Accept");
    sw_autofree char *extensions = sw_http_header(reply, "Sec-WebSocket-Extensions");
    sw_autofree char *upgrade = sw_http_header(reply, "Upgrade");
    sw_autofree char *wanted = answer_to(key);

    *chosen = sw_http_header(reply, "Sec-WebSocket-Protocol");
    if (!accept || strcmp(accept, wanted) != 0 || !upgrade || strcasecmp(upgrade, "websocket") != 0)
        return "its answer to the WebSocket handshake is wrong";
    if (extensions && *extensions)
        return "it uses a WebSocket extension that was not asked for";
    if (*chosen ? !was_offered(protocols, *chosen) : protocols != NULL)
        return "it accepts none of the offered WebSocket protocols";
    return NULL;
}

static void copy_request(const struct sw_http_request *from, const char *key, const char *protocols,
                         struct sw_http_request *to)
{
    snprintf(to->method, sizeof to->method, "GET");
    to->url = sw_strdup(from->url);
    to->plain_said = from->plain_said;
    for (size_t i = 0; i < from->header_count; i++) {
        const char *line = from->headers[i], *value = strchr(line, ':');
        sw_autofree char *name = value ? sw_strndup(line, (size_t)(value - line)) : NULL;

        if (value)
            sw_http_request_header(to, name, value + 1 + strspn(value + 1, " "));
    }
    sw_http_request_header(to, "Sec-WebSocket-Key", key);
    sw_http_request_header(to, "Sec-WebSocket-Version", "13");
    if (protocols)
        sw_http_request_header(to, "Sec-WebSocket-Protocol", protocols);
}

static int take_message(void *context, enum sw_ws_kind kind, const char *bytes, size_t length);

struct sw_websocket *sw_websocket_open(struct sw_http *http, const struct sw_http_request *request,
                                       const char *protocols, struct sw_http_reply *reply)
{
    sw_auto(sw_http_request) struct sw_http_request own = SW_HTTP_REQUEST_INIT;
    sw_auto(sw_websocket) struct sw_websocket *ws = sw_new(struct sw_websocket);
    sw_autofree char *key = new_key();
    const char *wrong;

    copy_request(request, key, protocols, &own);
    ws->reader = (struct sw_ws_reader){ .take = take_message, .context = ws, .limit = MESSAGE_MOST };
    ws->pinged_ms = sw_monotonic_ms();
    ws->stream = sw_http_upgrade(http, &own, "websocket", reply);
    if (!ws->stream)
        return NULL;
    wrong = wrong_answer(reply, key, protocols, &ws->protocol);
    if (!wrong)
        return sw_take(ws);
    ws->over = true;
    reply->status = 0;
    reply->failure = SW_E_REFUSED;
    snprintf(reply->why, sizeof reply->why, "%s", wrong);
    return NULL;
}

const char *sw_websocket_protocol(const struct sw_websocket *ws)
{
    return ws->protocol ? ws->protocol : "";
}

int sw_websocket_fd(const struct sw_websocket *ws)
{
    return sw_http_stream_fd(ws->stream);
}

const struct sw_websocket_end *sw_websocket_end(const struct sw_websocket *ws)
{
    return &ws->end;
}

static void end_with(struct sw_websocket *ws, const char *why)
{
    if (!ws->over)
        snprintf(ws->end.why, sizeof ws->end.why, "%s", why);
    ws->over = true;
}

/* ---- sending ---------------------------------------------------------------------------------- */

size_t sw_websocket_unsent(const struct sw_websocket *ws)
{
    return ws->over ? 0 : ws->sending.length - ws->sent + ws->queue.length;
}

static void queue_frame(struct sw_websocket *ws, enum sw_ws_kind kind, const void *first,
                        size_t first_length, const void *bytes, size_t length)
{
    unsigned char mask[4];

    random_bytes(mask, sizeof mask);
    sw_ws_frame(&ws->queue, kind, mask, first, first_length, bytes, length);
}

static void flush(struct sw_websocket *ws)
{
    while (sw_websocket_unsent(ws) > 0) {
        ssize_t n;

        if (ws->sent == ws->sending.length) {
            struct sw_buf empty = ws->sending;

            sw_buf_clear(&empty);
            ws->sending = ws->queue;
            ws->queue = empty;
            ws->sent = 0;
        }
        n = sw_http_stream_write(ws->stream, ws->sending.data + ws->sent, ws->sending.length - ws->sent);
        if (n == SW_HTTP_LATER)
            return;
        if (n <= 0)
            end_with(ws, "the connection was cut");
        else
            ws->sent += (size_t)n;
    }
}

size_t sw_websocket_flush(struct sw_websocket *ws)
{
    flush(ws);
    return sw_websocket_unsent(ws);
}

int sw_websocket_send(struct sw_websocket *ws, const void *first, size_t first_length, const void *bytes,
                      size_t length)
{
    if (ws->over)
        return -1;
    queue_frame(ws, SW_WS_BINARY, first, first_length, bytes, length);
    ws->busy = true;
    ws->busy_until = ws->ping + 1;
    flush(ws);
    return 0;
}

static void send_close(struct sw_websocket *ws, enum sw_ws_code code)
{
    const unsigned char bytes[] = { (unsigned char)(code >> 8), (unsigned char)code };

    queue_frame(ws, SW_WS_CLOSE, bytes, sizeof bytes, NULL, 0);
    flush(ws);
}

void sw_websocket_close(struct sw_websocket *ws)
{
    if (!ws)
        return;
    if (ws->stream && !ws->over)
        send_close(ws, SW_WS_DONE);
    sw_http_stream_close(ws->stream);
    sw_ws_reader_done(&ws->reader);
    sw_buf_done(&ws->sending);
    sw_buf_done(&ws->queue);
    free(ws->protocol);
    free(ws);
}

/* ---- what comes ------------------------------------------------------------------------------- */

static void take_close(struct sw_websocket *ws, const char *bytes, size_t length)
{
    const unsigned char *code = (const unsigned char *)bytes;
    sw_autofree char *why = length > 2 ? sw_text_printable(bytes + 2, length - 2) : NULL;

    ws->end.closed = true;
    ws->end.code = length >= 2 ? (enum sw_ws_code)(code[0] << 8 | code[1]) : SW_WS_NOT_SAID;
    send_close(ws, length >= 2 ? ws->end.code : SW_WS_DONE);
    end_with(ws, why ? why : "");
}

static void take_pong(struct sw_websocket *ws, const char *bytes, size_t length)
{
    uint32_t number = 0;

    if (length != sizeof number)
        return;
    memcpy(&number, bytes, length);
    if (number == ws->ping && number >= ws->busy_until)
        ws->busy = false;
}

static int take_message(void *context, enum sw_ws_kind kind, const char *bytes, size_t length)
{
    struct sw_websocket *ws = context;

    if (ws->over)
        return 0;                    /* behind a close frame nothing counts */
    switch (kind) {
    case SW_WS_CLOSE:
        take_close(ws, bytes, length);
        return 0;
    case SW_WS_PING:
        queue_frame(ws, SW_WS_PONG, NULL, 0, bytes, length);
        flush(ws);
        return 0;
    case SW_WS_PONG:
        take_pong(ws, bytes, length);
        return 0;
    default:
        return ws->take(ws->take_context, bytes, length);
    }
}

/* ---- a connection that rests ------------------------------------------------------------------ */

static void ping(struct sw_websocket *ws)
{
    int64_t now_ms = sw_monotonic_ms();

    if (ws->asked_ms && !ws->busy && now_ms - ws->asked_ms > SILENCE_MS)
        end_with(ws, "no data from the server for a minute");
    if (ws->over || now_ms - ws->pinged_ms < SW_WEBSOCKET_WAKE_MS || sw_websocket_unsent(ws))
        return;
    ws->pinged_ms = now_ms;
    if (!ws->asked_ms)
        ws->asked_ms = now_ms;
    ws->ping++;
    queue_frame(ws, SW_WS_PING, &ws->ping, sizeof ws->ping, NULL, 0);
    flush(ws);
}

int sw_websocket_read(struct sw_websocket *ws, sw_websocket_take *take, void *context)
{
    char bytes[PIECE];
    ssize_t n = 0;

    ws->take = take;
    ws->take_context = context;
    flush(ws);
    while (!ws->over && (n = sw_http_stream_read(ws->stream, bytes, sizeof bytes)) > 0) {
        int fed = sw_ws_feed(&ws->reader, bytes, (size_t)n);

        ws->asked_ms = 0;
        if (fed > 0)
            return -1;
        if (fed < 0) {
            send_close(ws, ws->reader.code);
            end_with(ws, ws->reader.wrong);
        }
    }
    if (n != SW_HTTP_LATER)
        end_with(ws, "the connection was cut");
    ping(ws);
    return ws->over;
}
