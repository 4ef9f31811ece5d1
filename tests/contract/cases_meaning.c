/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_meaning.c - one job file means one thing: the same questions everywhere, and one table of answers.
 */
#include "cases.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"

/* Rank 1 of two, in the job's own words; "*": something, "-": not set. */
static const struct {
    const char *name, *value;
} expected[] = {
    { "NNODES", "2" },
    { "NODE_RANK", "1" },
    { "NUM_GPU_PER_NODE", "0" },
    { "NPROC_PER_NODE", "1" },
    { "WORLD_SIZE", "2" },
    { "MASTER_ADDR", "*" },
    { "MASTER_PORT", "*" },
    { "WORKER_ADDRS", "one" },
    { "TAO_JOB_ID", "id" },
    { "TAO_RESULTS_ROOT", "*" },
    { "TAO_API_RESULTS_DIR", "*" },
    { "SLIPWAY_JOB_ID", "id" },
    { "SLIPWAY_ATTEMPT", "1" },
    { "SLIPWAY_RESULTS_DIR", "results" },
    { "PYTHONUNBUFFERED", "1" },
    { "NCCL_DEBUG", "INFO" },
    { "LOGLEVEL", "INFO" },
    { "PYTHONNOUSERSITE", "inside" },
    { "PYTHONDONTWRITEBYTECODE", "inside" },
    { "SURELY_NOT_SET", "-" },
};

