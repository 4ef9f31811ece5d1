/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_internal.h - what the files of store/ share: the open store, one piece of work on it,
 * and statements that are prepared once.
 *
 * Every public function is one `struct store_work`: it takes the store's mutex, begins a
 * transaction, and lets go of both when it leaves scope. Not committed means rolled back, so an
 * early return never leaves half a change.
 *
 *     sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
 *
 *     if (store_begin(&work, store, STORE_DURABLE, err) < 0)
 *         return -1;
 *     ...
 *     return store_commit(&work, err);
 */
#ifndef SW_STORE_STORE_INTERNAL_H
#define SW_STORE_STORE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>

#include "base/error.h"
#include "store/store.h"

enum { STORE_STATEMENTS = 128 };     /* room in the cache; more than we have constants */

struct sw_store {
    sqlite3 *db;
    char *path;
    char *id;                        /* as sw_store_id() gives it */
    const char *doing;               /* "open", "read", "write": for messages */
    bool read_only;
    bool full;                       /* the disk had no room for what was written last */
    bool relaxed;                    /* what "PRAGMA synchronous" is at the moment */
    int64_t patience_ms;             /* how long we wait for another process's lock */
    int64_t patient_until_ms;        /* monotonic; set when a wait begins */
    pthread_mutex_t mutex;           /* held for one work; while a caller's function runs only by
                                        sw_store_together(), whose thread may take it again */
    int depth;                       /* works that are open, one inside the other */
    struct store_documents *documents;   /* read before (documents.c); NULL: none yet */
    size_t cached;
    struct {
        const char *sql;             /* the constant itself is the key */
        sqlite3_stmt *prepared;
    } cache[STORE_STATEMENTS];
};

/* ---- opening (store.c, schema.c) ------------------------------------------------------------ */

struct store_setup {                 /* sw_store_open's choices; tests make others */
    const char *journal_sql;         /* NULL: by the kind of file system */
    int64_t patience_ms;
    bool existing;                   /* never make a store: SW_E_NOT_FOUND where there is none */
};

struct store_setup store_setup_default(void);
struct sw_store *store_open_as(const char *dir, bool read_only, const struct store_setup *setup,
                               struct sw_error *err);
bool store_is_network_file_system(long type);     /* `type` as in statfs(2) */

/* Our own mark in the file's header: "SWJB"; and the version of our tables (1 to 5 were never released). */
enum { STORE_APPLICATION_ID = 0x53574A42, STORE_VERSION = 10 };

/* Is this file a job store of this version? Reads only, inside a transaction. *version: 0 for a file
 * without tables, or one that can be upgraded; only a writer accepts these. */
int store_check_version(struct sw_store *store, int64_t *version, struct sw_error *err);
/* Make or upgrade them. Many processes may try at once; one does it. */
int store_make_tables(struct sw_store *store, struct sw_error *err);

/* ---- one piece of work (sql.c) -------------------------------------------------------------- */

enum store_care {
    STORE_READS,                     /* one consistent view, no write lock */
    STORE_RELAXED,                   /* a power cut may forget it (never tear it): seen times */
    STORE_DURABLE,                   /* on the disk when store_commit() returns */
};

struct store_work {
    struct sw_store *store;          /* NULL: not begun */
    bool nested;                     /* a step of sw_store_together(): undone alone, kept with the others */
    bool committed;
};
#define STORE_WORK_INIT { NULL, false, false }

int store_begin(struct store_work *work, struct sw_store *store, enum store_care care,
                struct sw_error *err);
/* The same, and the row of `id` as it is now; SW_E_NOT_FOUND. */
int store_begin_job(struct store_work *work, struct sw_store *store, enum store_care care,
                    const char *id, int64_t *seq, struct sw_job *row, struct sw_error *err);
int store_commit(struct store_work *work, struct sw_error *err);
void store_mutex_init(pthread_mutex_t *mutex);        /* together.c */
void store_work_done(struct store_work *work);
static inline void store_work_auto(struct store_work *work) { store_work_done(work); }

/* ---- statements (sql.c) --------------------------------------------------------------------- */

/* Ready to bind; owned by the store. `sql` must be a constant that lives for ever. */
sqlite3_stmt *store_statement(struct sw_store *store, const char *sql, struct sw_error *err);

/* A value of a statement by its name, as the store_bind functions take it. */
struct store_value {
    const char *name;
    enum { STORE_NUMBER, STORE_TEXT, STORE_EXACT, STORE_JSON, STORE_SORTED } kind;
    int64_t number;
    const void *value;
};
#define BIND_INT(name, number)  { name, STORE_NUMBER, number, NULL }
#define BIND_TEXT(name, text)   { name, STORE_TEXT, 0, text }
#define BIND_EXACT(name, text)  { name, STORE_EXACT, 0, text }     /* "" is a value; NULL is "" */
#define BIND_JSON(name, json)   { name, STORE_JSON, 0, json }
#define BIND_SORTED(name, json) { name, STORE_SORTED, 0, json }    /* equal: the same text */

/* The statement with its values: ready to step, and the same run to its end (0, -1). */
#define store_ask(store, sql, err, ...) \
    store_bound(store, sql, (const struct store_value[]){ __VA_ARGS__, { 0 } }, err)
