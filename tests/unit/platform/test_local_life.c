/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_life.c - how jobs of the local platform live and end, with real processes.
 */
#include "local_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "platform/local/local_internal.h"

static void a_job_that_exits_0_is_complete_and_its_log_is_there(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "echo hello; echo oops >&2");
    sw_autofree char *log = NULL;

    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
    assert_int_equal(here->seen.exit_code, 0);
    assert_true(here->seen.started_ms > 0 && here->seen.ended_ms >= here->seen.started_ms);
    log = fixture_log(here, id, 0);
    assert_string_equal(log, "hello\noops\n");
}

static void a_job_that_exits_3_ends_in_error_and_says_3(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "exit 3");

    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_int_equal(here->seen.exit_code, 3);
    assert_string_equal(here->seen.reason, "exit");
    assert_string_equal(here->seen.message, "exited with code 3");
}

static void a_job_ended_by_a_signal_says_which(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "kill -SEGV $$");

    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_string_equal(here->seen.reason, "signal");
    assert_int_equal(here->seen.signal, SIGSEGV);
    assert_int_equal(here->seen.exit_code, 128 + SIGSEGV);
}

static void exit_137_is_an_exit_and_not_a_signal(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "exit 137");

    fixture_wait_over(here, id);
    assert_string_equal(here->seen.reason, "exit");
    assert_int_equal(here->seen.exit_code, 137);
    assert_int_equal(here->seen.signal, 0);
}

static void a_program_that_does_not_exist_is_127_with_its_name(void **state)
{
    struct fixture *here = *state;

    here->plan->argv = json_pack("[s]", "/no/such/program");
    fixture_command(here, "");
    free(here->plan->command);
    here->plan->command = NULL;
    fixture_submit(here);
    fixture_wait_over(here, here->plan->job_id);
    assert_int_equal(here->seen.exit_code, 127);
    assert_non_null(strstr(here->seen.message, "/no/such/program"));
}

static void a_file_that_is_not_a_program_is_126(void **state)
{
    struct fixture *here = *state;

    sw_autofree char *file = sw_format("%s/plain", here->folder);

    assert_int_equal(sw_file_write(file, "text", 4, 0644, NULL), 0);
    here->plan->argv = json_pack("[s]", file);
    fixture_command(here, "");
    free(here->plan->command);
    here->plan->command = NULL;
    fixture_submit(here);
    fixture_wait_over(here, here->plan->job_id);
    assert_int_equal(here->seen.exit_code, 126);
}

static void a_working_folder_that_is_gone_is_said_in_words(void **state)
{
    struct fixture *here = *state;
    const char *id;

    here->plan->workdir = sw_strdup("/no/such/folder");
    id = fixture_launch(here, "true");
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_non_null(strstr(here->seen.message, "/no/such/folder"));
}

static void a_running_job_is_running_and_canceled_when_asked_even_twice(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "exec sleep 1000");
    struct sw_jobref job = fixture_ref(id);

    fixture_wait_state(here, id, SW_RUNNING);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    assert_int_equal(fixture_marked(here, id), 0);
    assert_int_equal(fixture_look(here, id)->state, SW_CANCELED);
    assert_int_equal(here->seen.exit_code, 130);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    assert_int_equal(fixture_look(here, id)->state, SW_CANCELED);
}

static void canceling_a_finished_job_leaves_it_as_it_is(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "exit 3");
    struct sw_jobref job = fixture_ref(id);

    fixture_wait_over(here, id);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    assert_int_equal(fixture_look(here, id)->state, SW_ERROR);
}

static void a_job_canceled_before_it_was_submitted_never_starts(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *proof = sw_format("%s/proof", here->folder);
    sw_autofree char *command = sw_format("touch %s", proof);
    struct sw_jobref job;

    fixture_command(here, command);
    job = fixture_ref(here->plan->job_id);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    assert_int_equal(fixture_look(here, here->plan->job_id)->state, SW_CANCELED);
    fixture_submit(here);
    fixture_wait_over(here, here->plan->job_id);
    assert_int_equal(here->seen.state, SW_CANCELED);
    assert_false(sw_file_exists(proof));
}

