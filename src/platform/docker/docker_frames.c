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

int docker_frames_feed(struct docker_frames *frames, const char *bytes, size_t length)
{
    struct sw_buf *held = &frames->held;
    bool whole = held->length == 0;        /* the usual case: nothing is copied */
    size_t used = 0;
    int result = 0;

    if (!whole) {
        sw_buf_add_bytes(held, bytes, length);
        bytes = held->data;
        length = held->length;
    }
    while (result == 0 && length - used >= HEAD) {
        const unsigned char *head = (const unsigned char *)bytes + used;
        size_t size = (size_t)head[4] << 24 | (size_t)head[5] << 16 | (size_t)head[6] << 8 | head[7];

        if (head[0] > 2 || head[1] || head[2] || head[3] || size > FRAME_MAX)
            return -1;
        if (length - used < HEAD + size)
            break;
        result = hand_over(frames, bytes + used, HEAD + size);
        used += HEAD + size;
    }
    if (!whole) {
        memmove(held->data, held->data + used, length - used);
        held->length = length - used;
    } else if (result == 0) {
        sw_buf_add_bytes(held, bytes + used, length - used);
    }
    return result;
}

void docker_frames_done(struct docker_frames *frames)
{
    sw_buf_done(&frames->held);
}
