/* SPDX-License-Identifier: Apache-2.0 */
/*
 * websocket_frames.c - see websocket_frames.h.
 *
 * A frame: one byte with FIN and the kind, one with the length (126: in the next two bytes, 127: in the next
 * eight), and the payload. A client masks what it sends; a server does not. A message may be cut into frames,
 * with pings between them. Bytes may be cut anywhere. A length is compared with the limit before anything is
 * stored.
 */
#include "net/websocket_frames.h"

#include <assert.h>
#include <string.h>

enum { FIN = 0x80, RESERVED = 0x70, KIND = 0x0f, MASKED = 0x80, LENGTH = 0x7f, SHORT = 125, TWO = 126,
       EIGHT = 127, CONTROL = 0x08 };

/* ---- reading ---------------------------------------------------------------------------------- */

static void give_up(struct sw_ws_reader *reader, enum sw_ws_code code, const char *wrong)
{
    reader->code = code;
    reader->wrong = wrong;
}

static size_t head_size(const struct sw_ws_reader *reader)
{
    unsigned length = reader->head[1] & LENGTH;

    return reader->have < 2 || length < TWO ? 2 : length == TWO ? 4 : 10;
}

static uint64_t payload_length(const struct sw_ws_reader *reader)
{
    size_t size = head_size(reader);
    uint64_t length = 0;

    if (size == 2)
        return reader->head[1] & LENGTH;
    for (size_t i = 2; i < size; i++)
        length = length << 8 | reader->head[i];
    return length;
}

static bool is_shortest(uint64_t length, size_t size)
{
    return size == 2 || (size == 4 && length > SHORT) || (size == 10 && length > 0xffff);
}

/* What breaks a rule in this head; NULL: nothing. */
static const char *broken_rule(const struct sw_ws_reader *reader, uint64_t length)
{
    enum sw_ws_kind kind = reader->head[0] & KIND;
    bool known = kind <= SW_WS_BINARY || (kind >= SW_WS_CLOSE && kind <= SW_WS_PONG);

    if (reader->head[0] & RESERVED)
        return "a frame uses an extension that was not agreed on";
    if (!known)
        return "a frame is of an unknown kind";
    if (reader->head[1] & MASKED)
        return "a frame of the server is masked";
    if (!is_shortest(length, head_size(reader)) || length >> 63)
        return "a frame's length is written wrongly";
    if (kind & CONTROL)
        return length > SHORT || !(reader->head[0] & FIN) ? "a control frame is too long" : NULL;
    if ((kind == SW_WS_MORE) != (reader->message_kind != SW_WS_MORE))
        return "the pieces of a message are in the wrong order";
    return NULL;
}

static void begin_payload(struct sw_ws_reader *reader)
{
    uint64_t length = payload_length(reader);
    const char *wrong = broken_rule(reader, length);
    enum sw_ws_kind kind = reader->head[0] & KIND;

    if (wrong) {
        give_up(reader, SW_WS_BROKEN, wrong);
        return;
    }
    if (!(kind & CONTROL) && (length > reader->limit || reader->message.length > reader->limit - length)) {
        give_up(reader, SW_WS_TOO_LARGE, "a message is too large");
        return;
    }
    if (kind == SW_WS_TEXT || kind == SW_WS_BINARY)
        reader->message_kind = kind;
    reader->left = length;
    reader->in_payload = true;
}

static size_t take_head(struct sw_ws_reader *reader, unsigned char byte)
{
    reader->head[reader->have++] = byte;
    if (reader->have >= 2 && reader->have == head_size(reader))
        begin_payload(reader);
    return 1;
}

static size_t take_payload(struct sw_ws_reader *reader, const char *bytes, size_t length)
{
    struct sw_buf *into = reader->head[0] & CONTROL ? &reader->control : &reader->message;
    size_t n = length < reader->left ? length : (size_t)reader->left;

    sw_buf_add_bytes(into, bytes, n);
    reader->left -= n;
    return n;
}

/* 1: take() stopped. */
static int end_frame(struct sw_ws_reader *reader)
{
    enum sw_ws_kind kind = reader->head[0] & KIND;
    struct sw_buf *from = kind & CONTROL ? &reader->control : &reader->message;
    int stop = 0;

    reader->have = 0;
    reader->in_payload = false;
    if (!(reader->head[0] & FIN))
        return 0;
    if (!(kind & CONTROL)) {
        kind = reader->message_kind;
        reader->message_kind = SW_WS_MORE;
    }
    stop = reader->take(reader->context, kind, sw_buf_text(from), from->length);
    sw_buf_clear(from);
    return stop ? 1 : 0;
}

int sw_ws_feed(struct sw_ws_reader *reader, const char *bytes, size_t length)
{
    while (length > 0 && !reader->wrong) {
        size_t used = reader->in_payload ? take_payload(reader, bytes, length)
                                         : take_head(reader, (unsigned char)*bytes);

        bytes += used;
        length -= used;
        if (!reader->wrong && reader->in_payload && reader->left == 0 && end_frame(reader))
            return 1;
    }
    return reader->wrong ? -1 : 0;
}

void sw_ws_reader_done(struct sw_ws_reader *reader)
{
    sw_buf_done(&reader->message);
    sw_buf_done(&reader->control);
}

/* ---- writing ---------------------------------------------------------------------------------- */

static void add_length(struct sw_buf *out, uint64_t length)
{
    int bytes = length <= SHORT ? 0 : length <= 0xffff ? 2 : 8;

    sw_buf_add_char(out, (char)(MASKED | (bytes == 0 ? (int)length : bytes == 2 ? TWO : EIGHT)));
    while (bytes-- > 0)
        sw_buf_add_char(out, (char)(length >> 8 * bytes));
}

void sw_ws_frame(struct sw_buf *out, enum sw_ws_kind kind, const unsigned char mask[4], const void *first,
                 size_t first_length, const void *bytes, size_t length)
{
    size_t begin;

    assert(kind != SW_WS_MORE && (!(kind & CONTROL) || first_length + length <= SHORT));
    sw_buf_add_char(out, (char)(FIN | kind));
    add_length(out, (uint64_t)first_length + length);
    sw_buf_add_bytes(out, mask, 4);
    begin = out->length;
    sw_buf_add_bytes(out, first, first_length);
    sw_buf_add_bytes(out, bytes, length);
    for (size_t i = begin; i < out->length; i++)
        out->data[i] = (char)(out->data[i] ^ mask[(i - begin) % 4]);
}
