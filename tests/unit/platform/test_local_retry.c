/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_retry.c - a supervisor goes on to the next attempt by itself: what that attempt gets, and what
 * is seen of the pause before it, also when the supervisor is killed or the job is canceled there.
 */
#include "local_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "core/reason.h"
#include "platform/local/local_internal.h"

enum { DEADLINE_MS = 30000 };

#define FAILS_ONCE "echo try $SLIPWAY_ATTEMPT; test $SLIPWAY_ATTEMPT = 2"

static void retry(struct fixture *here, const char *wait)
{
    json_decref(here->plan->retry);
    here->plan->retry = json_pack("{s:i, s:[s], s:s}", "max", 2, "on", "unknown", "wait", wait);
}

static struct sw_observation *look_at(struct fixture *here, const char *id, int attempt)
{
    sw_observation_done(&here->seen);
    here->seen = (struct sw_observation){ .job = { .id = id, .attempt = attempt },
                                          .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1 };
    assert_int_equal(sw_platform_local.observe(here->conn, &here->seen, 1, NULL), 0);
    return &here->seen;
}

static void wait_for_pause(struct fixture *here, const char *id)
{
    int64_t deadline = sw_monotonic_ms() + DEADLINE_MS;

    while (strcmp(fixture_look(here, id)->reason, SW_REASON_RETRY) != 0) {
        if (sw_monotonic_ms() > deadline || sw_state_is_final(here->seen.state))
            fail_msg("%s: %s (%s)", id, sw_state_name(here->seen.state), here->seen.message);
        sw_sleep_ms(2);
    }
}

static void kill_supervisor(struct fixture *here, const char *id)
{
    sw_autofree char *folder = local_attempt_folder(here->conn, id, 1);
    sw_auto(json) json_t *who = local_record_read(folder, LOCAL_SUPERVISOR);
    int64_t deadline = sw_monotonic_ms() + DEADLINE_MS;
    struct sw_proc supervisor;

    assert_int_equal(sw_proc_from_json(who, &supervisor), 0);
    sw_proc_signal(&supervisor, SIGKILL);
    while (local_lock_held(folder)) {
        assert_true(sw_monotonic_ms() < deadline);
        sw_sleep_ms(1);
    }
}

static char *log_of(struct fixture *here, const char *id, int attempt)
{
    const struct sw_jobref job = { .id = id, .attempt = attempt };
    char *text = sw_alloc(4096);

    assert_true(sw_platform_local.log_read(here->conn, &job, 0, 0, text, 4095, NULL) >= 0);
    return text;
}

static void a_failure_is_followed_by_the_next_attempt_without_any_client(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *first = NULL, *second = NULL;
    const char *id;
    const json_t *was;

    retry(here, "0s");
    id = fixture_launch(here, FAILS_ONCE);
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
    assert_int_equal(here->seen.attempt, 2);
    assert_int_equal(json_array_size(here->seen.before), 1);
    was = json_array_get(here->seen.before, 0);
    assert_int_equal(sw_json_int(was, "number", 0), 1);
    assert_string_equal(sw_json_str(was, "state"), "Error");
    assert_int_equal(sw_json_int(was, "exit_code", 0), 1);
    assert_string_equal(sw_json_str(was, "cause"), "unknown");
    assert_string_equal(sw_json_str(was, "why"), "attempt 1 failed: exited with code 1; retry 1 of 2");
    first = log_of(here, id, 1);
    second = log_of(here, id, 2);
    assert_string_equal(first, "try 1\n");
    assert_string_equal(second, "try 2\n");
}

static void retries_end_when_they_are_used_up(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *beyond = NULL;
    const char *id;

    retry(here, "0s");
    id = fixture_launch(here, "exit 3");
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_int_equal(here->seen.attempt, 3);
    assert_false(here->seen.unattended);
    beyond = local_attempt_folder(here->conn, id, 4);
    assert_false(sw_file_exists(beyond));
}

static void a_failure_that_is_not_retried_was_decided_by_the_supervisor(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "exit 3");

    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_false(here->seen.unattended);
    assert_int_equal(here->seen.attempt, 0);
}

static void a_supervisor_that_is_killed_at_work_leaves_the_decision_to_the_monitor(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "sleep 600");

    fixture_wait_state(here, id, SW_RUNNING);
    kill_supervisor(here, id);
    assert_int_equal(fixture_look(here, id)->state, SW_ERROR);
    assert_true(here->seen.unattended);
    assert_int_equal(fixture_look(here, id)->state, SW_ERROR);       /* and from its record, too */
    assert_true(here->seen.unattended);
}