/* What the job wrote of a variable; "" when the line is not there. */
static char *said(const char *text, const char *name)
{
    sw_autofree char *mark = sw_format("%s=", name);
    const char *at = text;

    while (at && strncmp(at, mark, strlen(mark)) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    return at ? sw_strndup(at + strlen(mark), strcspn(at + strlen(mark), "\n")) : sw_strdup("");
}

static bool in_container(const struct trial *here)
{
    return strcmp(here->fixture->name, "docker") == 0 || strcmp(here->fixture->name, "kubernetes") == 0 ||
           getenv("SLIPWAY_TEST_IMAGE");
}

static bool is_as_expected(const struct trial *here, const char *value, const char *wanted,
                           const char *results)
{
    if (strcmp(wanted, "*") == 0)
        return *value && strcmp(value, "-") != 0;
    if (strcmp(wanted, "one") == 0)
        return *value && strcmp(value, "-") != 0 && !strchr(value, ',');
    if (strcmp(wanted, "id") == 0)
        return strcmp(value, here->id) == 0;
    if (strcmp(wanted, "results") == 0)
        return strcmp(value, results) == 0;
    if (strcmp(wanted, "inside") == 0)
        return strcmp(value, in_container(here) ? "1" : "-") == 0;
    return strcmp(value, wanted) == 0;
}

static void the_environment_is_the_same_everywhere(void **state)
{
    struct trial *here = *state;
    sw_auto(sw_buf) struct sw_buf names = SW_BUF_INIT;
    sw_autofree char *results = NULL, *text = NULL, *seen = path_in(here, "seen");
    struct sw_request *made;

    for (size_t i = 0; i < SW_COUNT(expected); i++)
        sw_buf_addf(&names, " %s", expected[i].name);
    /* what this machine has itself is no default of ours */
    for (size_t i = 0; i < SW_COUNT(expected); i++)
        unsetenv(expected[i].name);
    made = request_shell(here, "[ $NODE_RANK = 1 ] || exit 0; exec >'%s'; echo results={results_dir}; "
                         "for n in%s; do eval \"v=\\${$n--}\"; echo \"$n=$v\"; done", seen,
                         sw_buf_text(&names));
    set(made, "nodes", "2");
    assert_int_equal(wait_until_over(here, send_request(here, made)), 0);
    text = read_text(seen);
    assert_non_null(text);
    results = said(text, "results");
    for (size_t i = 0; i < SW_COUNT(expected); i++) {
        sw_autofree char *value = said(text, expected[i].name);

        if (!is_as_expected(here, value, expected[i].value, results))
            fail_msg("%s is '%s' on %s, not %s", expected[i].name, value, here->fixture->name,
                     expected[i].value);
    }
}

/* A port of the job's own is the port. */
static void a_job_may_choose_its_port(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request_shell(here, "test $MASTER_PORT = 4711");

    set(made, "env.MASTER_PORT", "4711");
    assert_int_equal(wait_until_over(here, send_request(here, made)), 0);
}

static void a_variable_that_would_be_overridden_is_refused(void **state)
{
    static const char *const names[] = { "WORLD_SIZE", "TAO_JOB_ID", "CUDA_VISIBLE_DEVICES" };
    struct trial *here = *state;

    for (size_t i = 0; i < SW_COUNT(names); i++) {
        struct sw_request *made = request(here, EXITS, 0);
        sw_autofree char *key = sw_format("env.%s", names[i]);
        struct sw_error err = { 0 };
        char id[SW_ID_SIZE];

        set(made, key, "7");
        assert_int_equal(sw_submit(here->session, made, id, &err), -1);
        assert_int_equal(err.code, SW_E_SPEC);
        assert_non_null(strstr(err.message, names[i]));
        sw_request_free(made);
    }
}

/* ---- a repository that the job writes to ------------------------------------------------------- */

static void what_a_job_writes_into_a_repository_is_its_own(void **state)
{
    struct trial *here = *state;
    sw_autofree char *make = sw_format("cd '%s' && git init -q -b main r && cd r && echo one >file && "
                                       "git add file && git -c user.email=a@b -c user.name=a commit -qm one",
                                       here->dir);
    sw_autofree char *entry = sw_format("git+file://%s/r@main:/opt/code", here->dir);
    sw_autofree char *writable = sw_format("%s:rw", entry);
    const char *key = strcmp(here->fixture->name, "docker") == 0 ? "docker.mounts" : "mounts";
    struct sw_request *made;

    if (strcmp(here->fixture->name, "slurm") == 0 && !in_container(here))
        return;                       /* there mounts need a container, and are refused */
    assert_int_equal(system(make), 0);
    made = request_shell(here, "test -e /opt/code/file && echo x >/opt/code/new");
    set(made, key, writable);
    assert_int_equal(wait_until_over(here, send_request(here, made)), 0);
    made = request_shell(here, "test -e /opt/code/file && test ! -e /opt/code/new");
    set(made, key, entry);
    assert_int_equal(wait_until_over(here, send_request(here, made)), 0);
}

/* ---- exec ---------------------------------------------------------------------------------------- */

static int run_beside(struct trial *here, const char *job, const char *word, const char *text,
                      const char *more)
{
    const char *const argv[] = { word, text ? "-c" : NULL, text, "sh", more };
    struct sw_error err = { 0 };
    int status = -1;

    expect_ok(sw_exec(here->session, job, 0, text ? 5 : 1, argv, &status, &err), &err, "exec");
    return status;
}

/* At once, while the job may still be on its way. */
static void exec_sees_what_the_job_sees(void **state)
{
    struct trial *here = *state;
    sw_autofree char *mine = path_in(here, "mine"), *beside = path_in(here, "beside"), *a = NULL, *b = NULL;
    struct sw_request *made = request_shell(here, "s() { pwd; echo \"$OWN $SLIPWAY_JOB_ID $NODE_RANK\"; "
                                            "cat /etc/image; }; s >'%s' 2>&1; sleep 60", mine);
    const char *job;

    set(made, "env.OWN", "a 'b'");
    job = send_request(here, made);
    assert_int_equal(run_beside(here, job, "sh", "pwd >$1; echo \"$OWN $SLIPWAY_JOB_ID $NODE_RANK\" >>$1; "
                                "cat /etc/image >>$1 2>&1; exit 7", beside), 7);
    assert_true(wait_for_lines(mine, 3));
    a = read_text(mine);
    b = read_text(beside);
    assert_string_equal(a, b);
    expect_ok(sw_cancel(here->session, job, NULL), NULL, "cancel");
}

static void exec_of_no_such_command_is_127(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "sleep 60");

    assert_int_equal(run_beside(here, job, "surely-no-such-command", NULL, NULL), 127);
    expect_ok(sw_cancel(here->session, job, NULL), NULL, "cancel");
}

const struct contract_case cases_meaning[] = {
    CLAIM(the_environment_is_the_same_everywhere, COMMANDS | RANKS),
    CLAIM(a_job_may_choose_its_port, COMMANDS),
    CLAIM(a_variable_that_would_be_overridden_is_refused, 0),
    CLAIM(what_a_job_writes_into_a_repository_is_its_own, COMMANDS | OWN_FILES),
    CLAIM(exec_sees_what_the_job_sees, COMMANDS | EXEC),
    CLAIM(exec_of_no_such_command_is_127, COMMANDS | EXEC),
    { 0 }
};
