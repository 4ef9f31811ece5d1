/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes_keeping.c - secrets are kept, jobs are not left behind.
 *
 * Each stay ends with a search for its secret in every file, answer and argument list.
 */
#include "scenes.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static void cancel(struct trial *here, const char *job)
{
    struct sw_error err = { 0 };

    expect_ok(sw_cancel(here->session, job, &err), &err, "cancel");
}

static void a_plan_and_the_files_of_a_job_hold_no_secret(void **state)
{
    struct trial *here = *state;
    char *out = NULL;

    assert_int_equal(slipway(here, &out, "plan", "--set", "secrets=" CANARY_NAME, "--", "sh",
                             "-c", "env", NULL), 0);
    assert_false(canary_in(here->canary, out, strlen(out)));
    free(out);
    assert_int_equal(wait_until_over(here, launch_shell(here, "test -n \"$" CANARY_NAME "\"")), 0);
}

static void a_secret_that_a_job_prints_or_repeats_is_nowhere_in_clear(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "echo token=$" CANARY_NAME "; echo $" CANARY_NAME
                                   " >&2; exit 1");
    sw_auto(json) json_t *verdict = NULL;
    struct log log = read_log(here, job, -1, true);
    char *out = NULL;

    assert_false(canary_in(here->canary, log.bytes, log.length));
    expect_has(log.bytes, "token=");
    log_done(&log);
    verdict = analysis(here, job);
    assert_int_equal(slipway(here, &out, "status", "-o", "json", job, NULL), 0);
    assert_false(canary_in(here->canary, out, strlen(out)));
    free(out);
}

static void a_job_canceled_between_two_attempts_never_starts_again(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "running 20ms, node-lost; running", "retry.max", "3",
                               "retry.wait", "30s", NULL);
    sw_autofree char *second = sw_format("%s/rehearsal/%s/attempt-2.json", here->state_dir, job);
    int64_t deadline = sw_monotonic_ms() + PATIENCE_MS;

    for (int64_t attempt = 1; attempt < 2; sw_sleep_ms(10)) {
        sw_auto(json) json_t *seen = (sw_watcher_once(here->session, NULL), status(here, job));

        attempt = number_of(seen, "attempt");
        assert_true(sw_monotonic_ms() < deadline);
    }
    expect_state(here, job, SW_PENDING);
    cancel(here, job);
    expect_state(here, job, SW_CANCELED);
    time_passes(3600 * 1000);
    for (int i = 0; i < 3; i++)
        expect_state(here, job, SW_CANCELED);
    assert_false(sw_file_exists(second));
}

static void a_platform_out_of_reach_is_not_a_job_that_ended(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "running", NULL);

    wait_until(here, job, SW_RUNNING);
    connect_with(here, "down");
    for (int hour = 0; hour < 24; hour++) {
        sw_auto(json) json_t *seen = NULL;

        time_passes(3600 * 1000);
        seen = status(here, job);
        assert_string_equal(text_of(seen, "status"), "Running");
        assert_int_equal(json_array_size(json_object_get(seen, "unreachable")), 1);
        assert_true(number_of(seen, "seen_age_ms") > 3500000LL * (hour + 1));
    }
}

static void a_job_is_adopted_by_a_machine_that_never_saw_it(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "sleep 60");
    struct sw_error err = { 0 };
    DIR *folder;

    wait_until(here, job, SW_RUNNING);
    sw_close(here->session);
    folder = opendir(here->state_dir);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strncmp(entry->d_name, "jobs.db", strlen("jobs.db")) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    here->session = open_session(here);
    expect_ok(sw_adopt(here->session, "local", job, &err), &err, "adopt");
    expect_state(here, job, SW_RUNNING);
    cancel(here, job);
    assert_int_equal(processes_of(here->dir, job, NULL, 0), 0);
}

static void a_pending_job_is_canceled_at_once(void **state)
{
    struct trial *here = *state;
    int64_t begun;
    const char *job;

    wait_until(here, launch(here, HOLDS_THE_QUEUE, 0), SW_RUNNING);
    job = launch(here, WAITS_IN_QUEUE, 0);
    begun = sw_monotonic_ms();
    cancel(here, job);
    expect_quick(begun, 3000, "canceling a pending job");
    expect_state(here, job, SW_CANCELED);
}

static void a_job_whose_description_is_unreadable_can_still_be_removed(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "image-error", "retry.max", "0", NULL);
    sw_autofree char *folder = sw_format("%s/rehearsal/%s", here->state_dir, job);
    sw_autofree char *path = sw_format("%s/attempt-1.json", folder);
    struct sw_error err = { 0 };

    wait_until_over(here, job);
    write_text(path, "{ not what it was");
    expect_ok(sw_remove(here->session, job, false, &err), &err, "remove");
    assert_false(sw_file_exists(folder));
    assert_null(sw_status(here->session, job, SW_LOOK_STORED, &err));
}

struct scene scenes_keeping[] = {
    SCENE("NeMo-Gym PR#2354", a_plan_and_the_files_of_a_job_hold_no_secret, local),
    SCENE("skypilot#10741 #8902 PR#10669",
          a_secret_that_a_job_prints_or_repeats_is_nowhere_in_clear, local),
    SCENE("skypilot#4410", a_job_canceled_between_two_attempts_never_starts_again,
          rehearsal),
    SCENE("dstack#1551", a_platform_out_of_reach_is_not_a_job_that_ended,
          rehearsal),
    SCENE("skypilot#2698", a_job_is_adopted_by_a_machine_that_never_saw_it, local),
    SCENE("skypilot PR#8273", a_pending_job_is_canceled_at_once, local),
    SCENE("determined#5762",
          a_job_whose_description_is_unreadable_can_still_be_removed, rehearsal),
    { 0 }
};
