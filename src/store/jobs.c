/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs.c - the life of a row: made before anything is sent, confirmed, taken over, read, removed.
 *
 * This is the write-ahead half of submit (docs/internals/write-ahead-submit.md): when
 * sw_store_add() returns, the row is on the disk. A process that finds a row still "submitting" can tell
 * from its owner whether a process is at work on it; sw_store_claim() lets exactly one take over.
 */
#include "store/store_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/text.h"
#include "core/id.h"
#include "core/state.h"

static const char SQL_ADD[] =
    "INSERT INTO jobs (id, name, platform, profile, place, phase, state, results_dir, created_ms,"
    "                  updated_ms, keep_ms, owner, hooked, duties, host, brief)"
    " VALUES (:id, :name, :platform, :profile, nullif(:place, 0), 'submitting', '" SW_NAME_PENDING "',"
    "         :results_dir, :now, :now, :keep_ms, :owner, :hooked, :duties, :host, :brief)"
    " ON CONFLICT (id) DO NOTHING";
static const char SQL_ADD_DIFF[] = "INSERT INTO diffs VALUES (:sha256, :text) ON CONFLICT DO NOTHING";
static const char SQL_ADD_DOCUMENTS[] =
    "INSERT INTO documents (job, plan, origin, request, diff) VALUES (:seq, :plan, :origin, :request, :diff)";
static const char SQL_DIFF[] = "SELECT text FROM diffs JOIN documents ON diff = sha256 WHERE job = :seq";
static const char SQL_ADD_LABEL[] =
    "INSERT INTO labels (job, key, value) VALUES (:seq, :key, :value)";

/* Also for a row that is already over: a fast job may end before its submit is confirmed. */
static const char SQL_SUBMITTED[] =
    "UPDATE jobs SET"
    "  phase = CASE phase WHEN 'submitting' THEN 'active' ELSE phase END,"
    "  remote_id = coalesce(:remote_id, remote_id),"
    "  results_dir = coalesce(:results_dir, results_dir),"
    "  submitted_ms = :now, updated_ms = :now, owner = NULL"
    " WHERE seq = :seq";
static const char SQL_SUBMITTED_DETAILS[] =
    "UPDATE documents SET details = coalesce(:details, details) WHERE job = :seq";

static const char SQL_CLAIM[] =
    "UPDATE jobs SET owner = :new_owner"
    " WHERE seq = :seq AND phase = 'submitting' AND owner IS :old_owner";
static const char SQL_REOPEN[] =
    "UPDATE jobs SET phase = 'active', state = '" SW_NAME_PENDING "', reason = :reason, message = :message,"
    "  exit_code = NULL, signal = 0, err_class = NULL, cause = NULL, suggestion = NULL,"
    "  ended_ms = 0, updated_ms = :now"
    " WHERE seq = :seq AND phase = 'over' AND attempt = :attempt";
static const char SQL_SET_PLAN[] = "UPDATE documents SET plan = :plan WHERE job = :seq";
static const char SQL_SET_HOOKED[] = "UPDATE jobs SET hooked = :hooked, brief = :brief WHERE seq = :seq";
static const char SQL_REMOVE[] = "DELETE FROM jobs WHERE seq = :seq AND phase = 'over'";
static const char SQL_FORGET[] = "DELETE FROM jobs WHERE seq = :seq";

static int add_labels(struct sw_store *store, int64_t seq, json_t *labels, struct sw_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(labels, key, value) {
        sw_autofree char *other = json_is_string(value) ? NULL : sw_json_dump(value);
        const char *text = other ? other : json_string_value(value);

        if (store_do(store, SQL_ADD_LABEL, err, BIND_INT(":seq", seq), BIND_EXACT(":key", key),
                     BIND_EXACT(":value", text)) < 0)
            return -1;
    }
    return 0;
}

static bool wants_to_hear(const json_t *plan)
{
    return json_object_size(json_object_get(plan, "hooks")) > 0 ||
           json_object_size(json_object_get(plan, "notify")) > 0;
}