/* What the supervisor writes for the next attempt, and what submit would have. */
static void the_next_attempt_has_the_records_that_submit_would_write(void **state)
{
    struct fixture *here = *state;
    sw_auto(local_job) struct local_job job = { 0 };
    sw_auto(sw_payload) struct sw_payload *payload = NULL;
    sw_auto(json) json_t *written = NULL, *rendered = NULL, *launch = NULL, *launched = NULL;
    struct sw_error err = { 0 };

    retry(here, "0s");
    json_array_append_new(here->plan->inputs, json_pack("{s:s, s:s}", "path", "/data", "from", here->folder));
    json_array_append_new(here->plan->outputs, json_pack("{s:s}", "path", "/results"));
    here->plan->config = json_pack("{s:s}", "train", "/data/a file");
    fixture_launch(here, "ls '/data' /results {config_path} && exit 1");
    fixture_wait_over(here, here->id);
    assert_int_equal(local_job_init(&job, here->conn, here->plan, 2, LOCAL_MOUNTS_SHOW, &err), 0);
    payload = local_payload(&job, &err);
    rendered = sw_payload_to_json(payload);
    written = local_record_read(job.folder, LOCAL_PAYLOAD);
    assert_true(json_equal(written, rendered));
    launch = local_record_read(job.folder, LOCAL_LAUNCH);
    json_object_del(launch, "runner");
    json_object_del(launch, "lease_dir");
    launched = local_launch(&job, 2);
    assert_true(json_equal(launch, launched));
}

