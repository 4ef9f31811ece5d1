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
        !(row = store_ask(store, SQL_READ, err, BIND_INT(":seq", seq))))
        return -1;
    found = store_next(store, row, err);
    if (found <= 0)
        return found < 0 ? -1 : sw_fail(err, SW_E_NOT_FOUND, "no place %lld in the store",
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

#define BIND_PLACE(place)                                                                     \
    BIND_EXACT(":platform", (place)->platform), BIND_EXACT(":address", (place)->address),      \
    BIND_EXACT(":identity", (place)->identity), BIND_SORTED(":options", (place)->options)

static int find(struct sw_store *store, const struct sw_place *place, int64_t *seq,
                struct sw_error *err)
{
    sqlite3_stmt *row = store_ask(store, SQL_FIND, err, BIND_PLACE(place));
    int found = row ? store_next(store, row, err) : -1;

    if (found < 0)
        return -1;
    *seq = found ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_reset(row);
    return 0;
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

    if (store_begin(&work, store, STORE_RELAXED, err) < 0 ||
        store_do(store, SQL_ADD, err, BIND_PLACE(place)) < 0 || find(store, place, seq, err) < 0)
        return -1;
    return store_commit(&work, err);
}
