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

enum {
    HEAD = 8,
    FRAME_MAX = 1024 * 1024,
    YEAR_MOST = 2200,                /* a later one has no nanoseconds in 64 bits */
};

static bool is_head(const unsigned char *head)
{
    return head[0] <= 2 && head[1] == 0 && head[2] == 0 && head[3] == 0;
}

static size_t frame_length(const unsigned char *head)
{
    return (size_t)head[4] << 24 | (size_t)head[5] << 16 | (size_t)head[6] << 8 | head[7];
}

static int digits(const char *text, int count)
{
    int value = 0;

    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

/* Days since 1970 of a day in the Gregorian calendar. */
static int64_t day_number(int year, int month, int day)
{
    int64_t y = year - (month <= 2), era = y / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* "Z" or "+02:00": how many bytes it takes; 0: neither. */
static size_t read_zone(const char *text, size_t length, int *east_s)
{
    int hours, minutes;

    *east_s = 0;
    if (length >= 1 && *text == 'Z')
        return 1;
    if (length < 6 || (*text != '+' && *text != '-') || text[3] != ':')
        return 0;
    hours = digits(text + 1, 2);
    minutes = digits(text + 4, 2);
    if (hours < 0 || minutes < 0)
        return 0;
    *east_s = (hours * 3600 + minutes * 60) * (*text == '-' ? -1 : 1);
    return 6;
}

/* "2026-11-15T07:47:08.123456789Z" (fraction of any length, or none): how many bytes it takes; 0: no
 * time stands here. */
static size_t read_time(const char *text, size_t length, int64_t *at_ns)
{
    int year, month, day, hour, minute, second;
    int64_t fraction = 0, unit = 1000000000;
    size_t at = 19, zone;
    int east_s;

    if (length < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
        text[16] != ':')
        return 0;
    year = digits(text, 4);
    month = digits(text + 5, 2);
    day = digits(text + 8, 2);
    hour = digits(text + 11, 2);
    minute = digits(text + 14, 2);
    second = digits(text + 17, 2);
    if (year < 1970 || year > YEAR_MOST || month < 1 || month > 12 || day < 1 || hour < 0 ||
        minute < 0 || second < 0)
        return 0;
    if (text[at] == '.')
        for (at++; at < length && text[at] >= '0' && text[at] <= '9'; at++)
            if (unit > 1)
                fraction += (text[at] - '0') * (unit /= 10);
    zone = read_zone(text + at, length - at, &east_s);
    if (!zone)
        return 0;
    *at_ns = (day_number(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - east_s) *
             1000000000 + fraction;
    return *at_ns < 0 ? 0 : at + zone;
}

int64_t docker_time_ms(const char *text)
{
    int64_t at_ns = 0;

    return text && read_time(text, strlen(text), &at_ns) ? at_ns / 1000000 : 0;
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
    size_t stamp = frames->stamped ? read_time(message.bytes, message.length, &message.at_ns) : 0;

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
