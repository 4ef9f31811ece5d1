/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notices.c - who has to hear of an event, and that each hears it once.
 *
 * A notice is one event for one hook: due -> claimed -> started -> done. It is made in the
 * transaction that moves the mark "heard" over its event, so none is made twice and none is
 * forgotten. A claim belongs to a process; if that dies before it said "started", nothing was
 * run and the claim is free again. If it dies after, the command may have run, and is never run
 * again (docs/internals/hooks.md).
 */
#include "store/store_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static const char SQL_HEARD[] = "SELECT value FROM marks WHERE name = 'heard'";
static const char SQL_HEAR[] =
    "UPDATE marks SET value = :upto WHERE name = 'heard' AND value = :from";
static const char SQL_LAST_EVENT[] = "SELECT coalesce(max(seq), 0) FROM events";
static const char SQL_UNHEARD[] =
    "SELECT events.seq, jobs.id, events.kind, events.data FROM events"
    " JOIN jobs ON jobs.seq = events.job"
    " WHERE events.seq > :from AND jobs.hooked = 1 ORDER BY events.seq LIMIT :limit";
static const char SQL_ADD[] =
    "INSERT INTO notices (event, hook, changed_ms) SELECT :event, :hook, :now"
    " WHERE EXISTS (SELECT 1 FROM events WHERE seq = :event) ON CONFLICT DO NOTHING";
static const char SQL_OPEN[] =
    "SELECT event, hook, owner, changed_ms FROM notices INDEXED BY notices_open"
    " WHERE stage <> 'done' AND stage <> 'started' ORDER BY event, hook";
static const char SQL_ONE[] =
    "SELECT notices.owner, notices.changed_ms, notices.stage, jobs.id, events.kind, events.data,"
    "       events.at_ms, events.job"
    " FROM notices JOIN events ON events.seq = notices.event JOIN jobs ON jobs.seq = events.job"
    " WHERE notices.event = :event AND notices.hook = :hook";
static const char SQL_CHANGE[] =
    "UPDATE notices SET stage = :stage, owner = :owner, changed_ms = :now,"
    "  exit_status = coalesce(:exit_status, exit_status)"
    " WHERE event = :event AND hook = :hook AND stage <> 'done'";

/* A claimer that we cannot see (another machine, or before a reboot) gets so long to begin. */
enum { FOREIGN_CLAIM_MS = 5 * 60 * 1000 };

/* ---- from events to notices ----------------------------------------------------------------- */

struct unheard {
    int64_t event;
    char id[SW_ID_SIZE];
    char *kind;
    json_t *data, *hooks;
};

struct hearing {
    int64_t from, upto;              /* the mark before and after */
    struct unheard *events;
    size_t count;
};

static void hearing_auto(struct hearing *hearing)
{
    for (size_t i = 0; i < hearing->count; i++) {
        free(hearing->events[i].kind);
        json_decref(hearing->events[i].data);
        json_decref(hearing->events[i].hooks);
    }
    free(hearing->events);
}

static int hearing_read(struct sw_store *store, size_t limit, struct hearing *out,
                        struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sqlite3_stmt *rows;
    int row;

    if (store_begin(&work, store, STORE_READS, err) < 0 ||
        store_number(store, SQL_HEARD, 0, &out->from, err) < 0 ||
        store_number(store, SQL_LAST_EVENT, 0, &out->upto, err) < 0)
        return -1;
    if (out->upto <= out->from)
        return 0;
    out->events = sw_alloc(limit * sizeof *out->events);
    if (!(rows = store_ask(store, SQL_UNHEARD, err, BIND_INT(":from", out->from),
                           BIND_INT(":limit", (int64_t)limit))))
        return -1;
    while ((row = store_next(store, rows, err)) > 0 && out->count < limit) {
        struct unheard *unheard = &out->events[out->count++];

        unheard->event = sqlite3_column_int64(rows, 0);
        snprintf(unheard->id, sizeof unheard->id, "%s", (const char *)sqlite3_column_text(rows, 1));
        unheard->kind = store_column_text(rows, 2);
        unheard->hooks = json_array();
        if (store_column_json(rows, 3, &unheard->data, err) < 0)
            return -1;
    }
    if (out->count == limit)         /* there may be more: go only as far as we have read */
        out->upto = out->events[limit - 1].event;
    return row < 0 ? -1 : 0;
}

