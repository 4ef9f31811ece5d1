/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_log.c - logs by time: GET /logs, page after page (kit/log_pages.h).
 *
 * A job that was stopped and started again has a history: the log of each run is asked for by its own name,
 * in order.
 */
#include "platform/lepton/lepton_internal.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/report.h"
#include "core/state.h"
#include "platform/kit/log_pages.h"

#define MS_NS    INT64_C(1000000)
#define RANGE_NS (INT64_C(30) * 86400 * 1000 * MS_NS)
enum { LOG_PAGE = 10000, AHEAD_MS = 5000, BEFORE_MS = 60000, LATE_MS = 30000, PATIENCE_MS = 120000 };

/* ---- questions ------------------------------------------------------------------------------ */

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

    snprintf(from, sizeof from, "%lld", (long long)query->from_ns);
    snprintf(end, sizeof end, "%lld", (long long)query->end_ns);
    snprintf(most, sizeof most, "%d", limit);
    return sw_log_page_get(sw_cloud_of(query->conn)->rest, &(struct sw_rest_call){
        .path = "/logs", .query = pairs, .repeatable = true, .stall_ms = query->stall_ms,
        .silence_counts = query->stall_ms != 0, .deadline_ms = sw_monotonic_ms() + PATIENCE_MS }, err);
}

/* A page of one run, for kit/log_pages.h. */
static json_t *ask_page(void *context, int64_t from_ns, int64_t end_ns, bool backward, int limit,
                        struct sw_error *err)
{
    struct log_query query = *(struct log_query *)context;

    query.from_ns = from_ns;
    query.end_ns = end_ns;
    return ask(&query, backward ? "backward" : "forward", limit, NULL, err);
}

static json_t *log_reports(struct sw_connection *conn, const json_t *job, const char *id)
{
    int64_t end_ns = (sw_now_ms() + AHEAD_MS) * MS_NS;
    const struct log_query query = { conn, "job", lepton_meta(job, "id"), NULL, end_ns - RANGE_NS,
                                     end_ns, 0 };
    sw_auto(json) json_t *page = query.name ? ask(&query, "backward", LOG_PAGE, SW_REPORT_START, NULL) : NULL;

    return page ? sw_log_page_reports(page, id) : NULL;
}

bool lepton_is_late(struct sw_connection *conn, const json_t *job, const char *id, json_t **reports)
{
    int64_t ended_ms = lepton_time_ms(json_object_get(job, "status"), "completion_time");
    bool recent = ended_ms && sw_now_ms() - ended_ms < LATE_MS;
    int64_t ranks = sw_json_int(json_object_get(job, "spec"), "completions", 1);
    sw_auto(json) json_t *found = recent || reports ? log_reports(conn, job, id) : NULL;
    bool all = (int64_t)json_object_size(found) >= ranks && sw_jobs_have_ended(found, id);

    if (reports)
        *reports = sw_take(found);
    return recent && !all;
}

/* One question may span a month. */
static int read_run(struct sw_log_pages *all, int last, const struct sw_log_sink *sink, struct sw_error *err)
{
    struct sw_log_pages part = *all;

    for (part.from_ns = all->from_ns; part.from_ns < all->end_ns; part.from_ns = part.end_ns) {
        part.end_ns = part.from_ns + RANGE_NS < all->end_ns ? part.from_ns + RANGE_NS : all->end_ns;
        if (sw_log_pages_read(&part, last, sink, err) < 0)
            return -1;
    }
    return 0;
}

/* Earlier runs first, those that did not end before what is asked for. */
static int read_runs(struct log_query *query, const json_t *status, const struct sw_log_cursor *cursor,
                     const struct sw_log_sink *sink, struct sw_error *err)
{
    struct sw_log_pages all = { ask_page, query, LOG_PAGE, query->from_ns, query->end_ns };
    const char *current = query->name;
    json_t *run;
    size_t i;

    query->selector = "job_history_name";
    json_array_foreach(json_object_get(status, "job_history"), i, run) {
        query->name = sw_json_str(run, "job_name");
        all.end_ns = (lepton_time_ms(run, "completion_time") + BEFORE_MS) * MS_NS;
        if (query->name && !sw_text_same(query->name, current) && cursor->last <= 0 &&
            all.end_ns > all.from_ns &&
            read_run(&all, 0, sink, err) < 0)
            return -1;
    }
    query->selector = "job";
    query->name = current;
    all.end_ns = query->end_ns;
    if (cursor->last > 0 && all.end_ns - all.from_ns > RANGE_NS)
        all.from_ns = all.end_ns - RANGE_NS;
    return read_run(&all, cursor->last, sink, err);
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
    all = lepton_job_part(conn, job, LEPTON_REPLICAS, err);
    one = all ? lepton_replica(all, lepton_meta(job, "id"), rank) : NULL;
    *missing = !one;
    return one ? sw_strdup(lepton_meta(one, "id") ? lepton_meta(one, "id") : lepton_meta(one, "name")) : NULL;
}

/* Lines are stored a moment later than they are written: the log is whole when the reports at its end are
 * there, or some time after the end. */
static enum sw_log_life life_of(struct sw_connection *conn, const json_t *job, const char *id)
{
    const json_t *status = json_object_get(job, "status");
    enum sw_state state = lepton_state(sw_json_str(status, "state"), NULL);

    if (state == SW_PENDING)
        return SW_LOG_NOT_BEGUN;
    if (state == SW_RUNNING)
        return SW_LOG_GROWS;
    return lepton_is_late(conn, job, id, NULL) ? SW_LOG_GROWS : SW_LOG_ENDED;
}

int lepton_log_fetch(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                     struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    sw_auto(json) json_t *found = NULL;
    sw_autofree char *id = NULL;
    const json_t *status;
    struct sw_error why = { 0 };
    struct log_query query = { .conn = conn, .selector = "job", .stall_ms = cursor->silence_ms };
    bool missing;

    if (cursor->follow)
        return 0;            /* an open stream has no offsets: the kit asks again and again */
    found = lepton_find_job(conn, job->id, job->attempt, err);
    if (!found)
        return -1;
    status = json_object_get(found, "status");
    if (cursor->life == SW_LOG_LIFE_UNKNOWN)
        cursor->life = life_of(conn, found, job->id);
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
        query.from_ns = query.end_ns - RANGE_NS;
    if (query.from_ns >= query.end_ns)
        return 0;
    return read_runs(&query, status, cursor, sink, err);
}
