/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_spdy.h - the part of SPDY/3.1 that a port-forward needs: two streams that the client opens, their
 * data, and their ends. Pure.
 *
 * Headers are written uncompressed inside their zlib stream, and those of the server are skipped: it sends
 * none that matters. So there is neither zlib nor SPDY's dictionary here.
 */
#ifndef SW_PLATFORM_KUBE_SPDY_H
#define SW_PLATFORM_KUBE_SPDY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/buf.h"

enum { KUBE_SPDY_HEAD = 8 };

enum kube_spdy_kind {
    KUBE_SPDY_DATA,                  /* bytes of a stream, maybe a piece of a frame */
    KUBE_SPDY_END,                   /* the server sends no more on it */
    KUBE_SPDY_RESET,                 /* the server dropped it */
    KUBE_SPDY_PING,                  /* to be sent back: `bytes` is the whole frame */
    KUBE_SPDY_AWAY,                  /* the server leaves */
};

struct kube_spdy_event {
    enum kube_spdy_kind kind;
    uint32_t stream;
    const char *bytes;
    size_t length;
};
typedef int kube_spdy_take(void *context, const struct kube_spdy_event *event);      /* non-zero stops */

struct kube_spdy {
    kube_spdy_take *take;
    void *context;
    unsigned char head[KUBE_SPDY_HEAD];
    size_t have;                     /* bytes of `head` */
    uint32_t left;                   /* bytes of this frame to come */
    struct sw_buf control;           /* a control frame's body */
};

/* 0; 1: take() stopped; -1: this is no SPDY. */
int kube_spdy_feed(struct kube_spdy *spdy, const char *bytes, size_t length);
void kube_spdy_done(struct kube_spdy *spdy);

struct kube_spdy_header {
    const char *name, *value;        /* the name in lower case */
};
/* Append a frame that opens a stream; odd numbers, growing. The first one of a connection begins its zlib
 * stream. */
void kube_spdy_open(struct sw_buf *out, uint32_t stream, bool first, const struct kube_spdy_header *headers,
                    size_t count);
/* The head of a frame with `length` bytes of data (less than 16 MiB) behind it. */
void kube_spdy_data(unsigned char head[KUBE_SPDY_HEAD], uint32_t stream, size_t length, bool last);

#endif
