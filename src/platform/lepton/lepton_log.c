/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_log.c - logs by time: GET /logs, page after page, forward from the last stamp.
 *
 * A page has at most 10,000 lines of all streams. When it is full, its last stamp begins the next one, whose
 * lines of that stamp were seen in part; when it holds a single stamp, the next begins behind it, and lines of
 * that nanosecond may be missing, which the log says. A job that was stopped and started again has a history:
 * each run's log is asked for by its own name, in order.
 */
#include "platform/lepton/lepton_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/report.h"
#include "core/state.h"
#include "platform/kit/log_lines.h"

#define MS_NS INT64_C(1000000)
enum { PAGES_MAX = 100000, AHEAD_MS = 5000, BEFORE_MS = 60000, REPORT_LINES = 1000 };

/* ---- one page, pure --------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct lepton_log_line *one = a, *other = b;

    if (one->at_ns != other->at_ns)
        return one->at_ns < other->at_ns ? -1 : 1;
    return one->order < other->order ? -1 : one->order > other->order;
}

static bool read_entry(const json_t *entry, struct lepton_log_line *out)
{
    const char *at = json_string_value(json_array_get(entry, 0));
    char *end = NULL;

    out->at_ns = at ? strtoll(at, &end, 10) : json_integer_value(json_array_get(entry, 0));
    out->text = json_string_value(json_array_get(entry, 1));
    return out->text && out->at_ns > 0 && (!at || *end == '\0');
}

/* Newest first or oldest first, the entries of one moment keep their order. */
struct lepton_log_line *lepton_log_lines(const json_t *page, size_t *count)
{
    const json_t *streams = json_object_get(json_object_get(page, "data"), "result");
    size_t total = 0, used = 0, i, k;
    struct lepton_log_line *lines;
    json_t *stream, *entry;

    json_array_foreach(streams, i, stream)
        total += json_array_size(json_object_get(stream, "values"));
    lines = sw_alloc((total + 1) * sizeof *lines);
    json_array_foreach(streams, i, stream) {
        const json_t *values = json_object_get(stream, "values");
        size_t size = json_array_size(values);
        struct lepton_log_line first = { 0 }, last = { 0 };
        bool backward = size > 1 && read_entry(json_array_get(values, 0), &first) &&
                        read_entry(json_array_get(values, size - 1), &last) && first.at_ns > last.at_ns;

        json_array_foreach(values, k, entry)
            if (read_entry(entry, &lines[used])) {
                lines[used].order = (int64_t)(i << 32) + (int64_t)(backward ? size - k : k);
                used++;
            }
    }
    qsort(lines, used, sizeof *lines, by_time);
    *count = used;
    return lines;
}

int64_t lepton_log_next(const struct lepton_log_line *lines, size_t count, int64_t *lost)
{
    *lost = 0;
    if (count < LEPTON_LOG_PAGE)
        return 0;
    if (lines[0].at_ns != lines[count - 1].at_ns)
        return lines[count - 1].at_ns;
    *lost = lines[0].at_ns;
    return lines[0].at_ns + 1;
}

/* ---- questions --------------------------------------------------------------------------------------- */

struct log_query {
    struct sw_connection *conn;
    const char *selector, *name;     /* "job" or "job_history_name", and which */
    const char *replica;             /* its id; NULL: all */
    int64_t from_ns, end_ns;
    int64_t stall_ms;
};

static json_t *ask(const struct log_query *query, const char *direction, int limit, const char *text,
                   struct sw_error *err)
{
    char from[24], end[24], most[16];
    const struct sw_rest_pair pairs[] = {
        { query->selector, query->name }, { "replica", query->replica }, { "start", from }, { "end", end },
        { "limit", most }, { "direction", direction }, { "timestamps", "true" }, { "q", text },
        { "job_query_mode", LEPTON_ALL_JOBS }, { 0 } };
    json_t *page = NULL;

    snprintf(from, sizeof from, "%lld", (long long)query->from_ns);
    snprintf(end, sizeof end, "%lld", (long long)query->end_ns);
    snprintf(most, sizeof most, "%d", limit);
    if (sw_rest_call(query->conn->rest, &(struct sw_rest_call){
            .path = "/logs", .query = pairs, .repeatable = true, .stall_ms = query->stall_ms,
            .silence_counts = query->stall_ms != 0 }, &page, err) < 0)
        return NULL;
    return page ? page : json_object();
}

