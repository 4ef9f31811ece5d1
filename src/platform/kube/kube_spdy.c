/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_spdy.c - see kube_spdy.h.
 *
 * A frame begins with eight bytes. Control: a bit, 15 bits of version, 16 of type, 8 of flags, 24 of length.
 * Data: a zero bit, 31 bits of stream, flags, length.
 */
#include "platform/kube/kube_spdy.h"

#include <assert.h>
#include <string.h>

enum {
    CONTROL = 0x80, VERSION = 3, FLAG_LAST = 1,
    OPEN = 1, REPLY = 2, RESET = 3, PING = 6, AWAY = 7,
    CONTROL_MOST = 64 * 1024, STORED_MOST = 0xffff,
};

static uint32_t number(const unsigned char *bytes, size_t length)
{
    uint32_t n = 0;

    while (length-- > 0)
        n = n << 8 | *bytes++;
    return n;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static bool is_control(const struct kube_spdy *spdy)
{
    return spdy->head[0] & CONTROL;
}

static int tell(const struct kube_spdy *spdy, enum kube_spdy_kind kind, uint32_t stream, const char *bytes,
                size_t length)
{
    return spdy->take(spdy->context, &(struct kube_spdy_event){ kind, stream, bytes, length });
}

static int end_control(struct kube_spdy *spdy)
{
    const unsigned char *body = (const unsigned char *)spdy->control.data;
    uint32_t type = number(spdy->head + 2, 2), first = spdy->control.length >= 4 ? number(body, 4) : 0;
    char frame[KUBE_SPDY_HEAD + 4];

    switch (type) {
    case REPLY:
        return spdy->head[4] & FLAG_LAST ? tell(spdy, KUBE_SPDY_END, first, "", 0) : 0;
    case RESET:
        return tell(spdy, KUBE_SPDY_RESET, first, "", 0);
    case PING:
        if (spdy->control.length != 4)
            return 0;
        memcpy(frame, spdy->head, KUBE_SPDY_HEAD);
        memcpy(frame + KUBE_SPDY_HEAD, body, 4);
        return tell(spdy, KUBE_SPDY_PING, 0, frame, sizeof frame);
    case AWAY:
        return tell(spdy, KUBE_SPDY_AWAY, 0, "", 0);
    default:
        return 0;                    /* settings, window sizes: nothing here depends on them */
    }
}

static int end_frame(struct kube_spdy *spdy)
{
    int stop = 0;

    if (is_control(spdy))
        stop = end_control(spdy);
    else if (spdy->head[4] & FLAG_LAST)
        stop = tell(spdy, KUBE_SPDY_END, number(spdy->head, 4), "", 0);
    sw_buf_clear(&spdy->control);
    spdy->have = 0;
    return stop;
}

/* false: this is no SPDY. */
static bool begin_frame(struct kube_spdy *spdy)
{
    spdy->left = number(spdy->head + 5, 3);
    return !is_control(spdy) ||
           ((number(spdy->head, 2) & 0x7fff) == VERSION && spdy->left <= CONTROL_MOST);
}

static int take_body(struct kube_spdy *spdy, const char *bytes, size_t length)
{
    spdy->left -= (uint32_t)length;
    if (!is_control(spdy))
        return tell(spdy, KUBE_SPDY_DATA, number(spdy->head, 4), bytes, length);
    sw_buf_add_bytes(&spdy->control, bytes, length);
    return 0;
}

int kube_spdy_feed(struct kube_spdy *spdy, const char *bytes, size_t length)
{
    while (length > 0) {
        bool in_head = spdy->have < KUBE_SPDY_HEAD;
        size_t n = in_head ? 1 : length < spdy->left ? length : spdy->left;

        if (in_head)
            spdy->head[spdy->have++] = (unsigned char)*bytes;
        else if (take_body(spdy, bytes, n))
            return 1;
        if (in_head && spdy->have == KUBE_SPDY_HEAD && !begin_frame(spdy))
            return -1;
        bytes += n;
        length -= n;
        if (spdy->have == KUBE_SPDY_HEAD && spdy->left == 0 && end_frame(spdy))
            return 1;
    }
    return 0;
}

void kube_spdy_done(struct kube_spdy *spdy)
{
    sw_buf_done(&spdy->control);
}

/* ---- writing ---------------------------------------------------------------------------------- */

static void add_number(struct sw_buf *out, uint32_t n, int bytes)
{
    while (bytes-- > 0)
        sw_buf_add_char(out, (char)(n >> 8 * bytes));
}

static void add_text(struct sw_buf *out, const char *text)
{
    add_number(out, (uint32_t)strlen(text), 4);
    sw_buf_add(out, text);
}

/* A stored block of deflate: a zero byte, the length and its complement with the low byte first, the bytes.
 * Behind it an empty one, as zlib ends what must be seen at once: Go's reader waits for more without it. */
static void add_stored(struct sw_buf *out, const struct sw_buf *bytes)
{
    unsigned length = (unsigned)bytes->length, inverse = ~length;
    const unsigned char head[] = { 0, (unsigned char)length, (unsigned char)(length >> 8),
                                   (unsigned char)inverse, (unsigned char)(inverse >> 8) };
    static const unsigned char empty[] = { 0, 0, 0, 0xff, 0xff };

    assert(bytes->length <= STORED_MOST);
    sw_buf_add_bytes(out, head, sizeof head);
    sw_buf_add_bytes(out, bytes->data, bytes->length);
    sw_buf_add_bytes(out, empty, sizeof empty);
}

void kube_spdy_open(struct sw_buf *out, uint32_t stream, bool first, const struct kube_spdy_header *headers,
                    size_t count)
{
    sw_auto(sw_buf) struct sw_buf block = SW_BUF_INIT, packed = SW_BUF_INIT;

    add_number(&block, (uint32_t)count, 4);
    for (size_t i = 0; i < count; i++) {
        add_text(&block, headers[i].name);
        add_text(&block, headers[i].value);
    }
    if (first)
        sw_buf_add_bytes(&packed, "\x78\x01", 2);        /* zlib, no dictionary */
    add_stored(&packed, &block);
    add_number(out, CONTROL << 8 | VERSION, 2);
    add_number(out, OPEN, 2);
    add_number(out, (uint32_t)(10 + packed.length), 4);  /* no flags */
    add_number(out, stream, 4);
    add_number(out, 0, 4);                               /* belongs to no other stream */
    add_number(out, 0, 2);                               /* priority, slot */
    sw_buf_add_bytes(out, packed.data, packed.length);
}

void kube_spdy_data(unsigned char head[KUBE_SPDY_HEAD], uint32_t stream, size_t length, bool last)
{
    assert(length < 1u << 24);
    for (int i = 0; i < 4; i++)
        head[i] = (unsigned char)(stream >> (24 - 8 * i));
    head[4] = last ? FLAG_LAST : 0;
    for (int i = 0; i < 3; i++)
        head[5 + i] = (unsigned char)(length >> (16 - 8 * i));
}
