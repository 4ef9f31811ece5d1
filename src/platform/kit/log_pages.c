/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_pages.c - see log_pages.h.
 */
#include "platform/kit/log_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "platform/kit/log_lines.h"
#include "platform/kit/spool.h"

enum { PAGES_MAX = 100000, PAGE_MAX = 256 * 1024 * 1024 };

/* ---- the answer --------------------------------------------------------------------------------- */

static int take_bytes(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    struct sw_buf *body = context;

    (void)so_far;
    if (body->length + length > PAGE_MAX)
        return -1;
    sw_buf_add_bytes(body, bytes, length);
    return 0;
}

json_t *sw_log_page_get(struct sw_rest *rest, const struct sw_rest_call *call, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf body = SW_BUF_INIT;
    struct sw_rest_call one = *call;
    json_t *page;

    one.sink = take_bytes;
    one.sink_context = &body;
    if (sw_rest_call(rest, &one, NULL, err) < 0)
        return NULL;
    page = json_loadb(sw_buf_text(&body), body.length, JSON_ALLOW_NUL, NULL);
    if (!page)
        sw_fail(err, SW_E_UNREACHABLE, "a page of the log is not JSON");
    return page;
}

/* ---- one page ------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct sw_log_line *one = a, *other = b;

    if (one->at_ns != other->at_ns)
        return one->at_ns < other->at_ns ? -1 : 1;
    return one->order < other->order ? -1 : one->order > other->order;
}

static bool read_entry(const json_t *entry, struct sw_log_line *out)
{
    const char *at = json_string_value(json_array_get(entry, 0));
    char *end = NULL;

    out->at_ns = at ? strtoll(at, &end, 10) : json_integer_value(json_array_get(entry, 0));
    out->text = json_string_value(json_array_get(entry, 1));
    out->length = json_string_length(json_array_get(entry, 1));
    return out->text && out->at_ns > 0 && out->at_ns < INT64_MAX && (!at || *end == '\0');
}

/* Newest first or oldest first: the entries of one moment keep their order. */
static size_t read_stream(const json_t *values, int64_t number, struct sw_log_line *lines)
{
    size_t size = json_array_size(values), used = 0, i;
    struct sw_log_line first, last;
    bool backward = size > 1 && read_entry(json_array_get(values, 0), &first) &&
                    read_entry(json_array_get(values, size - 1), &last) && first.at_ns > last.at_ns;
    json_t *entry;

    json_array_foreach(values, i, entry)
        if (read_entry(entry, &lines[used]))
            lines[used++].order = (number << 32) + (int64_t)(backward ? size - i : i);
    return used;
}

struct sw_log_line *sw_log_page_lines(const json_t *page, size_t *count)
{
    const json_t *streams = json_object_get(json_object_get(page, "data"), "result");
    struct sw_log_line *lines;
    size_t total = 0, i;
    json_t *stream;

    json_array_foreach(streams, i, stream)
        total += json_array_size(json_object_get(stream, "values"));
    lines = sw_alloc((total + 1) * sizeof *lines);
    *count = 0;
    json_array_foreach(streams, i, stream)
        *count += read_stream(json_object_get(stream, "values"), (int64_t)i, lines + *count);
    qsort(lines, *count, sizeof *lines, by_time);
    return lines;
}

int64_t sw_log_page_next(const struct sw_log_line *lines, size_t count, size_t full, int64_t *lost)
{
    *lost = 0;
    if (count < full)
        return 0;
    if (lines[0].at_ns != lines[full - 1].at_ns)
        return lines[full - 1].at_ns;
    *lost = lines[0].at_ns;
    return lines[0].at_ns + 1;
}

