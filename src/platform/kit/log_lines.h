/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_lines.h - a log that an API gives as text with the time in front of each line, for log_fetch():
 *
 *     2026-11-15T07:47:08.123456789Z epoch 3, loss 0.4
 */
#ifndef SW_PLATFORM_KIT_LOG_LINES_H
#define SW_PLATFORM_KIT_LOG_LINES_H

#include "net/http.h"
#include "platform/platform.h"

enum { SW_LOG_LINE_MAX = 16 * 1024 * 1024 };

struct sw_log_lines {
    const struct sw_log_sink *sink;
    struct sw_buf held;              /* the beginning of a line */
    bool clock_told;
    bool begins;                     /* the line that is handed over is SW_REPORT_BEGIN */
};

/* A sink of a request: the context is the struct sw_log_lines. Lines may be cut anywhere. */
int sw_log_lines_sink(void *lines, const struct sw_http_reply *so_far, const char *bytes, size_t length);
/* The answer was complete: hands over a last line that has no end. Non-zero: the sink stopped. */
int sw_log_lines_end(struct sw_log_lines *lines);
void sw_log_lines_done(struct sw_log_lines *lines);

/* "2026-11-15T07:47:08.123456789Z" (fraction of any length, or none, "+02:00" for "Z"): how many bytes it
 * takes; 0: there is no time here. Pure. */
size_t sw_log_stamp(const char *text, size_t length, int64_t *at_ns);
/* Where the runner's report begins, which is not the user's; `length`: it is not in this line. A command that
 * ends without a newline has it behind its last word. Pure. */
size_t sw_log_before_report(const char *line, size_t length);

#endif