/* The tree: a shell that ignores TERM, its child in a session of its own, a daemon that forked
 * twice, and one that also cleared its environment. */
static const char stubborn[] =
    "trap '' TERM\n"
    "setsid sh -c 'trap \"\" TERM; sleep 1001; sleep 1002' &\n"
    "(setsid sh -c 'trap \"\" TERM; sleep 1003; sleep 1004' &)\n"
    "(env -i setsid sh -c 'trap \"\" TERM; sleep 1005; sleep 1006' &)\n"
    "touch ready\n"
    "while true; do sleep 1007; done\n";

static void cancel_ends_a_stubborn_tree_to_the_last_process(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *ready = sw_format("%s/ready", here->folder);
    struct sw_jobref job;
    const char *id;
    int64_t begun;

    here->plan->grace_ms = 300;
    id = fixture_launch(here, stubborn);
    job = fixture_ref(id);
    fixture_wait_file(ready);
    assert_true(fixture_marked(here, id) >= 5);
    begun = sw_monotonic_ms();
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    assert_true(sw_monotonic_ms() - begun >= 300);        /* the grace was given */
    assert_int_equal(fixture_marked(here, id), 0);
    assert_int_equal(fixture_look(here, id)->state, SW_CANCELED);
}

static void a_job_told_to_end_may_tidy_up_within_its_grace(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *ready = sw_format("%s/ready", here->folder);
    sw_autofree char *tidied = sw_format("%s/tidied", here->folder);
    struct sw_jobref job;
    const char *id = fixture_launch(here, "trap 'touch tidied; exit 0' TERM; touch ready;"
                                        "while true; do sleep 0.05; done");

    job = fixture_ref(id);
    fixture_wait_file(ready);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    assert_true(sw_file_exists(tidied));
    assert_int_equal(fixture_look(here, id)->state, SW_CANCELED);
}

static void what_a_finished_command_leaves_behind_is_ended(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "(setsid sleep 1000 &) ; sleep 1001 & exit 0");

    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
    assert_int_equal(fixture_marked(here, id), 0);
}

static pid_t supervisor_of(struct fixture *here, const char *id)
{
    fixture_wait_state(here, id, SW_RUNNING);
    return (pid_t)atoi(here->seen.remote_id);
}

static void a_killed_supervisor_is_noticed_and_nothing_is_left(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *ready = sw_format("%s/ready", here->folder);
    const char *id = fixture_launch(here, stubborn);

    fixture_wait_file(ready);
    assert_int_equal(kill(supervisor_of(here, id), SIGKILL), 0);
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_string_equal(here->seen.reason, "lost");
    assert_string_equal(here->seen.message, "its supervisor was killed");
    assert_int_equal(fixture_marked(here, id), 0);
    fixture_submit(here);                                   /* a late retry starts no second one */
    assert_string_equal(fixture_look(here, id)->reason, "lost");
}

static void observing_a_killed_supervisor_changes_nothing(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "sleep 1000");
    struct sw_observation seen = { .job = fixture_ref(id) };
    sw_autofree char *record = fixture_file(here, id, "attempt-1/" LOCAL_EXIT);
    pid_t supervisor = supervisor_of(here, id);

    assert_int_equal(kill(supervisor, SIGKILL), 0);
    for (int64_t deadline = sw_monotonic_ms() + 30000; seen.state != SW_ERROR; sw_sleep_ms(5)) {
        sw_platform_local.observe(here->conn, &seen, 1, NULL);
        json_decref(sw_take(seen.live));
        json_decref(sw_take(seen.runner));
        assert_true(sw_monotonic_ms() < deadline);
    }
    assert_string_equal(seen.reason, "lost");
    assert_false(sw_file_exists(record));
    sw_platform_local.reconcile(here->conn, &seen, 1);
    assert_true(sw_file_exists(record));
    assert_int_equal(fixture_marked(here, id), 0);
}

