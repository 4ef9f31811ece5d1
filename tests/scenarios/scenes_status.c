/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes_status.c - status that is quick and true, pressure on schedulers.
 */
#include "scenes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- 1 ------------------------------------------------------------------------------------------ */

static void rows_are_shown_at_once_with_their_age(void **state)
{
    struct trial *here = *state;
    sw_auto(json) json_t *list = NULL;
    int64_t begun;
    json_t *job;
    size_t i;

    for (int n = 0; n < 3; n++)
        wait_until(here, rehearse(here, "running", NULL), SW_RUNNING);
    connect_with(here, "slow 60s");
    time_passes(90 * 1000);
    begun = sw_monotonic_ms();
    list = list_all(here, SW_LOOK_STORED);
    expect_quick(begun, 500, "a list from the store");
    json_array_foreach(json_object_get(list, "jobs"), i, job) {
        assert_string_equal(text_of(job, "status"), "Running");
        assert_true(number_of(job, "seen_age_ms") >= 89000);
    }
    assert_int_equal(i, 3);
}

static const json_t *row_of(const json_t *list, const char *id)
{
    json_t *job;
    size_t i;

    json_array_foreach(json_object_get(list, "jobs"), i, job)
        if (strcmp(text_of(job, "id"), id) == 0)
            return job;
    fail_msg("the list does not show '%s'", id);
    return NULL;
}

static void a_platform_slow_by_60_s_does_not_delay_the_others(void **state)
{
    struct trial *here = *state;
    char slow[SW_ID_SIZE], quick[SW_ID_SIZE];
    sw_auto(json) json_t *list = NULL;
    char *out = NULL;
    int64_t begun;

    memcpy(slow, rehearse(here, "running", NULL), SW_ID_SIZE);
    wait_until(here, slow, SW_RUNNING);
    memcpy(quick, launch_shell(here, "exit 3"), SW_ID_SIZE);
    while (processes_of(here->dir, quick, NULL, 0) > 0)
        sw_sleep_ms(10);
    setenv("SLIPWAY_REHEARSAL_API", "slow 60s", 1);
    begun = sw_monotonic_ms();
    assert_int_equal(slipway(here, &out, "ps", "--all", "-o", "json", NULL), 0);
    expect_quick(begun, 8000, "a list with one slow platform");
    list = answer(out);
    assert_string_equal(text_of(row_of(list, quick), "status"), "Error");
    assert_string_equal(text_of(row_of(list, slow), "status"), "Running");
    assert_int_equal(json_array_size(json_object_get(list, "unreachable")), 1);
}

/* ---- 2, 3, 4 ------------------------------------------------------------------------------------ */

static void the_first_output_comes_within_a_frame(void **state)
{
    struct trial *here = *state;
    int64_t best_ms = INT64_MAX;

    rehearse(here, "exit 0", NULL);
    for (int i = 0; i < 10; i++) {
        int64_t begun = sw_monotonic_ms();

        assert_int_equal(slipway(here, NULL, "ps", NULL), 0);
        best_ms = sw_monotonic_ms() - begun < best_ms ? sw_monotonic_ms() - begun : best_ms;
    }
    expect_quick(sw_monotonic_ms() - best_ms, 100, "the best of ten `slipway ps`");
}

static void a_list_asks_for_no_secret(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "running", NULL);       /* every job here has a secret */
    char *out = NULL;

    unsetenv(CANARY_NAME);
    assert_int_equal(slipway(here, &out, "ps", NULL), 0);
    expect_has(out, job);
    free(out);
    assert_int_equal(slipway(here, &out, "status", job, NULL), 0);
    expect_has(out, "Running");
    free(out);
}

static void a_wait_has_a_deadline_and_says_what_it_waits_for(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "pending", NULL);
    sw_autofree char *path = path_in(here, "stderr");
    sw_autofree char *said = NULL;
    int64_t begun = sw_monotonic_ms();

    assert_int_equal(slipway(here, NULL, "wait", "--timeout", "300ms", job, NULL),
                     sw_code_exit_status(SW_E_TIMEOUT));
    expect_quick(begun, 3000, "a wait of 300 ms");
    said = read_text(path);
    expect_has(said, "Pending");
    expect_has(said, "slipway ");                            /* the way out is a command */
}

/* ---- 7, 8, 9 ------------------------------------------------------------------------------------ */

static void a_thousand_jobs_are_one_question(void **state)
{
    enum { MANY = 1000, SLOW_MS = 50 };
    struct trial *here = *state;
    sw_auto(json) json_t *list = NULL;
    int64_t begun;

    for (int i = 0; i < MANY; i++) {
        struct sw_request *made = script(here, "running", NULL);
        char id[SW_ID_SIZE];

        assert_int_equal(sw_submit(here->session, made, id, NULL), 0);
        sw_request_free(made);
    }
    connect_with(here, "slow 50ms");
    begun = sw_monotonic_ms();
    list = list_all(here, SW_LOOK_REFRESH);
    expect_quick(begun, MANY * SLOW_MS / 10, "a look at a thousand jobs");
    assert_int_equal(json_array_size(json_object_get(list, "jobs")), MANY);
    assert_int_equal(json_array_size(json_object_get(list, "unreachable")), 0);
}

static void a_submit_whose_answer_was_lost_is_looked_for_not_repeated(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = script(here, "running 200ms, exit 0", NULL);
    struct sw_error err = { 0 };
    char id[SW_ID_SIZE];

    set_id(made, "sent-once");
    connect_with(here, "lose-answer");
    assert_int_equal(sw_submit(here->session, made, id, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    expect_ok(sw_submit(here->session, made, id, &err), &err, "the second submit");
    assert_int_equal(wait_until_over(here, "sent-once"), 0);
    assert_int_equal(count_events(here, "sent-once", "attempt"), 0);
    sw_request_free(made);
}

static void a_job_not_found_for_ever_is_said_to_be_lost(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "running 100ms, vanished", "retry.max", "0", NULL);
    int64_t deadline = sw_monotonic_ms() + PATIENCE_MS;

    wait_until(here, job, SW_RUNNING);
    while (!sw_state_is_final(state_of(here, job))) {
        time_passes(2000);
        assert_true(sw_monotonic_ms() < deadline);
    }
    expect_state(here, job, SW_ERROR);
    expect_reason(here, job, "lost");
    assert_int_not_equal(wait_until_over(here, job), 0);
}

struct scene scenes_status[] = {
    SCENE("skypilot#904 #1534", rows_are_shown_at_once_with_their_age, rehearsal),
    SCENE("skypilot#904 #1534", a_platform_slow_by_60_s_does_not_delay_the_others,
          local),
    SCENE("skypilot#4678", the_first_output_comes_within_a_frame, rehearsal),
    SCENE("skypilot#6891", a_list_asks_for_no_secret, rehearsal),
    SCENE("brev-cli#218", a_wait_has_a_deadline_and_says_what_it_waits_for,
          rehearsal),
    NEEDS("skypilot PR#5323", "one connection per login host, sessions below its limit", "ssh"),
    NEEDS("skypilot PR#4455 yorc#291", "a refused session never ends the shared connection",
          "ssh"),
    SCENE("submitit#1759", a_thousand_jobs_are_one_question, rehearsal),
    SCENE("submitit#1659", a_submit_whose_answer_was_lost_is_looked_for_not_repeated,
          rehearsal),
    SCENE("hyperqueue#764", a_job_not_found_for_ever_is_said_to_be_lost, rehearsal),
    { 0 }
};
