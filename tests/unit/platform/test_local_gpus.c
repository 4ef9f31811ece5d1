/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_gpus.c - GPUs through the stand-in NVML: who gets which, who waits, and what
 * happens when a holder dies.
 */
#include "local_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/gpu.h"
#include "platform/local/local_gpu.h"
#include "platform/local/local_internal.h"

#define UUID(n) "GPU-00000000-0000-0000-0000-00000000000" #n

static int open_with_4(void **state)
{
    setenv("SIM_GPUS", "4", 1);
    unsetenv("SIM_GPU_MIX");
    return fixture_open(state);
}

static const char *launch(struct fixture *here, int gpus, const char *command)
{
    here->plan->gpus = gpus;
    return fixture_launch(here, command);
}

static void expect_log(struct fixture *here, const char *id, int rank, const char *text)
{
    sw_autofree char *log = fixture_log(here, id, rank);

    assert_string_equal(log, text);
}

/* Running begins with the runner: what the command prints comes a moment later. */
static void wait_for_output(struct fixture *here, const char *id)
{
    int64_t deadline = sw_monotonic_ms() + 30000;

    for (;;) {
        sw_autofree char *log = fixture_log(here, id, 0);

        if (strchr(log, '\n'))
            return;
        assert_true(sw_monotonic_ms() < deadline);
        sw_sleep_ms(5);
    }
}

/* Which GPUs a job gets depends on the order in which another one lets go of its own. */
static void expect_gpus_apart(struct fixture *here, const char *a, size_t count_a, const char *b,
                              size_t count_b)
{
    sw_autofree char *log_a = fixture_log(here, a, 0);
    sw_autofree char *log_b = fixture_log(here, b, 0);
    char *rest = log_b;

    assert_int_equal(strlen(log_a), count_a * (strlen(UUID(0)) + 1));
    assert_int_equal(strlen(log_b), count_b * (strlen(UUID(0)) + 1));
    for (char *uuid; (uuid = strtok_r(rest, ",\n", &rest));)
        assert_null(strstr(log_a, uuid));
}

static void wait_pending_because(struct fixture *here, const char *id, const char *message)
{
    int64_t deadline = sw_monotonic_ms() + 30000;

    while (strcmp(fixture_look(here, id)->message, message) != 0) {
        if (sw_monotonic_ms() > deadline || here->seen.state != SW_PENDING)
            fail_msg("%s says '%s'", sw_state_name(here->seen.state), here->seen.message);
        sw_sleep_ms(5);
    }
    assert_string_equal(here->seen.reason, "gpu-wait");
}

static void a_job_without_gpus_sees_none(void **state)
{
    struct fixture *here = *state;
    const char *id = launch(here, 0, "echo [$CUDA_VISIBLE_DEVICES]");

    fixture_wait_over(here, id);
    expect_log(here, id, 0, "[]\n");
}

static void a_job_that_does_not_mention_gpus_is_reported_what_is_here(void **state)
{
    sw_autofree char *own = NULL, *text = NULL;

    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
    text = sw_gpu_unasked();
    assert_string_equal(text, "this machine has 4 GPUs and the job asks for none (--gpus N)");
    setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
    own = sw_gpu_unasked();
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_non_null(strstr(own, "CUDA_VISIBLE_DEVICES of this shell is not passed on"));
}

static void a_job_sees_its_gpus_by_uuid(void **state)
{
    struct fixture *here = *state;
    const char *id = launch(here, 2, "echo $CUDA_VISIBLE_DEVICES $NUM_GPU_PER_NODE");

    fixture_wait_over(here, id);
    expect_log(here, id, 0, UUID(0) "," UUID(1) " 2\n");
}

static void each_rank_has_gpus_of_its_own(void **state)
{
    struct fixture *here = *state;
    const char *id;

    here->plan->nodes = 2;
    id = launch(here, 2, "echo $CUDA_VISIBLE_DEVICES");
    fixture_wait_over(here, id);
    expect_log(here, id, 0, UUID(0) "," UUID(1) "\n");
    expect_log(here, id, 1, UUID(2) "," UUID(3) "\n");
}

