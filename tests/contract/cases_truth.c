/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_truth.c - what a client learns about its own request is true: an id stands for one job.
 */
#include <string.h>

#include "base/auto.h"
#include "cases.h"

static void the_same_job_under_its_id_is_there_already(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request(here, EXITS, 0);
    struct sw_error err = { 0 };
    char id[SW_ID_SIZE];
    bool already = true;

    set_id(made, "one-id");
    expect_ok(sw_submit_once(here->session, made, id, &already, &err), &err, "submit");
    assert_false(already);
    assert_int_equal(wait_until_over(here, "one-id"), 0);
    expect_ok(sw_submit_once(here->session, made, id, &already, &err), &err, "the same again");
    assert_true(already);
    assert_string_equal(id, "one-id");
    sw_request_free(made);
}

/* The key is named; its value is not. */
static void another_job_under_the_same_id_is_a_conflict_that_names_the_key(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request(here, EXITS, 0), *other = request(here, EXITS, 0);
    struct sw_error err = { 0 };
    char id[SW_ID_SIZE];

    set_id(made, "one-id");
    set_id(other, "one-id");
    set(other, "env.LEARNING_RATE", "of-great-value");
    expect_ok(sw_submit(here->session, made, id, &err), &err, "submit");
    assert_int_equal(wait_until_over(here, "one-id"), 0);
    assert_int_equal(sw_submit(here->session, other, id, &err), -1);
    assert_int_equal(err.code, SW_E_CONFLICT);
    assert_non_null(strstr(err.message, "env.LEARNING_RATE"));
    assert_null(strstr(err.message, "of-great-value"));
    assert_string_equal(id, "");
    sw_request_free(made);
    sw_request_free(other);
}

/* docs/use/job-file.md, "Checkpoints": the variable, on every platform alike. */
static void the_next_attempt_learns_its_checkpoint(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request_shell(here,
        "if [ -n \"$SLIPWAY_RESUME_FROM\" ]; then "
        "test \"${SLIPWAY_RESUME_FROM##*/}\" = model_step_7.ckpt; exit; fi; "
        "mkdir -p /results/ckpt && echo weights >/results/ckpt/model_step_7.ckpt; exit 3");
    struct sw_error err = { 0 };
    int attempt = 0;

    set_id(made, "goes-on");
    set(made, "checkpoint.dir", "/results/ckpt");
    set(made, "outputs", "/results");
    send_request(here, made);
    assert_int_equal(wait_until_over(here, "goes-on"), 3);
    expect_ok(sw_retry(here->session, "goes-on", false, &attempt, &err), &err, "retry");
    assert_int_equal(wait_until_over(here, "goes-on"), 0);
}

const struct contract_case cases_truth[] = {
    CLAIM(the_same_job_under_its_id_is_there_already, 0),
    CLAIM(another_job_under_the_same_id_is_a_conflict_that_names_the_key, 0),
    CLAIM(the_next_attempt_learns_its_checkpoint, COMMANDS),
    { 0 }
};
