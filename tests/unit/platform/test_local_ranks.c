/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_ranks.c - several ranks on one machine, the environment they see, limits of time,
 * memory and CPUs, inputs, config and results.
 */
#include "local_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

static const char *value_of(const char *log, const char *name, char out[256])
{
    sw_autofree char *line = sw_format("\n%s=", name);
    const char *at = sw_text_starts(log, line + 1) ? log : strstr(log, line);

    out[0] = '\0';
    if (at) {
        at = strchr(at, '=') + 1;
        snprintf(out, 256, "%.*s", (int)strcspn(at, "\n"), at);
    }
    return out;
}

static void two_ranks_see_the_right_rendezvous(void **state)
{
    struct fixture *here = *state;
    const char *id;
    char port[256] = "", value[256];

    here->plan->nodes = 2;
    id = fixture_launch(here, "env");
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
    for (int rank = 0; rank < 2; rank++) {
        sw_autofree char *log = fixture_log(here, id, rank);
        sw_autofree char *number = sw_format("%d", rank);

        assert_string_equal(value_of(log, "NODE_RANK", value), number);
        assert_string_equal(value_of(log, "NNODES", value), "2");
        assert_string_equal(value_of(log, "WORLD_SIZE", value), "2");
        assert_string_equal(value_of(log, "MASTER_ADDR", value), "127.0.0.1");
        assert_string_equal(value_of(log, "WORKER_ADDRS", value), "127.0.0.1");
        assert_string_equal(value_of(log, "NUM_GPU_PER_NODE", value), "0");
        assert_string_equal(value_of(log, "CUDA_VISIBLE_DEVICES", value), "");
        value_of(log, "MASTER_PORT", value);
        assert_true(atoi(value) > 0);
        if (rank == 1)
            assert_string_equal(value, port);
        memcpy(port, value, sizeof port);
    }
}

static void the_first_rank_that_fails_ends_the_job_and_is_named(void **state)
{
    struct fixture *here = *state;
    const char *id;
    sw_auto(json) json_t *ranks = NULL;
    struct sw_jobref job;

    here->plan->nodes = 3;
    id = fixture_launch(here, "[ $NODE_RANK = 1 ] && exit 7; exec sleep 1000");
    job = fixture_ref(id);
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_int_equal(here->seen.exit_code, 7);
    assert_int_equal(here->seen.failed_replica, 1);
    assert_string_equal(here->seen.message, "rank 1 exited with code 7");
    ranks = sw_platform_local.replicas(here->conn, &job, NULL);
    assert_int_equal(json_array_size(ranks), 3);
    assert_string_equal(sw_json_str(json_array_get(ranks, 1), "status"), "Error");
    assert_string_equal(sw_json_str(json_array_get(ranks, 2), "status"), "Canceled");
}

static void a_job_sees_its_environment_and_not_our_credentials(void **state)
{
    struct fixture *here = *state;
    const char *id;
    char value[256];
    sw_autofree char *log = NULL, *results = NULL;

    setenv("HF_TOKEN", "canary-one", 1);
    setenv("MY_OWN_PASSWORD", "canary-two", 1);
    setenv("CLIENT_SAYS", "hello", 1);
    json_object_set_new(here->plan->env, "A", json_string("1 2"));
    json_object_set_new(here->plan->env, "NODE_RANK", json_string("77"));
    id = fixture_launch(here, "env");
    unsetenv("HF_TOKEN");
    unsetenv("MY_OWN_PASSWORD");
    unsetenv("CLIENT_SAYS");
    fixture_wait_over(here, id);
    log = fixture_log(here, id, 0);
    results = fixture_file(here, id, "results");
    assert_null(strstr(log, "canary"));
    assert_string_equal(value_of(log, "CLIENT_SAYS", value), "hello");
    assert_string_equal(value_of(log, "A", value), "1 2");
    assert_string_equal(value_of(log, "NODE_RANK", value), "0");
    assert_string_equal(value_of(log, "TAO_JOB_ID", value), id);
    assert_string_equal(value_of(log, "SLIPWAY_JOB_ID", value), id);
    assert_string_equal(value_of(log, "TAO_RESULTS_ROOT", value), results);
    assert_string_equal(value_of(log, "PYTHONUNBUFFERED", value), "1");
    assert_string_equal(value_of(log, "PWD", value), here->folder);
}

static void without_inheriting_only_the_bare_minimum_is_seen(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *log = NULL;

    setenv("CLIENT_SAYS", "hello", 1);
    fixture_option(here, "inherit_env", json_false());
    fixture_launch(here, "env");
    unsetenv("CLIENT_SAYS");
    fixture_wait_over(here, here->id);
    log = fixture_log(here, here->id, 0);
    assert_null(strstr(log, "CLIENT_SAYS"));
    assert_non_null(strstr(log, "PATH="));
}

