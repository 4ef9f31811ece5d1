/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql.c - SQLite as the rest of the folder uses it: work, statements, errors in plain words.
 *
 * Three decisions:
 *   - Writers begin with BEGIN IMMEDIATE. A transaction that reads first and writes later can be
 *     refused in the middle without waiting; one that takes the lock first waits its turn.
 *   - We wait for locks ourselves, with short uneven pauses up to a deadline: SQLite's own waiting
 *     grows to 100 ms steps, which people notice when sixteen clients submit at once.
 *   - Every commit reaches the disk (synchronous=FULL) except those that only say "seen again":
 *     losing such a time to a power cut costs nothing, and syncing it would cost a disk flush
 *     per poll.
 */
#include "store/store_internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/text.h"

static const char SQL_BEGIN_READ[] = "BEGIN";
static const char SQL_BEGIN_WRITE[] = "BEGIN IMMEDIATE";
static const char SQL_COMMIT[] = "COMMIT";
static const char SQL_ROLLBACK[] = "ROLLBACK";
static const char SQL_BEGIN_STEP[] = "SAVEPOINT step";
static const char SQL_COMMIT_STEP[] = "RELEASE step";
static const char SQL_ROLLBACK_STEP[] = "ROLLBACK TO step";
static const char SQL_SYNC_FULL[] = "PRAGMA synchronous = FULL";
static const char SQL_SYNC_NORMAL[] = "PRAGMA synchronous = NORMAL";

/* ---- errors --------------------------------------------------------------------------------- */

static const char HINT_FULL[] =
    "free some space, then try again; nothing that was stored is lost";
static const char HINT_READ_ONLY[] =
    "make the folder writable, or choose another one with SLIPWAY_STATE_DIR";
static const char HINT_DAMAGED[] =
    "nothing was changed; copy the folder first, then move jobs.db, jobs.db-wal and jobs.db-shm "
    "aside (`sqlite3 jobs.db .recover` often saves the rows); running jobs are not affected";
static const char HINT_LOCKED[] =
    "another program holds it: `fuser -v jobs.db` in that folder shows which; "
    "try again when it is done";

static const struct complaint {
    int code;              /* SQLite's primary result code */
    const char *text;
    const char *hint;
} complaints[] = {
    { SQLITE_FULL,     "the disk is full",                             HINT_FULL },
    { SQLITE_READONLY, "it cannot be written",                         HINT_READ_ONLY },
    { SQLITE_PERM,     "access is denied",                             HINT_READ_ONLY },
    { SQLITE_CANTOPEN, "it cannot be opened",                          HINT_READ_ONLY },
    { SQLITE_CORRUPT,  "the file is damaged",                          HINT_DAMAGED },
    { SQLITE_NOTADB,   "the file is damaged or is not a job store",    HINT_DAMAGED },
    { SQLITE_BUSY,     "another process has locked it for too long", HINT_LOCKED },
    { SQLITE_LOCKED,   "another process has locked it for too long", HINT_LOCKED },
};

/* `ulimit -f`: the disk has room, but our files may not use it. */
static bool files_are_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static const struct complaint *find_complaint(int code, int system_errno)
{
    static const struct complaint limited = {
        SQLITE_FULL, "the disk is full, or the file would be larger than `ulimit -f` allows",
        "raise the limit or free some space, then try again; nothing that was stored is lost" };

    if (code == SQLITE_IOERR &&
        (system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG))
        code = SQLITE_FULL;
    if (code == SQLITE_FULL && files_are_limited())
        return &limited;
    for (size_t i = 0; i < SW_COUNT(complaints); i++)
        if (complaints[i].code == code)
            return &complaints[i];
    return NULL;
}

/* The errno behind an I/O error. SQLite forgets it when a COMMIT fails; the file it happened on,
 * the database or its WAL, still knows. */
static int errno_behind(sqlite3 *db)
{
    static const int files[] = { SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER };
    int found = sqlite3_system_errno(db);

    for (size_t i = 0; found == 0 && i < SW_COUNT(files); i++) {
        sqlite3_file *file = NULL;

        if (sqlite3_file_control(db, "main", files[i], &file) == SQLITE_OK && file &&
            file->pMethods)
            file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &found);
    }
    return found;
}

