/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth.c - `truth SLIPWAY`: one table of how jobs end and what is said about it, the same on every
 * platform: state, reason, cause, class, exit code, as sw_wait() gives it and as the program
 * itself exits.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

enum ending { BY_ITSELF, CANCELED_PENDING, CANCELED_RUNNING, CANCELED_FINISHING };

static const struct row {
    const char *what;
    const char *command;        /* local: shell text */
    const char *script;         /* rehearsal; NULL: there is no such thing there */
    const char *key, *value;    /* one more key; NULL: none */
    enum ending ending;
    const char *state, *reason, *err_class, *cause;    /* class NULL: nothing to explain */
    int code;                   /* exit_code; -1: none */
    int signal;                 /* 0: none */
    int exits;                  /* what wait and run give */
} table[] = {
    { "exit 0", "exit 0", "running 20ms, exit 0", NULL, NULL, BY_ITSELF,
      "Complete", "exit", NULL, NULL, 0, 0, 0 },
    { "exit 1", "exit 1", "running 20ms, exit 1", NULL, NULL, BY_ITSELF,
      "Error", "exit", "ERR_PROGRAM", "unknown", 1, 0, 1 },
    { "exit 3", "exit 3", "running 20ms, exit 3", NULL, NULL, BY_ITSELF,
      "Error", "exit", "ERR_PROGRAM", "unknown", 3, 0, 3 },
    { "exit 124", "exit 124", "running 20ms, exit 124", NULL, NULL, BY_ITSELF,
      "Error", "exit", "ERR_PROGRAM", "time", 124, 0, 124 },
    { "exit 137", "exit 137", "running 20ms, exit 137", NULL, NULL, BY_ITSELF,
      "Error", "exit", "ERR_PROGRAM", "unknown", 137, 0, 137 },
    { "exit 139", "exit 139", "running 20ms, exit 139", NULL, NULL, BY_ITSELF,
      "Error", "exit", "ERR_PROGRAM", "user", 139, 0, 139 },
    { "signal 9", "kill -9 $$", "running 20ms, signal 9", NULL, NULL, BY_ITSELF,
      "Error", "signal", "ERR_PROGRAM", "unknown", 137, 9, 137 },
    { "signal 11", "kill -11 $$", "running 20ms, signal 11", NULL, NULL, BY_ITSELF,
      "Error", "signal", "ERR_PROGRAM", "user", 139, 11, 139 },
    { "signal 15", "kill -15 $$", "running 20ms, signal 15", NULL, NULL, BY_ITSELF,
      "Error", "signal", "ERR_PROGRAM", "unknown", 143, 15, 143 },
    { "memory limit", "head -c 400M /dev/zero | tail | sleep 30", "running 20ms, oom", "memory",
      "64MiB", BY_ITSELF, "Error", "memory", "ERR_PROGRAM", "memory", 137, 9, 137 },
    { "time limit", "sleep 60", "running", "time", "1s", BY_ITSELF,
      "Error", "time", "ERR_PROGRAM", "time", 124, 0, 124 },
    { "canceled while pending", "sleep 60", "pending", "gpus", "1", CANCELED_PENDING,
      "Canceled", "canceled", NULL, NULL, 130, 0, 130 },
    { "canceled while running", "sleep 60", "running", NULL, NULL, CANCELED_RUNNING,
      "Canceled", "canceled", NULL, NULL, 130, 0, 130 },
    { "canceled while finishing",
      "trap 'sleep 0.3; exit 0' TERM; echo up; while :; do sleep 0.02; done", NULL, NULL, NULL,
      CANCELED_FINISHING, "Canceled", "canceled", NULL, NULL, 130, 0, 130 },
};

/* ---- one row ------------------------------------------------------------------------------------ */

static bool wrong_rows;

static void differ(const struct trial *here, const struct row *row, const char *what,
                   const char *wanted, const char *got)
{
    if (wanted && strcmp(wanted, got) == 0)
        return;
    print_error("%s, %s: %s is '%s', not '%s'\n", here->fixture->name, row->what, what, got,
                wanted ? wanted : "");
    wrong_rows = true;
}

static void differ_number(const struct trial *here, const struct row *row, const char *what,
                          int64_t wanted, int64_t got)
{
    char a[24], b[24];

    snprintf(a, sizeof a, "%lld", (long long)wanted);
    snprintf(b, sizeof b, "%lld", (long long)got);
    differ(here, row, what, a, b);
}

static struct sw_request *request_of(struct trial *here, const struct row *row)
{
    bool local = strcmp(here->fixture->name, "local") == 0;
    struct sw_request *made = local ? request_shell(here, "%s", row->command)
                                    : script(here, row->script, NULL);

