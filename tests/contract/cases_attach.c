/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_attach.c - jobs outlive their client; one submit is one job, whichever client dies or races.
 *
 * The exact points at which a client may die are enumerated by tests/crash; here a client is
 * killed at many moments by the clock, which needs nothing from the platform.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cases.h"

static int submit_and_leave(struct trial *here, int number)
{
    struct sw_session *session = open_session(here);
    struct sw_request *made = request(here, SLEEPS, 300);
    char id[SW_ID_SIZE];

    (void)number;
    set_id(made, "left-behind");
    return sw_submit(session, made, id, NULL);
}

static void a_job_submitted_by_a_process_that_left_is_seen_to_its_end(void **state)
{
    struct trial *here = *state;

    in_processes(here, 1, submit_and_leave);
    assert_int_equal(wait_until_over(here, "left-behind"), 0);
    expect_state(here, "left-behind", SW_COMPLETE);
}

static int look_too(struct trial *here, int number)
{
    struct sw_session *session = open_session(here);
    int code = -1;

    (void)number;
    return sw_wait(session, here->id, PATIENCE_MS, NULL, NULL, &code, NULL) == 0 && code == 3
               ? 0 : -1;
}

static void eight_processes_may_wait_for_one_job(void **state)
{
    struct trial *here = *state;

    launch(here, EXITS, 3);
    in_processes(here, 8, look_too);
}

/* ---- one id, one job ------------------------------------------------------------------------------ */

static struct sw_request *marked_request(struct trial *here, const char *id)
{
    sw_autofree char *marks = path_in(here, "marks");
    struct sw_request *made = here->fixture->command_key
                                  ? request_shell(here, "echo $$ >>'%s'; sleep 0.1", marks)
                                  : request(here, SLEEPS, 100);

    set_id(made, id);
    return made;
}

static int submit_marked(struct trial *here, int number)
{
    struct sw_session *session = open_session(here);
    struct sw_error err = { 0 };
    char id[SW_ID_SIZE];

    (void)number;
    if (sw_submit(session, marked_request(here, "the-same"), id, &err) < 0) {
        fprintf(stderr, "submit: %s\n", err.message);
        return -1;
    }
    return strcmp(id, "the-same");
}

/* Where commands really run, each run left a mark. */
static void expect_marks(struct trial *here, int count)
{
    sw_autofree char *marks = path_in(here, "marks");

    if (here->fixture->command_key)
        assert_int_equal(lines_in(marks), count);
}

static void clients_that_submit_one_id_at_once_start_one_job(void **state)
{
    struct trial *here = *state;

    in_processes(here, crowd(), submit_marked);
    assert_int_equal(wait_until_over(here, "the-same"), 0);
    expect_marks(here, 1);
}

static int submit_own(struct trial *here, int number)
{
    struct sw_session *session = open_session(here);
    struct sw_error err = { 0 };
    char id[SW_ID_SIZE], own[SW_ID_SIZE];

    snprintf(own, sizeof own, "own-%d", number);
    if (sw_submit(session, marked_request(here, own), id, &err) < 0) {
        fprintf(stderr, "submit: %s\n", err.message);
        return -1;
    }
    return 0;
}

static void clients_that_submit_at_once_start_a_job_each(void **state)
{
    struct trial *here = *state;

    in_processes(here, crowd(), submit_own);
    for (int i = 0; i < crowd(); i++) {
        char own[SW_ID_SIZE];

        snprintf(own, sizeof own, "own-%d", i);
        assert_int_equal(wait_until_over(here, own), 0);
    }
    expect_marks(here, crowd());
}

static void submitting_an_id_again_finds_the_first_job(void **state)
{
    struct trial *here = *state;

    send_request(here, marked_request(here, "again"));
    send_request(here, marked_request(here, "again"));
    assert_int_equal(wait_until_over(here, "again"), 0);
    send_request(here, marked_request(here, "again"));
    expect_state(here, "again", SW_COMPLETE);
    expect_marks(here, 1);
}

/* ---- a client that dies ------------------------------------------------------------------------------ */