static void the_next_attempt_has_the_secrets_of_the_first(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *log = NULL;

    retry(here, "0s");
    json_array_append_new(here->plan->secrets, json_string("HF_TOKEN"));
    sw_secrets_add_value(here->secrets, "HF_TOKEN", "a-value-of-16-by");
    fixture_launch(here, "test $SLIPWAY_ATTEMPT = 2 && echo ${#HF_TOKEN} $HF_TOKEN");
    fixture_wait_over(here, here->id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
    log = log_of(here, here->id, 2);
    assert_string_equal(log, "16 [redacted]\n");
}

static void the_pause_is_seen_as_the_next_attempt_that_waits(void **state)
{
    struct fixture *here = *state;
    const char *id;

    retry(here, "1h");
    id = fixture_launch(here, FAILS_ONCE);
    wait_for_pause(here, id);
    for (int asked = 1; asked <= 2; asked++) {
        look_at(here, id, asked);
        assert_int_equal(here->seen.presence, SW_PRESENT);
        assert_int_equal(here->seen.state, SW_PENDING);
        assert_int_equal(here->seen.attempt, 2);
        assert_true(here->seen.until_ms > sw_now_ms());
    }
}

static void a_cancel_in_the_pause_ends_the_job_before_its_next_attempt(void **state)
{
    struct fixture *here = *state;

    for (int asked = 1; asked <= 2; asked++) {            /* of a client that saw the pause, or did not */
        struct sw_jobref job = { .attempt = asked };

        retry(here, "1h");
        job.id = fixture_launch(here, FAILS_ONCE);
        wait_for_pause(here, job.id);
        assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
        assert_int_equal(look_at(here, job.id, asked)->state, SW_CANCELED);
        assert_int_equal(here->seen.attempt > 0 ? here->seen.attempt : asked, 2);
        assert_string_equal(here->seen.message, "canceled while waiting for attempt 2");
    }
}

static void a_supervisor_that_is_killed_in_the_pause_leaves_an_attempt_that_never_began(void **state)
{
    struct fixture *here = *state;
    struct sw_submission receipt = { 0 };
    const char *id;

    retry(here, "1h");
    id = fixture_launch(here, FAILS_ONCE);
    wait_for_pause(here, id);
    assert_int_equal(sw_platform_local.submit(here->conn, here->plan, 2, here->secrets, &receipt, NULL), -1);
    kill_supervisor(here, id);
    for (int asked = 1; asked <= 2; asked++) {
        look_at(here, id, asked);
        assert_int_equal(here->seen.presence, SW_ABSENT);
        assert_true(here->seen.unattended);
        assert_int_equal(here->seen.attempt, 2);
    }
    assert_int_equal(sw_platform_local.submit(here->conn, here->plan, 2, here->secrets, &receipt, NULL), 0);
    json_decref(receipt.details);
    free(receipt.results_dir);
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
    assert_int_equal(here->seen.attempt, 2);
}

static void a_cancel_after_the_supervisor_was_killed_in_the_pause_is_kept(void **state)
{
    struct fixture *here = *state;
    struct sw_jobref job = { .attempt = 1 };

    retry(here, "1h");
    job.id = fixture_launch(here, FAILS_ONCE);
    wait_for_pause(here, job.id);
    kill_supervisor(here, job.id);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
    assert_int_equal(look_at(here, job.id, 1)->state, SW_CANCELED);
    assert_int_equal(here->seen.attempt, 2);
    assert_int_equal(look_at(here, job.id, 2)->state, SW_CANCELED);
}

static void change_supervisor(struct fixture *here, const char *id, const char *key, const char *value)
{
    sw_autofree char *folder = local_attempt_folder(here->conn, id, 1);
    sw_auto(json) json_t *who = local_record_read(folder, LOCAL_SUPERVISOR);

    json_object_set_new(who, key, sw_json_text(value));
    assert_int_equal(local_record_write(folder, LOCAL_SUPERVISOR, who, NULL), 0);
}

static void after_a_restart_or_on_another_machine_a_pause_is_no_failure(void **state)
{
    struct fixture *here = *state;
    struct sw_jobref job = { .attempt = 1 };
    struct sw_error err = { 0 };

    retry(here, "1h");
    job.id = fixture_launch(here, FAILS_ONCE);
    wait_for_pause(here, job.id);
    kill_supervisor(here, job.id);
    change_supervisor(here, job.id, "boot", "another-boot");
    assert_int_equal(look_at(here, job.id, 1)->presence, SW_ABSENT);
    assert_true(here->seen.unattended);
    change_supervisor(here, job.id, "host", "another-machine");
    assert_int_equal(look_at(here, job.id, 1)->presence, SW_UNSEEN);
    assert_int_equal(look_at(here, job.id, 2)->presence, SW_UNSEEN);
    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
}

static void a_job_that_waits_for_its_next_attempt_holds_no_gpu(void **state)
{
    struct fixture *here = *state;
    char first[SW_ID_SIZE];
    const char *second;

    here->plan->gpus = 1;
    retry(here, "1h");
    memcpy(first, fixture_launch(here, FAILS_ONCE), sizeof first);
    wait_for_pause(here, first);
    second = fixture_launch(here, "true");
    fixture_wait_over(here, second);
    assert_int_equal(here->seen.state, SW_COMPLETE);
}

static void a_job_in_the_pause_is_neither_removed_nor_an_orphan(void **state)
{
    struct fixture *here = *state;
    struct sw_jobref job = { .attempt = 1 };
    sw_autofree char *folder = NULL;

    retry(here, "1h");
    job.id = fixture_launch(here, FAILS_ONCE);
    folder = local_attempt_folder(here->conn, job.id, 1);
    wait_for_pause(here, job.id);
    assert_true(local_is_attended(folder));
    assert_int_equal(sw_platform_cleanup(&sw_platform_local, here->conn, &job, false, NULL), -1);
    assert_true(local_has(folder, LOCAL_EXIT));
}

static int open_with_a_gpu(void **state)
{
    setenv("SIM_GPUS", "1", 1);
    return fixture_open(state);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, open_with_a_gpu, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_failure_is_followed_by_the_next_attempt_without_any_client),
        CLAIM(retries_end_when_they_are_used_up),
        CLAIM(a_failure_that_is_not_retried_was_decided_by_the_supervisor),
        CLAIM(a_supervisor_that_is_killed_at_work_leaves_the_decision_to_the_monitor),
        CLAIM(the_next_attempt_has_the_records_that_submit_would_write),
        CLAIM(the_next_attempt_has_the_secrets_of_the_first),
        CLAIM(the_pause_is_seen_as_the_next_attempt_that_waits),
        CLAIM(a_cancel_in_the_pause_ends_the_job_before_its_next_attempt),
        CLAIM(a_supervisor_that_is_killed_in_the_pause_leaves_an_attempt_that_never_began),
        CLAIM(a_cancel_after_the_supervisor_was_killed_in_the_pause_is_kept),
        CLAIM(after_a_restart_or_on_another_machine_a_pause_is_no_failure),
        CLAIM(a_job_that_waits_for_its_next_attempt_holds_no_gpu),
        CLAIM(a_job_in_the_pause_is_neither_removed_nor_an_orphan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
