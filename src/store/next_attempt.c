/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next_attempt.c - one attempt ends, the next begins.
 *
 * Two ways lead here: a platform tries again by itself or a person asks for it
 * (sw_store_next_attempt), and a failure that is to be retried (sw_store_retry). The second writes
 * the end of the old attempt and the beginning of the new one in a single transaction, so that
 * between two attempts no reader sees a job that is over: a waiter would return, and a hook
 * would cry failure.
 */
#include "store/store_internal.h"

#include "base/clock.h"
#include "core/reason.h"
#include "core/state.h"

/* After an end the platform must be asked again, and what it said of the last try is history. A
 * platform that tries again by itself keeps its name for the job. A cancel that is being carried out
 * stops any next attempt; one that is done does not stop its user from trying again. */
static const char SQL_NEXT_ATTEMPT[] =
    "UPDATE jobs SET"
    "  attempt = attempt + 1, state = '" SW_NAME_PENDING "', reason = '" SW_REASON_RETRY "', message = :why,"
    "  remote_id = CASE phase WHEN 'over' THEN NULL ELSE remote_id END,"
    "  phase = CASE phase WHEN 'over' THEN 'submitting' ELSE phase END,"
    "  exit_code = NULL, signal = 0, failed_replica = NULL, node = NULL,"
    "  err_class = NULL, cause = NULL, suggestion = NULL, progress = NULL, canceling = 0,"
    "  started_ms = 0, ended_ms = 0, updated_ms = :now, not_before_ms = :not_before"
    " WHERE seq = :seq AND attempt = :from AND (canceling = 0 OR phase = 'over')";
static const char SQL_FORGET_DETAILS[] =
    "UPDATE documents SET details = NULL WHERE job = :seq"
    " AND (SELECT phase FROM jobs WHERE seq = :seq) = 'submitting'";
static const char SQL_ATTEMPT_LATER[] =
    "UPDATE jobs SET not_before_ms = :not_before"
    " WHERE seq = :seq AND attempt = :attempt AND phase = 'submitting'";
static const char SQL_ATTEMPT_NOW[] =
    "UPDATE jobs SET not_before_ms = 0"
    " WHERE seq = :seq AND attempt = :attempt AND phase = 'submitting' AND not_before_ms > 0";
/* By hand it is said anew; a retry keeps what was said, and begins to when only the outputs failed. */
static const char SQL_COLLECT[] =
    "UPDATE documents SET collect = iif(:collect < 0, NULL, :collect) WHERE job = :seq";
static const char SQL_COLLECT_STILL[] =
    "UPDATE documents SET collect = coalesce(collect, 0) WHERE job = :seq";
static const char SQL_HAND_BACK[] =
    "UPDATE jobs SET phase = 'submitting', owner = NULL, remote_id = NULL, message = :message,"
    "  duties = duties | :duty, updated_ms = :now"
    " WHERE seq = :seq AND attempt = :attempt AND phase = 'active' AND state = '" SW_NAME_PENDING "'"
    "  AND reason = '" SW_REASON_RETRY "'";
static const char SQL_AVOID[] = "UPDATE documents SET avoid = :avoid WHERE job = :seq";

static int why_no_attempt(const struct sw_job *row, int from_attempt, struct sw_error *err)
{
    if (row->attempt != from_attempt)
        return sw_fail(err, SW_E_CONFLICT, "job '%s' is already at attempt %d", row->id,
                       row->attempt);
    return sw_fail(err, SW_E_CONFLICT, "job '%s' was canceled and is not retried", row->id);
}

int store_attempt_begin(struct sw_store *store, int64_t seq, int from_attempt, const char *why,
                        int64_t not_before_ms, int64_t now_ms, int *changes, struct sw_error *err)
{
    if (store_do(store, SQL_NEXT_ATTEMPT, err, BIND_INT(":seq", seq),
                 BIND_INT(":from", from_attempt), BIND_TEXT(":why", why), BIND_INT(":now", now_ms),
                 BIND_INT(":not_before", not_before_ms)) < 0)
        return -1;
    *changes = store_changed(store);
    if (!*changes)
        return 0;
    if (store_do(store, SQL_FORGET_DETAILS, err, BIND_INT(":seq", seq)) < 0)
        return -1;
    return store_attempt_follow(store, seq, err);
}

int sw_store_next_attempt(struct sw_store *store, const char *id, int from_attempt,
                          const char *why, int *attempt, struct sw_error *err)
{
    return sw_store_collect_again(store, id, from_attempt, -1, why, attempt, err);
}

int sw_store_collect_again(struct sw_store *store, const char *id, int from_attempt,
                           int command_exit, const char *why, int *attempt, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job row = { 0 };
    sw_auto(json) json_t *data = NULL;
    int64_t seq = 0, now_ms = sw_now_ms();
    int changes = 0;

    if (store_begin_job(&work, store, STORE_DURABLE, id, &seq, &row, err) < 0)
        return -1;
    if (row.phase != SW_PHASE_OVER && store_attempt_close(store, seq, why, now_ms, err) < 0)
        return -1;
    if (store_attempt_begin(store, seq, from_attempt, why, 0, now_ms, &changes, err) < 0)
        return -1;
    if (changes == 0)
        return why_no_attempt(&row, from_attempt, err);
    data = sw_json_object(SW_INT("number", from_attempt + 1), SW_STR_OPT("why", why),
                          SW_SUB("only_collect", command_exit >= 0 ? json_true() : NULL));
    if (store_do(store, SQL_COLLECT, err, BIND_INT(":seq", seq),
                 BIND_INT(":collect", command_exit)) < 0 ||
        store_event_add(store, seq, "attempt", data, now_ms, err) < 0 ||
        store_commit(&work, err) < 0)
        return -1;
    *attempt = from_attempt + 1;
    return 0;
}

