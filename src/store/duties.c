/* SPDX-License-Identifier: Apache-2.0 */
/*
 * duties.c - is there anything that a watcher must do? One read, whatever the number of jobs that are over.
 */
#include "store/store_internal.h"

#define KIND(bit) "coalesce(max(duties & " #bit "), 0)"

static const char SQL_JOBS[] =
    "SELECT count(*), " KIND(1) ", " KIND(2) ", " KIND(4) ", " KIND(8) ", " KIND(16) ","
    "  coalesce(max(canceling), 0) * 32,"
    "  coalesce(min(CASE WHEN phase = 'submitting' AND not_before_ms > 0 THEN not_before_ms END), 0)"
    " FROM jobs INDEXED BY jobs_with_duties WHERE phase <> 'over' AND (duties <> 0 OR canceling = 1)";
static const char SQL_NOTICES[] =
    "SELECT (SELECT count(*) FROM notices INDEXED BY notices_open"
    "   WHERE stage <> 'done' AND stage <> 'started') +"
    " CASE WHEN EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_hooked WHERE hooked = 1) THEN"
    "  (SELECT count(*) FROM events JOIN jobs ON jobs.seq = events.job WHERE jobs.hooked = 1 AND"
    "    events.seq > (SELECT value FROM marks WHERE name = 'heard')) ELSE 0 END";

static const char SQL_PLACES[] =
    "SELECT jobs.platform || coalesce(' ' || nullif(address, ''), ''), count(*)"
    " FROM jobs INDEXED BY jobs_not_over LEFT JOIN places ON places.seq = jobs.place"
    " WHERE phase <> 'over' GROUP BY 1 ORDER BY 1";

int sw_store_duties(struct sw_store *store, struct sw_duties *out, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sqlite3_stmt *row;

    *out = (struct sw_duties){ 0 };
    if (store_begin(&work, store, STORE_READS, err) < 0 || !(row = store_statement(store, SQL_JOBS, err)) ||
        store_next(store, row, err) < 0)
        return -1;
    out->jobs = sqlite3_column_int64(row, 0);
    for (int i = 1; i <= SW_DUTIES; i++)
        out->kinds |= sqlite3_column_int(row, i);
    out->next_ms = sqlite3_column_int64(row, 1 + SW_DUTIES);
    return store_number(store, SQL_NOTICES, 0, &out->notices, err);
}

json_t *sw_store_jobs_by_place(struct sw_store *store)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    json_t *counts = json_object();
    sqlite3_stmt *row;

    if (store_begin(&work, store, STORE_READS, NULL) < 0 || !(row = store_statement(store, SQL_PLACES, NULL)))
        return counts;
    while (store_next(store, row, NULL) > 0)
        json_object_set_new(counts, (const char *)sqlite3_column_text(row, 0),
                            json_integer(sqlite3_column_int64(row, 1)));
    return counts;
}
