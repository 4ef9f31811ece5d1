/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_secrets.c - a secret reaches the command and nothing else. That it is found in no file,
 * answer or argument list is checked at the end of every trial; here are the special cases.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "cases.h"

static void the_command_sees_the_secret(void **state)
{
    struct trial *here = *state;
    /* Its length and one character: enough to know it, too little to give it away. */
    const char *job = launch_shell(here, "test ${#" CANARY_NAME "} = %zu && "
                                   "case \"$" CANARY_NAME "\" in cny/*) exit 0;; esac; exit 9",
                                   strlen(canary_value(here->canary)));

    assert_int_equal(wait_until_over(here, job), 0);
}

static void a_secret_that_a_job_prints_is_redacted_in_its_log(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "echo \"a $" CANARY_NAME " b\"; "
                                   "echo \"c $" CANARY_NAME "\" >&2; "
                                   "printf %%s \"$" CANARY_NAME "\" | head -c 9; sleep 0.2; "
                                   "printf %%s \"$" CANARY_NAME "\" | tail -c +10; echo");
    struct log log = read_log(here, job, -1, true);
    int seen = 0;

    for (const char *at = log.bytes; (at = strstr(at, "[redacted]")); at++)
        seen++;
    assert_non_null(strstr(log.bytes, "a [redacted] b\n"));
    assert_int_equal(seen, 3);               /* also the one that came in two pieces */
    log_done(&log);
}

static void a_secret_that_is_not_set_is_named_and_nothing_is_sent(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request(here, EXITS, 0);
    struct sw_list_options all = { .size = sizeof all };
    struct sw_error err = { 0 };
    char id[SW_ID_SIZE];
    char *list;

    set(made, "secrets", "NO_SUCH_TOKEN_HERE");
    assert_int_equal(sw_submit(here->session, made, id, &err), -1);
    assert_int_equal(err.code, SW_E_CREDENTIAL);
    assert_non_null(strstr(err.message, "NO_SUCH_TOKEN_HERE"));
    list = sw_list(here->session, &all, NULL);
    assert_non_null(strstr(list, "\"total\":0"));
    sw_text_free(list);
    sw_request_free(made);
}

static void a_secret_survives_the_death_of_its_client(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "sleep 0.3; test -n \"$" CANARY_NAME "\"");

    unsetenv(CANARY_NAME);                   /* the client that knew it is gone */
    assert_int_equal(wait_until_over(here, job), 0);
}

static void a_secret_that_is_not_named_does_not_reach_the_command(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = sw_request_new();
    const char *job;

    set_common(here, made);
    set(made, here->fixture->command_key, "test -z \"$" CANARY_NAME "\"");
    job = send_request(here, made);
    assert_int_equal(wait_until_over(here, job), 0);
}

static void a_second_attempt_has_the_secret_and_the_results_of_the_first(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "test -n \"$" CANARY_NAME "\" || exit 9; "
                                   "echo x >>\"$SLIPWAY_RESULTS_DIR/tries\"; "
                                   "exit $(wc -l <\"$SLIPWAY_RESULTS_DIR/tries\")");
    struct sw_error err = { 0 };
    int attempt = 0;

    assert_int_equal(wait_until_over(here, job), 1);
    expect_ok(sw_retry(here->session, job, false, &attempt, &err), &err, "retry");
    assert_int_equal(attempt, 2);
    assert_int_equal(wait_until_over(here, job), 2);
}

static void a_retry_without_the_secret_is_refused_and_changes_nothing(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, EXITS, 0);
    struct sw_error err = { 0 };
    int attempt = 0;

    wait_until_over(here, job);
    unsetenv(CANARY_NAME);
    assert_int_equal(sw_retry(here->session, job, false, &attempt, &err), -1);
    assert_int_equal(err.code, SW_E_CREDENTIAL);
    expect_state(here, job, SW_COMPLETE);
}

const struct contract_case cases_secrets[] = {
    CLAIM(the_command_sees_the_secret, COMMANDS),
    CLAIM(a_secret_that_a_job_prints_is_redacted_in_its_log, COMMANDS),
    CLAIM(a_secret_that_is_not_set_is_named_and_nothing_is_sent, 0),
    CLAIM(a_secret_survives_the_death_of_its_client, COMMANDS),
    CLAIM(a_second_attempt_has_the_secret_and_the_results_of_the_first, COMMANDS),
    CLAIM(a_retry_without_the_secret_is_refused_and_changes_nothing, 0),
    CLAIM(a_secret_that_is_not_named_does_not_reach_the_command, COMMANDS),
    { 0 }
};