static void a_job_from_before_the_restart_says_so(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "sleep 1000");
    sw_autofree char *folder = fixture_file(here, id, "attempt-1");
    sw_auto(json) json_t *who = NULL;

    kill(supervisor_of(here, id), SIGKILL);
    who = local_record_read(folder, LOCAL_SUPERVISOR);
    json_object_set_new(who, "boot", json_string("00000000-0000-0000-0000-000000000000"));
    assert_int_equal(local_record_write(folder, LOCAL_SUPERVISOR, who, NULL), 0);
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_string_equal(here->seen.reason, "restart");
    assert_string_equal(here->seen.message, "the machine restarted while the job ran");
}

static void a_job_that_was_never_submitted_is_absent(void **state)
{
    struct fixture *here = *state;

    assert_int_equal(fixture_look(here, "absent-aaaaaaaa")->presence, SW_ABSENT);
}

static void a_folder_whose_submit_died_is_absent(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *folder = fixture_file(here, "half-aaaaaaaa", "attempt-1/logs");

    assert_int_equal(sw_mkdirs(folder, 0700, NULL), 0);
    assert_int_equal(fixture_look(here, "half-aaaaaaaa")->presence, SW_ABSENT);
}

static void the_same_id_from_many_processes_at_once_is_one_job(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *count = sw_format("%s/count", here->folder);
    sw_autofree char *text = NULL;
    pid_t children[8];

    fixture_command(here, "echo once >> count");
    for (size_t i = 0; i < SW_COUNT(children); i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct sw_submission receipt = { 0 };
            struct sw_error err = { 0 };

            if (sw_platform_local.submit(here->conn, here->plan, 1, here->secrets, &receipt,
                                         &err) < 0)
                fprintf(stderr, "submit: %s\n", err.message);
            _exit(err.code != SW_OK);
        }
    }
    for (size_t i = 0; i < SW_COUNT(children); i++) {
        int status = -1;

        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    fixture_wait_over(here, here->plan->job_id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
    text = sw_file_read(count, 1000, NULL, NULL);
    assert_string_equal(text, "once\n");
}

static void the_job_outlives_the_client_and_its_session(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *go_on = sw_format("%s/go-on", here->folder);
    pid_t client;
    int status;

    fixture_command(here, "while [ ! -e go-on ]; do sleep 0.02; done");
    client = fork();
    if (client == 0) {
        setsid();
        fixture_submit(here);
        kill(0, SIGHUP);
        kill(getpid(), SIGKILL);
    }
    waitpid(client, &status, 0);
    assert_true(WIFSIGNALED(status));
    fixture_wait_state(here, here->plan->job_id, SW_RUNNING);
    assert_int_equal(sw_file_write(go_on, "", 0, 0600, NULL), 0);
    fixture_wait_over(here, here->plan->job_id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
}

static void a_job_can_be_found_by_its_id_alone(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "true");
    struct sw_submission receipt = { 0 };
    sw_auto(json) json_t *plan = NULL;

    assert_int_equal(sw_platform_local.adopt(here->conn, id, &plan, &receipt, NULL), 0);
    assert_string_equal(sw_json_str(plan, "job_id"), id);
    assert_non_null(receipt.results_dir);
    json_decref(receipt.details);
    free(receipt.results_dir);
    assert_int_equal(sw_platform_local.adopt(here->conn, "absent-aaaaaaaa", &plan, &receipt, NULL),
                     -1);
}

static void cleanup_refuses_a_running_job_and_removes_a_finished_one(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "touch $SLIPWAY_RESULTS_DIR/model; exec sleep 1000");
    sw_autofree char *folder = fixture_file(here, id, "attempt-1");
    sw_autofree char *model = fixture_file(here, id, "results/model");
    struct sw_jobref job = fixture_ref(id);
    struct sw_error err = { 0 };

    fixture_wait_file(model);
    assert_int_equal(sw_platform_cleanup(&sw_platform_local, here->conn, &job, false, &err), -1);
    assert_int_equal(err.code, SW_E_CONFLICT);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    assert_int_equal(sw_platform_cleanup(&sw_platform_local, here->conn, &job, true, NULL), 0);
    assert_false(sw_file_exists(folder));
    assert_true(sw_file_exists(model));
    assert_int_equal(sw_platform_cleanup(&sw_platform_local, here->conn, &job, false, NULL), 0);
    assert_false(sw_file_exists(model));
    assert_int_equal(sw_platform_cleanup(&sw_platform_local, here->conn, &job, false, NULL), 0);
}