json_t *lepton_log_reports(struct sw_connection *conn, const json_t *job, const char *id, int ranks)
{
    const json_t *status = json_object_get(job, "status");
    struct log_query query = { conn, "job", lepton_meta(job, "id"), NULL,
                               (lepton_time_ms(status, "creation_time") - BEFORE_MS) * MS_NS,
                               (sw_now_ms() + AHEAD_MS) * MS_NS, 0 };
    int most = ranks < 10 ? REPORT_LINES : LEPTON_LOG_PAGE;
    sw_auto(json) json_t *page = query.name && query.from_ns > 0 ? ask(&query, "backward", most, SW_REPORT_START,
                                                                       NULL) : NULL;
    json_t *reports = page ? json_object() : NULL;
    size_t count = 0;
    sw_autofree struct lepton_log_line *lines = lepton_log_lines(page, &count);

    for (size_t i = 0; i < count; i++) {
        const char *start = strstr(lines[i].text, SW_REPORT_START "{\"");
        sw_autofree char *line = start ? sw_format("%s\n", start) : NULL;
        sw_auto(json) json_t *report = line ? sw_report_in_log(line, strlen(line), id, -1) : NULL;
        char rank[16];

        snprintf(rank, sizeof rank, "%d", (int)sw_json_int(report, "rank", 0));
        if (report)
            json_object_set_new(reports, rank, sw_json_text(line));
    }
    return reports;
}

/* ---- all pages ---------------------------------------------------------------------------------------- */

static int give(const struct sw_log_sink *sink, int64_t at_ns, const char *text)
{
    sw_autofree char *line = sw_format("%s\n", text);
    size_t length = strlen(line);

    return sink->take(sink->context, &(struct sw_log_message){
        .at_ns = at_ns, .bytes = line, .length = sw_log_before_report(line, length) });
}

/* Was this line of the last page's last moment? Then it counts once. */
static bool was_given(json_t *given, const char *text)
{
    int64_t times = sw_json_int(given, text, 0);

    if (times > 0)
        json_object_set_new(given, text, json_integer(times - 1));
    return times > 0;
}

static void note_given(json_t *given, const struct lepton_log_line *lines, size_t count, int64_t at_ns)
{
    json_object_clear(given);
    for (size_t i = count; i > 0 && lines[i - 1].at_ns == at_ns; i--)
        json_object_set_new(given, lines[i - 1].text,
                            json_integer(sw_json_int(given, lines[i - 1].text, 0) + 1));
}

static int stopped(struct sw_error *err)
{
    return sw_fail(err, SW_E_INTERRUPTED, "the rest of the log was not wanted");
}

static int read_forward(struct log_query *query, const struct sw_log_sink *sink, struct sw_error *err)
{
    sw_auto(json) json_t *given = json_object();

    for (int pages = 0; pages < PAGES_MAX; pages++) {
        sw_auto(json) json_t *page = ask(query, "forward", LEPTON_LOG_PAGE, NULL, err);
        size_t count = 0;
        sw_autofree struct lepton_log_line *lines = lepton_log_lines(page, &count);
        int64_t next, lost;

        if (!page)
            return -1;
        if (count > LEPTON_LOG_PAGE)               /* the earliest count; the others come again */
            count = LEPTON_LOG_PAGE;
        for (size_t i = 0; i < count; i++)
            if (!(lines[i].at_ns == query->from_ns && was_given(given, lines[i].text)) &&
                give(sink, lines[i].at_ns, lines[i].text))
                return stopped(err);
        next = lepton_log_next(lines, count, &lost);
        if (lost && give(sink, lost, SW_RUNNER_SAYS "Lepton keeps more lines of this moment than it hands out; some "
                                                    "may be missing here"))
            return stopped(err);
        if (!next || next >= query->end_ns)
            return 0;
        note_given(given, lines, count, next);
        query->from_ns = next;
    }
    return sw_fail(err, SW_E_UNREACHABLE, "the log does not end");
}

