/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c - what watchers learn while a job runs: how far it is, and that a guard barked.
 *
 * Progress itself is a courtesy: a power cut may forget it, and of two watchers the one that read
 * more of the log counts. What is reported because of it is not: milestones and guards are
 * compared with what was reported before inside the transaction that writes the event.
 */
#include "store/store_internal.h"

#include "base/clock.h"

static const char SQL_PROGRESS[] = "UPDATE jobs SET progress = :progress WHERE seq = :seq";
static const char SQL_LAST_EPOCH[] = "SELECT last_epoch FROM jobs WHERE seq = :seq";
static const char SQL_SET_EPOCH[] = "UPDATE jobs SET last_epoch = :epoch WHERE seq = :seq";
static const char SQL_GUARD[] =
    "UPDATE jobs SET guard_since_ms = :since"
    " WHERE seq = :seq AND attempt = :attempt AND phase <> 'over' AND guard_since_ms <> :since";

static int last_epoch(struct sw_store *store, int64_t seq, int64_t *epoch, struct sw_error *err)
{
    sqlite3_stmt *row = store_ask(store, SQL_LAST_EPOCH, err, BIND_INT(":seq", seq));

    if (!row || store_next(store, row, err) < 0)
        return -1;
    *epoch = sqlite3_column_int64(row, 0);
    sqlite3_reset(row);
    return 0;
}

/* Each milestone above the last one told is an event; also over several attempts only once. */
static int tell_milestones(struct sw_store *store, int64_t seq, int attempt,
                           const json_t *progress, const json_t *milestones, struct sw_error *err)
{
    int64_t last = 0, now_ms = sw_now_ms();
    json_t *milestone;
    size_t i;

    if (last_epoch(store, seq, &last, err) < 0)
        return -1;
    json_array_foreach(milestones, i, milestone) {
        int64_t epoch = json_integer_value(milestone);
        sw_auto(json) json_t *data = NULL;

        if (epoch <= last)
            continue;
        last = epoch;
        data = sw_json_object(SW_INT("epoch", epoch),
                              SW_INT("epochs", sw_json_int(progress, "epochs", 0)),
                              SW_INT("attempt", attempt));
        if (store_event_add(store, seq, "epoch", data, now_ms, err) < 0)
            return -1;
    }
    return store_do(store, SQL_SET_EPOCH, err, BIND_INT(":seq", seq), BIND_INT(":epoch", last));
}

int sw_store_progress(struct sw_store *store, const char *id, int attempt, const json_t *progress,
                      const json_t *milestones, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job row = { 0 };
    bool reached = json_array_size(milestones) > 0;
    int64_t seq = 0;

    if (store_begin_job(&work, store, reached ? STORE_DURABLE : STORE_RELAXED, id, &seq, &row,
                        err) < 0)
        return -1;
    if (row.attempt != attempt ||
        sw_json_int(row.progress, "offset", 0) > sw_json_int(progress, "offset", 0))
        return 0;                          /* old news */
    if (store_do(store, SQL_PROGRESS, err, BIND_INT(":seq", seq),
                 BIND_JSON(":progress", progress)) < 0 ||
        (reached && tell_milestones(store, seq, attempt, progress, milestones, err) < 0))
        return -1;
    return store_commit(&work, err);
}

int sw_store_guard(struct sw_store *store, const char *id, int attempt, int64_t since_ms,
                   const json_t *data, bool *won, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job row = { 0 };
    int64_t seq = 0;
    bool first;

    if (store_begin_job(&work, store, STORE_DURABLE, id, &seq, &row, err) < 0 ||
        store_do(store, SQL_GUARD, err, BIND_INT(":seq", seq), BIND_INT(":attempt", attempt),
                 BIND_INT(":since", since_ms)) < 0)
        return -1;
    first = store_changed(store);
    if (first && (store_event_add(store, seq, "guard", data, sw_now_ms(), err) < 0 ||
                  store_commit(&work, err) < 0))
        return -1;
    *won = first;
    return 0;
}
