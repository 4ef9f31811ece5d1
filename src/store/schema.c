/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c - the tables, made at once when a store is made; "PRAGMA user_version" is their version.
 *
 * Two programs that make a store at once both wait for the write lock; the second finds the work done. A
 * file of an older version that `upgrades` knows becomes one of this version, in one transaction; a file of
 * any other version is left exactly as it is.
 */
#include "store/store_internal.h"

#include <stdio.h>

static const char SQL_VERSION[] = "PRAGMA user_version";
static const char SQL_APPLICATION[] = "PRAGMA application_id";
static const char SQL_ANY_TABLE[] = "SELECT count(*) FROM sqlite_schema";

/*
 * seq orders jobs ("newest first") and is what other tables point to: every index ends with it,
 * so a page of any list is read straight from an index, and a clock set back changes no order.
 * Plans are kept apart from jobs: a list never reads them, and rows stay many to a page.
 * States and phases are texts, so that the file explains itself in the sqlite3 shell.
 *
 * A retry waits until not_before_ms; last_epoch and guard_since_ms remember what was reported
 * already, so that it is reported once. `hooked` marks the jobs whose plan has hooks,
 * `duties` those that need a watcher (enum sw_duty), `host` is where they were left alone. When a place was
 * asked, and by which host, only watchers write. `brief` is what a list shows of a plan:
 * {"command","gpus",...}.
 */
/* What a watcher must do is read from these alone, without a look at the jobs. */
#define DUTIES                                                                                   \
    "CREATE INDEX jobs_not_over ON jobs (seq, platform, place) WHERE phase <> 'over';"           \
    "CREATE INDEX jobs_with_duties ON jobs (duties, canceling, phase, not_before_ms)"            \
    " WHERE phase <> 'over' AND (duties <> 0 OR canceling = 1);"                                 \
    "CREATE INDEX jobs_hooked ON jobs (seq) WHERE hooked = 1;"
/* What was not committed when jobs were submitted: once, however many jobs have the same. */
#define DIFFS                    \
    "CREATE TABLE diffs ("       \
    " sha256 TEXT PRIMARY KEY,"  \
    " text   TEXT NOT NULL"      \
    ") STRICT, WITHOUT ROWID;"
#define DIFFS_USED                                                                               \
    "CREATE INDEX documents_by_diff ON documents (diff) WHERE diff IS NOT NULL;"                 \
    "CREATE TRIGGER diffs_unused AFTER DELETE ON documents WHEN old.diff IS NOT NULL BEGIN"      \
    " DELETE FROM diffs WHERE sha256 = old.diff"                                                 \
    "  AND NOT EXISTS (SELECT 1 FROM documents WHERE diff = old.diff);"                          \
    " END;"

static const char JOBS[] =
    "CREATE TABLE places ("
    " seq      INTEGER PRIMARY KEY,"
    " platform TEXT NOT NULL,"
    " address  TEXT NOT NULL,"
    " identity TEXT NOT NULL,"
    " options  TEXT NOT NULL,"
    " asked_ms INTEGER NOT NULL DEFAULT 0,"
    " asked_by TEXT,"
    " UNIQUE (platform, address, identity, options)"
    ") STRICT;"

    "CREATE TABLE watchers ("
    " host    TEXT PRIMARY KEY,"
    " seen_ms INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"

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
    " place          INTEGER REFERENCES places (seq),"
    " not_before_ms  INTEGER NOT NULL DEFAULT 0,"
    " last_epoch     INTEGER NOT NULL DEFAULT 0,"
    " guard_since_ms INTEGER NOT NULL DEFAULT 0,"
    " hooked         INTEGER NOT NULL DEFAULT 0 CHECK (hooked IN (0, 1)),"
    " duties         INTEGER NOT NULL DEFAULT 0,"
    " host           TEXT,"
    " progress       TEXT,"
    " brief          TEXT,"
    " CHECK ((phase = 'over') = (state IN ('Complete', 'Error', 'Canceled')))"
    ") STRICT;"
    "CREATE INDEX jobs_by_state ON jobs (state);"
    "CREATE INDEX jobs_by_name ON jobs (name);"
    "CREATE INDEX jobs_by_platform ON jobs (platform);"
    DUTIES
    "CREATE INDEX jobs_by_expiry ON jobs (ended_ms + keep_ms)"
    " WHERE phase = 'over' AND keep_ms > 0;"

    DIFFS
    "CREATE TABLE documents ("
    " job     INTEGER PRIMARY KEY REFERENCES jobs (seq) ON DELETE CASCADE,"
    " plan    TEXT,"
    " details TEXT,"
    " avoid   TEXT,"
    /* Who submitted it, from where: {"user","host","git",...}; with what, to make it again; the text of
     * `diffs`. */
    " origin  TEXT,"
    " request TEXT,"
    " diff    TEXT REFERENCES diffs (sha256),"
    /* An attempt may do nothing but bring the outputs of an earlier one: the exit code of that command. */
    " collect INTEGER"
    ") STRICT;"
    DIFFS_USED

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
    " cause      TEXT,"
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
 * Two marks. "heard" says up to which event the hooks were looked up: it moves in the transaction that
 * writes the notices. "store_id" is made once, by chance: what we leave on a platform carries it, so
 * that what another store left there is never taken for ours.
 */
