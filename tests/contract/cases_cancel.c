/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_cancel.c - cancel is reported only when nothing of the job runs any more.
 */
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "cases.h"

static void cancel(struct trial *here, const char *job)
{
    struct sw_error err = { 0 };

    expect_ok(sw_cancel(here->session, job, &err), &err, "cancel");
}

static void a_pending_job_can_be_canceled_and_never_starts(void **state)
{
    struct trial *here = *state;
    char holder[SW_ID_SIZE];
    const char *job;

    memcpy(holder, launch(here, HOLDS_THE_QUEUE, 0), sizeof holder);
    wait_until(here, holder, SW_RUNNING);
    job = launch(here, WAITS_IN_QUEUE, 0);
    wait_until(here, job, SW_PENDING);
    cancel(here, job);
    expect_state(here, job, SW_CANCELED);
    assert_int_equal(wait_until_over(here, job), 130);
    expect_state(here, holder, SW_RUNNING);
}

static void a_running_job_can_be_canceled(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, SLEEPS, 60000);

    wait_until(here, job, SW_RUNNING);
    cancel(here, job);
    expect_state(here, job, SW_CANCELED);
    assert_int_equal(wait_until_over(here, job), 130);
    expect_none_left(here, job);
}

static void a_job_canceled_right_after_its_submit_is_canceled(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, SLEEPS, 60000);

    cancel(here, job);
    expect_state(here, job, SW_CANCELED);
    expect_none_left(here, job);
}

static void canceling_twice_is_the_same_as_once(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, SLEEPS, 60000);

    wait_until(here, job, SW_RUNNING);
    cancel(here, job);
    cancel(here, job);
    expect_state(here, job, SW_CANCELED);
}

static int cancel_too(struct trial *here, int number)
{
    struct sw_session *session = open_session(here);
    struct sw_error err = { 0 };

    (void)number;
    if (sw_cancel(session, here->id, &err) == 0)
        return 0;
    print_error("cancel: %s\n", err.message);
    return -1;
}

static void several_clients_may_cancel_at_once(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, SLEEPS, 60000);

    wait_until(here, job, SW_RUNNING);
    in_processes(here, crowd() < 8 ? crowd() : 8, cancel_too);
    expect_state(here, job, SW_CANCELED);
}

static void canceling_a_job_that_is_over_changes_nothing(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, EXITS, 3);

    wait_until_over(here, job);
    cancel(here, job);
    expect_state(here, job, SW_ERROR);
    expect_exit_code(here, job, 3);
}

static void a_job_that_ignores_the_polite_request_is_killed(void **state)
{
    struct trial *here = *state;
    sw_autofree char *mark = path_in(here, "deaf");
    struct sw_request *made = request_shell(here, "trap '' TERM INT; echo up >>'%s'; "
                                            "while :; do sleep 0.05; done", mark);
    const char *job;

    set(made, "grace", "200ms");
    job = send_request(here, made);
    assert_true(watch_for_lines(here, mark, 1));
    cancel(here, job);
    expect_state(here, job, SW_CANCELED);
    expect_none_left(here, job);
}

static void processes_that_ran_away_from_the_job_are_found_too(void **state)
{
    struct trial *here = *state;
    sw_autofree char *mark = path_in(here, "away");
    const char *job = launch_shell(here, "for i in 1 2 3; do setsid sh -c \"echo \\$\\$ >>'%s'; "
                                   "(sleep 60 &) ; exec sleep 60\" & done; sleep 60", mark);

    assert_true(watch_for_lines(here, mark, 3));
    cancel(here, job);
    expect_none_left(here, job);
    expect_state(here, job, SW_CANCELED);
}

static void a_job_has_time_to_save_its_work_when_it_is_canceled(void **state)
{
    struct trial *here = *state;
    sw_autofree char *mark = path_in(here, "saved");
    const char *job = launch_shell(here, "trap 'sleep 0.2; echo saved >>\"%s\"; exit 0' TERM; "
                                   "echo up >>'%s'; while :; do sleep 0.02; done", mark, mark);

    assert_true(watch_for_lines(here, mark, 1));
    cancel(here, job);
    assert_int_equal(lines_in(mark), 2);
    expect_state(here, job, SW_CANCELED);
}

static void a_canceled_job_gets_one_term_and_all_of_its_grace(void **state)
{
    struct trial *here = *state;
    sw_autofree char *mark = path_in(here, "told");
    const char *job = send_request(here, request_that_saves(here, mark));

    assert_true(watch_for_lines(here, mark, 1));
    cancel(here, job);
    expect_saved_once(mark);
    expect_state(here, job, SW_CANCELED);
}

const struct contract_case cases_cancel[] = {
    CLAIM(a_pending_job_can_be_canceled_and_never_starts, QUEUE),
    CLAIM(a_running_job_can_be_canceled, 0),
    CLAIM(a_job_canceled_right_after_its_submit_is_canceled, 0),
    CLAIM(canceling_twice_is_the_same_as_once, 0),
    CLAIM(several_clients_may_cancel_at_once, 0),
    CLAIM(canceling_a_job_that_is_over_changes_nothing, 0),
    CLAIM(a_job_that_ignores_the_polite_request_is_killed, COMMANDS),
    CLAIM(processes_that_ran_away_from_the_job_are_found_too, COMMANDS),
    CLAIM(a_job_has_time_to_save_its_work_when_it_is_canceled, COMMANDS),
    CLAIM(a_canceled_job_gets_one_term_and_all_of_its_grace, COMMANDS),
    { 0 }
};