/* As a home folder that two machines share looks from the other one, without locks over the network. */
static void move_elsewhere(const char *folder)
{
    sw_auto(json) json_t *who = local_record_read(folder, LOCAL_SUPERVISOR);
    sw_autofree char *last_word = sw_path_join(folder, LOCAL_EXIT);

    for (int64_t deadline = sw_monotonic_ms() + 30000; local_lock_held(folder); sw_sleep_ms(2))
        assert_true(sw_monotonic_ms() < deadline);          /* the last word comes a moment before */
    json_object_set_new(who, "host", json_string("far-away"));
    json_object_set_new(who, "boot", json_string("00000000-0000-0000-0000-000000000000"));
    assert_int_equal(local_record_write(folder, LOCAL_SUPERVISOR, who, NULL), 0);
    assert_int_equal(unlink(last_word), 0);
}

static bool no_job_is_known(void *context, const char *id)
{
    (void)context, (void)id;
    return false;
}

static void a_job_of_another_machine_is_neither_lost_nor_removed(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "true");
    sw_autofree char *folder = fixture_file(here, id, "attempt-1");
    struct sw_jobref job = fixture_ref(id);
    struct sw_submission receipt = { 0 };
    struct sw_error cancel = { 0 }, cleanup = { 0 }, again = { 0 };
    sw_auto(json) json_t *found = NULL;

    fixture_wait_over(here, id);
    move_elsewhere(folder);
    assert_int_equal(fixture_look(here, id)->presence, SW_UNSEEN);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, &cancel), -1);
    assert_non_null(strstr(here->seen.message, "it runs on 'far-away'"));
    assert_int_equal(cancel.code, SW_E_UNREACHABLE);
    assert_non_null(strstr(cancel.message, "'far-away'"));
    assert_int_equal(sw_platform_cleanup(&sw_platform_local, here->conn, &job, false, &cleanup), -1);
    assert_int_equal(cleanup.code, SW_E_UNREACHABLE);
    assert_int_equal(sw_platform_local.submit(here->conn, here->plan, 2, here->secrets, &receipt,
                                              &again), -1);
    assert_int_equal(again.code, SW_E_CONFLICT);
    found = sw_platform_local.orphans(here->conn, &(struct sw_sweep){ .known = no_job_is_known,
                                                                        .remove = true }, NULL);
    assert_int_equal(json_array_size(found), 0);
    assert_true(local_has(folder, LOCAL_SUPERVISOR));
    assert_false(local_has(folder, LOCAL_CANCEL));
    assert_false(local_has(folder, LOCAL_EXIT));
}

static void a_second_attempt_shares_the_results_and_has_its_own_log(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "echo attempt $SLIPWAY_ATTEMPT;"
                                        "echo x >> $SLIPWAY_RESULTS_DIR/all; exit 1");
    struct sw_submission receipt = { 0 };
    sw_autofree char *all = fixture_file(here, id, "results/all");
    sw_autofree char *lines = NULL;
    char log[64] = "";

    fixture_wait_over(here, id);
    assert_int_equal(sw_platform_local.submit(here->conn, here->plan, 2, here->secrets, &receipt,
                                              NULL), 0);
    json_decref(receipt.details);
    free(receipt.results_dir);
    for (int64_t deadline = sw_monotonic_ms() + 30000;; sw_sleep_ms(5)) {
        json_decref(here->seen.live);
        json_decref(here->seen.runner);
        here->seen = (struct sw_observation){ .job = { .id = id, .attempt = 2 } };
        sw_platform_local.observe(here->conn, &here->seen, 1, NULL);
        if (here->seen.state == SW_ERROR)
            break;
        assert_true(sw_monotonic_ms() < deadline);
    }
    sw_platform_local.log_read(here->conn, &here->seen.job, 0, 0, log, sizeof log - 1, NULL);
    assert_string_equal(log, "attempt 2\n");
    lines = sw_file_read(all, 100, NULL, NULL);
    assert_string_equal(lines, "x\nx\n");
}

