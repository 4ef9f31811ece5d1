/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_collect.c - what a job wrote is kept: brought when it can be, and brought later when it could not.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/json.h"
#include "cases.h"

/* A job whose results go to the folder `home`. */
static const char *send_job(struct trial *here, const char *command, const char *home, const char *more)
{
    sw_autofree char *text = sw_format("name: kept\ncommand: |\n  %s\noutputs: {/results: {to: '%s'}}\n%s",
                                       command, home, more);
    struct sw_request *made = sw_request_new();
    struct sw_error err = { 0 };

    expect_ok(sw_request_text(made, text, strlen(text), "yaml", "contract.yaml", &err), &err,
              "job file");
    set_common(here, made);
    return send_request(here, made);
}

static void expect_landed(const char *home, const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(home, name);
    sw_autofree char *found = read_text(path);

    if (!found)
        fail_msg("'%s' did not land", path);
    assert_string_equal(found, text);
}

/* A folder where a file should go: the command is over by the time that this is noticed. */
static void outputs_that_did_not_arrive_are_brought_again_without_the_command(void **state)
{
    struct trial *here = *state;
    sw_autofree char *home = path_in(here, "landed"), *taken = sw_path_join(home, "model");
    struct sw_error err = { 0 };
    const char *job;
    int attempt = 0;

    expect_ok(sw_mkdirs(taken, 0777, &err), &err, "a folder in the way");
    chmod(home, 0777);
    job = send_job(here, "echo run >>/results/runs; echo trained >/results/model", home, "");
    assert_int_equal(wait_until_over(here, job), 74);
    expect_reason(here, job, "outputs");
    assert_int_equal(rmdir(taken), 0);
    expect_ok(sw_collect_again(here->session, job, &attempt, &err), &err, "collect again");
    assert_int_equal(attempt, 2);
    assert_int_equal(wait_until_over(here, job), 0);
    expect_state(here, job, SW_COMPLETE);
    expect_landed(home, "model", "trained\n");
    expect_landed(home, "runs", "run\n");
}

static void the_outputs_of_a_command_that_failed_can_be_brought_again_too(void **state)
{
    struct trial *here = *state;
    sw_autofree char *home = path_in(here, "landed"), *model = sw_path_join(home, "model");
    struct sw_error err = { 0 };
    const char *job;
    int attempt = 0;

    expect_ok(sw_mkdirs(home, 0777, &err), &err, "a folder");
    chmod(home, 0777);
    job = send_job(here, "echo run >>/results/runs; echo half >/results/model; exit 3", home, "");
    assert_int_equal(wait_until_over(here, job), 3);
    expect_landed(home, "model", "half\n");
    assert_int_equal(unlink(model), 0);
    expect_ok(sw_collect_again(here->session, job, &attempt, &err), &err, "collect again");
    assert_int_equal(wait_until_over(here, job), 3);
    expect_landed(home, "model", "half\n");
    expect_landed(home, "runs", "run\n");
}

static void an_output_without_files_is_a_warning(void **state)
{
    struct trial *here = *state;
    sw_autofree char *home = path_in(here, "landed");
    sw_auto(json) json_t *seen = NULL;
    const char *job;

    mkdir(home, 0777);
    chmod(home, 0777);
    job = send_job(here, "true", home, "");
    assert_int_equal(wait_until_over(here, job), 0);
    seen = status(here, job);
    if (!strstr(text_of(seen, "message"), "warning: 1 declared output is empty"))
        fail_msg("the message is '%s'", text_of(seen, "message"));
}

static void what_every_rank_wrote_is_brought(void **state)
{
    struct trial *here = *state;
    sw_autofree char *home = path_in(here, "landed");
    const char *job;

    mkdir(home, 0777);
    chmod(home, 0777);
    job = send_job(here, "[ $NODE_RANK = 0 ] || sleep 2; echo $NODE_RANK >/results/of-$NODE_RANK", home,
                   "nodes: 2\n");
    assert_int_equal(wait_until_over(here, job), 0);
    expect_landed(home, "of-0", "0\n");
    expect_landed(home, "of-1", "1\n");
}

static void a_job_that_declares_no_outputs_has_none_to_bring(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, EXITS, 0);
    struct sw_error err = { 0 };
    int attempt = 0;

    wait_until_over(here, job);
    assert_int_equal(sw_collect_again(here->session, job, &attempt, &err), -1);
    assert_true(err.code == SW_E_SPEC || err.code == SW_E_UNSUPPORTED);
}

const struct contract_case cases_collect[] = {
    CLAIM(outputs_that_did_not_arrive_are_brought_again_without_the_command, COMMANDS | OWN_FILES),
    CLAIM(the_outputs_of_a_command_that_failed_can_be_brought_again_too, COMMANDS | OWN_FILES),
    CLAIM(an_output_without_files_is_a_warning, COMMANDS | OWN_FILES),
    CLAIM(what_every_rank_wrote_is_brought, COMMANDS | OWN_FILES | RANKS),
    CLAIM(a_job_that_declares_no_outputs_has_none_to_bring, 0),
    { 0 }
};
