/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.c - opening and closing the job store: whose folder it is, who may read it, which journal.
 *
 * We never open jobs.db ourselves, not even to look at its first bytes: closing any descriptor of
 * a file drops all POSIX locks this process holds on it, also those of another open store. Only
 * names are looked at (lstat), everything else is asked through SQLite.
 *
 * WAL needs shared memory between all users of the file, which network file systems do not give;
 * home folders often live on one, so there the store keeps a rollback journal instead.
 */
#include "store/store_internal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "core/state.h"

static const char SQL_JOURNAL_WAL[] = "PRAGMA journal_mode = WAL";
static const char SQL_JOURNAL_FILE[] = "PRAGMA journal_mode = DELETE";
static const char SQL_WAL_SHORT[] = "PRAGMA wal_autocheckpoint = 250";     /* pages: 1 MB */
static const char SQL_JOURNAL_LIMIT[] = "PRAGMA journal_size_limit = 4194304";
static const char SQL_FOREIGN_KEYS[] = "PRAGMA foreign_keys = ON";
static const char SQL_STORE_ID[] =
    "SELECT printf('%016x', value) FROM marks WHERE name = 'store_id'";
static const char SQL_QUICK_CHECK[] = "PRAGMA quick_check(10)";
static const char SQL_FOREIGN_KEY_CHECK[] = "PRAGMA foreign_key_check";

enum { PATIENCE_MS = 10000, LONGEST_PAUSE_MS = 20, LONG_WAL_BYTES = 4 * 1024 * 1024 };

static const long network_file_systems[] = {      /* f_type of statfs(2) */
    0x6969,          /* NFS */
    0x517B,          /* SMB */
    0xFF534D42,      /* CIFS */
    0xFE534D42,      /* SMB2 */
    0x5346414F,      /* AFS */
    0x00C36400,      /* Ceph */
    0x01021997,      /* 9P */
    0x0BD00BD0,      /* Lustre */
    0x47504653,      /* GPFS */
    0x19830326,      /* BeeGFS */
};

bool store_is_network_file_system(long type)
{
    for (size_t i = 0; i < SW_COUNT(network_file_systems); i++)
        if (network_file_systems[i] == type)
            return true;
    return false;
}

/* ---- the folder and the file, before SQLite sees them --------------------------------------- */

static int cannot_use(struct sw_error *err, const char *path)
{
    sw_fail_errno(err, SW_E_STORE, "cannot use the job store in '%s'", path);
    if (errno == EACCES || errno == EPERM)
        sw_hint(err, "make the folder writable, or choose another one with SLIPWAY_STATE_DIR");
    return -1;
}

static int only_for_us(const char *path, const struct stat *info, bool read_only,
                       struct sw_error *err)
{
    if (info->st_uid != geteuid()) {
        sw_fail(err, SW_E_STORE, "'%s' belongs to another user (uid %u)", path,
                (unsigned)info->st_uid);
        return sw_hint(err, "use your own folder: set SLIPWAY_STATE_DIR, or run as that user");
    }
    if ((info->st_mode & 077) == 0 || read_only)
        return 0;
    if (chmod(path, info->st_mode & 0700) < 0)
        return cannot_use(err, path);
    return 0;
}

/* The folder without links in its name (SQLite refuses any link on the way to the file). */
static char *prepare_folder(const char *dir, bool read_only, bool make, struct sw_error *err)
{
    sw_autofree char *real = NULL;
    struct stat info;

    if (make && sw_mkdirs(dir, 0700, err) < 0) {
        if (err)
            err->code = SW_E_STORE;
        return sw_null(sw_wrap(err, "cannot create the job store"));
    }
    real = realpath(dir, NULL);
    if (!real && errno == ENOENT && !make)
        return sw_null(sw_fail(err, SW_E_NOT_FOUND, "no job store in '%s' yet", dir));
    if (!real || stat(real, &info) < 0) {
        cannot_use(err, dir);
        return NULL;
    }
    if (!S_ISDIR(info.st_mode))
        return sw_null(sw_fail(err, SW_E_STORE, "'%s' is not a folder", dir));
    return only_for_us(real, &info, read_only, err) < 0 ? NULL : sw_take(real);
}

static int check_file(const char *path, bool read_only, bool make, struct sw_error *err)
{
    struct stat info;

    if (lstat(path, &info) < 0) {
        if (errno != ENOENT)
            return cannot_use(err, path);
        return make ? 0
                    : sw_fail(err, SW_E_NOT_FOUND, "no job store '%s' yet", path);
    }
    if (!S_ISREG(info.st_mode)) {
        sw_fail(err, SW_E_STORE, "the job store '%s' is %s, not a plain file", path,
                S_ISLNK(info.st_mode) ? "a symbolic link" : "something else");
        return sw_hint(err, "to keep the store elsewhere set SLIPWAY_STATE_DIR");
    }
    return only_for_us(path, &info, read_only, err);
}

/* ---- the connection ------------------------------------------------------------------------- */

