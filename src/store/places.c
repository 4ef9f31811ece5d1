/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.c - where jobs were sent. Many jobs share a place, so it is a row of its own.
 *
 * A place never changes: should another engine answer at the same address, jobs that are sent
 * there later get another place.
 */
#include "store/store_internal.h"

#include <string.h>

#include "base/text.h"

static const char SQL_READ[] =
    "SELECT platform, address, identity, options FROM places WHERE seq = :seq";
static const char SQL_ADD[] =
    "INSERT INTO places (platform, address, identity, options)"
    " VALUES (:platform, :address, :identity, :options) ON CONFLICT DO NOTHING";
static const char SQL_FIND[] =
    "SELECT seq FROM places WHERE platform = :platform AND address = :address"
    " AND identity = :identity AND options = :options";

int sw_store_place(struct sw_store *store, int64_t seq, struct sw_place *out, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sqlite3_stmt *row;
    int found;

    if (store_begin(&work, store, STORE_READS, err) < 0 ||
        !(row = store_statement(store, SQL_READ, err)))
        return -1;
    store_bind_int(row, ":seq", seq);
    found = store_next(store, row, err);
    if (found <= 0)
        return found < 0 ? -1 : sw_fail(err, SW_E_NOT_FOUND, "the store knows no place %lld",
                                        (long long)seq);
    *out = (struct sw_place){ .seq = seq };
    if (store_column_json(row, 3, &out->options, err) < 0)
        return -1;
    out->platform = store_column_text(row, 0);
    out->address = store_column_text(row, 1);
    out->identity = store_column_text(row, 2);
    sqlite3_reset(row);
    return 0;
}

/* Bound here and not by store_bind_text: "" is a value. */
static void bind(sqlite3_stmt *statement, const char *name, const char *text)
{
    sqlite3_bind_text(statement, sqlite3_bind_parameter_index(statement, name), text ? text : "", -1,
                      SQLITE_TRANSIENT);
}

static void bind_place(sqlite3_stmt *statement, const struct sw_place *place)
{
    bind(statement, ":platform", place->platform);
    bind(statement, ":address", place->address);
    bind(statement, ":identity", place->identity);
    store_bind_json_sorted(statement, ":options", place->options);
}

static int find(struct sw_store *store, const struct sw_place *place, int64_t *seq,
                struct sw_error *err)
{
    sqlite3_stmt *row = store_statement(store, SQL_FIND, err);
    int found;

    if (!row)
        return -1;
    bind_place(row, place);
    found = store_next(store, row, err);
    *seq = found > 0 ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_reset(row);
    return found < 0 ? -1 : 0;
}

int sw_store_place_find(struct sw_store *store, const struct sw_place *place, int64_t *seq,
                        struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;

    return store_begin(&work, store, STORE_READS, err) < 0 ? -1 : find(store, place, seq, err);
}

int sw_store_place_add(struct sw_store *store, const struct sw_place *place, int64_t *seq,
                       struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sqlite3_stmt *add;

    if (store_begin(&work, store, STORE_RELAXED, err) < 0 ||
        !(add = store_statement(store, SQL_ADD, err)))
        return -1;
    bind_place(add, place);
    if (store_run(store, add, err) < 0 || find(store, place, seq, err) < 0)
        return -1;
    return store_commit(&work, err);
}
