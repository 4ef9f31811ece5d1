/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_store.c - opening the store in good and bad places: every trouble is reported clearly, and
 * nothing that was stored is lost or touched.
 */
#include "store_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char ID[] = "job-aaaaaaaa";

static char *in_dir(const struct store_fixture *here, const char *name)
{
    return sw_path_join(here->dir, name);
}

static mode_t mode_of(const char *path)
{
    struct stat info;

    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & 07777;
}

static void close_store(struct store_fixture *here)
{
    sw_store_close(here->store);
    here->store = NULL;
}

static void assert_cannot_open(struct store_fixture *here, enum sw_code code, const char *says)
{
    memset(&here->err, 0, sizeof here->err);
    here->store = sw_store_open(here->dir, false, &here->err);
    assert_null(here->store);
    assert_int_equal(here->err.code, code);
    assert_says(says);
    assert_true(here->err.hint[0] != '\0');
}

struct bytes {
    char *data;
    size_t length;
};

static struct bytes bytes_of(const char *path)
{
    struct bytes bytes = { 0 };

    bytes.data = sw_file_read(path, 64u << 20, &bytes.length, NULL);
    assert_non_null(bytes.data);
    return bytes;
}

static void assert_unchanged(const char *path, struct bytes before)
{
    struct bytes now = bytes_of(path);

    assert_int_equal(now.length, before.length);
    assert_memory_equal(now.data, before.data, now.length);
    free(now.data);
    free(before.data);
}

/* ---- who may read it ------------------------------------------------------------------------ */

static void folder_and_file_are_for_us_alone(void **state)
{
    struct store_fixture *here = *state;
    sw_autofree char *db = in_dir(here, "jobs.db");
    sw_autofree char *wal = in_dir(here, "jobs.db-wal");

    assert_ok(add_job(here->store, ID, &here->err));
    assert_int_equal(mode_of(here->dir), 0700);
    assert_int_equal(mode_of(db), 0600);
    assert_int_equal(mode_of(wal), 0600);
    close_store(here);
    chmod(here->dir, 0755);
    chmod(db, 0644);
    reopen(here);
    assert_int_equal(mode_of(here->dir), 0700);
    assert_int_equal(mode_of(db), 0600);
}

static void missing_folders_are_made(void **state)
{
    struct store_fixture *here = *state;
    sw_autofree char *deep = in_dir(here, "a/b c/d?e#f%g");
    sw_auto(sw_store) struct sw_store *store = sw_store_open(deep, false, &here->err);

    assert_non_null(store);
    assert_ok(add_job(store, ID, &here->err));
    assert_true(strstr(sw_store_path(store), "d?e#f%g/jobs.db") != NULL);
    assert_true(sw_file_exists(sw_store_path(store)));
    assert_int_equal(mode_of(deep), 0700);
}

static void another_users_folder_is_refused(void **state)
{
    struct store_fixture *here = *state;
    sw_autofree char *db = in_dir(here, "jobs.db");

    if (geteuid() != 0)
        skip();                      /* only root can give a file away */
    close_store(here);
    assert_int_equal(chown(db, 12345, 12345), 0);
    assert_cannot_open(here, SW_E_STORE, "belongs to another user");
    assert_int_equal(chown(db, 0, 0), 0);
    assert_int_equal(chown(here->dir, 12345, 12345), 0);
    assert_cannot_open(here, SW_E_STORE, "belongs to another user");
}

static void a_link_in_place_of_the_file_is_refused(void **state)
{
    struct store_fixture *here = *state;
    sw_autofree char *db = in_dir(here, "jobs.db");
    sw_autofree char *other = in_dir(here, "elsewhere");

    close_store(here);
    assert_int_equal(rename(db, other), 0);
    assert_int_equal(symlink(other, db), 0);
    assert_cannot_open(here, SW_E_STORE, "symbolic link");
    unlink(db);
    assert_int_equal(mkdir(db, 0700), 0);
    assert_cannot_open(here, SW_E_STORE, "not a plain file");
}

static void a_folder_reached_through_a_link_is_fine(void **state)
{
    struct store_fixture *here = *state;
    sw_autofree char *link = sw_format("%s-link", here->dir);
    sw_auto(sw_store) struct sw_store *store = NULL;

    assert_int_equal(symlink(here->dir, link), 0);
    store = sw_store_open(link, false, &here->err);
    unlink(link);
    assert_non_null(store);
}

/* ---- bad files ------------------------------------------------------------------------------ */

