/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_schema.c - many make the tables at once; a file of another version is not touched.
 */
#include "store_test.h"

#include <sys/wait.h>

static const char ID[] = "job-aaaaaaaa";

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
    a_file_of_another_version_is_not_touched(*state, STORE_VERSION - 1, "made by an older Slipway");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(the_file_knows_every_state_and_no_other),
        STORE_TEST(a_file_made_by_a_newer_slipway_is_not_touched),
        STORE_TEST(a_file_made_by_an_older_slipway_is_not_touched),
        STORE_TEST(many_may_make_the_store_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