static int add_notices(struct sw_store *store, const struct unheard *unheard, int64_t now_ms,
                       struct sw_error *err)
{
    json_t *hook;
    size_t i;

    json_array_foreach(unheard->hooks, i, hook)
        if (store_do(store, SQL_ADD, err, BIND_INT(":event", unheard->event),
                     BIND_TEXT(":hook", json_string_value(hook)), BIND_INT(":now", now_ms)) < 0)
            return -1;
    return 0;
}

/* Move the mark and write the notices, unless another process did it meanwhile. */
static int hearing_write(struct sw_store *store, const struct hearing *hearing,
                         struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    bool wanted = false;

    for (size_t i = 0; i < hearing->count; i++)
        wanted = wanted || json_array_size(hearing->events[i].hooks) > 0;
    if (store_begin(&work, store, wanted ? STORE_DURABLE : STORE_RELAXED, err) < 0 ||
        store_do(store, SQL_HEAR, err, BIND_INT(":from", hearing->from),
                 BIND_INT(":upto", hearing->upto)) < 0)
        return -1;
    if (!store_changed(store))
        return 0;
    for (size_t i = 0; i < hearing->count; i++)
        if (add_notices(store, &hearing->events[i], sw_now_ms(), err) < 0)
            return -1;
    return store_commit(&work, err);
}

int sw_store_due(struct sw_store *store, size_t limit, sw_due_fn *fn, void *context, bool *found,
                 struct sw_error *err)
{
    __attribute__((cleanup(hearing_auto))) struct hearing hearing = { 0 };

    *found = false;
    if (hearing_read(store, limit ? limit : 1, &hearing, err) < 0)
        return -1;
    if (hearing.upto <= hearing.from)
        return 0;
    for (size_t i = 0; i < hearing.count; i++) {
        struct unheard *unheard = &hearing.events[i];
        sw_auto(sw_job) struct sw_job job = { 0 };

        /* A job that was removed meanwhile has no hook left to run. */
        if (sw_store_get(store, unheard->id, SW_COLUMNS_ALL, &job, NULL) == 0)
            fn(context, &job, unheard->event, unheard->kind, unheard->data, unheard->hooks);
    }
    *found = hearing.count > 0;
    return hearing_write(store, &hearing, err);
}

/* ---- claims --------------------------------------------------------------------------------- */

static bool claim_is_free(const json_t *owner, int64_t changed_ms)
{
    struct sw_proc proc;

    if (!owner || sw_proc_from_json(owner, &proc) < 0)
        return true;
    if (sw_proc_same_boot(&proc))
        return !sw_proc_alive(&proc);
    return sw_now_ms() - changed_ms > FOREIGN_CLAIM_MS;
}

struct open_notice {
    int64_t event;
    char *hook;
};

int sw_store_notices(struct sw_store *store, size_t limit, sw_notice_fn *fn, void *context,
                     struct sw_error *err)
{
    struct open_notice *notices = sw_alloc((limit ? limit : 1) * sizeof *notices);
    size_t count = 0;
    int result = 0, row = 0;

    {
        sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
        sqlite3_stmt *rows = NULL;

        if (store_begin(&work, store, STORE_READS, err) < 0 ||
            !(rows = store_statement(store, SQL_OPEN, err)))
            result = -1;
        while (result == 0 && count < limit && (row = store_next(store, rows, err)) > 0) {
            sw_auto(json) json_t *owner = NULL;

            if (store_column_json(rows, 2, &owner, NULL) < 0 ||
                !claim_is_free(owner, sqlite3_column_int64(rows, 3)))
                continue;
            notices[count].event = sqlite3_column_int64(rows, 0);
            notices[count++].hook = store_column_text(rows, 1);
        }
        if (rows)
            sqlite3_reset(rows);
    }
    if (row < 0)
        result = -1;
    for (size_t i = 0; i < count; i++) {
        if (result == 0 && fn(context, notices[i].event, notices[i].hook))
            result = 1;
        free(notices[i].hook);
    }
    free(notices);
    return result < 0 ? -1 : 0;
}

