/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_exec.c - a command beside a running job: the job's environment, folder and GPUs, its
 * own exit status, and an end with the job; and what of the runner neither of them can see.
 */
#include "local_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

static const char *start_sleeper(struct fixture *here)
{
    const char *id = fixture_launch(here, "touch ready; exec sleep 1000");
    sw_autofree char *ready = sw_path_join(here->folder, "ready");

    fixture_wait_file(ready);
    fixture_wait_state(here, id, SW_RUNNING);
    return id;
}

static int run_words(struct fixture *here, const char *id, int rank, char *const argv[], struct sw_error *err)
{
    const struct sw_exec what = { .replica = rank, .argv = argv, .fds = { 0, 1, 2 } };
    struct sw_jobref job = fixture_ref(id);
    struct sw_stream *stream = NULL;
    int status = -1;

    if (sw_platform_local.exec_open(here->conn, &job, &what, &stream, err) < 0)
        return -1;
    assert_true(stream->passed);
    assert_int_equal(stream->ops->read(stream, NULL, NULL), 1);
    assert_int_equal(stream->ops->status(stream, &status, err), 0);
    stream->ops->close(stream);
    return status;
}

static int run_beside(struct fixture *here, const char *id, const char *script, struct sw_error *err)
{
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };

    return run_words(here, id, 0, argv, err);
}

static char *said(struct fixture *here)
{
    sw_autofree char *path = sw_path_join(here->folder, "said");

    return sw_file_read(path, 65536, NULL, NULL);
}

static void it_has_what_the_job_has(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *text = NULL, *wanted = NULL;
    const char *id;

    setenv("SIM_GPUS", "2", 1);
    setenv("MY_TOKEN", "canary-secret-value", 1);
    assert_int_equal(sw_secrets_add_env(here->secrets, "MY_TOKEN", NULL), 0);
    unsetenv("MY_TOKEN");
    json_array_append_new(here->plan->secrets, json_string("MY_TOKEN"));
    json_object_set_new(here->plan->env, "COLOUR", json_string("green"));
    here->plan->gpus = 1;
    id = start_sleeper(here);
    assert_int_equal(run_beside(here, id, "echo $COLOUR $MY_TOKEN $SLIPWAY_JOB_ID $NODE_RANK "
                                "$CUDA_VISIBLE_DEVICES $PWD $(pwd) > said", NULL), 0);
    text = said(here);
    wanted = sw_format("green canary-secret-value %s 0 GPU-00000000-0000-0000-0000-000000000000 "
                       "%s %s\n", id, here->folder, here->folder);
    assert_string_equal(text, wanted);
}

static void its_exit_status_is_reported(void **state)
{
    struct fixture *here = *state;
    const char *id = start_sleeper(here);
    char *nothing[] = { (char *)"no-such-program", NULL };

    assert_int_equal(run_beside(here, id, "exit 7", NULL), 7);
    assert_int_equal(run_beside(here, id, "kill -9 $$", NULL), 137);
    assert_int_equal(run_words(here, id, 0, nothing, NULL), 127);
}

static void a_job_that_does_not_run_refuses_clearly(void **state)
{
    struct fixture *here = *state;
    struct sw_error err = { 0 };
    char *argv[] = { (char *)"true", NULL };
    const char *id = fixture_launch(here, "true");

    fixture_wait_over(here, id);
    assert_int_equal(run_beside(here, id, "true", &err), -1);
    assert_non_null(strstr(err.message, "is not running: it is Complete"));
    id = start_sleeper(here);
    assert_int_equal(run_words(here, id, 5, argv, &err), -1);
    assert_non_null(strstr(err.message, "has no rank 5"));
}

/* The caller is a process of its own, as it is in life. */
static pid_t run_beside_elsewhere(struct fixture *here, const char *id, const char *script)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(run_beside(here, id, script, NULL) & 0xff);
    return pid;
}

static void it_ends_with_the_job_and_so_does_what_it_started(void **state)
{
    struct fixture *here = *state;
    const char *id = start_sleeper(here);
    struct sw_jobref job = fixture_ref(id);
    sw_autofree char *there = sw_path_join(here->folder, "there");
    int64_t deadline = sw_monotonic_ms() + 20000;
    pid_t caller = run_beside_elsewhere(here, id, "setsid sleep 1000 & touch there; sleep 1000");
    int status = 0;

    fixture_wait_file(there);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    assert_int_equal(fixture_marked(here, id), 0);
    while (waitpid(caller, &status, WNOHANG) == 0) {
        if (sw_monotonic_ms() > deadline)
            fail_msg("exec outlives its job");
        sw_sleep_ms(5);
    }
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
}

/* A key for the runner's own transfers; it is in `credentials`, not in `secrets`. */
static void bring_credential(struct fixture *here, const char *value)
{
    setenv("STORAGE_KEY", value, 1);
    assert_int_equal(sw_secrets_add_env(here->secrets, "STORAGE_KEY", NULL), 0);
    unsetenv("STORAGE_KEY");
    json_decref(here->plan->credentials);
    here->plan->credentials = json_pack("[s]", "STORAGE_KEY");
}

/* The pattern is put together there, so that it matches nothing but the value. */
static const char look_everywhere[] =
    "for f in /proc/[0-9]*/environ; do if tr '\\0' '\\n' <$f 2>&- | grep -q \"$CANARY\"-value; then "
    "echo \"found in $f\"; fi; done >said; "
    "ls -l /proc/self/fd /proc/$PPID/fd 2>&- | grep slipway-secrets >>said; echo looked >>said; ";

static void what_is_for_the_runner_alone_is_in_no_environment_or_descriptor(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *mark = sw_format("canary%d", (int)getpid()), *value = sw_format("%s-value", mark);
    sw_autofree char *command = sw_format("%s touch ready; exec sleep 1000", look_everywhere);
    sw_autofree char *ready = sw_path_join(here->folder, "ready"), *text = NULL, *beside = NULL;
    const char *id;

    bring_credential(here, value);
    json_object_set_new(here->plan->env, "CANARY", json_string(mark));
    id = fixture_launch(here, command);
    fixture_wait_file(ready);
    text = said(here);
    assert_string_equal(text, "looked\n");
    fixture_wait_state(here, id, SW_RUNNING);
    assert_int_equal(run_beside(here, id, look_everywhere, NULL), 0);
    beside = said(here);
    assert_string_equal(beside, "looked\n");
}

/* Root may look into every process; as everybody else the command may not. */
static void the_command_cannot_look_into_the_runner(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *text = NULL;

    if (geteuid() == 0)
        skip();
    fixture_wait_over(here, fixture_launch(here, "cat /proc/$PPID/environ >said || echo closed >said; "
                                             "head -c 1 /proc/$PPID/mem >>said || echo closed >>said"));
    text = said(here);
    assert_string_equal(text, "closed\nclosed\n");
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(it_has_what_the_job_has),
        CLAIM(its_exit_status_is_reported),
        CLAIM(a_job_that_does_not_run_refuses_clearly),
        CLAIM(it_ends_with_the_job_and_so_does_what_it_started),
        CLAIM(what_is_for_the_runner_alone_is_in_no_environment_or_descriptor),
        CLAIM(the_command_cannot_look_into_the_runner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
