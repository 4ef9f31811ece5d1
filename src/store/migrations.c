/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migrations.c - the tables, as an ordered list of steps; "PRAGMA user_version" counts them.
 *
 * A step that was released is never edited: the next change is a new row of the table. All
 * missing steps run in one transaction, so a file is of one version or the next, never between.
 * Two programs that open an old file at once both wait for the write lock; the second finds the
 * work done. Before an existing file is changed, a copy is kept beside it (jobs.db.v1), made under
 * the same lock. A file made by a newer Slipway is left exactly as it is.
 */
#include "store/store_internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static const char SQL_VERSION[] = "PRAGMA user_version";
static const char SQL_APPLICATION[] = "PRAGMA application_id";
static const char SQL_ANY_TABLE[] = "SELECT count(*) FROM sqlite_schema";

/*
 * seq orders jobs ("newest first") and is what other tables point to: every index ends with it,
 * so a page of any list is read straight from an index, and a clock set back changes no order.
 * Plans are kept apart from jobs: a list never reads them, and rows stay many to a page.
 * Texts stand for states and phases so that the file explains itself in the sqlite3 shell.
 */
static const char STEP_FIRST_TABLES[] =
    "CREATE TABLE jobs ("
    " seq            INTEGER PRIMARY KEY,"
    " id             TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 35),"
    " name           TEXT NOT NULL,"
    " platform       TEXT NOT NULL,"
    " profile        TEXT,"
    " phase          TEXT NOT NULL CHECK (phase IN ('submitting', 'active', 'over')),"
    " state          TEXT NOT NULL CHECK (state IN ('Unknown', 'Pending', 'Running', 'Paused',"
    "                                               'Complete', 'Error', 'Canceled')),"
    " canceling      INTEGER NOT NULL DEFAULT 0 CHECK (canceling IN (0, 1)),"
    " reason         TEXT,"
    " message        TEXT,"
    " attempt        INTEGER NOT NULL DEFAULT 1 CHECK (attempt >= 1),"
    " exit_code      INTEGER,"
    " signal         INTEGER NOT NULL DEFAULT 0,"
    " failed_replica INTEGER,"
    " remote_id      TEXT,"
    " node           TEXT,"
    " results_dir    TEXT,"
    " err_class      TEXT,"
    " cause          TEXT,"
    " suggestion     TEXT,"
    " created_ms     INTEGER NOT NULL,"
    " submitted_ms   INTEGER NOT NULL DEFAULT 0,"
    " started_ms     INTEGER NOT NULL DEFAULT 0,"
    " ended_ms       INTEGER NOT NULL DEFAULT 0,"
    " updated_ms     INTEGER NOT NULL,"
    " seen_ms        INTEGER NOT NULL DEFAULT 0,"
    " keep_ms        INTEGER NOT NULL DEFAULT 0,"
    " owner          TEXT,"
    " CHECK ((phase = 'over') = (state IN ('Complete', 'Error', 'Canceled')))"
    ") STRICT;"
    "CREATE INDEX jobs_by_state ON jobs (state);"
    "CREATE INDEX jobs_by_name ON jobs (name);"
    "CREATE INDEX jobs_by_platform ON jobs (platform);"
    "CREATE INDEX jobs_not_over ON jobs (seq) WHERE phase <> 'over';"
    "CREATE INDEX jobs_by_expiry ON jobs (ended_ms + keep_ms)"
    " WHERE phase = 'over' AND keep_ms > 0;"

    "CREATE TABLE documents ("
    " job     INTEGER PRIMARY KEY REFERENCES jobs (seq) ON DELETE CASCADE,"
    " plan    TEXT,"
    " details TEXT"
    ") STRICT;"

    "CREATE TABLE labels ("
    " job   INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,"
    " key   TEXT NOT NULL,"
    " value TEXT NOT NULL,"
    " PRIMARY KEY (job, key)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX labels_by_value ON labels (key, value, job);"
    "CREATE INDEX labels_by_key ON labels (key, job);"

    "CREATE TABLE attempts ("
    " job        INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,"
    " number     INTEGER NOT NULL,"
    " state      TEXT NOT NULL,"
    " reason     TEXT,"
    " message    TEXT,"
    " exit_code  INTEGER,"
    " signal     INTEGER NOT NULL,"
    " node       TEXT,"
    " remote_id  TEXT,"
    " started_ms INTEGER NOT NULL,"
    " ended_ms   INTEGER NOT NULL,"
    " PRIMARY KEY (job, number)"
    ") STRICT, WITHOUT ROWID;"

    /* AUTOINCREMENT: a number once given is never given again, so "after 17" misses nothing. */
    "CREATE TABLE events ("
    " seq   INTEGER PRIMARY KEY AUTOINCREMENT,"
    " job   INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,"
    " at_ms INTEGER NOT NULL,"
    " kind  TEXT NOT NULL,"
    " data  TEXT"
    ") STRICT;"
    "CREATE INDEX events_by_job ON events (job);";

