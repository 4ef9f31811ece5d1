/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caught_up.c - attempts that a platform made by itself, told afterwards.
 *
 * Where retry lives with the job, days may pass without a refresh. The next refresh writes down
 * all attempts since, in one transaction, with the same events as if each had been seen: a hook
 * hears of every retry, once. Where the log of such a job is one stream, progress stays.
 */
#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"
#include "store/store_internal.h"

static const char SQL_CAUGHT_UP[] =
    "UPDATE jobs SET"
    "  attempt = :to, state = '" SW_NAME_PENDING "', reason = '" SW_REASON_RETRY "',"
    "  message = :why, exit_code = NULL,"
    "  signal = 0, failed_replica = NULL, node = NULL, err_class = NULL, cause = NULL,"
    "  suggestion = NULL, progress = iif(:new_log, NULL, progress), started_ms = 0, updated_ms = :now,"
    "  not_before_ms = :not_before"
    " WHERE seq = :seq";
static const char SQL_WAS[] =
    "INSERT OR REPLACE INTO attempts (job, number, state, reason, message, exit_code, signal, node,"
    "                                 remote_id, started_ms, ended_ms, cause)"
    " VALUES (:seq, :number, :state, :reason, :message, :exit_code, :signal, :node, :remote_id,"
    "         :started_ms, :ended_ms, :cause)";

static int write_attempt(struct sw_store *store, int64_t seq, const json_t *was,
                         struct sw_error *err)
{
    static const char *const texts[] = { "state", "reason", "message", "node", "remote_id", "cause" };
    static const char *const numbers[] = { "number", "signal", "started_ms", "ended_ms" };
    sqlite3_stmt *write = store_statement(store, SQL_WAS, err);
    char name[32];

    if (!write)
        return -1;
    store_bind_int(write, ":seq", seq);
    for (size_t i = 0; i < SW_COUNT(texts); i++) {
        snprintf(name, sizeof name, ":%s", texts[i]);
        store_bind_text(write, name, sw_json_str(was, texts[i]));
    }
    for (size_t i = 0; i < SW_COUNT(numbers); i++) {
        snprintf(name, sizeof name, ":%s", numbers[i]);
        store_bind_int(write, name, sw_json_int(was, numbers[i], 0));
    }
    if (json_is_integer(json_object_get(was, "exit_code")))
        store_bind_int(write, ":exit_code", sw_json_int(was, "exit_code", 0));
    return store_run(store, write, err);
}

static int tell(struct sw_store *store, int64_t seq, const json_t *was, int64_t now_ms,
                struct sw_error *err)
{
    int64_t number = sw_json_int(was, "number", 0);
    sw_auto(json) json_t *data = sw_json_object(
        SW_INT("number", number + 1),
        SW_STR_OPT("why", sw_json_str(was, sw_json_str(was, "why") ? "why" : "message")),
        SW_SUB_COPY("not_before_ms", json_object_get(was, "not_before_ms")),
        SW_SUB("only_collect", sw_json_bool(was, "only_collect", false) ? json_true() : NULL),
        SW_SUB("failed", sw_json_object(
            SW_INT("attempt", number),
            SW_STR_OPT("reason", sw_json_str(was, "reason")),
            SW_STR_OPT("message", sw_json_str(was, "message")),
            SW_SUB_COPY("exit_code", json_object_get(was, "exit_code")),
            SW_SUB("signal", sw_json_int(was, "signal", 0) > 0 ? json_incref(json_object_get(was, "signal"))
                                                               : NULL),
            SW_STR_OPT("node", sw_json_str(was, "node")),
            SW_STR_OPT("cause", sw_json_str(was, "cause")))));

    return store_event_add(store, seq, "attempt", data, now_ms, err);
}

int sw_store_caught_up(struct sw_store *store, const struct sw_observation *seen, bool new_log,
                       int64_t now_ms, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job row = { 0 };
    const json_t *was;
    const char *why = NULL;
    int64_t seq = 0, not_before_ms = 0;
    size_t i;

    if (store_begin_job(&work, store, STORE_DURABLE, seen->job.id, &seq, &row, err) < 0)
        return -1;
    if (row.phase == SW_PHASE_OVER || row.attempt >= seen->attempt)
        return 0;
    json_array_foreach(seen->before, i, was) {
        bool new = sw_json_int(was, "number", 0) >= row.attempt;

        if (write_attempt(store, seq, was, err) < 0 || (new && tell(store, seq, was, now_ms, err) < 0) ||
            (sw_json_bool(was, "only_collect", false) && store_collect_still(store, seq, err) < 0))
            return -1;
        not_before_ms = sw_json_int(was, "not_before_ms", 0);
        why = sw_json_str(was, "why");
    }
    if (store_do(store, SQL_CAUGHT_UP, err, BIND_INT(":seq", seq), BIND_INT(":to", seen->attempt),
                 BIND_INT(":now", now_ms), BIND_INT(":new_log", new_log), BIND_TEXT(":why", why),
                 BIND_INT(":not_before", not_before_ms)) < 0 ||
        store_attempt_follow(store, seq, err) < 0)
        return -1;
    return store_commit(&work, err);
}
