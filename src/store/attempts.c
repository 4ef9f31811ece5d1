/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempts.c - how often a job was tried, and how each try went.
 *
 * The row of the current attempt is a copy of the job's row, made by one statement whenever the
 * job's row changes; so the two cannot tell different stories, and an older attempt is simply a
 * copy that is never updated.
 */
#include "store/store_internal.h"

#include "core/reason.h"
#include "core/state.h"

static const char SQL_FOLLOW[] =
    "INSERT OR REPLACE INTO attempts (job, number, state, reason, message, exit_code, signal, node,"
    "                                 remote_id, started_ms, ended_ms, cause)"
    " SELECT seq, attempt, state, reason, message, exit_code, signal, node, remote_id, started_ms,"
    "        ended_ms, cause FROM jobs WHERE seq = :seq";
static const char SQL_CLOSE[] =
    "UPDATE attempts SET state = '" SW_NAME_ERROR "', reason = '" SW_REASON_RETRIED "',"
    "  message = :why, ended_ms = :now"
    " WHERE job = :seq AND number = (SELECT attempt FROM jobs WHERE seq = :seq)";
static const char SQL_LIST[] =
    "SELECT number, state, reason, message, exit_code, signal, node, remote_id, started_ms,"
    "       ended_ms, cause FROM attempts WHERE job = :seq ORDER BY number";

int store_attempt_follow(struct sw_store *store, int64_t seq, struct sw_error *err)
{
    return store_do(store, SQL_FOLLOW, err, BIND_INT(":seq", seq));
}

int store_attempt_close(struct sw_store *store, int64_t seq, const char *why, int64_t now_ms,
                        struct sw_error *err)
{
    return store_do(store, SQL_CLOSE, err, BIND_INT(":seq", seq), BIND_TEXT(":why", why),
                    BIND_INT(":now", now_ms));
}

static json_t *text_or_null(sqlite3_stmt *row, int column)
{
    return sw_json_text((const char *)sqlite3_column_text(row, column));
}

static json_t *attempt_json(sqlite3_stmt *row)
{
    bool exited = sqlite3_column_type(row, 4) != SQLITE_NULL;

    return sw_json_object(
        SW_INT("number", sqlite3_column_int64(row, 0)),
        SW_SUB("state", text_or_null(row, 1)),
        SW_SUB("reason", text_or_null(row, 2)),
        SW_SUB("message", text_or_null(row, 3)),
        SW_SUB("exit_code", exited ? json_integer(sqlite3_column_int64(row, 4)) : json_null()),
        SW_INT("signal", sqlite3_column_int64(row, 5)),
        SW_SUB("node", text_or_null(row, 6)),
        SW_SUB("remote_id", text_or_null(row, 7)),
        SW_INT("started_ms", sqlite3_column_int64(row, 8)),
        SW_INT("ended_ms", sqlite3_column_int64(row, 9)),
        SW_SUB("cause", text_or_null(row, 10)));
}

json_t *sw_store_attempts(struct sw_store *store, const char *id, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job job = { 0 };
    sw_auto(json) json_t *list = json_array();
    sqlite3_stmt *rows;
    int64_t seq = 0;
    int row;

    if (store_begin_job(&work, store, STORE_READS, id, &seq, &job, err) < 0 ||
        !(rows = store_ask(store, SQL_LIST, err, BIND_INT(":seq", seq))))
        return NULL;
    while ((row = store_next(store, rows, err)) > 0)
        json_array_append_new(list, attempt_json(rows));
    return row < 0 ? NULL : sw_take(list);
}