/* Everything into jobs.db itself: as long as a good page is in the WAL, a bad one does no harm. */
static void empty_wal(struct store_fixture *here)
{
    assert_int_equal(sqlite3_exec(here->store->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL,
                                  NULL), SQLITE_OK);
}

static void overwrite(const char *path, off_t at, const void *bytes, size_t length)
{
    sw_autofd int fd = open(path, O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, length, at), (ssize_t)length);
}

static void a_file_with_a_broken_header_is_reported_and_kept(void **state)
{
    struct store_fixture *here = *state;
    sw_autofree char *db = in_dir(here, "jobs.db");
    struct bytes before;

    assert_ok(add_job(here->store, ID, &here->err));
    empty_wal(here);
    close_store(here);
    overwrite(db, 0, "this is no database at all", 26);
    before = bytes_of(db);
    assert_cannot_open(here, SW_E_STORE, "damaged");
    assert_unchanged(db, before);
}

/* The first page of every table and index; the schema itself stays whole. */
static int root_pages(struct store_fixture *here, int *roots, size_t room)
{
    sqlite3_stmt *rows = NULL;
    int count = 0;

    assert_int_equal(sqlite3_prepare_v2(here->store->db,
                                        "SELECT rootpage FROM sqlite_schema WHERE rootpage > 0", -1,
                                        &rows, NULL), SQLITE_OK);
    while (count < (int)room && sqlite3_step(rows) == SQLITE_ROW)
        roots[count++] = sqlite3_column_int(rows, 0);
    sqlite3_finalize(rows);
    assert_true(count > 0);
    return count;
}

static void a_file_with_broken_pages_is_reported_and_kept(void **state)
{
    struct store_fixture *here = *state;
    sw_autofree char *db = in_dir(here, "jobs.db");
    sw_autofree char *problem = NULL;
    struct sw_job job = { 0 };
    struct bytes before;
    char garbage[4096];
    int roots[64], count;

    assert_ok(add_job(here->store, ID, &here->err));
    count = root_pages(here, roots, SW_COUNT(roots));
    assert_ok(sw_store_check(here->store, &problem, &here->err));
    assert_string_equal(problem, "");
    free(sw_take(problem));
    empty_wal(here);
    close_store(here);
    memset(garbage, 0xa5, sizeof garbage);
    before = bytes_of(db);
    for (int i = 0; i < count; i++)
        overwrite(db, ((off_t)roots[i] - 1) * 4096, garbage, sizeof garbage);
    free(before.data);
    before = bytes_of(db);
    here->store = sw_store_open(here->dir, false, &here->err);
    assert_non_null(here->store);
    assert_refused(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &job, &here->err), SW_E_STORE);
    assert_says("damaged");
    assert_refused(add_job(here->store, "other-aaaaaaaa", &here->err), SW_E_STORE);
    assert_int_equal(sw_store_check(here->store, &problem, &here->err), 0);
    assert_true(strlen(problem) > 0);
    close_store(here);
    assert_unchanged(db, before);
}

