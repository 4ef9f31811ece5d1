/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_schema.c - many make the tables at once; a file of the version before is upgraded, others are not
 * touched.
 */
#include "store_test.h"

#include <sys/wait.h>

static const char ID[] = "job-aaaaaaaa";
enum { OLDEST = 7 };                 /* the first version that is upgraded */

/* The names in the file's own CHECKs are those of core/state.c, no more and no fewer. */
static void the_file_knows_every_state_and_no_other(void **state)
{
    static const char final[] = "(state IN ('Complete', 'Error', 'Canceled'))";
    struct store_fixture *here = *state;
    sw_auto(sw_buf) struct sw_buf all = SW_BUF_INIT, ended = SW_BUF_INIT;

    for (int i = 0; i == 0 || strcmp(sw_state_name(i), sw_state_name(SW_UNKNOWN)) != 0; i++) {
        sw_buf_addf(&all, "%s'%s'", i ? "%" : "CHECK (state IN (", sw_state_name(i));
        if (sw_state_is_final(i))
            sw_buf_addf(&ended, "%s'%s'", ended.length ? ", " : "(state IN (", sw_state_name(i));
    }
    sw_buf_add(&ended, "))");
    assert_string_equal(sw_buf_text(&ended), final);
    {
        sw_autofree char *sql = sw_format("SELECT count(*) FROM sqlite_master WHERE name = 'jobs' AND "
                                          "sql LIKE \"%%%s))%%\" AND instr(sql, \"%s\") > 0",
                                          sw_buf_text(&all), final);

        assert_int_equal(number(here, sql), 1);
    }
}

static void a_file_of_another_version_is_not_touched(struct store_fixture *here, int version,
                                                     const char *says)
{
    sw_autofree char *path = sw_path_join(here->dir, "jobs.db");
    sw_autofree char *wal = sw_path_join(here->dir, "jobs.db-wal");
    sw_autofree char *stamp = sw_format("PRAGMA user_version = %d", version);
    sw_autofree char *before = NULL, *after = NULL;
    size_t length = 0, length_after = 0;

    assert_ok(add_job(here->store, ID, &here->err));
    assert_int_equal(sqlite3_exec(here->store->db, stamp, NULL, NULL, NULL), SQLITE_OK);
    sw_store_close(sw_take(here->store));          /* its WAL is still there */
    before = sw_file_read(path, 1u << 30, &length, NULL);
    assert_true(sw_file_exists(wal));
    for (int read_only = 0; read_only < 2; read_only++) {
        here->store = sw_store_open(here->dir, read_only, &here->err);
        assert_null(here->store);
        assert_int_equal(here->err.code, SW_E_STORE);
        assert_says(says);
    }
    after = sw_file_read(path, 1u << 30, &length_after, NULL);
    assert_int_equal(length, length_after);
    assert_memory_equal(before, after, length);
    assert_true(sw_file_exists(wal));
}

static void a_file_made_by_a_newer_slipway_is_not_touched(void **state)
{
    a_file_of_another_version_is_not_touched(*state, STORE_VERSION + 1, "made by a newer Slipway");
}

static void a_file_made_by_an_older_slipway_is_not_touched(void **state)
{
    a_file_of_another_version_is_not_touched(*state, OLDEST - 1, "made by an older Slipway");
}

/* ---- a file of the version before ----------------------------------------------------------------- */

/* What later versions added is taken away again. */
#define TO_VERSION_9                                                                             \
    "DROP INDEX jobs_with_duties; DROP INDEX jobs_hooked; DROP INDEX jobs_not_over;"             \
    "CREATE INDEX jobs_not_over ON jobs (seq) WHERE phase <> 'over';"                            \
    "PRAGMA user_version = 9;"
#define TO_VERSION_8                                                                             \
    TO_VERSION_9                                                                                 \
    "ALTER TABLE documents DROP COLUMN request; ALTER TABLE jobs DROP COLUMN brief;"             \
    "PRAGMA user_version = 8;"
#define TO_VERSION_7                                                                             \
    TO_VERSION_8 "DROP TRIGGER diffs_unused; DROP INDEX documents_by_diff;"                      \
    "ALTER TABLE documents DROP COLUMN diff; ALTER TABLE documents DROP COLUMN origin; DROP TABLE diffs;" \
    "PRAGMA user_version = 7"

static const char SQL_SHAPE[] =
    "SELECT group_concat(line, char(10)) FROM (SELECT type || ' ' || name || ' ' || CASE type WHEN 'table' "
    "THEN"
    " (SELECT group_concat(n, ',') FROM (SELECT name || ' ' || type AS n FROM pragma_table_info(m.name) "
    "ORDER BY n))"
    " ELSE sql END AS line FROM sqlite_schema AS m WHERE sql IS NOT NULL ORDER BY line)";