#define store_do(store, sql, err, ...) \
    store_run(store, store_ask(store, sql, err, __VA_ARGS__), err)
sqlite3_stmt *store_bound(struct sw_store *store, const char *sql, const struct store_value *values,
                          struct sw_error *err);
bool store_changed(const struct sw_store *store);       /* did the last one change a row? */

/* Both NULL and "" are bound as NULL: "nothing to say". */
void store_bind_text(sqlite3_stmt *statement, const char *name, const char *text);
void store_bind_int(sqlite3_stmt *statement, const char *name, int64_t value);

/* 1: there is a row; 0: no more; -1. store_run() takes NULL for a statement that failed. */
int store_next(struct sw_store *store, sqlite3_stmt *statement, struct sw_error *err);
int store_run(struct sw_store *store, sqlite3_stmt *statement, struct sw_error *err);
int store_exec(struct sw_store *store, const char *sql, struct sw_error *err);
/* The single number a statement answers; `missing` when there is no row. */
int store_number(struct sw_store *store, const char *sql, int64_t missing, int64_t *value,
                 struct sw_error *err);

char *store_column_text(sqlite3_stmt *statement, int column);                   /* owned, or NULL */
int store_column_json(sqlite3_stmt *statement, int column, json_t **out, struct sw_error *err);

/* What SQLite just complained about, in words for people; returns -1. */
int store_fail(struct sw_store *store, struct sw_error *err);

/* ---- rows (rows.c) -------------------------------------------------------------------------- */

/* In the order in which store_row_read() takes them. */
#define STORE_JOB_COLUMNS                                                                  \
    "seq, id, name, platform, profile, phase, state, canceling, reason, message, attempt," \
    " exit_code, signal, failed_replica, remote_id, node, results_dir, err_class, cause,"  \
    " suggestion, created_ms, submitted_ms, started_ms, ended_ms, updated_ms, seen_ms, keep_ms," \
    " not_before_ms, progress, place,"                                                      \
    " (SELECT address FROM places WHERE places.seq = jobs.place)"

/* What a list adds to them: what it shows of the plan, and the labels, {"key":"value"}. */
#define STORE_LIST_COLUMNS                                                                 \
    STORE_JOB_COLUMNS ", brief,"                                                           \
    " (SELECT json_group_object(own.key, own.value) FROM labels AS own WHERE own.job = jobs.seq)"

/* Returns how many columns those are. */
int store_row_read(sqlite3_stmt *statement, int64_t *seq, struct sw_job *out);
/* with STORE_LIST_COLUMNS */
int store_row_read_list(sqlite3_stmt *statement, int64_t *seq, struct sw_job *out);

/* Those of SW_COLUMNS_NAMES, likewise. */
#define STORE_NAME_COLUMNS "seq, id, platform, profile, phase, place"
int store_row_read_names(sqlite3_stmt *statement, int64_t *seq, struct sw_job *out);
/* Adds plan, details, labels, avoid and owner. */
void store_row_collect(sqlite3_stmt *row, int column, struct sw_job *job);
int store_row_documents(struct sw_store *store, int64_t seq, struct sw_job *job,
                        struct sw_error *err);
/* The row of `id` as it is now; SW_E_NOT_FOUND. */
int store_row_find(struct sw_store *store, const char *id, int64_t *seq, struct sw_job *out,
                   struct sw_error *err);

/* reserve.c: only where there is plenty of room, and none is kept yet. */
void store_reserve_keep(const struct sw_store *store, const char *folder);

/* documents.c */
void store_documents_free(struct store_documents *documents);

/* list.c: the statement that answers a filter; a test reads its query plan. */
const char *store_list_sql(const struct sw_job_filter *filter);

/* ---- pieces used inside another's work ------------------------------------------------------ */

/* jobs.c: sw_store_add without its transaction. */
int store_job_insert(struct sw_store *store, const struct sw_job *job, int64_t now_ms,
                     struct sw_error *err);
/* events.c. `data` may be NULL. */
int store_event_add(struct sw_store *store, int64_t seq, const char *kind, const json_t *data,
                    int64_t now_ms, struct sw_error *err);
/* attempts.c: the row of the current attempt says what the job's row says. */
int store_attempt_follow(struct sw_store *store, int64_t seq, struct sw_error *err);
/* attempts.c: an attempt the platform gave up without our seeing its end. */
int store_attempt_close(struct sw_store *store, int64_t seq, const char *why, int64_t now_ms,
                        struct sw_error *err);
/* transitions.c: the row takes over what was seen, without an event. `row` is what it was. */
int store_row_move(struct sw_store *store, int64_t seq, const struct sw_job *row,
                   const struct sw_observation *seen, const json_t *verdict, int64_t now_ms,
                   struct sw_error *err);
/* next_attempt.c: attempt + 1 for the row as it is now. *changes: 0 when it may not. */
int store_attempt_begin(struct sw_store *store, int64_t seq, int from_attempt, const char *why,
                        int64_t not_before_ms, int64_t now_ms, int *changes,
                        struct sw_error *err);
/* Its command is done: from now on its attempts only bring what that left. */
int store_collect_still(struct sw_store *store, int64_t seq, struct sw_error *err);

#endif