static void a_job_over_its_time_limit_ends_with_124(void **state)
{
    struct fixture *here = *state;
    const char *id;

    here->plan->time_ms = 200;
    here->plan->grace_ms = 200;
    id = fixture_launch(here, "trap '' TERM; sleep 1000; sleep 1000");
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_string_equal(here->seen.reason, "time");
    assert_int_equal(here->seen.exit_code, 124);
    assert_int_equal(fixture_marked(here, id), 0);
}

static void a_job_over_its_memory_limit_ends_with_reason_memory(void **state)
{
    struct fixture *here = *state;
    const char *id;
    struct sw_evidence evidence = { 0 };
    struct sw_jobref job;

    here->plan->memory_bytes = 64 << 20;
    here->plan->grace_ms = 100;
    /* A shell variable that doubles itself: memory without any other program. */
    id = fixture_launch(here, "x=0123456789abcdef; while true; do x=$x$x;"
                            "[ ${#x} -gt 200000000 ] && exec sleep 1000; done");
    job = fixture_ref(id);
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_string_equal(here->seen.reason, "memory");
    assert_int_equal(here->seen.exit_code, 137);
    fixture_evidence(here, &job, &evidence);
    assert_non_null(sw_json_str(evidence.facts, "memory_limit"));
    sw_evidence_done(&evidence);
}

static void a_cpu_limit_narrows_what_the_job_may_use(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *log = NULL;

    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip();
    here->plan->cpus = 1;
    fixture_launch(here, "nproc");
    fixture_wait_over(here, here->id);
    log = fixture_log(here, here->id, 0);
    assert_string_equal(log, "1\n");
}

static void inputs_arrive_config_is_written_and_results_land(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *source = sw_format("%s/train.txt", here->folder);
    sw_autofree char *to = sw_format("%s/delivered", here->folder);
    sw_autofree char *arrived = sw_format("%s/delivered/model.pth", here->folder);
    sw_autofree char *text = NULL, *log = NULL, *place = NULL;
    const char *id;

    assert_int_equal(sw_file_write(source, "data\n", 5, 0644, NULL), 0);
    json_array_append_new(here->plan->inputs, json_pack("{s:s, s:s}", "path", "/data/train.txt",
                                                        "from", "train.txt"));
    json_array_append_new(here->plan->outputs,
                          json_pack("{s:s, s:s}", "path", "/results", "to", to));
    here->plan->config = json_pack("{s:{s:s}, s:s}", "dataset", "train", "/data/train.txt",
                                   "results_dir", "/results/run");
    here->plan->config_format = SW_JSON;
    id = fixture_launch(here, "cat /data/train.txt {config_path} && "
                            "cat /data/train.txt > /results/model.pth; exit 5");
    fixture_wait_over(here, id);
    log = fixture_log(here, id, 0);
    place = fixture_file(here, id, "results/run");
    assert_int_equal(here->seen.exit_code, 5);
    assert_non_null(strstr(log, "data\n"));
    assert_non_null(strstr(log, place));
    text = sw_file_read(arrived, 100, NULL, NULL);        /* delivered although it failed */
    assert_string_equal(text, "data\n");
}

static void results_that_cannot_be_delivered_are_an_error(void **state)
{
    struct fixture *here = *state;
    const char *id;

    json_array_append_new(here->plan->outputs,
                          json_pack("{s:s, s:s}", "path", "/results", "to", "/proc/nowhere"));
    id = fixture_launch(here, "echo x > /results/model.pth");
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_string_equal(here->seen.reason, "outputs");
}

static void an_input_that_is_missing_is_found_before_anything_starts(void **state)
{
    struct fixture *here = *state;
    struct sw_error err = { 0 };

    json_array_append_new(here->plan->inputs,
                          json_pack("{s:s, s:s}", "path", "/data", "from", "no-such-file"));
    fixture_command(here, "true");
    assert_int_equal(sw_platform_local.preflight(here->conn, here->plan, &err), -1);
    assert_non_null(strstr(err.message, "no-such-file"));
    assert_int_equal(json_array_clear(here->plan->inputs), 0);
    json_array_append_new(here->plan->inputs,
                          json_pack("{s:s, s:s}", "path", "/data", "from", "gopher://bucket/x"));
    assert_int_equal(sw_platform_local.preflight(here->conn, here->plan, &err), -1);
    assert_int_equal(err.code, SW_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "gopher"));
}

static void results_may_go_to_a_folder_of_the_users_choice(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *made = NULL;
    struct sw_jobref job;

    fixture_option(here, "results_dir", json_string("mine"));
    fixture_launch(here, "touch $SLIPWAY_RESULTS_DIR/model");
    job = fixture_ref(here->id);
    fixture_wait_over(here, here->id);
    made = sw_format("%s/mine/%s/model", here->folder, here->id);
    assert_true(sw_file_exists(made));
    assert_int_equal(sw_platform_cleanup(&sw_platform_local, here->conn, &job, false, NULL), 0);
    assert_false(sw_file_exists(made));
}