int store_fail(struct sw_store *store, struct sw_error *err)
{
    int code = sqlite3_errcode(store->db) & 0xff;
    int system_errno = code == SQLITE_IOERR ? errno_behind(store->db) : 0;
    const struct complaint *found = find_complaint(code, system_errno);

    if (found) {
        store->full = store->full || found->code == SQLITE_FULL;
        sw_fail(err, SW_E_STORE, "cannot %s the job store '%s': %s", store->doing, store->path,
                found->text);
        return sw_hint(err, "%s", found->hint);
    }
    return sw_fail(err, SW_E_STORE, "cannot %s the job store '%s': %s%s%s", store->doing,
                   store->path, sqlite3_errmsg(store->db), system_errno ? ": " : "",
                   system_errno ? strerror(system_errno) : "");
}

/* ---- statements ----------------------------------------------------------------------------- */

sqlite3_stmt *store_statement(struct sw_store *store, const char *sql, struct sw_error *err)
{
    sqlite3_stmt *prepared = NULL;

    for (size_t i = 0; i < store->cached; i++) {
        if (store->cache[i].sql == sql) {
            sqlite3_reset(store->cache[i].prepared);
            sqlite3_clear_bindings(store->cache[i].prepared);
            return store->cache[i].prepared;
        }
    }
    if (store->cached == STORE_STATEMENTS)
        return sw_null(sw_fail(err, SW_E_INTERNAL, "the job store's statement cache is full"));
    if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, NULL) !=
        SQLITE_OK) {
        store_fail(store, err);
        return NULL;
    }
    store->cache[store->cached].sql = sql;
    store->cache[store->cached++].prepared = prepared;
    return prepared;
}

static int parameter(sqlite3_stmt *statement, const char *name)
{
    int index = sqlite3_bind_parameter_index(statement, name);

    assert(index > 0);               /* a misspelt name would quietly bind nothing */
    return index;
}

void store_bind_text(sqlite3_stmt *statement, const char *name, const char *text)
{
    if (!sw_text_empty(text))
        sqlite3_bind_text(statement, parameter(statement, name), text, -1, SQLITE_TRANSIENT);
}

void store_bind_int(sqlite3_stmt *statement, const char *name, int64_t value)
{
    sqlite3_bind_int64(statement, parameter(statement, name), value);
}

static void bind_document(sqlite3_stmt *statement, const char *name, const json_t *document,
                          size_t flags)
{
    char *text = document && !json_is_null(document)
                     ? json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY | flags)
                     : NULL;

    if (text)
        sqlite3_bind_text(statement, parameter(statement, name), text, -1, free);
}

sqlite3_stmt *store_bound(struct sw_store *store, const char *sql, const struct store_value *values,
                          struct sw_error *err)
{
    sqlite3_stmt *statement = store_statement(store, sql, err);

    for (; statement && values->name; values++) {
        const char *text = values->value;

        if (values->kind == STORE_NUMBER)
            store_bind_int(statement, values->name, values->number);
        else if (values->kind == STORE_TEXT)
            store_bind_text(statement, values->name, text);
        else if (values->kind == STORE_EXACT)
            sqlite3_bind_text(statement, parameter(statement, values->name), text ? text : "", -1,
                              SQLITE_TRANSIENT);
        else
            bind_document(statement, values->name, values->value,
                          values->kind == STORE_SORTED ? JSON_SORT_KEYS : 0);
    }
    return statement;
}

bool store_changed(const struct sw_store *store)
{
    return sqlite3_changes(store->db) > 0;
}

int store_next(struct sw_store *store, sqlite3_stmt *statement, struct sw_error *err)
{
    int code = sqlite3_step(statement);

    if (code == SQLITE_ROW)
        return 1;
    if (code != SQLITE_DONE)
        store_fail(store, err);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? 0 : -1;
}

