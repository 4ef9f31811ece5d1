/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_lines.c - a log as lines with their times in front; see log_lines.h. Pure, except for the sink.
 */
#include "platform/kit/log_lines.h"

#include <string.h>

#include "core/report.h"

enum { YEAR_MOST = 2200 };           /* a later one has no nanoseconds in 64 bits */

/* ---- times ------------------------------------------------------------------------------------ */

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

size_t sw_log_stamp(const char *text, size_t length, int64_t *at_ns)
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

/* ---- lines ------------------------------------------------------------------------------------ */

size_t sw_log_before_report(const char *line, size_t length)
{
    const char *report = memmem(line, length, SW_REPORT_START "{\"", strlen(SW_REPORT_START "{\""));

    return report ? (size_t)(report - line) : length;
}

static int give_line(struct sw_log_lines *lines, const char *line, size_t length)
{
    struct sw_log_message message = { .bytes = line, .length = length };
    size_t stamp = sw_log_stamp(line, length, &message.at_ns);

    if (stamp && stamp < length && line[stamp] == ' ') {
        message.bytes += stamp + 1;
        message.length -= stamp + 1;
    } else {
        message.at_ns = 0;
    }
    lines->begins = message.length >= strlen(SW_REPORT_BEGIN) &&
                    memcmp(message.bytes, SW_REPORT_BEGIN, strlen(SW_REPORT_BEGIN)) == 0;
    message.length = sw_log_before_report(message.bytes, message.length);
    return lines->sink->take(lines->sink->context, &message);
}

int sw_log_lines_sink(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    struct sw_log_lines *lines = context;

    if (!lines->clock_told && so_far && so_far->date_ms && lines->sink->clock &&
        lines->sink->clock(lines->sink->context, so_far->date_ms))
        return -1;
    lines->clock_told = true;
    while (length) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end ? (size_t)(end + 1 - bytes) : length;
        bool joins = lines->held.length || !end;
        int stop = 0;

        if (joins)
            sw_buf_add_bytes(&lines->held, bytes, part);
        if (end)
            stop = joins ? sw_log_lines_end(lines) : give_line(lines, bytes, part);
        if (stop || lines->held.length > SW_LOG_LINE_MAX)
            return -1;
        bytes += part;
        length -= part;
    }
    return 0;
}

int sw_log_lines_end(struct sw_log_lines *lines)
{
    int stop = lines->held.length ? give_line(lines, lines->held.data, lines->held.length) : 0;

    sw_buf_clear(&lines->held);
    return stop;
}

void sw_log_lines_done(struct sw_log_lines *lines)
{
    sw_buf_done(&lines->held);
}