    if (row->key && (local || strcmp(row->key, "gpus") != 0))
        set(made, row->key, row->value);
    return made;
}

static void bring_to_its_end(struct trial *here, const struct row *row, const char *job)
{
    struct sw_error err = { 0 };

    if (row->ending == BY_ITSELF)
        return;
    wait_until(here, job, row->ending == CANCELED_PENDING ? SW_PENDING : SW_RUNNING);
    for (bool up = row->ending != CANCELED_FINISHING; !up; sw_sleep_ms(5)) {
        struct log log = read_log(here, job, -1, false);       /* its trap is set */

        up = log.length > 0;
        log_done(&log);
    }
    expect_ok(sw_cancel(here->session, job, &err), &err, "cancel");
}

static void compare_row(struct trial *here, const struct row *row, const char *job)
{
    int exits = wait_until_over(here, job);
    sw_auto(json) json_t *seen = status(here, job), *verdict = analysis(here, job);

    differ(here, row, "the state", row->state, text_of(seen, "status"));
    differ(here, row, "the reason", row->reason, text_of(seen, "reason"));
    differ_number(here, row, "the exit code", row->code, number_of(seen, "exit_code"));
    differ_number(here, row, "the signal", row->signal ? row->signal : -1,
                  number_of(seen, "signal"));
    differ_number(here, row, "what wait gives", row->exits, exits);
    differ_number(here, row, "what `slipway wait` gives", row->exits,
                  slipway(here, NULL, "wait", job, NULL));
    if (!row->err_class) {
        assert_true(json_is_null(verdict));
        return;
    }
    differ(here, row, "the class", row->err_class, text_of(verdict, "err_class"));
    differ(here, row, "the cause", row->cause, text_of(verdict, "cause"));
    differ(here, row, "the stored class", row->err_class, text_of(seen, "err_class"));
    differ(here, row, "the stored cause", row->cause, text_of(seen, "cause"));
}

/* `slipway run` of the same job, where it ends by itself. */
static void compare_run(struct trial *here, const struct row *row)
{
    bool local = strcmp(here->fixture->name, "local") == 0;
    sw_autofree char *steps = sw_format("rehearsal.script=%s", row->script ? row->script : "");
    sw_autofree char *extra = row->key ? sw_format("%s=%s", row->key, row->value)
                                       : sw_strdup("name=truth");
    int exits;

    if (row->ending != BY_ITSELF)
        return;
    exits = local ? slipway(here, NULL, "run", "-p", "local", "--set", extra, "--", "sh", "-c",
                            row->command, NULL)
                  : slipway(here, NULL, "run", "-p", "rehearsal", "--set", steps, "--set", extra,
                            "--", "true", NULL);
    differ_number(here, row, "what `slipway run` gives", row->exits, exits);
}

/* All jobs are sent first, so that the table takes as long as its slowest row. */
static void prove_table(struct trial *here)
{
    char jobs[SW_COUNT(table)][SW_ID_SIZE];
    bool local = strcmp(here->fixture->name, "local") == 0;

    wrong_rows = false;
    if (local)
        wait_until(here, launch(here, HOLDS_THE_QUEUE, 0), SW_RUNNING);
    for (size_t i = 0; i < SW_COUNT(table); i++)
        if (local || table[i].script)
            memcpy(jobs[i], send_request(here, request_of(here, &table[i])), SW_ID_SIZE);
    for (size_t i = 0; i < SW_COUNT(table); i++) {
        if (!local && !table[i].script)
            continue;
        bring_to_its_end(here, &table[i], jobs[i]);
        compare_row(here, &table[i], jobs[i]);
        compare_run(here, &table[i]);
    }
    assert_false(wrong_rows);
}

static int begin_local(void **state)
{
    return stage_begin(&fixture_local, state);
}

static int begin_rehearsal(void **state)
{
    return stage_begin(&fixture_rehearsal, state);
}

static void every_end_on_local_is_reported_as_the_table_says(void **state)
{
    prove_table(*state);
}

static void every_end_on_rehearsal_is_reported_as_the_table_says(void **state)
{
    prove_table(*state);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_end_on_local_is_reported_as_the_table_says,
                                        begin_local, stage_end),
        cmocka_unit_test_setup_teardown(every_end_on_rehearsal_is_reported_as_the_table_says,
                                        begin_rehearsal, stage_end),
    };

    if (argc < 2)
        return 64;
    slipway_program = realpath(argv[1], NULL);      /* scenes change the folder */
    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests_name("one table of ends", tests, NULL, NULL);
}