/* Called by SQLite while another process holds a lock: non-zero means "ask again". */
static int wait_for_lock(void *context, int tries)
{
    struct sw_store *store = context;
    int64_t now = sw_monotonic_ms();
    int64_t pause = tries < 4 ? 1 + tries : LONGEST_PAUSE_MS;

    if (tries == 0)
        store->patient_until_ms = now + store->patience_ms;
    if (now >= store->patient_until_ms)
        return 0;
    sw_sleep_ms(1 + (now * 7919 + getpid()) % pause);      /* uneven, so that waiters spread */
    return 1;
}

/* may_follow(state, canceling, next): the one rule of core/state.c, usable in SQL. */
static void sql_may_follow(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *now_name = (const char *)sqlite3_value_text(values[0]);
    const char *next_name = (const char *)sqlite3_value_text(values[2]);
    enum sw_state now, next;

    (void)count;
    if (!now_name || !next_name || sw_state_parse(now_name, &now) < 0 ||
        sw_state_parse(next_name, &next) < 0)
        sqlite3_result_int(context, 0);
    else
        sqlite3_result_int(context,
                           sw_state_may_follow(now, sqlite3_value_int(values[1]) != 0, next));
}

static bool folder_is_frozen(const char *folder, const char *path)
{
    sw_autofree char *wal = sw_format("%s-wal", path);
    struct stat info;

    return access(folder, W_OK) < 0 && (stat(wal, &info) < 0 || info.st_size == 0);
}

/* "file:" form of a path: what has a meaning in a URI is written as %XX. */
static char *uri_of(const char *path, const char *parameters)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    sw_buf_add(&out, *path == '/' ? "file://" : "file:");       /* else "//x" would name a host */
    for (const char *at = path; *at; at++)
        if (strchr("%?#", *at))
            sw_buf_addf(&out, "%%%02X", (unsigned char)*at);
        else
            sw_buf_add_char(&out, *at);
    sw_buf_add(&out, parameters);
    return sw_buf_steal(&out);
}

static int open_connection(struct sw_store *store, const char *folder, bool make,
                           struct sw_error *err)
{
    /* No process can write there, so no lock can be taken and none is needed. */
    bool frozen = store->read_only && folder_is_frozen(folder, store->path);
    sw_autofree char *uri = uri_of(store->path, frozen ? "?immutable=1" : "");
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_URI |
                (store->read_only ? SQLITE_OPEN_READONLY
                 : make           ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                  : SQLITE_OPEN_READWRITE);
    int code = sqlite3_open_v2(uri, &store->db, flags, NULL);

    if (!store->db)
        return sw_fail(err, SW_E_STORE, "cannot open the job store: out of memory");
    sqlite3_extended_result_codes(store->db, 1);
    if (code != SQLITE_OK)
        return store_fail(store, err);
    sqlite3_busy_handler(store->db, wait_for_lock, store);
    sqlite3_create_function(store->db, "may_follow", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                            sql_may_follow, NULL, NULL);
    /* The last one to close would move the WAL into the file and delete it: two or three disk
     * flushes at the end of every short command, and a change to a file that may not be ours. The
     * WAL is moved every thousand pages anyway. */
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (!store->read_only && chmod(store->path, 0600) < 0)
        return cannot_use(err, store->path);
    return 0;
}

static const char *journal_for(const char *folder)
{
    struct statfs info;

    if (statfs(folder, &info) == 0 && store_is_network_file_system((long)info.f_type))
        return SQL_JOURNAL_FILE;
    return SQL_JOURNAL_WAL;
}

/* Changing the journal needs the file alone for a moment, and SQLite does not always wait. */
static int set_journal(struct sw_store *store, const char *sql, struct sw_error *err)
{
    int64_t until = sw_monotonic_ms() + store->patience_ms;

    for (;;) {
        sqlite3_stmt *statement = store_statement(store, sql, err);
        int code;

        if (!statement)
            return -1;
        code = sqlite3_step(statement);
        sqlite3_reset(statement);
        if (code == SQLITE_ROW || code == SQLITE_DONE)
            return 0;
        if ((code & 0xff) != SQLITE_BUSY || sw_monotonic_ms() >= until)
            return store_fail(store, err);
        sw_sleep_ms(5);
    }
}

/* In one transaction: between two separate looks another process may make the tables. */
static int look_at_version(struct sw_store *store, int64_t *version, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;

    if (store_begin(&work, store, STORE_READS, err) < 0)
        return -1;
    return store_check_version(store, version, err);
}

static int make_ready(struct sw_store *store, const char *folder, const struct store_setup *setup,
                      struct sw_error *err)
{
    int64_t version = 0;

