/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - what happened to a job, in order, each with a number that is never used again.
 *
 * An event is written in the same transaction as the change it tells about, so the list of events
 * and the row never disagree. Readers get them page by page: no lock is held while the caller's
 * function runs, which may therefore use the store itself.
 *
 * Kinds: submitting, submitted, claimed, state, canceling, attempt; others come from callers.
 */
#include "store/store_internal.h"

#include "base/clock.h"

static const char SQL_ADD[] =
    "INSERT INTO events (job, at_ms, kind, data) VALUES (:job, :at_ms, :kind, :data)";
static const char SQL_OF_ONE[] =
    "SELECT seq, at_ms, :id, kind, data FROM events INDEXED BY events_by_job"
    " WHERE job = (SELECT seq FROM jobs WHERE id = :id) AND seq > :after ORDER BY seq LIMIT :limit";
static const char SQL_OF_ALL[] =
    "SELECT events.seq, at_ms, id, kind, data FROM events JOIN jobs ON jobs.seq = events.job"
    " WHERE events.seq > :after ORDER BY events.seq LIMIT :limit";

enum { PAGE = 256 };

struct event {
    int64_t seq, at_ms;
    char *id, *kind;
    json_t *data;
};

struct event_page {
    struct event events[PAGE];
    size_t count;
};

static void page_free(struct event_page *page)
{
    for (size_t i = 0; page && i < page->count; i++) {
        free(page->events[i].id);
        free(page->events[i].kind);
        json_decref(page->events[i].data);
    }
    free(page);
}
SW_DEFINE_AUTO(page, struct event_page *, page_free)

int store_event_add(struct sw_store *store, int64_t seq, const char *kind, const json_t *data,
                    int64_t now_ms, struct sw_error *err)
{
    return store_do(store, SQL_ADD, err, BIND_INT(":job", seq), BIND_INT(":at_ms", now_ms),
                    BIND_TEXT(":kind", kind), BIND_JSON(":data", data));
}

int sw_store_event(struct sw_store *store, const char *id, const char *kind, const json_t *data,
                   struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job job = { 0 };
    int64_t seq = 0;

    if (store_begin_job(&work, store, STORE_DURABLE, id, &seq, &job, err) < 0 ||
        store_event_add(store, seq, kind, data, sw_now_ms(), err) < 0)
        return -1;
    return store_commit(&work, err);
}

static int read_page(struct sw_store *store, const char *id, int64_t after, struct event_page *page,
                     struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sqlite3_stmt *rows;
    int row;

    if (store_begin(&work, store, STORE_READS, err) < 0 ||
        !(rows = store_statement(store, id ? SQL_OF_ONE : SQL_OF_ALL, err)))
        return -1;
    if (id)
        store_bind_text(rows, ":id", id);
    store_bind_int(rows, ":after", after);
    store_bind_int(rows, ":limit", PAGE);
    while ((row = store_next(store, rows, err)) > 0 && page->count < PAGE) {
        struct event *event = &page->events[page->count++];

        event->seq = sqlite3_column_int64(rows, 0);
        event->at_ms = sqlite3_column_int64(rows, 1);
        event->id = store_column_text(rows, 2);
        event->kind = store_column_text(rows, 3);
        if (store_column_json(rows, 4, &event->data, err) < 0)
            return -1;
    }
    return row < 0 ? -1 : 0;
}

int sw_store_events(struct sw_store *store, const char *id, int64_t after_seq, sw_event_fn *fn,
                    void *context, struct sw_error *err)
{
    size_t found;

    do {
        sw_auto(page) struct event_page *page = sw_new(struct event_page);

        if (read_page(store, id, after_seq, page, err) < 0)
            return -1;
        found = page->count;
        for (size_t i = 0; i < found; i++) {
            const struct event *event = &page->events[i];

            after_seq = event->seq;
            if (fn(context, event->seq, event->at_ms, event->id, event->kind, event->data))
                return 0;
        }
    } while (found == PAGE);
    return 0;
}
