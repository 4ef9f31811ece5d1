/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watchers.c - hosts that share a state folder have a watcher each; they know each other by this store alone.
 *
 * A place that one of them asked a moment ago is not asked by another. The host that a job was left on has
 * its secrets: as long as its watcher shows itself, an attempt that needs them is its own.
 */
#include "store/store_internal.h"

#include <stdlib.h>

#include "base/clock.h"

enum {
    GONE_MS = 150 * 1000,            /* a watcher shows itself once a minute at least */
    CLOCKS_MS = 300 * 1000,          /* hosts' clocks differ by less */
};

static const char SQL_BEAT[] =
    "INSERT INTO watchers (host, seen_ms) VALUES (:host, :now)"
    " ON CONFLICT (host) DO UPDATE SET seen_ms = :now";
static const char SQL_GONE[] = "DELETE FROM watchers WHERE host = :host";
static const char SQL_SEEN[] = "SELECT seen_ms FROM watchers WHERE host = :host";
static const char SQL_ASK[] =
    "UPDATE places SET asked_by = :host, asked_ms = :now WHERE seq = :seq AND"
    " (asked_by IS NULL OR asked_by = :host OR asked_ms <= :before OR asked_ms > :future)";
static const char SQL_UNASKED[] =
    "UPDATE places SET asked_by = NULL, asked_ms = 0 WHERE seq = :seq AND asked_by = :host";
static const char SQL_ALL_UNASKED[] =
    "UPDATE places SET asked_by = NULL, asked_ms = 0 WHERE asked_by = :host";
static const char SQL_OWN[] =
    "SELECT " STORE_NAME_COLUMNS " FROM jobs INDEXED BY jobs_not_over"
    " WHERE phase <> 'over' AND phase = 'submitting' AND host = :host AND place = :seq";
static const char SQL_LEFT[] = "UPDATE jobs SET host = :host WHERE id = :id AND host IS NOT :host";

/* One statement, which a crash of the machine may lose. 1: it changed a row; 0: it found none; -1. */
static int write_one(struct sw_store *store, const char *sql, const struct store_value *values,
                     struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    bool changed;

    if (store_begin(&work, store, STORE_RELAXED, err) < 0 ||
        store_run(store, store_bound(store, sql, values, err), err) < 0)
        return -1;
    changed = store_changed(store);
    return store_commit(&work, err) < 0 ? -1 : changed;
}

#define WRITE(store, sql, err, ...) \
    write_one(store, sql, (const struct store_value[]){ __VA_ARGS__, { 0 } }, err)

int sw_store_watcher_beat(struct sw_store *store, const char *host, struct sw_error *err)
{
    return WRITE(store, SQL_BEAT, err, BIND_TEXT(":host", host), BIND_INT(":now", sw_now_ms())) < 0 ? -1 : 0;
}

void sw_store_watcher_gone(struct sw_store *store, const char *host)
{
    WRITE(store, SQL_GONE, NULL, BIND_TEXT(":host", host));
    WRITE(store, SQL_ALL_UNASKED, NULL, BIND_TEXT(":host", host));
}

bool sw_store_watcher_lives(struct sw_store *store, const char *host)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sqlite3_stmt *row;
    int64_t seen_ms = 0;

    if (!host || store_begin(&work, store, STORE_READS, NULL) < 0 ||
        !(row = store_ask(store, SQL_SEEN, NULL, BIND_TEXT(":host", host))))
        return false;
    if (store_next(store, row, NULL) > 0)
        seen_ms = sqlite3_column_int64(row, 0);
    sqlite3_reset(row);
    return llabs((long long)(sw_now_ms() - seen_ms)) < GONE_MS;
}

int sw_store_place_ask(struct sw_store *store, int64_t place, const char *host, int64_t every_ms,
                       struct sw_error *err)
{
    int64_t now_ms = sw_now_ms();

    return WRITE(store, SQL_ASK, err, BIND_INT(":seq", place), BIND_TEXT(":host", host),
                 BIND_INT(":now", now_ms), BIND_INT(":before", now_ms - every_ms),
                 BIND_INT(":future", now_ms + CLOCKS_MS));
}

void sw_store_place_unasked(struct sw_store *store, int64_t place, const char *host)
{
    WRITE(store, SQL_UNASKED, NULL, BIND_INT(":seq", place), BIND_TEXT(":host", host));
}

int sw_store_left_on(struct sw_store *store, const char *id, const char *host, struct sw_error *err)
{
    return WRITE(store, SQL_LEFT, err, BIND_TEXT(":id", id), BIND_TEXT(":host", host)) < 0 ? -1 : 0;
}

int sw_store_own_attempts(struct sw_store *store, int64_t place, const char *host, sw_job_fn *fn,
                          void *context, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sqlite3_stmt *row;
    int found;

    if (store_begin(&work, store, STORE_READS, err) < 0 ||
        !(row = store_ask(store, SQL_OWN, err, BIND_INT(":seq", place), BIND_TEXT(":host", host))))
        return -1;
    while ((found = store_next(store, row, err)) > 0) {
        sw_auto(sw_job) struct sw_job job = { 0 };
        int64_t seq;

        store_row_read_names(row, &seq, &job);
        fn(context, &job);
    }
    sqlite3_reset(row);
    return found;
}
