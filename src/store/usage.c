/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.c - every attempt of every job with what it used, for sums.
 *
 * Read in pages of jobs, from the rows alone: a plan is looked at only where a job was submitted before rows
 * had a brief. How busy the GPUs were is what the platform measured, or else the runner of rank 0.
 */
#include "store/store_internal.h"

#include <string.h>

#include "base/text.h"
#include "core/state.h"

enum { PAGE_JOBS = 1024 };

static const char SQL_USED[] =
    "SELECT j.seq, j.platform, j.attempt, j.created_ms,"
    "  coalesce(j.brief, (SELECT json_object('gpus', json_extract(plan, '$.gpus'), 'nodes',"
    "    json_extract(plan, '$.nodes'), 'gpu_type', json_extract(plan, '$.gpu_type'))"
    "    FROM documents WHERE documents.job = j.seq AND json_valid(plan))),"
    "  CASE WHEN json_valid(j.progress) THEN coalesce(json_extract(j.progress, '$.gpu_use.mean'),"
    "    json_extract(j.progress, '$.runner.gpu.busy_percent')) END,"
    "  (SELECT value FROM labels WHERE labels.job = j.seq AND labels.key = :label),"
    "  a.number, a.state, a.started_ms, a.ended_ms"
    " FROM (SELECT * FROM jobs NOT INDEXED WHERE seq > :after AND (ended_ms = 0 OR ended_ms >= :since)"
    "       ORDER BY seq LIMIT :limit) AS j"
    " CROSS JOIN attempts AS a ON a.job = j.seq ORDER BY j.seq, a.number";

struct used_page {
    struct sw_used *rows;
    size_t count, room, jobs;
    int64_t last;                    /* number of the last job */
};

static void used_page_auto(struct used_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        free(page->rows[i].platform);
        free(page->rows[i].label);
        json_decref(page->rows[i].brief);
    }
    free(page->rows);
}

/* The attempt before, when it is one of the same job. */
static const struct sw_used *before(const struct used_page *page, int64_t seq)
{
    return page->count && page->last == seq ? &page->rows[page->count - 1] : NULL;
}

static void take_row(sqlite3_stmt *row, struct used_page *page)
{
    int64_t seq = sqlite3_column_int64(row, 0);
    const struct sw_used *earlier = before(page, seq);
    struct sw_used used = { .job = seq, .platform = store_column_text(row, 1),
                            .current = sqlite3_column_int(row, 2) == sqlite3_column_int(row, 7),
                            .first = !earlier, .gpu_percent = -1, .label = store_column_text(row, 6),
                            .started_ms = sqlite3_column_int64(row, 9),
                                .ended_ms = sqlite3_column_int64(row, 10) };

    used.queued_ms = earlier ? earlier->ended_ms : sqlite3_column_int64(row, 3);
    /* for show: nothing is better than no sums */
    if (store_column_json(row, 4, &used.brief, NULL) < 0)
        used.brief = NULL;
    if (used.current && sqlite3_column_type(row, 5) != SQLITE_NULL)
        used.gpu_percent = sqlite3_column_double(row, 5);
    if (sw_state_parse((const char *)sqlite3_column_text(row, 8), &used.state) < 0)
        used.state = SW_UNKNOWN;
    if (page->count == page->room) {
        page->room = page->room ? 2 * page->room : 64;
        page->rows = sw_realloc_array(page->rows, page->room, sizeof *page->rows);
    }
    page->jobs += page->last != seq;
    page->last = seq;
    page->rows[page->count++] = used;
}

static int read_page(struct sw_store *store, int64_t since_ms, const char *label, struct used_page *page,
                     struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sqlite3_stmt *rows;
    int row;

    if (store_begin(&work, store, STORE_READS, err) < 0 ||
        !(rows = store_ask(store, SQL_USED, err, BIND_INT(":after", page->last), BIND_INT(":since", since_ms),
                           BIND_TEXT(":label", label), BIND_INT(":limit", PAGE_JOBS))))
        return -1;
    while ((row = store_next(store, rows, err)) > 0)
        take_row(rows, page);
    return row;
}

int sw_store_used(struct sw_store *store, int64_t since_ms, const char *label, sw_used_fn *fn, void *context,
                  struct sw_error *err)
{
    int64_t after = 0;
    size_t jobs = PAGE_JOBS;

    while (jobs == PAGE_JOBS) {
        sw_auto(used_page) struct used_page page = { .last = after };

        if (read_page(store, since_ms, label, &page, err) < 0)
            return -1;
        for (size_t i = 0; i < page.count; i++)
            fn(context, &page.rows[i]);
        after = page.last;
        jobs = page.jobs;
    }
    return 0;
}