static void kill_a_client_after(struct trial *here, int64_t microseconds, const char *id)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct sw_session *session;
        char made[SW_ID_SIZE];

        setenv("CMOCKA_TEST_ABORT", "1", 1);
        session = open_session(here);
        sw_submit(session, marked_request(here, id), made, NULL);
        pause();
    }
    usleep((useconds_t)microseconds);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* Not lost, not doubled: the row tells the truth, and the same id can still be run once. */
static void prove_one_job(struct trial *here, const char *id, int marks)
{
    struct sw_error err = { 0 };
    char *text = sw_status(here->session, id, SW_LOOK_REFRESH, &err);

    if (!text)
        assert_int_equal(err.code, SW_E_NOT_FOUND);       /* it died before the row was written */
    else if (wait_until_over(here, id) != 0)
        expect_reason(here, id, "not-started");           /* it died before anything was made */
    sw_text_free(text);
    send_request(here, marked_request(here, id));
    assert_int_equal(wait_until_over(here, id), 0);
    expect_state(here, id, SW_COMPLETE);
    expect_marks(here, marks);
}

static void a_client_killed_at_any_moment_loses_and_doubles_nothing(void **state)
{
    struct trial *here = *state;

    for (int i = 0; i < 16; i++) {
        char id[SW_ID_SIZE];

        snprintf(id, sizeof id, "crash-%d", i);
        kill_a_client_after(here, 500 + i * 1500, id);
        prove_one_job(here, id, i + 1);
    }
}

/* ---- a store that knows nothing ------------------------------------------------------------------------ */

static void forget_the_store(struct trial *here)
{
    DIR *folder;

    sw_close(here->session);
    folder = opendir(here->state_dir);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strncmp(entry->d_name, "jobs.db", strlen("jobs.db")) == 0)
            assert_int_equal(unlinkat(dirfd(folder), entry->d_name, 0), 0);
    closedir(folder);
    here->session = open_session(here);
}

static void a_job_can_be_adopted_by_its_id_into_an_empty_store(void **state)
{
    struct trial *here = *state;
    struct sw_error err = { 0 };
    const char *job = launch(here, SLEEPS, 400);

    forget_the_store(here);
    assert_null(sw_status(here->session, job, SW_LOOK_STORED, &err));
    expect_ok(sw_adopt(here->session, here->fixture->name, job, &err), &err, "adopt");
    expect_ok(sw_adopt(here->session, here->fixture->name, job, &err), &err, "adopt again");
    assert_int_equal(wait_until_over(here, job), 0);
    expect_state(here, job, SW_COMPLETE);
}

static void adopting_a_job_that_does_not_exist_is_not_found(void **state)
{
    struct trial *here = *state;
    struct sw_error err = { 0 };

    assert_int_equal(sw_adopt(here->session, here->fixture->name, "missing-aaaaaaaa", &err), -1);
    assert_int_equal(err.code, SW_E_NOT_FOUND);
}

static void an_adopted_job_can_be_canceled(void **state)
{
    struct trial *here = *state;
    struct sw_error err = { 0 };
    const char *job = launch(here, SLEEPS, 60000);

    wait_until(here, job, SW_RUNNING);
    forget_the_store(here);
    expect_ok(sw_adopt(here->session, here->fixture->name, job, &err), &err, "adopt");
    expect_ok(sw_cancel(here->session, job, &err), &err, "cancel");
    expect_state(here, job, SW_CANCELED);
    expect_none_left(here, job);
}

const struct contract_case cases_attach[] = {
    CLAIM(a_job_submitted_by_a_process_that_left_is_seen_to_its_end, 0),
    CLAIM(eight_processes_may_wait_for_one_job, 0),
    CLAIM(clients_that_submit_one_id_at_once_start_one_job, 0),
    CLAIM(clients_that_submit_at_once_start_a_job_each, 0),
    CLAIM(submitting_an_id_again_finds_the_first_job, 0),
    CLAIM(a_client_killed_at_any_moment_loses_and_doubles_nothing, 0),
    CLAIM(a_job_can_be_adopted_by_its_id_into_an_empty_store, 0),
    CLAIM(adopting_a_job_that_does_not_exist_is_not_found, 0),
    CLAIM(an_adopted_job_can_be_canceled, 0),
    { 0 }
};
