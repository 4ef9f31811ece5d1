/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_why.c - what is said of a job when it is over: what happened, and how far it came.
 */
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/text.h"
#include "cases.h"

static json_t *why(struct trial *here, const char *job)
{
    struct sw_error err = { 0 };
    sw_autofree char *text = sw_why(here->session, job, &err);
    json_t *answer = text ? json_loads(text, 0, NULL) : NULL;

    if (!answer)
        fail_msg("why: %s", err.message);
    return answer;
}

static void expect_headline(struct trial *here, const char *job, const char *headline, const char *cause)
{
    sw_auto(json) json_t *answer = why(here, job);

    assert_string_equal(text_of(answer, "headline"), headline);
    if (cause)
        assert_string_equal(text_of(answer, "cause"), cause);
}

/* Status, ps and the last lines of `run` show the message, so it is the same sentence. */
static void the_exception_that_ended_a_program_is_the_headline(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "echo step 1; printf 'Traceback (most recent call last):\\n"
                                   "  File \"t.py\", line 6, in <module>\\nKeyError: %%s\\n' \"'labels'\" "
                                   ">&2; exit 1");
    sw_auto(json) json_t *seen = NULL;

    assert_int_equal(wait_until_over(here, job), 1);
    seen = status(here, job);
    assert_string_equal(text_of(seen, "message"), "KeyError: 'labels'; rank 0, exit code 1");
    expect_headline(here, job, "KeyError: 'labels'; rank 0, exit code 1", "user");
}

static void a_command_that_does_not_exist_is_reported_once(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "nosuchcommand-here");
    sw_auto(json) json_t *answer = NULL;
    int told = 0;
    size_t i;
    json_t *line;

    assert_int_equal(wait_until_over(here, job), 127);
    answer = why(here, job);
    assert_non_null(strstr(text_of(answer, "headline"), "nosuchcommand-here"));
    assert_non_null(strstr(text_of(answer, "suggestion"), "command was not found"));
    json_array_foreach(json_object_get(answer, "evidence"), i, line)
        told += strstr(json_string_value(line), "nosuchcommand-here") != NULL;
    assert_int_equal(told, 1);
}

static void a_job_that_wrote_nothing_is_said_to_have_written_nothing(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "exit 3");
    sw_auto(json) json_t *answer = NULL;

    assert_int_equal(wait_until_over(here, job), 3);
    answer = why(here, job);
    assert_non_null(strstr(text_of(answer, "headline"), "the job wrote nothing to its log"));
}

static void a_good_end_and_a_cancel_are_said_plainly(void **state)
{
    struct trial *here = *state;
    struct sw_error err = { 0 };
    const char *job = launch(here, EXITS, 0);

    assert_int_equal(wait_until_over(here, job), 0);
    expect_headline(here, job, "Complete (exit code 0)", NULL);
    job = launch(here, SLEEPS, 60000);
    wait_until(here, job, SW_RUNNING);
    expect_ok(sw_cancel(here->session, job, &err), &err, "cancel");
    expect_headline(here, job, "Canceled by you", NULL);
}

/* Also for a client that only waited. */
static void the_progress_of_a_job_that_ended_is_that_of_its_end(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "for i in 1 2 3 4 5 6 7 8; do echo \"Epoch $i/8\"; done; "
                                   "printf 'the last line'");
    sw_auto(json) json_t *seen = NULL;
    const json_t *progress;

    assert_int_equal(wait_until_over(here, job), 0);
    seen = status(here, job);
    progress = json_object_get(seen, "progress");
    assert_int_equal(number_of(progress, "epoch"), 8);
    assert_true(json_number_value(json_object_get(progress, "fraction")) == 1.0);
    assert_string_equal(text_of(seen, "last_line"), "the last line");
}

const struct contract_case cases_why[] = {
    CLAIM(the_exception_that_ended_a_program_is_the_headline, COMMANDS),
    CLAIM(a_command_that_does_not_exist_is_reported_once, COMMANDS),
    CLAIM(a_job_that_wrote_nothing_is_said_to_have_written_nothing, COMMANDS),
    CLAIM(a_good_end_and_a_cancel_are_said_plainly, 0),
    CLAIM(the_progress_of_a_job_that_ended_is_that_of_its_end, COMMANDS),
    { 0 }
};
