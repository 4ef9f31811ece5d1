/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_faults.c - platforms that are silent, slow or lying: no job changes because of it.
 *
 * The cut lies on the connection, so it is made with the environment variable of the rehearsal
 * and a new session; a platform with a proxy in front would set its own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cases.h"

static int no_more_faults(void **state)
{
    connect_with(*state, NULL);
    return 0;
}

static void a_platform_that_does_not_answer_changes_no_job(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, SLEEPS, 60000);
    sw_auto(json) json_t *seen = NULL;

    wait_until(here, job, SW_RUNNING);
    connect_with(here, "down");
    for (int i = 0; i < 5; i++)
        expect_state(here, job, SW_RUNNING);
    seen = status(here, job);
    assert_true(json_array_size(json_object_get(seen, "unreachable")) == 1);
    no_more_faults(state);
    seen = (json_decref(seen), status(here, job));
    assert_string_equal(text_of(seen, "status"), "Running");
}

static void a_job_that_ended_while_no_client_could_look_is_seen_later(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, EXITS, 3);

    connect_with(here, "down 3 calls");
    assert_int_equal(wait_until_over(here, job), 3);
    no_more_faults(state);
}

static void waiting_for_a_platform_that_does_not_answer_has_a_deadline(void **state)
{
    struct trial *here = *state;
    struct sw_error err = { 0 };
    const char *job = launch(here, EXITS, 0);
    int code = -1;

    connect_with(here, "down");
    assert_int_equal(sw_wait(here->session, job, 200, NULL, NULL, &code, &err), -1);
    assert_int_equal(err.code, SW_E_TIMEOUT);
    no_more_faults(state);
}

static void a_submit_that_reaches_no_platform_says_so_and_can_be_repeated(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request(here, EXITS, 0);
    struct sw_error err = { 0 };
    char id[SW_ID_SIZE];

    connect_with(here, "down");
    set_id(made, "unsent");
    assert_int_equal(sw_submit(here->session, made, id, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_true(!*id || strcmp(id, "unsent") == 0);    /* found out before it was remembered, or not */
    no_more_faults(state);
    expect_ok(sw_submit(here->session, made, id, &err), &err, "the second submit");
    assert_int_equal(wait_until_over(here, "unsent"), 0);
    sw_request_free(made);
}

/* A platform may find out by itself that it was started; one that cannot leaves it open, never refused. */
static void expect_open_or_found(struct trial *here, const struct sw_request *made, char id[SW_ID_SIZE])
{
    struct sw_error err = { 0 };

    if (sw_submit(here->session, made, id, &err) < 0)
        assert_int_equal(err.code, SW_E_UNREACHABLE);
}

static void a_job_whose_answer_was_lost_is_found_and_not_doubled(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request(here, SLEEPS, 3000);
    struct sw_error err = { 0 };
    char id[SW_ID_SIZE];

    set(made, "rehearsal.api", "lose-answer");         /* of the job: the second submit asks for the same */
    set_id(made, "answer-lost");
    expect_open_or_found(here, made, id);
    wait_until(here, id, SW_RUNNING);
    expect_ok(sw_submit(here->session, made, id, &err), &err, "the second submit");
    assert_int_equal(wait_until_over(here, id), 0);
    sw_request_free(made);
}

static void a_list_without_the_job_does_not_lose_it(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, SLEEPS, 60000);

    wait_until(here, job, SW_RUNNING);
    connect_with(here, "empty-list 3 calls");
    for (int i = 0; i < 4; i++)
        expect_state(here, job, SW_RUNNING);
    no_more_faults(state);
    expect_state(here, job, SW_RUNNING);
}

static void a_lost_answer_and_a_list_without_the_job_do_not_lose_it(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request(here, SLEEPS, 60000);
    char id[SW_ID_SIZE];

    connect_with(here, "lose-answer, not-found-then-found");
    set_id(made, "twice-unlucky");
    expect_open_or_found(here, made, id);
    sw_request_free(made);
    state_of(here, id);                        /* the first answer: no such job */
    wait_until(here, id, SW_RUNNING);
    no_more_faults(state);
}

static void following_goes_on_at_its_byte_after_a_cut(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, PRINTS_SLOWLY, 50);
    struct log log;

    connect_with(here, "down 3 calls");
    log = read_log(here, job, -1, true);
    expect_lines(&log, 1, 50);
    log_done(&log);
    no_more_faults(state);
}

static void a_cancel_that_reaches_no_platform_is_not_reported_as_done(void **state)
{
    struct trial *here = *state;
    struct sw_error err = { 0 };
    const char *job = launch(here, SLEEPS, 60000);

    wait_until(here, job, SW_RUNNING);
    connect_with(here, "down");
    assert_int_equal(sw_cancel(here->session, job, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_int_not_equal(state_of(here, job), SW_CANCELED);
    no_more_faults(state);
    expect_ok(sw_cancel(here->session, job, &err), &err, "the second cancel");
    expect_state(here, job, SW_CANCELED);
}

static void a_slow_platform_is_waited_for(void **state)
{
    struct trial *here = *state;

    connect_with(here, "slow 50ms");
    assert_int_equal(wait_until_over(here, launch(here, EXITS, 3)), 3);
    no_more_faults(state);
}

static void the_jobs_of_one_platform_cost_one_question(void **state)
{
    enum { MANY = 40, SLOW_MS = 500 };
    struct trial *here = *state;
    struct sw_list_options all = { .size = sizeof all, .limit = MANY };
    int64_t begun;
    char *text;

    for (int i = 0; i < MANY; i++)
        launch(here, SLEEPS, 60000);
    connect_with(here, "slow 500ms");
    begun = sw_monotonic_ms();
    text = sw_list(here->session, &all, NULL);
    assert_non_null(text);
    sw_text_free(text);
    assert_true(sw_monotonic_ms() - begun < MANY * SLOW_MS / 2);
    no_more_faults(state);
}

const struct contract_case cases_faults[] = {
    CLAIM(a_platform_that_does_not_answer_changes_no_job, FAULTS),
    CLAIM(a_job_that_ended_while_no_client_could_look_is_seen_later, FAULTS),
    CLAIM(waiting_for_a_platform_that_does_not_answer_has_a_deadline, FAULTS),
    CLAIM(a_submit_that_reaches_no_platform_says_so_and_can_be_repeated, FAULTS),
    CLAIM(a_job_whose_answer_was_lost_is_found_and_not_doubled, FAULTS),
    CLAIM(a_list_without_the_job_does_not_lose_it, FAULTS),
    CLAIM(a_lost_answer_and_a_list_without_the_job_do_not_lose_it, FAULTS),
    CLAIM(following_goes_on_at_its_byte_after_a_cut, FAULTS),
    CLAIM(a_cancel_that_reaches_no_platform_is_not_reported_as_done, FAULTS),
    CLAIM(a_slow_platform_is_waited_for, FAULTS),
    CLAIM(the_jobs_of_one_platform_cost_one_question, FAULTS),
    { 0 }
};