static char *text_of(struct store_fixture *here, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    char *text;

    assert_int_equal(sqlite3_prepare_v2(here->store->db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    text = sw_strdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return text;
}

static void make_older(struct store_fixture *here, const char *script)
{
    sqlite3 *db = here->store->db;

    assert_ok(add_job(here->store, ID, &here->err));
    sqlite3_exec(db, "PRAGMA foreign_keys = OFF", NULL, NULL, NULL);
    if (sqlite3_exec(db, script, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sw_store_close(sw_take(here->store));
}

static void is_upgraded(struct store_fixture *here, const char *script)
{
    sw_autofree char *fresh = text_of(here, SQL_SHAPE), *upgraded = NULL;
    sw_auto(sw_job) struct sw_job job = { 0 };
    sw_autofree char *diff = NULL;

    make_older(here, script);
    here->store = sw_store_open(here->dir, false, &here->err);
    assert_non_null(here->store);
    assert_int_equal(number(here, "PRAGMA user_version"), STORE_VERSION);
    upgraded = text_of(here, SQL_SHAPE);
    assert_string_equal(upgraded, fresh);
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err));
    assert_null(job.origin);
    assert_null(job.request);
    diff = sw_store_diff(here->store, ID, &here->err);
    assert_string_equal(diff, "");
    assert_ok(add_job(here->store, "new-aaaaaaaa", &here->err));
    reopen(here);
    assert_int_equal(number(here, "SELECT count(*) FROM jobs"), 2);
}

static void a_file_of_version_7_becomes_one_of_this_version(void **state)
{
    is_upgraded(*state, TO_VERSION_7);
}

static void a_file_of_version_8_becomes_one_of_this_version(void **state)
{
    is_upgraded(*state, TO_VERSION_8);
}

static void a_file_of_version_9_becomes_one_of_this_version(void **state)
{
    is_upgraded(*state, TO_VERSION_9);
}

static void a_file_of_version_7_that_may_only_be_read_is_not_touched(void **state)
{
    struct store_fixture *here = *state;

    make_older(here, TO_VERSION_7);
    here->store = sw_store_open(here->dir, true, &here->err);
    assert_null(here->store);
    assert_int_equal(here->err.code, SW_E_STORE);
    assert_says("made by an older Slipway");
    assert_non_null(strstr(here->err.hint, "upgrades it"));
    here->store = sw_store_open(here->dir, false, &here->err);
    assert_non_null(here->store);
}

/* ---- many openers at once ------------------------------------------------------------------- */

enum { OPENERS = 12 };

static int open_and_add(const char *dir, int index)
{
    struct sw_error err = { 0 };
    sw_auto(sw_store) struct sw_store *store = sw_store_open(dir, false, &err);
    char id[SW_ID_SIZE];

    snprintf(id, sizeof id, "job%d-aaaaaaaa", index);
    if (store && add_job(store, id, &err) == 0)
        return 0;
    fprintf(stderr, "%s\n", err.message);
    return 1;
}

static void open_from_many_processes(struct store_fixture *here)
{
    pid_t children[OPENERS];
    int failed = 0;

    for (int i = 0; i < OPENERS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(open_and_add(here->dir, i));
    }
    for (int i = 0; i < OPENERS; i++) {
        int status = 0;

        failed += waitpid(children[i], &status, 0) != children[i] || status != 0;
    }
    assert_int_equal(failed, 0);
    here->store = sw_store_open(here->dir, false, &here->err);
    assert_non_null(here->store);
    assert_int_equal(number(here, "SELECT count(*) FROM jobs"), OPENERS);
}

static void many_may_make_the_store_at_once(void **state)
{
    struct store_fixture *here = *state;

    sw_store_close(sw_take(here->store));
    for (int round = 0; round < 10; round++) {
        assert_ok(sw_remove_tree(here->dir, &here->err));
        open_from_many_processes(here);
        sw_store_close(sw_take(here->store));
    }
}

static void many_may_upgrade_the_store_at_once(void **state)
{
    struct store_fixture *here = *state;

    make_older(here, TO_VERSION_7);
    here->store = sw_store_open(here->dir, false, &here->err);
    assert_ok(sw_store_forget(here->store, ID, &here->err));
    assert_int_equal(sqlite3_exec(here->store->db, "PRAGMA foreign_keys = OFF", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(here->store->db, TO_VERSION_7, NULL, NULL, NULL), SQLITE_OK);
    sw_store_close(sw_take(here->store));
    open_from_many_processes(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(the_file_knows_every_state_and_no_other),
        STORE_TEST(a_file_made_by_a_newer_slipway_is_not_touched),
        STORE_TEST(a_file_made_by_an_older_slipway_is_not_touched),
        STORE_TEST(a_file_of_version_7_becomes_one_of_this_version),
        STORE_TEST(a_file_of_version_8_becomes_one_of_this_version),
        STORE_TEST(a_file_of_version_9_becomes_one_of_this_version),
        STORE_TEST(a_file_of_version_7_that_may_only_be_read_is_not_touched),
        STORE_TEST(many_may_make_the_store_at_once),
        STORE_TEST(many_may_upgrade_the_store_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
