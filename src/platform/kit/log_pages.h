/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_pages.h - a log that a service keeps by time and hands out in pages, for log_fetch().
 *
 * A page has the form of Loki, {"data":{"result":[{"values":[["NANOSECONDS","line"]]}]}}: several streams,
 * each in order. Of a page that is full the last stamp begins the next one, whose lines of that stamp were
 * seen in part; a page that holds a single stamp is followed by the next nanosecond, and the log says that
 * lines of that moment may be missing.
 */
#ifndef SW_PLATFORM_KIT_LOG_PAGES_H
#define SW_PLATFORM_KIT_LOG_PAGES_H

#include "platform/kit/rest.h"
#include "platform/platform.h"

struct sw_log_line {
    int64_t at_ns, order;
    const char *text;                /* borrowed from the page; may hold NULs */
    size_t length;
};

/* A call whose answer is such a page, owned; NULL + err. Lines may hold any byte, NUL too. */
json_t *sw_log_page_get(struct sw_rest *rest, const struct sw_rest_call *call, struct sw_error *err);

/* All streams of a page by time, oldest first, owned; entries that are no lines are left out. Pure. */
struct sw_log_line *sw_log_page_lines(const json_t *page, size_t *count);
/* Where the page behind this one begins; 0: it was the last. *lost: lines of that moment may be missing; 0:
 * none. Pure. */
int64_t sw_log_page_next(const struct sw_log_line *lines, size_t count, size_t full, int64_t *lost);
/* The last report (core/report.h) of each rank of this job in a page: {"0": line}, owned. Pure. */
json_t *sw_log_page_reports(const json_t *page, const char *job_id);

struct sw_log_pages {
    /* One page of [from_ns, end_ns), owned; NULL + err. */
    json_t *(*ask)(void *context, int64_t from_ns, int64_t end_ns, bool backward, int limit,
                   struct sw_error *err);
    void *context;
    int full;                        /* lines of a full page; more than that may come */
    int64_t from_ns, end_ns;
};
/* All lines, or the last so many (at most a page), to the sink; results as log_fetch(). */
int sw_log_pages_read(const struct sw_log_pages *pages, int last, const struct sw_log_sink *sink,
                      struct sw_error *err);

#endif