int store_run(struct sw_store *store, sqlite3_stmt *statement, struct sw_error *err)
{
    int more = -1;

    while (statement && (more = store_next(store, statement, err)) > 0)
        ;
    return more;
}

int store_exec(struct sw_store *store, const char *sql, struct sw_error *err)
{
    return store_run(store, store_statement(store, sql, err), err);
}

int store_number(struct sw_store *store, const char *sql, int64_t missing, int64_t *value,
                 struct sw_error *err)
{
    sqlite3_stmt *statement = store_statement(store, sql, err);
    int row = statement ? store_next(store, statement, err) : -1;

    if (row < 0)
        return -1;
    *value = row ? sqlite3_column_int64(statement, 0) : missing;
    sqlite3_reset(statement);
    return 0;
}

char *store_column_text(sqlite3_stmt *statement, int column)
{
    return sw_strdup((const char *)sqlite3_column_text(statement, column));
}

int store_column_json(sqlite3_stmt *statement, int column, json_t **out, struct sw_error *err)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    size_t length = (size_t)sqlite3_column_bytes(statement, column);

    *out = text ? sw_json_parse(text, length, "document", err) : NULL;
    if (!text || *out)
        return 0;
    if (err)
        err->code = SW_E_STORE;
    sw_wrap(err, "a document in the job store is damaged");
    return sw_hint(err, "%s", HINT_DAMAGED);
}

/* ---- work ----------------------------------------------------------------------------------- */

static int set_care(struct sw_store *store, bool relaxed, struct sw_error *err)
{
    if (store->relaxed == relaxed)
        return 0;
    /* Not through the cache: this pragma acts when it is prepared, not when it is run. */
    if (sqlite3_exec(store->db, relaxed ? SQL_SYNC_NORMAL : SQL_SYNC_FULL, NULL, NULL, NULL) !=
        SQLITE_OK)
        return store_fail(store, err);
    store->relaxed = relaxed;
    return 0;
}

int store_begin(struct store_work *work, struct sw_store *store, enum store_care care,
                struct sw_error *err)
{
    pthread_mutex_lock(&store->mutex);
    work->store = store;
    work->nested = store->depth++ > 0;
    store->doing = care == STORE_READS ? "read" : "write";
    if (work->nested)
        return store_exec(store, SQL_BEGIN_STEP, err);
    if (care == STORE_READS)
        return store_exec(store, SQL_BEGIN_READ, err);
    if (store->read_only)
        return sw_fail(err, SW_E_STORE, "the job store '%s' is open for reading only",
                       store->path);
    if (set_care(store, care == STORE_RELAXED, err) < 0)
        return -1;
    return store_exec(store, SQL_BEGIN_WRITE, err);
}

int store_begin_job(struct store_work *work, struct sw_store *store, enum store_care care,
                    const char *id, int64_t *seq, struct sw_job *row, struct sw_error *err)
{
    return store_begin(work, store, care, err) < 0 ? -1 : store_row_find(store, id, seq, row, err);
}

int store_commit(struct store_work *work, struct sw_error *err)
{
    int result = store_exec(work->store, work->nested ? SQL_COMMIT_STEP : SQL_COMMIT, err);

    work->committed = result == 0;
    return result;
}

/* What was not committed. A full disk may have undone everything already. */
static void roll_back(const struct store_work *work)
{
    struct sw_store *store = work->store;

    if (work->committed || sqlite3_get_autocommit(store->db))
        return;
    if (!work->nested) {
        store_exec(store, SQL_ROLLBACK, NULL);
        return;
    }
    store_exec(store, SQL_ROLLBACK_STEP, NULL);
    store_exec(store, SQL_COMMIT_STEP, NULL);
}

void store_work_done(struct store_work *work)
{
    struct sw_store *store = work->store;

    if (!store)
        return;
    for (size_t i = 0; i < store->cached; i++)     /* an early return may have left one half read */
        sqlite3_reset(store->cache[i].prepared);
    roll_back(work);
    work->store = NULL;
    store->depth--;
    pthread_mutex_unlock(&store->mutex);
}