static void a_foreign_database_is_left_alone(void **state)
{
    struct store_fixture *here = *state;
    sw_autofree char *db = in_dir(here, "jobs.db");
    struct bytes before;
    sqlite3 *other = NULL;

    close_store(here);
    unlink(db);
    assert_int_equal(sqlite3_open(db, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "CREATE TABLE jobs (mine)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    before = bytes_of(db);
    assert_cannot_open(here, SW_E_STORE, "not a job store");
    assert_unchanged(db, before);
}

static void rest_of_a_torn_wal_is_dropped_and_the_rest_kept(void **state)
{
    struct store_fixture *here = *state;
    sw_autofree char *wal = in_dir(here, "jobs.db-wal");
    sw_autofree char *copy = sw_format("%s-copy", here->dir);
    sw_autofree char *copied_wal = sw_path_join(copy, "jobs.db-wal");
    sw_autofree char *copied_shm = sw_path_join(copy, "jobs.db-shm");
    sw_auto(sw_store) struct sw_store *store = NULL;
    sw_autofree char *problem = NULL;
    struct stat full;

    assert_ok(add_job(here->store, ID, &here->err));
    assert_int_equal(stat(wal, &full), 0);
    assert_ok(add_job(here->store, "second-aaaaaaaa", &here->err));
    /* As after a power cut: the files as they are, the last bytes of the WAL missing. */
    assert_ok(sw_copy_tree(here->dir, copy, NULL, NULL, &here->err));
    assert_int_equal(truncate(copied_wal, full.st_size + 1000), 0);
    unlink(copied_shm);
    store = sw_store_open(copy, false, &here->err);
    assert_non_null(store);
    assert_ok(sw_store_check(store, &problem, &here->err));
    assert_string_equal(problem, "");
    assert_refused(add_job(store, ID, &here->err), SW_E_CONFLICT);       /* still there */
    assert_ok(add_job(store, "second-aaaaaaaa", &here->err));
    sw_remove_tree(copy, NULL);
}

static void an_empty_file_becomes_a_store(void **state)
{
    struct store_fixture *here = *state;
    sw_autofree char *db = in_dir(here, "jobs.db");

    close_store(here);               /* as left by a first start that was killed */
    assert_int_equal(truncate(db, 0), 0);
    reopen(here);
    assert_ok(add_job(here->store, ID, &here->err));
}

/* ---- no room, no permission ----------------------------------------------------------------- */

/* Run `work` in a child, which may limit or lock itself up; its exit status is the answer. */
enum { CHILD_OK = 0, CHILD_WRONG = 1, CHILD_CANNOT = 77 };

static int in_child(struct store_fixture *here, int (*work)(struct store_fixture *here))
{
    pid_t child;
    int status = 0;

    close_store(here);               /* a database must not be carried through a fork */
    child = fork();
    if (child == 0)
        _exit(work(here));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CHILD_CANNOT) {
        print_message("this machine does not let us mount: not tested here\n");
        skip();
    }
    return WEXITSTATUS(status);
}

/* Add until it fails; the failure must be "full", and everything added before still be there. */
static int add_until_full(struct store_fixture *here, const char *dir)
{
    sw_auto(sw_store) struct sw_store *store = sw_store_open(dir, false, &here->err);
    const struct sw_job_filter all = { 0 };
    sw_autofree char *problem = NULL;
    int64_t added = 0, found = -1;
    char id[SW_ID_SIZE];

    if (!store)
        return CHILD_WRONG;
    do
        snprintf(id, sizeof id, "job%lld-aaaaaaaa", (long long)added);
    while (add_job(store, id, &here->err) == 0 && ++added < 100000);
    fprintf(stderr, "  after %lld jobs: %s\n", (long long)added, here->err.message);
    if (added == 0 || here->err.code != SW_E_STORE || !strstr(here->err.message, "disk is full") ||
        !strstr(here->err.hint, "nothing that was stored is lost"))
        return CHILD_WRONG;
    if (sw_store_count(store, &all, &found, &here->err) < 0 || found != added ||
        sw_store_check(store, &problem, &here->err) < 0 || *problem)
        return CHILD_WRONG;
    return CHILD_OK;
}

static int with_a_file_size_limit(struct store_fixture *here)
{
    const struct rlimit limit = { 300000, 300000 };

    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    return add_until_full(here, here->dir);
}

static int on_a_small_disk(struct store_fixture *here)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", here->dir, "tmpfs", 0, "size=1m,mode=0700") < 0)
        return CHILD_CANNOT;
    return add_until_full(here, here->dir);
}

static void a_full_disk_loses_nothing(void **state)
{
    assert_int_equal(in_child(*state, on_a_small_disk), CHILD_OK);
}

static void a_file_that_may_not_grow_loses_nothing(void **state)
{
    struct store_fixture *here = *state;

    assert_int_equal(in_child(here, with_a_file_size_limit), CHILD_OK);
    reopen(here);
    assert_ok(add_job(here->store, ID, &here->err));      /* and works again with more room */
}

static void a_helper_that_comes_late_makes_no_new_store(void **state)
{
    struct store_fixture *here = *state;
    sw_autofree char *gone = sw_path_join(here->dir, "gone");

    assert_null(sw_store_open_existing(gone, &here->err));
    assert_int_equal(here->err.code, SW_E_NOT_FOUND);
    assert_false(sw_file_exists(gone));
}