json_t *sw_log_page_reports(const json_t *page, const char *job_id)
{
    size_t count = 0;
    sw_autofree struct sw_log_line *lines = sw_log_page_lines(page, &count);
    json_t *reports = json_object();

    for (size_t i = 0; i < count; i++) {
        const char *start = strstr(lines[i].text, SW_REPORT_START "{\"");
        sw_autofree char *line = start ? sw_format("%s\n", start) : NULL;
        sw_auto(json) json_t *report = line ? sw_report_in_log(line, strlen(line), job_id, -1) : NULL;
        char rank[24];

        snprintf(rank, sizeof rank, "%lld", (long long)sw_json_int(report, "rank", 0));
        if (report)
            json_object_set_new(reports, rank, sw_json_text(line));
    }
    return reports;
}

/* ---- all pages ------------------------------------------------------------------------------ */

static int give(const struct sw_log_sink *sink, const struct sw_log_line *line, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    struct sw_log_message message = { .at_ns = line->at_ns };

    sw_buf_add_bytes(&text, line->text, line->length);
    sw_buf_add_char(&text, '\n');
    message.bytes = text.data;
    message.length = sw_log_before_report(text.data, text.length);
    return sink->take(sink->context, &message)
               ? sw_fail(err, SW_E_INTERRUPTED, "the reader closed the log") : 0;
}

/* A line of the moment that two pages share counts as often as it is there. */
static int64_t given_more(json_t *given, const struct sw_log_line *line, int more)
{
    char key[24];
    int64_t times;

    snprintf(key, sizeof key, "%llx", (unsigned long long)sw_spool_hash(line->text, line->length));
    times = sw_json_int(given, key, 0);
    if (times + more >= 0)
        json_object_set_new(given, key, json_integer(times + more));
    return times;
}

static void note_given(json_t *given, const struct sw_log_line *lines, size_t count, int64_t at_ns)
{
    json_object_clear(given);
    for (size_t i = count; i > 0 && lines[i - 1].at_ns == at_ns; i--)
        given_more(given, &lines[i - 1], 1);
}

static int give_page(const struct sw_log_line *lines, size_t count, int64_t shared_ns, json_t *given,
                     const struct sw_log_sink *sink, struct sw_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!(lines[i].at_ns == shared_ns && given_more(given, &lines[i], -1) > 0) &&
            give(sink, &lines[i], err) < 0)
            return -1;
    return 0;
}

static int read_forward(const struct sw_log_pages *pages, const struct sw_log_sink *sink,
                        struct sw_error *err)
{
    static const char missing[] = SW_RUNNER_SAYS "the platform returns only part of the lines of this "
                                                 "moment; some may be missing here";
    sw_auto(json) json_t *given = json_object();
    int64_t from_ns = pages->from_ns, lost;

    for (int i = 0; i < PAGES_MAX && from_ns && from_ns < pages->end_ns; i++) {
        sw_auto(json) json_t *page = pages->ask(pages->context, from_ns, pages->end_ns, false,
                                                pages->full, err);
        size_t count = 0, full = (size_t)pages->full;
        sw_autofree struct sw_log_line *lines = page ? sw_log_page_lines(page, &count) : NULL;
        size_t used = count < full ? count : full;

        if (!page || give_page(lines, used, i > 0 ? from_ns : 0, given, sink, err) < 0)
            return -1;
        from_ns = sw_log_page_next(lines, count, full, &lost);
        if (lost && give(sink, &(struct sw_log_line){ lost, 0, missing, sizeof missing - 1 }, err) < 0)
            return -1;
        note_given(given, lines, used, from_ns);
    }
    return 0;
}

int sw_log_pages_read(const struct sw_log_pages *pages, int last, const struct sw_log_sink *sink,
                      struct sw_error *err)
{
    int most = last < pages->full ? last : pages->full;
    sw_auto(json) json_t *page = NULL;
    sw_autofree struct sw_log_line *lines = NULL;
    size_t count = 0, from;

    if (last <= 0)
        return read_forward(pages, sink, err);
    page = pages->ask(pages->context, pages->from_ns, pages->end_ns, true, most, err);
    if (!page)
        return -1;
    lines = sw_log_page_lines(page, &count);
    from = count > (size_t)most ? count - (size_t)most : 0;
    return give_page(lines + from, count - from, 0, NULL, sink, err);
}
