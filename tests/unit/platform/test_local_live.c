/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_live.c - watching a running job: what it uses, when it makes no progress, what it leaves
 * when it is canceled, and what was seen when it failed.
 */
#include "local_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "platform/local/supervisor.h"

static int open_with_gpus(void **state)
{
    int result;
    struct fixture *here;
    char path[128];

    setenv("SIM_GPUS", "2", 1);
    unsetenv("SIM_GPU_MIX");
    result = fixture_open(state);
    here = *state;
    snprintf(path, sizeof path, "%s/load", here->folder);
    setenv("SIM_GPU_LOAD_FILE", path, 1);
    return result;
}

static void set_load(struct fixture *here, const char *percent)
{
    sw_autofree char *path = sw_path_join(here->folder, "load");

    assert_int_equal(sw_file_write(path, percent, strlen(percent), 0600, NULL), 0);
}

static void wait_live(struct fixture *here, const char *id)
{
    int64_t deadline = sw_monotonic_ms() + 30000;

    while (!fixture_look(here, id)->live) {
        if (sw_monotonic_ms() > deadline)
            fail_msg("%s never tells what it uses", id);
        sw_sleep_ms(20);
    }
}

static void wait_reason(struct fixture *here, const char *id, const char *reason)
{
    int64_t deadline = sw_monotonic_ms() + 30000;

    while (strcmp(fixture_look(here, id)->reason, reason) != 0) {
        if (sw_monotonic_ms() > deadline)
            fail_msg("%s says '%s', not '%s'", id, here->seen.reason, reason);
        sw_sleep_ms(20);
    }
}

static void a_running_job_tells_its_memory_and_gpus(void **state)
{
    struct fixture *here = *state;
    const json_t *gpus;
    const char *id;

    set_load(here, "37");
    here->plan->gpus = 2;
    id = fixture_launch(here, "exec sleep 1000");
    wait_live(here, id);
    assert_in_range(sw_json_int(here->seen.live, "memory_bytes", 0), 100000, 1000000000);
    gpus = json_object_get(here->seen.live, "gpus");
    assert_int_equal(json_array_size(gpus), 2);
    assert_int_equal(sw_json_int(json_array_get(gpus, 0), "used_percent", -1), 37);
    assert_int_equal(sw_json_int(json_array_get(gpus, 1), "memory_used", -1), 2 << 20);
    assert_int_equal(sw_json_int(json_array_get(gpus, 0), "memory_total", -1), 85899345920);
}

static void a_job_that_does_not_change_is_not_written_about(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "exec sleep 1000");
    sw_autofree char *path = fixture_file(here, id, "attempt-1/status.json");
    struct stat before, after;
    int64_t until;

    wait_live(here, id);
    assert_int_equal(stat(path, &before), 0);
    for (until = sw_monotonic_ms() + 2500; sw_monotonic_ms() < until;)
        sw_sleep_ms(100);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
}

static void a_silent_job_is_warned_about_until_it_speaks(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *go_on = sw_path_join(here->folder, "go-on"), *log = NULL;
    const char *id;

    here->plan->guard = json_pack("{s:s}", "no_output", "1s");
    id = fixture_launch(here, "while [ ! -e go-on ]; do sleep 0.05; done; echo spoken;"
                            "exec sleep 0.5");
    wait_reason(here, id, "guard");
    assert_int_equal(here->seen.state, SW_RUNNING);
    assert_string_equal(here->seen.message, "no output for 1s");
    assert_int_equal(sw_file_write(go_on, "", 0, 0600, NULL), 0);
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
    log = fixture_log(here, id, 0);
    assert_string_equal(log, "spoken\n");
}

static void a_silent_job_is_stopped_when_asked(void **state)
{
    struct fixture *here = *state;
    const char *id;

    here->plan->guard = json_pack("{s:s, s:s}", "no_output", "1s", "action", "stop");
    id = fixture_launch(here, "for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done; exec sleep 1000");
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_string_equal(here->seen.reason, "guard");
    assert_string_equal(here->seen.message, "stopped by guard: no output for 1s");
    assert_true(here->seen.ended_ms - here->seen.started_ms >= 2500);
    assert_int_equal(fixture_marked(here, id), 0);
}