static void jobs_wait_in_line_and_never_share(void **state)
{
    struct fixture *here = *state;
    char first[SW_ID_SIZE], second[SW_ID_SIZE], third[SW_ID_SIZE];
    struct sw_jobref job;

    memcpy(first, launch(here, 3, "exec sleep 1000"), SW_ID_SIZE);
    fixture_wait_state(here, first, SW_RUNNING);
    memcpy(second, launch(here, 2, "echo $CUDA_VISIBLE_DEVICES; exec sleep 1000"), SW_ID_SIZE);
    wait_pending_because(here, second, "waiting for 2 GPUs: 1 of 4 free, 0 jobs ahead");
    memcpy(third, launch(here, 1, "echo $CUDA_VISIBLE_DEVICES; exec sleep 1000"), SW_ID_SIZE);
    wait_pending_because(here, third, "waiting for 1 GPU: 1 of 4 free, 1 job ahead");

    job = fixture_ref(first);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    fixture_wait_state(here, second, SW_RUNNING);
    fixture_wait_state(here, third, SW_RUNNING);
    wait_for_output(here, second);
    wait_for_output(here, third);
    job = fixture_ref(second);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    job = fixture_ref(third);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    expect_gpus_apart(here, second, 2, third, 1);
}

static void a_waiting_job_can_be_canceled(void **state)
{
    struct fixture *here = *state;
    char first[SW_ID_SIZE];
    struct sw_jobref job;

    memcpy(first, launch(here, 4, "exec sleep 1000"), SW_ID_SIZE);
    fixture_wait_state(here, first, SW_RUNNING);
    launch(here, 1, "touch proof");
    wait_pending_because(here, here->id, "waiting for 1 GPU: 0 of 4 free, 0 jobs ahead");
    job = fixture_ref(here->id);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    assert_int_equal(fixture_look(here, here->id)->state, SW_CANCELED);
    assert_string_equal(here->seen.message, "canceled before it started");
}

static void a_killed_holder_gives_its_gpus_back_once_nothing_of_it_runs(void **state)
{
    struct fixture *here = *state;
    char first[SW_ID_SIZE], waiting[SW_ID_SIZE];

    memcpy(first, launch(here, 4, "exec sleep 1000"), SW_ID_SIZE);
    fixture_wait_state(here, first, SW_RUNNING);
    memcpy(waiting, launch(here, 4, "true"), SW_ID_SIZE);
    fixture_wait_state(here, first, SW_RUNNING);
    assert_int_equal(kill((pid_t)atoi(here->seen.remote_id), SIGKILL), 0);
    fixture_wait_over(here, waiting);
    assert_int_equal(here->seen.state, SW_COMPLETE);
}

static void a_killed_waiter_does_not_hold_up_the_line(void **state)
{
    struct fixture *here = *state;
    char first[SW_ID_SIZE], second[SW_ID_SIZE], third[SW_ID_SIZE];
    struct sw_jobref job;

    memcpy(first, launch(here, 4, "exec sleep 1000"), SW_ID_SIZE);
    fixture_wait_state(here, first, SW_RUNNING);
    memcpy(second, launch(here, 4, "true"), SW_ID_SIZE);
    wait_pending_because(here, second, "waiting for 4 GPUs: 0 of 4 free, 0 jobs ahead");
    kill((pid_t)atoi(here->seen.remote_id), SIGKILL);
    memcpy(third, launch(here, 1, "true"), SW_ID_SIZE);
    wait_pending_because(here, third, "waiting for 1 GPU: 0 of 4 free, 0 jobs ahead");
    job = fixture_ref(first);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    fixture_wait_over(here, third);
    assert_int_equal(here->seen.state, SW_COMPLETE);
}

