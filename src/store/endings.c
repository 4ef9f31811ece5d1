/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endings.c - how many jobs stand: what waiting needs to know of each, in one statement.
 *
 * The ids go in as one JSON array, so that 100,000 of them are one question and not as many.
 */
#include "store/store_internal.h"

#include <stdio.h>

#include "core/state.h"

static const char SQL_ENDINGS[] =
    "SELECT ids.key, phase = 'over', state, reason, attempt, exit_code, signal, started_ms, ended_ms"
    " FROM json_each(:ids) AS ids CROSS JOIN jobs ON jobs.id = ids.value";

static void read_ending(sqlite3_stmt *row, struct sw_ending *out)
{
    const char *state = (const char *)sqlite3_column_text(row, 2);
    const char *reason = (const char *)sqlite3_column_text(row, 3);

    out->there = true;
    out->over = sqlite3_column_int(row, 1) != 0;
    if (!state || sw_state_parse(state, &out->state) < 0)
        out->state = SW_UNKNOWN;
    snprintf(out->reason, sizeof out->reason, "%s", reason ? reason : "");
    out->attempt = sqlite3_column_int(row, 4);
    if (sqlite3_column_type(row, 5) != SQLITE_NULL)
        out->exit_code = sqlite3_column_int(row, 5);
    out->signal = sqlite3_column_int(row, 6);
    out->started_ms = sqlite3_column_int64(row, 7);
    out->ended_ms = sqlite3_column_int64(row, 8);
}

static json_t *array_of(const char *const *ids, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, sw_json_text(ids[i]));
    return array;
}

int sw_store_endings(struct sw_store *store, const char *const *ids, size_t count,
                     struct sw_ending *out, struct sw_error *err)
{
    sw_auto(json) json_t *array = array_of(ids, count);
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sqlite3_stmt *rows;
    int row;

    for (size_t i = 0; i < count; i++)
        out[i] = (struct sw_ending){ .exit_code = SW_NO_EXIT_CODE };
    if (store_begin(&work, store, STORE_READS, err) < 0 ||
        !(rows = store_ask(store, SQL_ENDINGS, err, BIND_JSON(":ids", array))))
        return -1;
    while ((row = store_next(store, rows, err)) > 0) {
        size_t index = (size_t)sqlite3_column_int64(rows, 0);

        if (index < count)
            read_ending(rows, &out[index]);
    }
    return row;
}