static int read_last(const struct log_query *query, int last, const struct sw_log_sink *sink, struct sw_error *err)
{
    int most = last < LEPTON_LOG_PAGE ? last : LEPTON_LOG_PAGE;
    sw_auto(json) json_t *page = ask(query, "backward", most, NULL, err);
    size_t count = 0;
    sw_autofree struct lepton_log_line *lines = lepton_log_lines(page, &count);

    if (!page)
        return -1;
    for (size_t i = count > (size_t)most ? count - (size_t)most : 0; i < count; i++)
        if (give(sink, lines[i].at_ns, lines[i].text))
            return stopped(err);
    return 0;
}

/* Earlier runs first: those whose end lies behind what is asked for. */
static int read_runs(struct log_query *query, const json_t *status, const struct sw_log_cursor *cursor,
                     const struct sw_log_sink *sink, struct sw_error *err)
{
    const char *current = query->name;
    int64_t end_ns = query->end_ns, from_ns = query->from_ns;
    json_t *run;
    size_t i;

    json_array_foreach(json_object_get(status, "job_history"), i, run) {
        const char *name = sw_json_str(run, "job_name");
        int64_t ended_ns = (lepton_time_ms(run, "completion_time") + BEFORE_MS) * MS_NS;

        if (!name || sw_text_same(name, current) || cursor->last > 0 || ended_ns <= query->from_ns)
            continue;
        query->selector = "job_history_name";
        query->name = name;
        query->end_ns = ended_ns;
        if (read_forward(query, sink, err) < 0)
            return -1;
        query->from_ns = from_ns;
    }
    query->selector = "job";
    query->name = current;
    query->end_ns = end_ns;
    return cursor->last > 0 ? read_last(query, cursor->last, sink, err) : read_forward(query, sink, err);
}

/* The id of a rank's replica, owned; NULL: the job has one replica, or none of this rank (*missing). */
static char *replica_id(struct sw_connection *conn, const json_t *job, int rank, bool *missing,
                        struct sw_error *err)
{
    sw_auto(json) json_t *all = NULL;
    const json_t *one;

    *missing = false;
    if (sw_json_int(json_object_get(job, "spec"), "completions", 1) <= 1)
        return NULL;
    all = lepton_job_part(conn, job, "replicas?job_query_mode=" LEPTON_ALL_JOBS, err);
    one = all ? lepton_replica(all, lepton_meta(job, "id"), rank) : NULL;
    *missing = !one;
    return one ? sw_strdup(lepton_meta(one, "id") ? lepton_meta(one, "id") : lepton_meta(one, "name")) : NULL;
}

int lepton_log_fetch(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                     struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    sw_auto(json) json_t *found = NULL;
    sw_autofree char *id = NULL;
    const json_t *status;
    struct sw_error why = { 0 };
    struct log_query query = { .conn = conn, .selector = "job", .stall_ms = cursor->silence_ms };
    enum sw_state state;
    bool missing;

    if (cursor->follow)
        return 0;                        /* a stream that is open has no offsets: the kit asks again and again */
    found = lepton_find_job(conn, job->id, job->attempt, err);
    if (!found)
        return -1;
    status = json_object_get(found, "status");
    state = lepton_state(sw_json_str(status, "state"), NULL);
    if (cursor->life == SW_LOG_LIFE_UNKNOWN)
        cursor->life = state == SW_PENDING ? SW_LOG_NOT_BEGUN
                       : sw_state_is_final(state) || state == SW_UNKNOWN ? SW_LOG_ENDED : SW_LOG_GROWS;
    id = replica_id(conn, found, replica < 0 ? 0 : replica, &missing, &why);
    if (why.code)
        return sw_pass(err, &why);
    if (missing && (job->finished || cursor->life == SW_LOG_ENDED))
        return sw_fail(err, SW_E_NOT_FOUND, "Lepton has no replica %d of '%s' any more", replica, job->id);
    if (missing) {
        cursor->life = SW_LOG_NOT_BEGUN;
        return 0;
    }
    query.name = lepton_meta(found, "id");
    query.replica = id;
    query.from_ns = cursor->since_ns > 0 ? cursor->since_ns
                    : (lepton_time_ms(status, "creation_time") - BEFORE_MS) * MS_NS;
    query.end_ns = (sw_now_ms() + AHEAD_MS) * MS_NS;
    if (query.from_ns <= 0)
        query.from_ns = query.end_ns - INT64_C(90) * 86400 * 1000 * MS_NS;
    if (query.from_ns >= query.end_ns)
        return 0;
    return read_runs(&query, status, cursor, sink, err);
}