static int add_row(struct sw_store *store, const struct sw_job *job, int64_t now_ms, int64_t *seq,
                   struct sw_error *err)
{
    if (store_do(store, SQL_ADD, err, BIND_TEXT(":id", job->id), BIND_TEXT(":name", job->name),
                 BIND_TEXT(":platform", job->platform), BIND_TEXT(":profile", job->profile),
                 BIND_INT(":place", job->place), BIND_TEXT(":results_dir", job->results_dir),
                 BIND_INT(":now", now_ms), BIND_INT(":keep_ms", job->keep_ms),
                 BIND_SORTED(":owner", job->owner),
                 BIND_INT(":hooked", wants_to_hear(job->plan)),
                 BIND_INT(":duties", job->duties), BIND_TEXT(":host", job->host),
                 BIND_JSON(":brief", job->brief)) < 0)
        return -1;
    if (!store_changed(store))
        return sw_fail(err, SW_E_CONFLICT, "job '%s' already exists", job->id);
    *seq = sqlite3_last_insert_rowid(store->db);
    return 0;
}

static int add_documents(struct sw_store *store, int64_t seq, const struct sw_job *job, struct sw_error *err)
{
    char hash[SW_DIGEST_HEX];

    if (job->diff)
        sw_sha256_hex(job->diff, strlen(job->diff), hash);
    if (job->diff && store_do(store, SQL_ADD_DIFF, err, BIND_TEXT(":sha256", hash),
                              BIND_EXACT(":text", job->diff)) < 0)
        return -1;
    return store_do(store, SQL_ADD_DOCUMENTS, err, BIND_INT(":seq", seq), BIND_JSON(":plan", job->plan),
                    BIND_JSON(":origin", job->origin), BIND_JSON(":request", job->request),
                    BIND_TEXT(":diff", job->diff ? hash : NULL));
}

int store_job_insert(struct sw_store *store, const struct sw_job *job, int64_t now_ms,
                     struct sw_error *err)
{
    int64_t seq = 0;

    if (sw_id_check(job->id, err) < 0)
        return -1;
    if (sw_text_empty(job->name) || sw_text_empty(job->platform))
        return sw_fail(err, SW_E_INTERNAL, "job '%s' has no name or no platform", job->id);
    if (add_row(store, job, now_ms, &seq, err) < 0 ||
        add_documents(store, seq, job, err) < 0 ||
        add_labels(store, seq, job->labels, err) < 0 || store_attempt_follow(store, seq, err) < 0)
        return -1;
    return store_event_add(store, seq, "submitting", NULL, now_ms, err);
}

int sw_store_add(struct sw_store *store, const struct sw_job *job, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;

    if (store_begin(&work, store, STORE_DURABLE, err) < 0 ||
        store_job_insert(store, job, sw_now_ms(), err) < 0)
        return -1;
    return store_commit(&work, err);
}

/* ---- confirmed, or taken over --------------------------------------------------------------- */

static int remember_receipt(struct sw_store *store, int64_t seq, const char *remote_id,
                            const json_t *details, const char *results_dir, int64_t now_ms,
                            struct sw_error *err)
{
    if (store_do(store, SQL_SUBMITTED, err, BIND_INT(":seq", seq),
                 BIND_TEXT(":remote_id", remote_id), BIND_TEXT(":results_dir", results_dir),
                 BIND_INT(":now", now_ms)) < 0)
        return -1;
    return store_do(store, SQL_SUBMITTED_DETAILS, err, BIND_INT(":seq", seq),
                    BIND_JSON(":details", details));
}

/* Relaxed: should a power cut forget it, the row is "submitting" again, and the next refresh asks
 * the platform and adopts the job. */
int sw_store_submitted(struct sw_store *store, const char *id, const char *remote_id,
                       const json_t *details, const char *results_dir, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job job = { 0 };
    sw_auto(json) json_t *data = NULL;
    int64_t seq = 0, now_ms = sw_now_ms();

    if (store_begin_job(&work, store, STORE_RELAXED, id, &seq, &job, err) < 0 ||
        remember_receipt(store, seq, remote_id, details, results_dir, now_ms, err) < 0 ||
        store_attempt_follow(store, seq, err) < 0)
        return -1;
    data = sw_json_object(SW_INT("attempt", job.attempt),
                          SW_STR_OPT("remote_id", sw_text_empty(remote_id) ? NULL : remote_id));
    if (store_event_add(store, seq, "submitted", data, now_ms, err) < 0)
        return -1;
    return store_commit(&work, err);
}