/*
 * Watching. A retry waits until not_before_ms; last_epoch and guard_since_ms remember what was
 * reported already, so that it is reported once. `hooked` marks the jobs whose plan wants to hear of
 * events. One mark, "heard", says up to which event the hooks were looked up: it moves in the
 * transaction that writes the notices, and a store that is brought up to date begins at its end,
 * so that no hook runs for last year's jobs.
 */
static const char STEP_WATCHING[] =
    "ALTER TABLE jobs ADD COLUMN not_before_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN last_epoch INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN guard_since_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN hooked INTEGER NOT NULL DEFAULT 0 CHECK (hooked IN (0, 1));"
    "ALTER TABLE jobs ADD COLUMN progress TEXT;"
    "ALTER TABLE documents ADD COLUMN avoid TEXT;"
    "ALTER TABLE attempts ADD COLUMN cause TEXT;"

    "CREATE TABLE notices ("
    " event       INTEGER NOT NULL REFERENCES events (seq) ON DELETE CASCADE,"
    " hook        TEXT NOT NULL,"
    " stage       TEXT NOT NULL DEFAULT 'due'"
    "             CHECK (stage IN ('due', 'claimed', 'started', 'done')),"
    " owner       TEXT,"
    " changed_ms  INTEGER NOT NULL,"
    " exit_status INTEGER,"
    " PRIMARY KEY (event, hook)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX notices_open ON notices (event, hook) WHERE stage <> 'done';"

    "CREATE TABLE marks ("
    " name  TEXT PRIMARY KEY,"
    " value INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "INSERT INTO marks VALUES ('heard', (SELECT coalesce(max(seq), 0) FROM events));";

/*
 * Places. A job's row says where it was sent. Older rows told it in their details, as an address
 * alone: `complete` is 0 there, and the rest of the way is found as it was found then.
 */
static const char STEP_PLACES[] =
    "CREATE TABLE places ("
    " seq      INTEGER PRIMARY KEY,"
    " platform TEXT NOT NULL,"
    " address  TEXT NOT NULL,"
    " identity TEXT NOT NULL,"
    " options  TEXT NOT NULL,"
    " complete INTEGER NOT NULL CHECK (complete IN (0, 1)),"
    " UNIQUE (platform, address, identity, options, complete)"
    ") STRICT;"
    "ALTER TABLE jobs ADD COLUMN place INTEGER REFERENCES places (seq);"

    "CREATE TEMP TABLE told AS"
    " SELECT jobs.seq AS job, platform,"
    "        json_extract(details, CASE platform WHEN 'docker' THEN '$.engine' ELSE '$.hostname' END)"
    "          AS address"
    " FROM jobs JOIN documents ON documents.job = jobs.seq"
    " WHERE platform IN ('docker', 'slurm') AND json_valid(details);"
    "DELETE FROM told WHERE address IS NULL OR typeof(address) <> 'text' OR address = '';"
    "INSERT INTO places (platform, address, identity, options, complete)"
    " SELECT DISTINCT platform, address, '',"
    "        CASE platform WHEN 'docker' THEN json_object('host', address)"
    "                      ELSE json_object('hostname', json_array(address)) END, 0"
    " FROM told;"
    "UPDATE jobs SET place = (SELECT places.seq FROM places JOIN told"
    "                         ON told.platform = places.platform AND told.address = places.address"
    "                         WHERE told.job = jobs.seq)"
    " WHERE seq IN (SELECT job FROM told);"
    "DROP TABLE told;";

/*
 * An id of the store, made once, by chance: what we leave on a platform carries it, so that what another
 * store left there is never taken for ours.
 */