int sw_store_attempt_later(struct sw_store *store, const char *id, int attempt, int64_t not_before_ms,
                           struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job row = { 0 };
    int64_t seq = 0;

    if (store_begin_job(&work, store, STORE_DURABLE, id, &seq, &row, err) < 0 ||
        store_do(store, SQL_ATTEMPT_LATER, err, BIND_INT(":seq", seq), BIND_INT(":attempt", attempt),
                 BIND_INT(":not_before", not_before_ms)) < 0)
        return -1;
    return store_commit(&work, err);
}

int sw_store_attempt_now(struct sw_store *store, const char *id, int attempt, bool *due,
                         struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job row = { 0 };
    sw_auto(json) json_t *data = sw_json_object(SW_INT("number", attempt));
    int64_t seq = 0;

    if (store_begin_job(&work, store, STORE_DURABLE, id, &seq, &row, err) < 0 ||
        store_do(store, SQL_ATTEMPT_NOW, err, BIND_INT(":seq", seq),
                 BIND_INT(":attempt", attempt)) < 0)
        return -1;
    *due = store_changed(store);
    if (*due && store_event_add(store, seq, "attempt-now", data, sw_now_ms(), err) < 0)
        return -1;
    return store_commit(&work, err);
}

int store_collect_still(struct sw_store *store, int64_t seq, struct sw_error *err)
{
    return store_do(store, SQL_COLLECT_STILL, err, BIND_INT(":seq", seq));
}

int sw_store_hand_back(struct sw_store *store, const char *id, int attempt, const char *message,
                       struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job row = { 0 };
    sw_auto(json) json_t *data = sw_json_object(SW_INT("attempt", attempt), SW_STR("message", message));
    int64_t seq = 0, now_ms = sw_now_ms();

    if (store_begin_job(&work, store, STORE_DURABLE, id, &seq, &row, err) < 0 ||
        store_do(store, SQL_HAND_BACK, err, BIND_INT(":seq", seq), BIND_INT(":attempt", attempt),
                 BIND_TEXT(":message", message), BIND_INT(":duty", SW_DUTY_RETRY),
                 BIND_INT(":now", now_ms)) < 0)
        return -1;
    if (!store_changed(store))
        return 0;
    if (store_attempt_follow(store, seq, err) < 0 ||
        store_event_add(store, seq, "handed-back", data, now_ms, err) < 0)
        return -1;
    return store_commit(&work, err);
}

int sw_store_avoid(struct sw_store *store, const char *id, const json_t *avoid,
                   struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job row = { 0 };
    int64_t seq = 0;

    if (store_begin_job(&work, store, STORE_DURABLE, id, &seq, &row, err) < 0 ||
        store_do(store, SQL_AVOID, err, BIND_INT(":seq", seq), BIND_JSON(":avoid", avoid)) < 0)
        return -1;
    return store_commit(&work, err);
}

/* What the event of a retry tells: how the old attempt ended, and what comes next. */
static json_t *retry_event(const struct sw_job *row, const struct sw_observation *failed,
                           const json_t *verdict, int64_t not_before_ms, const char *why)
{
    bool exited = failed->exit_code != SW_NO_EXIT_CODE;

    return sw_json_object(
        SW_INT("number", row->attempt + 1),
        SW_STR_OPT("why", why),
        SW_INT("not_before_ms", not_before_ms),
        SW_SUB("failed", sw_json_object(
            SW_INT("attempt", row->attempt),
            SW_STR("reason", failed->reason),
            SW_STR("message", failed->message),
            SW_SUB("exit_code", exited ? json_integer(failed->exit_code) : NULL),
            SW_SUB("signal", failed->signal > 0 ? json_integer(failed->signal) : NULL),
            SW_STR_OPT("node", *failed->node ? failed->node : row->node),
            SW_STR_OPT("cause", sw_json_str(verdict, "cause")))));
}

/* May this row still be retried for that failure? Another process may have been quicker. */
static bool is_retriable_row(const struct sw_job *row, const struct sw_observation *failed)
{
    return row->attempt == failed->job.attempt && row->phase != SW_PHASE_OVER && !row->canceling &&
           sw_state_may_follow(row->state, false, failed->state);
}

int sw_store_retry(struct sw_store *store, const struct sw_observation *failed, const json_t *verdict,
                   int64_t not_before_ms, bool only_collect, const json_t *avoid, const char *why,
                   int64_t now_ms, bool *won, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job row = { 0 };
    sw_auto(json) json_t *data = NULL;
    int64_t seq = 0;
    int changes = 0;

    if (store_begin_job(&work, store, STORE_DURABLE, failed->job.id, &seq, &row, err) < 0)
        return -1;
    if (!is_retriable_row(&row, failed)) {
        *won = false;
        return 0;
    }
    data = retry_event(&row, failed, verdict, not_before_ms, why);
    if (store_row_move(store, seq, &row, failed, verdict, now_ms, err) < 0 ||
        store_attempt_begin(store, seq, row.attempt, why, not_before_ms, now_ms, &changes,
                            err) < 0)
        return -1;
    if (changes == 0)
        return sw_fail(err, SW_E_INTERNAL, "job '%s' changed inside a transaction", row.id);
    if (only_collect)
        json_object_set_new(data, "only_collect", json_true());
    if ((avoid &&
         store_do(store, SQL_AVOID, err, BIND_INT(":seq", seq), BIND_JSON(":avoid", avoid)) < 0) ||
        (only_collect && store_collect_still(store, seq, err) < 0) ||
        store_event_add(store, seq, "attempt", data, now_ms, err) < 0 ||
        store_commit(&work, err) < 0)
        return -1;
    *won = true;
    return 0;
}