static int change(struct sw_store *store, int64_t event, const char *hook, const char *stage,
                  const json_t *owner, const int *exit_status, struct sw_error *err)
{
    sqlite3_stmt *set = store_ask(store, SQL_CHANGE, err, BIND_INT(":event", event),
                                  BIND_TEXT(":hook", hook), BIND_TEXT(":stage", stage),
                                  BIND_SORTED(":owner", owner), BIND_INT(":now", sw_now_ms()));

    if (set && exit_status)
        store_bind_int(set, ":exit_status", *exit_status);
    return store_run(store, set, err);
}

void sw_notice_done(struct sw_notice *notice)
{
    sw_job_done(&notice->job);
    free(notice->kind);
    json_decref(notice->data);
    *notice = (struct sw_notice){ 0 };
}

/* The notice as it is now, inside the caller's work. *free: it may be claimed. */
static int read_notice(struct sw_store *store, int64_t event, const char *hook, bool *is_free,
                       int64_t *seq, struct sw_notice *out, struct sw_error *err)
{
    sqlite3_stmt *row = store_ask(store, SQL_ONE, err, BIND_INT(":event", event),
                                  BIND_TEXT(":hook", hook));
    sw_auto(json) json_t *owner = NULL;
    char id[SW_ID_SIZE] = "";
    const char *stage;
    int found = row ? store_next(store, row, err) : -1;

    if (found <= 0)
        return found < 0 ? -1 : sw_fail(err, SW_E_NOT_FOUND, "there is no such notice");
    stage = (const char *)sqlite3_column_text(row, 2);
    *is_free = (strcmp(stage, "due") == 0 || strcmp(stage, "claimed") == 0) &&
               store_column_json(row, 0, &owner, NULL) == 0 &&
               claim_is_free(owner, sqlite3_column_int64(row, 1));
    snprintf(id, sizeof id, "%s", (const char *)sqlite3_column_text(row, 3));
    out->kind = store_column_text(row, 4);
    out->at_ms = sqlite3_column_int64(row, 6);
    *seq = sqlite3_column_int64(row, 7);
    if (store_column_json(row, 5, &out->data, err) < 0)
        return -1;
    sqlite3_reset(row);
    return store_row_find(store, id, seq, &out->job, err) < 0
               ? -1 : store_row_documents(store, *seq, &out->job, err);
}

int sw_store_notice_claim(struct sw_store *store, int64_t event_seq, const char *hook, bool *won,
                          struct sw_notice *out, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_notice) struct sw_notice notice = { 0 };
    sw_auto(json) json_t *me = sw_owner_json();
    bool is_free = false;
    int64_t seq = 0;

    if (!me)
        return sw_fail(err, SW_E_INTERNAL, "cannot identify this process");
    if (store_begin(&work, store, STORE_DURABLE, err) < 0 ||
        read_notice(store, event_seq, hook, &is_free, &seq, &notice, err) < 0)
        return -1;
    if (is_free && (change(store, event_seq, hook, "claimed", me, NULL, err) < 0 ||
                    store_commit(&work, err) < 0))
        return -1;
    *won = is_free;
    if (is_free) {
        *out = notice;
        notice = (struct sw_notice){ 0 };
    }
    return 0;
}

int sw_store_notice_started(struct sw_store *store, int64_t event_seq, const char *hook,
                            struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(json) json_t *me = sw_owner_json();

    if (!me)
        return sw_fail(err, SW_E_INTERNAL, "cannot identify this process");
    if (store_begin(&work, store, STORE_DURABLE, err) < 0 ||
        change(store, event_seq, hook, "started", me, NULL, err) < 0)
        return -1;
    return store_commit(&work, err);
}

int sw_store_notice_done(struct sw_store *store, int64_t event_seq, const char *hook,
                         int exit_status, const json_t *result, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_notice) struct sw_notice notice = { 0 };
    bool is_free;
    int64_t seq = 0;

    if (store_begin(&work, store, STORE_DURABLE, err) < 0 ||
        read_notice(store, event_seq, hook, &is_free, &seq, &notice, err) < 0 ||
        change(store, event_seq, hook, "done", NULL, &exit_status, err) < 0 ||
        store_event_add(store, seq, "hook", result, sw_now_ms(), err) < 0)
        return -1;
    return store_commit(&work, err);
}