static const char STEP_STORE_ID[] = "INSERT INTO marks VALUES ('store_id', random());";

/*
 * An attempt may do nothing but bring the outputs of an earlier one: then its command's exit code is here.
 */
static const char STEP_COLLECT[] = "ALTER TABLE documents ADD COLUMN collect INTEGER;";

const struct store_migration store_migrations[] = {
    { "make the first tables", STEP_FIRST_TABLES },
    { "make room for retries, progress and notices", STEP_WATCHING },
    { "remember where each job was sent", STEP_PLACES },
    { "give the store an id", STEP_STORE_ID },
    { "make room for attempts that only bring outputs", STEP_COLLECT },
};
const size_t store_migration_count = SW_COUNT(store_migrations);

int store_check_version(struct sw_store *store, size_t newest, int64_t *version,
                        struct sw_error *err)
{
    int64_t application = 0, tables = 0;

    if (store_number(store, SQL_VERSION, 0, version, err) < 0 ||
        store_number(store, SQL_APPLICATION, 0, &application, err) < 0 ||
        store_number(store, SQL_ANY_TABLE, 0, &tables, err) < 0)
        return -1;
    if ((tables > 0 && application != STORE_APPLICATION_ID) || *version < 0) {
        sw_fail(err, SW_E_STORE, "'%s' is a database, but not a job store of ours", store->path);
        return sw_hint(err, "choose another folder with SLIPWAY_STATE_DIR");
    }
    if (*version > (int64_t)newest) {
        sw_fail(err, SW_E_STORE,
                "the job store '%s' was made by a newer Slipway (version %lld, this one knows %zu)",
                store->path, (long long)*version, newest);
        return sw_hint(err, "install that Slipway again; the file was not touched");
    }
    return 0;
}

/* ---- the copy kept before an existing file changes ------------------------------------------ */

static int copy_pages(sqlite3 *from, sqlite3 *to)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");

    if (!backup)
        return sqlite3_errcode(to);
    sqlite3_backup_step(backup, -1);
    return sqlite3_backup_finish(backup);
}

/* Through a second connection: ours holds the write lock, and SQLite copies no file while its own
 * connection writes. What the second one reads is what was committed before. */
static int keep_copy(struct sw_store *store, int64_t version, struct sw_error *err)
{
    sw_autofree char *copy = sw_format("%s.v%lld", store->path, (long long)version);
    sw_autofree char *beside = sw_format("%s.%ld", copy, (long)getpid());
    sqlite3 *from = NULL, *to = NULL;
    int code = sqlite3_open_v2(store->path, &from, SQLITE_OPEN_READWRITE, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_open_v2(beside, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code == SQLITE_OK)
        chmod(beside, 0600);
    if (code == SQLITE_OK)
        code = copy_pages(from, to);
    sqlite3_close(to);
    sqlite3_close(from);
    if (code == SQLITE_OK && rename(beside, copy) == 0)
        return 0;
    unlink(beside);
    sw_fail(err, SW_E_STORE, "cannot keep a copy of the job store as '%s': %s", copy,
            sqlite3_errstr(code));
    return sw_hint(err, "free some space; the store itself was not changed");
}

/* ---- the steps ------------------------------------------------------------------------------ */

static int run_script(struct sw_store *store, const char *sql, struct sw_error *err)
{
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return store_fail(store, err);
    return 0;
}

static int set_version(struct sw_store *store, size_t version, struct sw_error *err)
{
    char sql[96];            /* a PRAGMA takes no parameters; both numbers are our own */

    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %zu",
             STORE_APPLICATION_ID, version);
    return run_script(store, sql, err);
}

int store_migrate(struct sw_store *store, const struct store_migration *steps, size_t count,
                  struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    int64_t version = 0;

    if (store_begin(&work, store, STORE_DURABLE, err) < 0 ||
        store_check_version(store, count, &version, err) < 0)     /* again, now under the lock */
        return -1;
    if (version == (int64_t)count)
        return 0;
    if (version > 0 && keep_copy(store, version, err) < 0)
        return -1;
    for (size_t i = (size_t)version; i < count; i++)
        if (run_script(store, steps[i].sql, err) < 0)
            return sw_wrap(err, "cannot %s", steps[i].what);
    if (set_version(store, count, err) < 0)
        return -1;
    return store_commit(&work, err);
}
