/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_frames.c - the engine's log stream, cut into messages with their times.
 *
 * Without a terminal the engine sends frames: one byte stream (1 output, 2 errors), three zeros, the
 * length as four bytes, and so many bytes. Each frame is one message: a line, or 16 KiB of a long
 * one. With timestamps=1 each begins with its time. Pieces may be cut anywhere. Pure.
 */
#include "platform/docker/docker_job.h"

#include <stdio.h>
#include <string.h>

#include "core/report.h"
#include "platform/kit/log_lines.h"

enum {
    HEAD = 8,
    FRAME_MAX = 1024 * 1024,
};

static bool is_head(const unsigned char *head)
{
    return head[0] <= 2 && head[1] == 0 && head[2] == 0 && head[3] == 0;
}

static size_t frame_length(const unsigned char *head)
{
    return (size_t)head[4] << 24 | (size_t)head[5] << 16 | (size_t)head[6] << 8 | head[7];
}

int64_t docker_time_ms(const char *text)
{
    int64_t at_ns = 0;

    return text && sw_log_stamp(text, strlen(text), &at_ns) ? at_ns / 1000000 : 0;
}

bool docker_is_report(const struct docker_message *message, const char *id)
{
    char start[128];
    int length = snprintf(start, sizeof start, SW_REPORT_START "{\"version\":1,\"job_id\":\"%s\"",
                          id);

    return message->stream == 2 && message->length > (size_t)length &&
           memcmp(message->bytes, start, (size_t)length) == 0;
}

static int hand_over(struct docker_frames *frames, const char *frame, size_t length)
{
    struct docker_message message = { .stream = frame[0], .bytes = frame + HEAD,
                                      .length = length - HEAD };
    size_t stamp = frames->stamped ? sw_log_stamp(message.bytes, message.length, &message.at_ns) : 0;

    if (stamp && stamp < message.length && message.bytes[stamp] == ' ') {
        message.bytes += stamp + 1;
        message.length -= stamp + 1;
    } else {
        message.at_ns = 0;
    }
    return frames->take(frames->context, &message) ? 1 : 0;
}

/* One whole frame at `bytes`: its length in *used, 0 when it is not whole. */
static int one_frame(struct docker_frames *frames, const char *bytes, size_t length, size_t *used)
{
    const unsigned char *head = (const unsigned char *)bytes;

    *used = 0;
    if (length < HEAD)
        return 0;
    if (!is_head(head) || frame_length(head) > FRAME_MAX)
        return -1;
    if (length < HEAD + frame_length(head))
        return 0;
    *used = HEAD + frame_length(head);
    return hand_over(frames, bytes, *used);
}

static int all_frames(struct docker_frames *frames, const char *bytes, size_t length, size_t *used)
{
    *used = 0;
    for (;;) {
        size_t one;
        int result = one_frame(frames, bytes + *used, length - *used, &one);

        *used += one;
        if (result || one == 0)
            return result;
    }
}

int docker_frames_feed(struct docker_frames *frames, const char *bytes, size_t length)
{
    struct sw_buf *held = &frames->held;
    size_t used;
    int result;

    if (held->length == 0) {               /* the usual case: nothing is copied */
        result = all_frames(frames, bytes, length, &used);
        if (result == 0)
            sw_buf_add_bytes(held, bytes + used, length - used);
        return result;
    }
    sw_buf_add_bytes(held, bytes, length);
    result = all_frames(frames, held->data, held->length, &used);
    memmove(held->data, held->data + used, held->length - used);
    held->length -= used;
    return result;
}

void docker_frames_done(struct docker_frames *frames)
{
    sw_buf_done(&frames->held);
}