static int in_a_read_only_folder(struct store_fixture *here)
{
    sw_auto(sw_store) struct sw_store *store = NULL;
    struct sw_job job = { 0 };

    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(here->dir, here->dir, NULL, MS_BIND, NULL) < 0 ||
        mount(NULL, here->dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
        return CHILD_CANNOT;
    store = sw_store_open(here->dir, false, &here->err);
    fprintf(stderr, "  %s (%s)\n", here->err.message, here->err.hint);
    if (store || here->err.code != SW_E_STORE || !strstr(here->err.hint, "SLIPWAY_STATE_DIR"))
        return CHILD_WRONG;
    store = sw_store_open(here->dir, true, &here->err);           /* reading is still possible */
    if (!store || sw_store_get(store, ID, SW_COLUMNS_ALL, &job, &here->err) < 0)
        return CHILD_WRONG;
    sw_job_done(&job);
    return CHILD_OK;
}

static void a_read_only_folder_is_reported_and_can_be_read(void **state)
{
    struct store_fixture *here = *state;

    assert_ok(add_job(here->store, ID, &here->err));
    assert_int_equal(in_child(here, in_a_read_only_folder), CHILD_OK);
}

static void reading_only_makes_and_changes_nothing(void **state)
{
    struct store_fixture *here = *state;
    sw_autofree char *empty = in_dir(here, "empty");
    sw_auto(sw_store) struct sw_store *store = NULL;
    struct sw_job job = { 0 };

    assert_null(sw_store_open(empty, true, &here->err));
    assert_int_equal(here->err.code, SW_E_NOT_FOUND);
    assert_false(sw_file_exists(empty));
    assert_ok(add_job(here->store, ID, &here->err));
    store = sw_store_open(here->dir, true, &here->err);
    assert_non_null(store);
    assert_ok(sw_store_get(store, ID, SW_COLUMNS_ALL, &job, &here->err));
    sw_job_done(&job);
    assert_refused(add_job(store, "other-aaaaaaaa", &here->err), SW_E_STORE);
    assert_says("for reading only");
}

/* ---- others at work ------------------------------------------------------------------------- */

static void a_lock_held_too_long_has_its_own_message(void **state)
{
    struct store_fixture *here = *state;
    struct store_setup impatient = store_setup_default();
    sw_auto(sw_store) struct sw_store *store = NULL;
    struct sw_job job = { 0 };

    assert_ok(add_job(here->store, ID, &here->err));
    impatient.patience_ms = 50;
    store = store_open_as(here->dir, false, &impatient, &here->err);
    assert_non_null(store);
    assert_int_equal(sqlite3_exec(here->store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL), 0);
    assert_refused(add_job(store, "other-aaaaaaaa", &here->err), SW_E_STORE);
    assert_says("has locked it for too long");
    assert_true(strstr(here->err.hint, "fuser") != NULL);
    /* Readers never wait. */
    assert_ok(sw_store_get(store, ID, SW_COLUMNS_LIST, &job, &here->err));
    sw_job_done(&job);
    assert_int_equal(sqlite3_exec(here->store->db, "ROLLBACK", NULL, NULL, NULL), 0);
    assert_ok(add_job(store, "other-aaaaaaaa", &here->err));
}

static void network_file_systems_get_a_plain_journal(void **state)
{
    struct store_fixture *here = *state;
    struct store_setup plain = store_setup_default();

    assert_true(store_is_network_file_system(0x6969));            /* NFS */
    assert_false(store_is_network_file_system(0xEF53));           /* ext4 */
    assert_ok(add_job(here->store, ID, &here->err));
    close_store(here);
    plain.journal_sql = "PRAGMA journal_mode = DELETE";
    here->store = store_open_as(here->dir, false, &plain, &here->err);
    assert_non_null(here->store);
    assert_ok(sw_store_cancel_intent(here->store, ID, &here->err));
    assert_false(saw(here, ID, SW_RUNNING));
    assert_true(saw(here, ID, SW_CANCELED));
    reopen(here);                                                 /* and back again */
    assert_int_equal(state_of(here, ID), SW_CANCELED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(folder_and_file_are_for_us_alone),
        STORE_TEST(missing_folders_are_made),
        STORE_TEST(another_users_folder_is_refused),
        STORE_TEST(a_link_in_place_of_the_file_is_refused),
        STORE_TEST(a_folder_reached_through_a_link_is_fine),
        STORE_TEST(a_file_with_a_broken_header_is_reported_and_kept),
        STORE_TEST(a_file_with_broken_pages_is_reported_and_kept),
        STORE_TEST(a_foreign_database_is_left_alone),
        STORE_TEST(rest_of_a_torn_wal_is_dropped_and_the_rest_kept),
        STORE_TEST(an_empty_file_becomes_a_store),
        STORE_TEST(a_full_disk_loses_nothing),
        STORE_TEST(a_file_that_may_not_grow_loses_nothing),
        STORE_TEST(a_helper_that_comes_late_makes_no_new_store),
        STORE_TEST(a_read_only_folder_is_reported_and_can_be_read),
        STORE_TEST(reading_only_makes_and_changes_nothing),
        STORE_TEST(a_lock_held_too_long_has_its_own_message),
        STORE_TEST(network_file_systems_get_a_plain_journal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