static void idle_gpus_stop_a_job_and_busy_ones_do_not(void **state)
{
    struct fixture *here = *state;
    const char *id;

    set_load(here, "90");
    here->plan->gpus = 1;
    here->plan->guard = json_pack("{s:s, s:s}", "idle_gpu", "1s", "action", "stop");
    id = fixture_launch(here, "exec sleep 1000");
    wait_live(here, id);
    assert_int_equal(fixture_look(here, id)->state, SW_RUNNING);
    set_load(here, "1");
    fixture_wait_over(here, id);
    assert_string_equal(here->seen.reason, "guard");
    assert_string_equal(here->seen.message, "stopped by guard: GPUs idle for 1s");
}

static void outputs_arrive_after_cancel_too(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *to = sw_path_join(here->folder, "brought");
    sw_autofree char *ready = sw_path_join(here->folder, "ready"), *text = NULL, *file = NULL;
    struct sw_jobref job;
    const char *id;

    json_array_append_new(here->plan->outputs,
                          json_pack("{s:s, s:s}", "path", "/results", "to", to));
    id = fixture_launch(here, "trap 'echo saved > /results/model; exit 0' TERM; touch ready;"
                            "while :; do sleep 0.05; done");
    job = fixture_ref(id);
    fixture_wait_file(ready);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    assert_int_equal(fixture_look(here, id)->state, SW_CANCELED);
    file = sw_path_join(to, "model");
    text = sw_file_read(file, 100, NULL, NULL);
    assert_string_equal(text, "saved\n");
}

static void outputs_that_do_not_arrive_after_cancel_are_named(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *ready = sw_path_join(here->folder, "ready");
    struct sw_evidence evidence = { 0 };
    struct sw_jobref job;
    const char *id;

    json_array_append_new(here->plan->outputs, json_pack("{s:s, s:s}", "path", "/results", "to",
                                                         "/proc/no-such-place"));
    id = fixture_launch(here, "echo x > /results/model; touch ready; exec sleep 1000");
    job = fixture_ref(id);
    fixture_wait_file(ready);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    assert_int_equal(fixture_look(here, id)->state, SW_CANCELED);
    assert_non_null(strstr(here->seen.message, "outputs are not complete"));
    fixture_evidence(here, &job, &evidence);
    assert_true(sw_json_bool(evidence.facts, "outputs_incomplete", false));
    sw_evidence_done(&evidence);
}

static void an_xid_counts_when_it_is_new_and_of_our_gpu(void **state)
{
    static const char gpus[][32] = { "0000:3b:00", "0000:86:00" };
    static const struct {
        const char *record;
        int code;
    } rows[] = {
        { "4,812,2000000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus", 79 },
        { "4,812,2000000,-;NVRM: Xid (PCI:0000:86:00): 31, Ch 8", 31 },
        { "4,812,999999,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1", -1 },
        { "4,812,2000000,-;NVRM: Xid (PCI:0000:af:00): 79, pid=1", -1 },
        { "4,812,2000000,-;usb 1-1: new device", -1 },
        { "NVRM: Xid (PCI:0000:3b:00): 79", -1 },
        { "", -1 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        assert_int_equal(sup_xid_of(rows[i].record, 1000000, gpus, 2), rows[i].code);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, open_with_gpus, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_running_job_tells_its_memory_and_gpus),
        CLAIM(a_job_that_does_not_change_is_not_written_about),
        CLAIM(a_silent_job_is_warned_about_until_it_speaks),
        CLAIM(a_silent_job_is_stopped_when_asked),
        CLAIM(idle_gpus_stop_a_job_and_busy_ones_do_not),
        CLAIM(outputs_arrive_after_cancel_too),
        CLAIM(outputs_that_do_not_arrive_after_cancel_are_named),
        cmocka_unit_test(an_xid_counts_when_it_is_new_and_of_our_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