static void make_venv(const char *folder)
{
    sw_autofree char *bin = sw_format("%s/venv/bin", folder);
    sw_autofree char *config = sw_format("%s/venv/pyvenv.cfg", folder);
    sw_autofree char *python = sw_format("%s/venv/bin/python", folder);
    sw_autofree char *script = sw_format("%s/train.py", folder);
    static const char pretend[] = "#!/bin/sh\necho \"$VIRTUAL_ENV\"; echo \"$PATH\"; "
                                  "for a; do echo \"arg $a\"; done\n";

    assert_int_equal(sw_mkdirs(bin, 0755, NULL), 0);
    assert_int_equal(sw_file_write(config, "", 0, 0644, NULL), 0);
    assert_int_equal(sw_file_write(python, pretend, sizeof pretend - 1, 0755, NULL), 0);
    assert_int_equal(sw_file_write(script, "", 0, 0644, NULL), 0);
}

static void a_virtualenv_runs_its_script_with_placeholders_filled(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *log = NULL, *wanted = NULL;

    make_venv(here->folder);
    here->plan->python = json_pack("{s:s, s:s, s:[s, s, s]}", "venv", "venv", "script", "train.py",
                                   "args", "--id={job_id}", "{results_dir}/x", "{ not one }");
    fixture_command(here, "");
    free(here->plan->command);
    here->plan->command = NULL;
    assert_int_equal(sw_platform_local.preflight(here->conn, here->plan, NULL), 0);
    fixture_submit(here);
    fixture_wait_over(here, here->plan->job_id);
    log = fixture_log(here, here->plan->job_id, 0);
    wanted = sw_format("arg %s/train.py\narg --id=%s\narg %s/local/%s/results/x\narg { not one }\n",
                       here->folder, here->plan->job_id, here->folder, here->plan->job_id);
    assert_non_null(strstr(log, wanted));
    assert_true(sw_text_starts(log, here->folder));
    assert_non_null(strstr(log, "/venv/bin:"));
}

static void an_unknown_placeholder_for_python_is_refused(void **state)
{
    struct fixture *here = *state;
    struct sw_error err = { 0 };

    make_venv(here->folder);
    here->plan->python = json_pack("{s:s, s:s, s:[s]}", "venv", "venv", "script", "train.py",
                                   "args", "{unknown}");
    fixture_command(here, "");
    free(here->plan->command);
    here->plan->command = NULL;
    assert_int_equal(sw_platform_local.preflight(here->conn, here->plan, &err), -1);
    assert_int_equal(err.code, SW_E_SPEC);
    assert_non_null(strstr(err.message, "{unknown}"));
}

static void a_folder_without_python_is_no_virtualenv(void **state)
{
    struct fixture *here = *state;
    struct sw_error err = { 0 };

    here->plan->python = json_pack("{s:s, s:s}", "venv", ".", "script", "train.py");
    fixture_command(here, "");
    free(here->plan->command);
    here->plan->command = NULL;
    assert_int_equal(sw_platform_local.preflight(here->conn, here->plan, &err), -1);
    assert_non_null(strstr(err.message, "not a virtual environment"));
}

static void paths_can_be_asked_about_and_listed(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *uri = sw_format("file://%s", here->folder);
    sw_autofree char *file = sw_format("%s/b", here->folder);
    sw_auto(json) json_t *names = NULL;
    bool exists = false;

    assert_int_equal(sw_file_write(file, "", 0, 0644, NULL), 0);
    assert_int_equal(sw_platform_local.check_path(here->conn, uri, &exists, NULL), 0);
    assert_true(exists);
    assert_int_equal(sw_platform_local.check_path(here->conn, "/no/such", &exists, NULL), 0);
    assert_false(exists);
    assert_int_equal(sw_platform_local.check_path(here->conn, "s3://a/b", &exists, NULL), -1);
    names = sw_platform_local.list_path(here->conn, uri, NULL);
    assert_string_equal(json_string_value(json_array_get(names, 0)), "b");
    assert_null(sw_platform_local.list_path(here->conn, "/no/such", NULL));
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(two_ranks_see_the_right_rendezvous),
        CLAIM(the_first_rank_that_fails_ends_the_job_and_is_named),
        CLAIM(a_job_sees_its_environment_and_not_our_credentials),
        CLAIM(without_inheriting_only_the_bare_minimum_is_seen),
        CLAIM(a_job_over_its_time_limit_ends_with_124),
        CLAIM(a_job_over_its_memory_limit_ends_with_reason_memory),
        CLAIM(a_cpu_limit_narrows_what_the_job_may_use),
        CLAIM(inputs_arrive_config_is_written_and_results_land),
        CLAIM(results_that_cannot_be_delivered_are_an_error),
        CLAIM(an_input_that_is_missing_is_found_before_anything_starts),
        CLAIM(results_may_go_to_a_folder_of_the_users_choice),
        CLAIM(a_virtualenv_runs_its_script_with_placeholders_filled),
        CLAIM(an_unknown_placeholder_for_python_is_refused),
        CLAIM(a_folder_without_python_is_no_virtualenv),
        CLAIM(paths_can_be_asked_about_and_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