static void sharing_is_possible_when_asked(void **state)
{
    struct fixture *here = *state;
    char first[SW_ID_SIZE];

    memcpy(first, launch(here, 4, "exec sleep 1000"), SW_ID_SIZE);
    fixture_wait_state(here, first, SW_RUNNING);
    fixture_option(here, "share_gpus", json_true());
    launch(here, 1, "echo $CUDA_VISIBLE_DEVICES");
    fixture_wait_over(here, here->id);
    expect_log(here, here->id, 0, UUID(0) "\n");
}

static void type_and_ids_choose_among_the_gpus(void **state)
{
    struct fixture *here = *state;

    setenv("SIM_GPU_MIX", "1", 1);
    here->plan->gpu_type = sw_strdup("a100");
    launch(here, 2, "echo $CUDA_VISIBLE_DEVICES");
    fixture_wait_over(here, here->id);
    expect_log(here, here->id, 0, UUID(1) "," UUID(3) "\n");
    fixture_option(here, "gpu_ids", json_pack("[s]", "3"));
    launch(here, 1, "echo $CUDA_VISIBLE_DEVICES");
    fixture_wait_over(here, here->id);
    expect_log(here, here->id, 0, UUID(3) "\n");
}

static void more_gpus_than_the_machine_has_are_refused_with_both_numbers(void **state)
{
    struct fixture *here = *state;
    struct sw_error err = { 0 };

    fixture_command(here, "true");
    here->plan->gpus = 3;
    here->plan->nodes = 2;
    assert_int_equal(sw_platform_local.preflight(here->conn, here->plan, &err), -1);
    assert_int_equal(err.code, SW_E_REFUSED);
    assert_non_null(strstr(err.message, "needs 6 GPUs"));
    assert_non_null(strstr(err.message, "has 4"));
}

static void the_inventory_tells_who_holds_what(void **state)
{
    struct fixture *here = *state;
    sw_auto(json) json_t *inventory = NULL;
    const json_t *gpus;
    const char *id = launch(here, 1, "exec sleep 1000");

    fixture_wait_state(here, id, SW_RUNNING);
    inventory = sw_platform_local.inventory(here->conn, NULL);
    gpus = json_object_get(inventory, "gpus");
    assert_int_equal(json_array_size(gpus), 4);
    assert_string_equal(sw_json_str(json_array_get(gpus, 0), "job"), id);
    assert_false(sw_json_bool(json_array_get(gpus, 0), "free", true));
    assert_true(sw_json_bool(json_array_get(gpus, 1), "free", false));
    assert_true(sw_json_int(inventory, "cpus", 0) > 0);
}

static void a_link_in_the_lease_folder_is_not_followed(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *trap = sw_format("%s/" UUID(0) ".lease", here->folder);
    sw_autofree char *victim = sw_format("%s/victim", here->folder);
    sw_autofree char *text = NULL;

    assert_int_equal(sw_file_write(victim, "precious", 8, 0600, NULL), 0);
    assert_int_equal(symlink(victim, trap), 0);
    launch(here, 1, "echo $CUDA_VISIBLE_DEVICES");
    fixture_wait_over(here, here->id);
    expect_log(here, here->id, 0, UUID(1) "\n");
    text = sw_file_read(victim, 100, NULL, NULL);
    assert_string_equal(text, "precious");
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, open_with_4, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_job_without_gpus_sees_none),
        CLAIM(a_job_that_does_not_mention_gpus_is_reported_what_is_here),
        CLAIM(a_job_sees_its_gpus_by_uuid),
        CLAIM(each_rank_has_gpus_of_its_own),
        CLAIM(jobs_wait_in_line_and_never_share),
        CLAIM(a_waiting_job_can_be_canceled),
        CLAIM(a_killed_holder_gives_its_gpus_back_once_nothing_of_it_runs),
        CLAIM(a_killed_waiter_does_not_hold_up_the_line),
        CLAIM(sharing_is_possible_when_asked),
        CLAIM(type_and_ids_choose_among_the_gpus),
        CLAIM(more_gpus_than_the_machine_has_are_refused_with_both_numbers),
        CLAIM(the_inventory_tells_who_holds_what),
        CLAIM(a_link_in_the_lease_folder_is_not_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
