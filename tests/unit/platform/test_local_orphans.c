/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_orphans.c - gc finds what no store knows, removes only that, and never
 * touches what runs or what a user made.
 */
#include "local_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "platform/local/local_internal.h"

static bool knows(void *context, const char *id)
{
    return context && strcmp(context, id) == 0;
}

static json_t *search(struct fixture *here, const char *known, bool remove)
{
    const struct sw_sweep sweep = { .known = knows, .context = (void *)known, .remove = remove };
    json_t *found = sw_platform_local.orphans(here->conn, &sweep, NULL);

    assert_non_null(found);
    return found;
}

static int count(const json_t *found, const char *what, const char *id)
{
    int n = 0;
    size_t i;
    json_t *entry;

    json_array_foreach(found, i, entry)
        n += strcmp(sw_json_str(entry, "what"), what) == 0 &&
             strcmp(sw_json_str(entry, "job"), id) == 0;
    return n;
}

static bool exists(struct fixture *here, const char *id, const char *name)
{
    sw_autofree char *path = fixture_file(here, id, name);

    return sw_file_exists(path);
}

static void a_forgotten_job_is_listed_then_removed(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "true");
    sw_auto(json) json_t *listed = NULL, *removed = NULL, *after = NULL;

    fixture_wait_over(here, id);
    listed = search(here, NULL, false);
    assert_int_equal(count(listed, "job folder", id), 1);
    assert_true(exists(here, id, "attempt-1"));
    removed = search(here, NULL, true);
    assert_int_equal(count(removed, "job folder", id), 1);
    assert_false(exists(here, id, ""));
    after = search(here, NULL, true);
    assert_int_equal(json_array_size(after), 0);
}

static void results_are_never_removed(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "echo weights > $SLIPWAY_RESULTS_DIR/model");
    sw_auto(json) json_t *removed = NULL, *after = NULL;

    fixture_wait_over(here, id);
    removed = search(here, NULL, true);
    assert_false(exists(here, id, "attempt-1"));
    assert_true(exists(here, id, "results/model"));
    after = search(here, NULL, true);
    assert_int_equal(json_array_size(after), 0);
}

static void what_is_known_or_runs_or_is_not_ours_stays(void **state)
{
    struct fixture *here = *state;
    char known[SW_ID_SIZE];
    sw_autofree char *strange = fixture_file(here, "Not An Id", "attempt-1");
    sw_auto(json) json_t *removed = NULL;
    const char *id;

    memcpy(known, fixture_launch(here, "true"), SW_ID_SIZE);
    fixture_wait_over(here, known);
    id = fixture_launch(here, "exec sleep 1000");
    fixture_wait_state(here, id, SW_RUNNING);
    assert_int_equal(sw_mkdirs(strange, 0700, NULL), 0);
    removed = search(here, known, true);
    assert_int_equal(json_array_size(removed), 0);
    assert_true(sw_file_exists(strange));
    assert_int_equal(fixture_look(here, id)->state, SW_RUNNING);
}

static pid_t leave_a_process(const char *folder)
{
    sw_autofree char *mark = sw_format("SLIPWAY_JOB_DIR=%s", folder);
    pid_t pid = fork();

    if (pid == 0) {
        char *const argv[] = { (char *)"sleep", (char *)"1000", NULL };
        char *const environment[] = { mark, NULL };

        execve("/bin/sleep", argv, environment);
        _exit(127);
    }
    return pid;
}

static void a_process_whose_job_is_over_is_ended(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "true");
    sw_autofree char *folder = local_attempt_folder(here->conn, id, 1);
    sw_auto(json) json_t *listed = NULL, *removed = NULL;
    int64_t deadline = sw_monotonic_ms() + 10000;
    int status = 0;
    pid_t left;

    fixture_wait_over(here, id);
    left = leave_a_process(folder);
    while (fixture_marked(here, id) == 0 && sw_monotonic_ms() < deadline)
        sw_sleep_ms(5);
    listed = search(here, id, false);                /* a known job: its processes all the same */
    assert_int_equal(count(listed, "process", id), 1);
    assert_int_equal(waitpid(left, &status, WNOHANG), 0);
    removed = search(here, id, true);
    assert_int_equal(count(removed, "process", id), 1);
    assert_int_equal(waitpid(left, &status, 0), left);
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_true(exists(here, id, "attempt-1"));
}

static void a_forgotten_job_whose_supervisor_was_killed_is_ended_and_removed(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "trap '' TERM; setsid sleep 1000 & exec sleep 1000");
    sw_auto(json) json_t *removed = NULL;
    sw_autofree char *folder = local_attempt_folder(here->conn, id, 1);

    fixture_wait_state(here, id, SW_RUNNING);
    assert_int_equal(kill((pid_t)atoi(here->seen.remote_id), SIGKILL), 0);
    while (local_lock_held(folder))
        sw_sleep_ms(5);
    removed = search(here, NULL, true);
    assert_int_equal(count(removed, "job folder", id), 1);
    assert_int_equal(fixture_marked(here, id), 0);
    assert_false(exists(here, id, ""));
}

static void a_dead_ticket_goes_and_a_live_one_stays(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *dead = sw_path_join(here->folder, "00000000000000000007.ticket");
    sw_autofree char *live = sw_path_join(here->folder, "00000000000000000008.ticket");
    sw_autofree char *other = sw_path_join(here->folder, "notes.ticket");
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    sw_auto(json) json_t *removed = NULL;
    sw_autofd int held = -1;

    assert_int_equal(sw_file_write(dead, "", 0, 0644, NULL), 0);
    assert_int_equal(sw_file_write(live, "", 0, 0644, NULL), 0);
    assert_int_equal(sw_file_write(other, "", 0, 0644, NULL), 0);
    held = open(live, O_RDWR | O_CLOEXEC);
    assert_int_equal(fcntl(held, F_OFD_SETLK, &whole), 0);
    removed = search(here, NULL, true);
    assert_int_equal(count(removed, "GPU ticket", ""), 1);
    assert_false(sw_file_exists(dead));
    assert_true(sw_file_exists(live));
    assert_true(sw_file_exists(other));
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_forgotten_job_is_listed_then_removed),
        CLAIM(results_are_never_removed),
        CLAIM(what_is_known_or_runs_or_is_not_ours_stays),
        CLAIM(a_process_whose_job_is_over_is_ended),
        CLAIM(a_forgotten_job_whose_supervisor_was_killed_is_ended_and_removed),
        CLAIM(a_dead_ticket_goes_and_a_live_one_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