static const char NOTICES[] =
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
    "INSERT INTO marks VALUES ('heard', 0), ('store_id', random());";

/* Each makes tables of one version those of the next; the oldest first, without a gap. */
static const struct {
    int from;
    const char *script;
} upgrades[] = {
    { 7, DIFFS
         "ALTER TABLE documents ADD COLUMN origin TEXT;"
         "ALTER TABLE documents ADD COLUMN diff TEXT REFERENCES diffs (sha256);"
         DIFFS_USED },
    { 8, "ALTER TABLE documents ADD COLUMN request TEXT;"
         "ALTER TABLE jobs ADD COLUMN brief TEXT;" },
    { 9, "DROP INDEX jobs_not_over;" DUTIES },
};

static bool is_upgradable(int64_t version)
{
    return version >= upgrades[0].from && version < STORE_VERSION;
}

int store_check_version(struct sw_store *store, int64_t *version, struct sw_error *err)
{
    int64_t application = 0, tables = 0;

    if (store_number(store, SQL_VERSION, 0, version, err) < 0 ||
        store_number(store, SQL_APPLICATION, 0, &application, err) < 0 ||
        store_number(store, SQL_ANY_TABLE, 0, &tables, err) < 0)
        return -1;
    if ((tables > 0 && application != STORE_APPLICATION_ID) || *version < 0) {
        sw_fail(err, SW_E_STORE, "'%s' is a database, but not a job store", store->path);
        return sw_hint(err, "choose another folder with SLIPWAY_STATE_DIR");
    }
    if (*version == STORE_VERSION || (!store->read_only && (*version == 0 || is_upgradable(*version))))
        return 0;
    sw_fail(err, SW_E_STORE,
            "the job store '%s' was made by %s Slipway (version %lld; this one reads %d)",
            store->path, *version > STORE_VERSION ? "a newer" : "an older", (long long)*version,
            STORE_VERSION);
    if (is_upgradable(*version))
        return sw_hint(err, "a command that may write to it, such as 'slipway ps', upgrades it");
    return sw_hint(err, "use that Slipway, or choose another folder with SLIPWAY_STATE_DIR; the file "
                        "was not touched");
}

static int run_script(struct sw_store *store, const char *script, const char *doing, struct sw_error *err)
{
    if (sqlite3_exec(store->db, script, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    store_fail(store, err);
    return sw_wrap(err, "cannot %s the tables", doing);
}

static int upgrade(struct sw_store *store, int64_t version, struct sw_error *err)
{
    for (size_t i = 0; i < SW_COUNT(upgrades); i++)
        if (upgrades[i].from >= version && run_script(store, upgrades[i].script, "upgrade", err) < 0)
            return -1;
    return 0;
}

int store_make_tables(struct sw_store *store, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    char stamp[96];          /* a PRAGMA takes no parameters; both numbers are our own */
    int64_t version = 0;

    if (store_begin(&work, store, STORE_DURABLE, err) < 0 ||
        store_check_version(store, &version, err) < 0)            /* again, now under the lock */
        return -1;
    if (version == STORE_VERSION)
        return 0;
    snprintf(stamp, sizeof stamp, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             STORE_APPLICATION_ID, STORE_VERSION);
    if (version ? upgrade(store, version, err) < 0
                : run_script(store, JOBS, "make", err) < 0 || run_script(store, NOTICES, "make", err) < 0)
        return -1;
    if (run_script(store, stamp, "mark", err) < 0)
        return -1;
    return store_commit(&work, err);
}