/* A job that itself submits a job: the second one is a job of its own and outlives the first. */
static void a_job_started_from_a_job_is_not_ended_with_it(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *go_on = sw_format("%s/go-on", here->folder);
    sw_autofree char *command = NULL;
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    assert_true(n > 0);
    self[n] = '\0';
    command = sw_format("%s --submit %s", self, here->folder);
    json_object_set_new(here->plan->env, "SLIPWAY_LIBEXEC_DIR",
                        json_string(getenv("SLIPWAY_LIBEXEC_DIR")));
    fixture_launch(here, command);
    fixture_wait_over(here, here->id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
    fixture_wait_state(here, "inner-aaaaaaaa", SW_RUNNING);
    assert_int_equal(sw_file_write(go_on, "", 0, 0600, NULL), 0);
    fixture_wait_over(here, "inner-aaaaaaaa");
    assert_int_equal(here->seen.state, SW_COMPLETE);
}

/* This program as a client inside a job (see above). */
static int submit_inner(const char *folder)
{
    struct sw_connect_options config = { .state_dir = folder };
    struct sw_connection *conn = sw_platform_local.open(&config, NULL);
    struct sw_plan plan = { .nodes = 1, .grace_ms = 1000, .job_id = "inner-aaaaaaaa" };
    struct sw_submission receipt = { 0 };
    int result;

    plan.base_dir = sw_strdup(folder);
    plan.command = sw_strdup("while [ ! -e go-on ]; do sleep 0.02; done");
    result = sw_platform_local.submit(conn, &plan, 1, NULL, &receipt, NULL);
    sw_platform_local.close(conn);
    json_decref(receipt.details);
    free(receipt.results_dir);
    free(plan.base_dir);
    free(plan.command);
    return result < 0;
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_job_that_exits_0_is_complete_and_its_log_is_there),
        CLAIM(a_job_that_exits_3_ends_in_error_and_says_3),
        CLAIM(a_job_ended_by_a_signal_says_which),
        CLAIM(exit_137_is_an_exit_and_not_a_signal),
        CLAIM(a_program_that_does_not_exist_is_127_with_its_name),
        CLAIM(a_file_that_is_not_a_program_is_126),
        CLAIM(a_working_folder_that_is_gone_is_said_in_words),
        CLAIM(a_running_job_is_running_and_canceled_when_asked_even_twice),
        CLAIM(canceling_a_finished_job_leaves_it_as_it_is),
        CLAIM(a_job_canceled_before_it_was_submitted_never_starts),
        CLAIM(cancel_ends_a_stubborn_tree_to_the_last_process),
        CLAIM(a_job_told_to_end_may_tidy_up_within_its_grace),
        CLAIM(what_a_finished_command_leaves_behind_is_ended),
        CLAIM(a_killed_supervisor_is_noticed_and_nothing_is_left),
        CLAIM(observing_a_killed_supervisor_changes_nothing),
        CLAIM(a_job_from_before_the_restart_says_so),
        CLAIM(a_job_that_was_never_submitted_is_absent),
        CLAIM(a_folder_whose_submit_died_is_absent),
        CLAIM(the_same_id_from_many_processes_at_once_is_one_job),
        CLAIM(the_job_outlives_the_client_and_its_session),
        CLAIM(a_job_can_be_found_by_its_id_alone),
        CLAIM(cleanup_refuses_a_running_job_and_removes_a_finished_one),
        CLAIM(a_job_of_another_machine_is_neither_lost_nor_removed),
        CLAIM(a_second_attempt_shares_the_results_and_has_its_own_log),
        CLAIM(a_job_started_from_a_job_is_not_ended_with_it),
    };

    if (argc == 3 && strcmp(argv[1], "--submit") == 0)
        return submit_inner(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
