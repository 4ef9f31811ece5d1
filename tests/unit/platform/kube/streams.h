/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.h - what the tests of streams to a pod share: a client whose server follows a scenario, and a pump
 * that passes bytes through a stream until it ends.
 */
#ifndef SW_TESTS_KUBE_STREAMS_H
#define SW_TESTS_KUBE_STREAMS_H

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/text.h"
#include "harness/peer.h"
#include "platform/kube/kube_streams.h"

enum { PATIENCE_MS = 60000 };

struct pumped {
    struct sw_buf out[3];            /* by number: 1 output, 2 errors */
};

static inline int gather(void *context, int which, const char *bytes, size_t length)
{
    struct pumped *pumped = context;

    sw_buf_add_bytes(&pumped->out[which], bytes, length);
    return 0;
}

static inline void pumped_done(struct pumped *pumped)
{
    sw_buf_done(&pumped->out[1]);
    sw_buf_done(&pumped->out[2]);
}

/* Pass `input` on, then its end (NULL: neither), until the stream ends; as api/exec_pump.c does. */
static inline void pump(struct sw_stream *stream, const char *input, size_t length, struct pumped *pumped)
{
    int64_t until_ms = sw_monotonic_ms() + PATIENCE_MS;
    size_t sent = 0;
    bool finished = !input;

    while (stream->ops->read(stream, gather, pumped) == 0) {
        struct pollfd one = { .fd = stream->fd, .events = POLLIN };

        while (input && sent < length) {
            ssize_t n = stream->ops->write(stream, input + sent, length - sent);

            if (n == 0)
                break;
            sent = n < 0 ? length : sent + (size_t)n;
        }
        if (!finished && sent == length) {
            stream->ops->finish(stream);
            finished = true;
        }
        if (sent < length || stream->unsent)
            one.events |= POLLOUT;
        if (sw_monotonic_ms() > until_ms)
            fail_msg("the stream does not end; so far: %s", sw_buf_text(&pumped->out[1]));
        poll(&one, 1, stream->wake_ms);
    }
}

static inline struct sw_rest *rest_of(struct peer *peer)
{
    struct sw_rest_options options = { .base_url = "http://localhost", .name = "the cluster",
                                       .http = { .serve = peer_serve, .serve_context = peer } };
    struct sw_rest *rest = sw_rest_open(&options, NULL);

    assert_non_null(rest);
    return rest;
}

#endif