    if (look_at_version(store, &version, err) < 0)
        return -1;
    if (store->read_only)
        return 0;
    if (set_journal(store, setup->journal_sql ? setup->journal_sql : journal_for(folder), err) <
            0 ||
        store_exec(store, SQL_JOURNAL_LIMIT, err) < 0 ||
        store_exec(store, SQL_WAL_SHORT, err) < 0 ||
        store_exec(store, SQL_FOREIGN_KEYS, err) < 0)
        return -1;
    return version == STORE_VERSION ? 0 : store_make_tables(store, err);
}

/* Damage is reported when jobs are read: a store without an id can still be looked at. */
static void read_id(struct sw_store *store)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sqlite3_stmt *id;

    if (store_begin(&work, store, STORE_READS, NULL) < 0 ||
        !(id = store_statement(store, SQL_STORE_ID, NULL)) || store_next(store, id, NULL) <= 0)
        return;
    store->id = store_column_text(id, 0);
    sqlite3_reset(id);
}

const char *sw_store_id(const struct sw_store *store)
{
    return store->id;
}

/* ---- the public part ------------------------------------------------------------------------ */

struct store_setup store_setup_default(void)
{
    return (struct store_setup){ .patience_ms = PATIENCE_MS };
}

struct sw_store *store_open_as(const char *dir, bool read_only, const struct store_setup *setup,
                               struct sw_error *err)
{
    sw_auto(sw_store) struct sw_store *store = sw_new(struct sw_store);
    sw_autofree char *folder = NULL;
    bool make = !read_only && !setup->existing;

    store_mutex_init(&store->mutex);
    store->read_only = read_only;
    store->doing = "open";
    store->patience_ms = setup->patience_ms;
    folder = prepare_folder(dir, read_only, make, err);
    if (!folder)
        return NULL;
    store->path = sw_path_join(folder, "jobs.db");
    if (check_file(store->path, read_only, make, err) < 0 ||
        open_connection(store, folder, make, err) < 0 ||
        make_ready(store, folder, setup, err) < 0)
        return NULL;
    read_id(store);
    store_reserve_keep(store, folder);
    return sw_take(store);
}

struct sw_store *sw_store_open(const char *dir, bool read_only, struct sw_error *err)
{
    const struct store_setup setup = store_setup_default();

    return store_open_as(dir, read_only, &setup, err);
}

/* After one very large write the WAL stays long, and every opener would read all of it: the process
 * that closes moves it into the file, unless another process is using it just now. */
static void shorten_long_wal(struct sw_store *store)
{
    sw_autofree char *wal = store->path ? sw_format("%s-wal", store->path) : NULL;
    struct stat info;

    if (!store->db || store->read_only || !wal || stat(wal, &info) < 0 ||
        info.st_size < LONG_WAL_BYTES)
        return;
    sqlite3_busy_handler(store->db, NULL, NULL);
    sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

struct sw_store *sw_store_open_existing(const char *dir, struct sw_error *err)
{
    struct store_setup setup = store_setup_default();

    setup.existing = true;
    return store_open_as(dir, false, &setup, err);
}

void sw_store_close(struct sw_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->cached; i++)
        sqlite3_finalize(store->cache[i].prepared);
    shorten_long_wal(store);
    sqlite3_close(store->db);
    pthread_mutex_destroy(&store->mutex);
    store_documents_free(store->documents);
    free(store->path);
    free(store->id);
    free(store);
}

const char *sw_store_path(const struct sw_store *store)
{
    return store->path;
}

/* Appends what a check complains about, one line each; a healthy file adds nothing. */
static int collect_problems(struct sw_store *store, const char *sql, const char *what,
                            struct sw_buf *out, struct sw_error *err)
{
    sqlite3_stmt *check = store_statement(store, sql, err);
    int row;

    if (!check)
        return -1;
    while ((row = store_next(store, check, err)) > 0) {
        const char *said = (const char *)sqlite3_column_text(check, 0);

        if (said && strcmp(said, "ok") != 0 && out->length < 4096)
            sw_buf_addf(out, "%s%s%s", out->length ? "\n" : "", what, said);
    }
    return row;
}

/* Damage so bad that a check cannot even run is still an answer to "is it healthy?". */
static int damage_is_a_problem(struct sw_store *store, struct sw_buf *out)
{
    int code = sqlite3_errcode(store->db) & 0xff;

    if (code != SQLITE_CORRUPT && code != SQLITE_NOTADB)
        return -1;
    sw_buf_addf(out, "%s%s", out->length ? "\n" : "", sqlite3_errmsg(store->db));
    return 0;
}

int sw_store_check(struct sw_store *store, char **problem, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct sw_error why = { 0 };

    if (store_begin(&work, store, STORE_READS, err) < 0)
        return -1;
    if ((collect_problems(store, SQL_QUICK_CHECK, "", &out, &why) < 0 ||
         collect_problems(store, SQL_FOREIGN_KEY_CHECK, "a row without its job in: ", &out,
                          &why) < 0) &&
        damage_is_a_problem(store, &out) < 0) {
        if (err)
            *err = why;
        return -1;
    }
    *problem = out.length ? sw_buf_steal(&out) : sw_strdup("");
    return 0;
}
