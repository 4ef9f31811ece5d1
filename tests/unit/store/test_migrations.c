/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_migrations.c - an older file is brought up to date once, with a copy kept; a newer one is
 * not touched.
 */
#include "store_test.h"

#include <sys/stat.h>
#include <sys/wait.h>

static const char ID[] = "job-aaaaaaaa";

/* A Slipway of the future: our steps, and one or two more. */
static struct store_migration future_steps[8];

static struct store_setup future(size_t more, const char *last_sql)
{
    struct store_setup setup = store_setup_default();

    memcpy(future_steps, store_migrations, store_migration_count * sizeof *store_migrations);
    for (size_t i = 0; i < more; i++)
        future_steps[store_migration_count + i] =
            (struct store_migration){ "add a colour", "ALTER TABLE jobs ADD COLUMN colour TEXT" };
    if (last_sql)
        future_steps[store_migration_count + more - 1].sql = last_sql;
    setup.steps = future_steps;
    setup.step_count = store_migration_count + more;
    return setup;
}

static char *backup_of(const struct store_fixture *here)
{
    return sw_format("%s/jobs.db.v%zu", here->dir, store_migration_count);
}

static void an_older_file_is_brought_up_to_date_and_a_copy_is_kept(void **state)
{
    struct store_fixture *here = *state;
    struct store_setup newer = future(1, NULL);
    sw_autofree char *backup = backup_of(here);
    struct stat info;
    sqlite3 *copy = NULL;

    assert_ok(add_job(here->store, ID, &here->err));
    sw_store_close(here->store);
    here->store = store_open_as(here->dir, false, &newer, &here->err);
    assert_non_null(here->store);
    assert_int_equal(number(here, "PRAGMA user_version"), store_migration_count + 1);
    assert_int_equal(number(here, "SELECT count(*) FROM jobs WHERE colour IS NULL"), 1);
    assert_int_equal(stat(backup, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(sqlite3_open(backup, &copy), SQLITE_OK);
    assert_int_equal(sqlite3_exec(copy, "SELECT phase FROM jobs WHERE id = 'job-aaaaaaaa'", NULL,
                                  NULL, NULL), SQLITE_OK);
    assert_int_not_equal(sqlite3_exec(copy, "SELECT colour FROM jobs", NULL, NULL, NULL),
                         SQLITE_OK);
    sqlite3_close(copy);
}

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

static void a_file_made_by_a_newer_slipway_is_not_touched(void **state)
{
    struct store_fixture *here = *state;
    struct store_setup newer = future(1, NULL);
    sw_autofree char *path = sw_path_join(here->dir, "jobs.db");
    sw_autofree char *wal = sw_path_join(here->dir, "jobs.db-wal");
    sw_autofree char *before = NULL, *after = NULL;
    size_t length = 0, length_after = 0;

    assert_ok(add_job(here->store, ID, &here->err));
    sw_store_close(here->store);
    here->store = store_open_as(here->dir, false, &newer, &here->err);
    sqlite3_db_config(here->store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sw_store_close(here->store);          /* killed, as it were: its WAL is still there */
    before = sw_file_read(path, 1u << 30, &length, NULL);
    assert_true(sw_file_exists(wal));
    for (int read_only = 0; read_only < 2; read_only++) {
        here->store = sw_store_open(here->dir, read_only, &here->err);
        assert_null(here->store);
        assert_int_equal(here->err.code, SW_E_STORE);
        assert_says("made by a newer Slipway");
    }
    after = sw_file_read(path, 1u << 30, &length_after, NULL);
    assert_int_equal(length, length_after);
    assert_memory_equal(before, after, length);
    assert_true(sw_file_exists(wal));
}

static void a_step_that_fails_leaves_the_old_version(void **state)
{
    struct store_fixture *here = *state;
    struct store_setup broken = future(2, "CREATE TABLE jobs (again)");

    assert_ok(add_job(here->store, ID, &here->err));
    sw_store_close(here->store);
    here->store = store_open_as(here->dir, false, &broken, &here->err);
    assert_null(here->store);
    assert_says("cannot add a colour");
    here->store = sw_store_open(here->dir, false, &here->err);
    assert_non_null(here->store);
    assert_int_equal(number(here, "PRAGMA user_version"), store_migration_count);
    assert_int_equal(state_of(here, ID), SW_PENDING);
}

static void an_older_file_cannot_be_opened_for_reading_only(void **state)
{
    struct store_fixture *here = *state;
    struct store_setup newer = future(1, NULL);

    assert_null(store_open_as(here->dir, true, &newer, &here->err));
    assert_says("older Slipway");
}

/* A file as version 0.1 left it: one job at work, one event that needs no notice. */
static void a_file_of_the_first_version_goes_on(void **state)
{
    struct store_fixture *here = *state;
    struct store_setup first = store_setup_default();
    sw_auto(sw_job) struct sw_job job = { 0 };

    sw_store_close(sw_take(here->store));
    assert_ok(sw_remove_tree(here->dir, &here->err));
    first.step_count = 1;
    here->store = store_open_as(here->dir, false, &first, &here->err);
    assert_non_null(here->store);
    assert_int_equal(sqlite3_exec(here->store->db,
        "INSERT INTO jobs (id, name, platform, phase, state, created_ms, updated_ms)"
        " VALUES ('job-aaaaaaaa', 'n', 'local', 'active', 'Running', 1, 1);"
        "INSERT INTO documents (job, plan) VALUES (1, '{\"hooks\":{\"on_status\":\"true\"}}');"
        "INSERT INTO attempts (job, number, state, signal, started_ms, ended_ms)"
        " VALUES (1, 1, 'Running', 0, 0, 0);"
        "INSERT INTO events (job, at_ms, kind) VALUES (1, 1, 'state')", NULL, NULL, NULL),
        SQLITE_OK);
    reopen(here);
    assert_int_equal(number(here, "PRAGMA user_version"), store_migration_count);
    assert_int_equal(number(here, "SELECT value FROM marks WHERE name = 'heard'"), 1);
    saw(here, ID, SW_COMPLETE);
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err));
    assert_int_equal(job.state, SW_COMPLETE);
    assert_int_equal(job.not_before_ms, 0);
    assert_null(job.avoid);
    assert_null(job.progress);
}

/* Those rows told where they run in their details, as an address alone. */
static void rows_of_an_older_version_learn_their_place(void **state)
{
    struct store_fixture *here = *state;
    struct store_setup older = store_setup_default();
    sw_auto(sw_job) struct sw_job one = { 0 }, other = { 0 }, local = { 0 };
    sw_auto(sw_place) struct sw_place place = { 0 };
    sw_auto(json) json_t *whole = sw_json_object(SW_STR("host", "unix:///a.sock"));
    struct sw_place full = { .platform = (char *)"docker", .address = (char *)"unix:///a.sock",
                             .identity = (char *)"AB:CD", .options = whole, .complete = true };
    int64_t learnt = 0;

    sw_store_close(sw_take(here->store));
    assert_ok(sw_remove_tree(here->dir, &here->err));
    older.step_count = 2;
    here->store = store_open_as(here->dir, false, &older, &here->err);
    assert_non_null(here->store);
    assert_int_equal(sqlite3_exec(here->store->db,
        "INSERT INTO jobs (id, name, platform, phase, state, created_ms, updated_ms) VALUES"
        " ('one-aaaaaaaa', 'n', 'docker', 'active', 'Running', 1, 1),"
        " ('two-aaaaaaaa', 'n', 'slurm', 'active', 'Running', 1, 1),"
        " ('her-aaaaaaaa', 'n', 'local', 'active', 'Running', 1, 1);"
        "INSERT INTO documents (job, details) VALUES"
        " (1, '{\"engine\":\"unix:///a.sock\"}'), (2, '{\"hostname\":\"login\"}'), (3, 'odd');",
        NULL, NULL, NULL), SQLITE_OK);
    reopen(here);
    assert_ok(sw_store_get(here->store, "one-aaaaaaaa", SW_COLUMNS_LIST, &one, &here->err));
    assert_ok(sw_store_get(here->store, "two-aaaaaaaa", SW_COLUMNS_LIST, &other, &here->err));
    assert_ok(sw_store_get(here->store, "her-aaaaaaaa", SW_COLUMNS_LIST, &local, &here->err));
    assert_string_equal(one.address, "unix:///a.sock");
    assert_string_equal(other.address, "login");
    assert_int_equal(local.place, 0);
    assert_ok(sw_store_place(here->store, other.place, &place, &here->err));
    assert_false(place.complete);
    assert_string_equal(json_string_value(json_array_get(json_object_get(place.options, "hostname"),
                                                         0)), "login");
    assert_ok(sw_store_place_learn(here->store, one.place, &full, &learnt, &here->err));
    sw_job_done(&one);
    assert_ok(sw_store_get(here->store, "one-aaaaaaaa", SW_COLUMNS_LIST, &one, &here->err));
    assert_int_equal(one.place, learnt);
}

/* ---- many openers at once ------------------------------------------------------------------- */

enum { OPENERS = 12 };

static int open_and_add(const char *dir, const struct store_setup *setup, int index)
{
    struct sw_error err = { 0 };
    sw_auto(sw_store) struct sw_store *store = store_open_as(dir, false, setup, &err);
    char id[SW_ID_SIZE];

    snprintf(id, sizeof id, "job%d-aaaaaaaa", index);
    if (store && add_job(store, id, &err) == 0)
        return 0;
    fprintf(stderr, "%s\n", err.message);
    return 1;
}

static void open_from_many_processes(struct store_fixture *here, const struct store_setup *setup)
{
    pid_t children[OPENERS];
    int failed = 0;

    sw_store_close(here->store);
    here->store = NULL;
    for (int i = 0; i < OPENERS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(open_and_add(here->dir, setup, i));
    }
    for (int i = 0; i < OPENERS; i++) {
        int status = 0;

        failed += waitpid(children[i], &status, 0) != children[i] || status != 0;
    }
    assert_int_equal(failed, 0);
    here->store = store_open_as(here->dir, false, setup, &here->err);
    assert_non_null(here->store);
    assert_int_equal(number(here, "SELECT count(*) FROM jobs"), OPENERS);
}

static void many_may_make_the_store_at_once(void **state)
{
    struct store_fixture *here = *state;
    const struct store_setup setup = store_setup_default();

    sw_store_close(here->store);
    here->store = NULL;
    for (int round = 0; round < 10; round++) {
        assert_ok(sw_remove_tree(here->dir, &here->err));
        open_from_many_processes(here, &setup);
        sw_store_close(sw_take(here->store));
    }
}

static void many_may_bring_it_up_to_date_at_once(void **state)
{
    struct store_fixture *here = *state;
    const struct store_setup newer = future(1, NULL);
    sw_autofree char *backup = backup_of(here);

    open_from_many_processes(here, &newer);
    assert_int_equal(number(here, "PRAGMA user_version"), store_migration_count + 1);
    assert_true(sw_file_exists(backup));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(an_older_file_is_brought_up_to_date_and_a_copy_is_kept),
        STORE_TEST(the_file_knows_every_state_and_no_other),
        STORE_TEST(a_file_made_by_a_newer_slipway_is_not_touched),
        STORE_TEST(a_step_that_fails_leaves_the_old_version),
        STORE_TEST(a_file_of_the_first_version_goes_on),
        STORE_TEST(rows_of_an_older_version_learn_their_place),
        STORE_TEST(an_older_file_cannot_be_opened_for_reading_only),
        STORE_TEST(many_may_make_the_store_at_once),
        STORE_TEST(many_may_bring_it_up_to_date_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