int sw_store_claim(struct sw_store *store, const char *id, const json_t *old_owner,
                   const json_t *new_owner, bool *won, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job job = { 0 };
    int64_t seq = 0;
    bool mine;

    if (store_begin_job(&work, store, STORE_DURABLE, id, &seq, &job, err) < 0 ||
        store_do(store, SQL_CLAIM, err, BIND_INT(":seq", seq), BIND_SORTED(":old_owner", old_owner),
                 BIND_SORTED(":new_owner", new_owner)) < 0)
        return -1;
    mine = store_changed(store);
    if (mine && (store_event_add(store, seq, "claimed", new_owner, sw_now_ms(), err) < 0 ||
                 store_commit(&work, err) < 0))
        return -1;
    *won = mine;
    return 0;
}

int sw_store_reopen(struct sw_store *store, const char *id, int attempt, const char *reason,
                    const char *message, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job job = { 0 };
    sw_auto(json) json_t *data = sw_json_object(SW_INT("attempt", attempt), SW_STR("reason", reason),
                                                SW_STR("message", message));
    int64_t seq = 0, now_ms = sw_now_ms();

    if (store_begin_job(&work, store, STORE_DURABLE, id, &seq, &job, err) < 0 ||
        store_do(store, SQL_REOPEN, err, BIND_INT(":seq", seq), BIND_INT(":attempt", attempt),
                 BIND_TEXT(":reason", reason), BIND_TEXT(":message", message),
                 BIND_INT(":now", now_ms)) < 0)
        return -1;
    if (!store_changed(store))
        return 0;
    if (store_attempt_follow(store, seq, err) < 0 ||
        store_event_add(store, seq, "reopened", data, now_ms, err) < 0)
        return -1;
    return store_commit(&work, err);
}

/* ---- read, remove --------------------------------------------------------------------------- */

int sw_store_get(struct sw_store *store, const char *id, enum sw_columns columns,
                 struct sw_job *out, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job job = { 0 };
    int64_t seq = 0;

    if (store_begin_job(&work, store, STORE_READS, id, &seq, &job, err) < 0)
        return -1;
    if (columns == SW_COLUMNS_ALL && store_row_documents(store, seq, &job, err) < 0)
        return -1;
    *out = job;
    job = (struct sw_job){ 0 };
    return 0;
}

int sw_store_set_plan(struct sw_store *store, const char *id, const json_t *plan, const json_t *brief,
                      struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job job = { 0 };
    int64_t seq = 0;

    if (store_begin_job(&work, store, STORE_DURABLE, id, &seq, &job, err) < 0 ||
        store_do(store, SQL_SET_PLAN, err, BIND_INT(":seq", seq), BIND_JSON(":plan", plan)) < 0 ||
        store_do(store, SQL_SET_HOOKED, err, BIND_INT(":seq", seq),
                 BIND_INT(":hooked", wants_to_hear(plan)), BIND_JSON(":brief", brief)) < 0)
        return -1;
    return store_commit(&work, err);
}

char *sw_store_diff(struct sw_store *store, const char *id, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job job = { 0 };
    sqlite3_stmt *row;
    char *text;
    int64_t seq = 0;
    int found;

    if (store_begin_job(&work, store, STORE_READS, id, &seq, &job, err) < 0 ||
        !(row = store_ask(store, SQL_DIFF, err, BIND_INT(":seq", seq))))
        return NULL;
    found = store_next(store, row, err);
    if (found < 0)
        return NULL;
    text = found ? store_column_text(row, 0) : sw_strdup("");
    sqlite3_reset(row);
    return text;
}

static int remove_row(struct sw_store *store, const char *id, const char *sql, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job job = { 0 };
    int64_t seq = 0;

    if (store_begin_job(&work, store, STORE_DURABLE, id, &seq, &job, err) < 0 ||
        store_do(store, sql, err, BIND_INT(":seq", seq)) < 0)
        return -1;
    if (!store_changed(store)) {
        sw_fail(err, SW_E_CONFLICT, "job '%s' has not finished", id);
        return sw_hint(err, "cancel it first: slipway cancel %s", id);
    }
    return store_commit(&work, err);
}

int sw_store_remove(struct sw_store *store, const char *id, struct sw_error *err)
{
    return remove_row(store, id, SQL_REMOVE, err);
}

int sw_store_forget(struct sw_store *store, const char *id, struct sw_error *err)
{
    return remove_row(store, id, SQL_FORGET, err);
}
