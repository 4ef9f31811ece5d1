/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_room.c - CPUs and memory are shared out: who waits, for whom, and what happens when a holder
 * dies.
 */
#include "local_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/reason.h"
#include "platform/local/local_room.h"

#define GIB ((int64_t)1 << 30)

static const char *launch(struct fixture *here, double cpus, const char *command)
{
    here->plan->cpus = cpus;
    return fixture_launch(here, command);
}

static void wait_pending_because(struct fixture *here, const char *id, const char *message)
{
    int64_t deadline = sw_monotonic_ms() + 120000;

    while (strcmp(fixture_look(here, id)->message, message) != 0) {
        if (sw_monotonic_ms() > deadline || here->seen.state != SW_PENDING)
            fail_msg("%s says '%s', not '%s'", sw_state_name(here->seen.state), here->seen.message, message);
        sw_sleep_ms(5);
    }
    assert_string_equal(here->seen.reason, SW_REASON_ROOM_WAIT);
}

static void cancel(struct fixture *here, const char *id)
{
    struct sw_jobref job = fixture_ref(id);

    assert_int_equal(sw_platform_cancel(&sw_platform_local, here->conn, &job, NULL), 0);
}

/* "waiting for 1 CPU: 0 CPUs free of 8 CPUs; held by ID" and what follows. */
static char *waiting_for_one(const char *holder, const char *rest)
{
    double cpus = room_of_machine().cpus;

    return sw_format("waiting for 1 CPU: 0 CPUs free of %g CPU%s; held by %s%s", cpus, cpus == 1 ? "" : "s",
                     holder, rest);
}

static void jobs_wait_in_line_for_cpus_and_see_who_has_them(void **state)
{
    struct fixture *here = *state;
    char first[SW_ID_SIZE], second[SW_ID_SIZE], third[SW_ID_SIZE];
    sw_autofree char *next = NULL, *behind = NULL;

    memcpy(first, launch(here, room_of_machine().cpus, "exec sleep 1000"), SW_ID_SIZE);
    fixture_wait_state(here, first, SW_RUNNING);
    memcpy(second, launch(here, 1, "true"), SW_ID_SIZE);
    next = waiting_for_one(first, "");
    wait_pending_because(here, second, next);
    memcpy(third, launch(here, 1, "true"), SW_ID_SIZE);
    behind = waiting_for_one(first, "; 1 job ahead");
    wait_pending_because(here, third, behind);
    launch(here, 0, "true");                             /* asks for nothing: it does not wait */
    fixture_wait_over(here, here->id);
    assert_int_equal(fixture_look(here, second)->state, SW_PENDING);
    cancel(here, first);
    fixture_wait_over(here, second);
    fixture_wait_over(here, third);
    assert_int_equal(here->seen.state, SW_COMPLETE);
}

static void memory_is_waited_for_as_well(void **state)
{
    struct fixture *here = *state;
    struct room machine = room_of_machine();
    char first[SW_ID_SIZE];

    here->plan->memory_bytes = machine.memory_bytes - (64 << 20);
    memcpy(first, launch(here, 0, "exec sleep 1000"), SW_ID_SIZE);
    fixture_wait_state(here, first, SW_RUNNING);
    here->plan->memory_bytes = 128 << 20;
    launch(here, 0, "true");
    fixture_wait_state(here, here->id, SW_PENDING);
    while (!strstr(fixture_look(here, here->id)->message, first))
        sw_sleep_ms(5);
    assert_true(strncmp(here->seen.message, "waiting for 128 MiB of memory: 64 MiB free of ", 46) == 0);
    cancel(here, first);
    fixture_wait_over(here, here->id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
}

static void a_waiting_job_can_be_canceled(void **state)
{
    struct fixture *here = *state;
    char first[SW_ID_SIZE];
    sw_autofree char *message = NULL;

    memcpy(first, launch(here, room_of_machine().cpus, "exec sleep 1000"), SW_ID_SIZE);
    fixture_wait_state(here, first, SW_RUNNING);
    launch(here, 1, "true");
    message = waiting_for_one(first, "");
    wait_pending_because(here, here->id, message);
    cancel(here, here->id);
    assert_int_equal(fixture_look(here, here->id)->state, SW_CANCELED);
}

static void the_share_of_a_killed_job_comes_back_once_nothing_of_it_runs(void **state)
{
    struct fixture *here = *state;
    char first[SW_ID_SIZE], second[SW_ID_SIZE];

    memcpy(first, launch(here, room_of_machine().cpus, "exec sleep 1000"), SW_ID_SIZE);
    fixture_wait_state(here, first, SW_RUNNING);
    memcpy(second, launch(here, 1, "true"), SW_ID_SIZE);
    fixture_wait_state(here, first, SW_RUNNING);
    assert_int_equal(kill((pid_t)atoi(here->seen.remote_id), SIGKILL), 0);
    fixture_wait_over(here, second);
    assert_int_equal(here->seen.state, SW_COMPLETE);
}

static void more_than_the_machine_has_is_refused_with_both_numbers(void **state)
{
    struct fixture *here = *state;
    double cpus = room_of_machine().cpus;
    sw_autofree char *expected = sw_format("asks for %g CPUs; this machine has %g", cpus * 2, cpus);
    struct sw_error err = { 0 };

    fixture_command(here, "true");
    here->plan->cpus = cpus;
    here->plan->nodes = 2;
    assert_int_equal(sw_platform_local.preflight(here->conn, here->plan, &err), -1);
    assert_int_equal(err.code, SW_E_REFUSED);
    assert_non_null(strstr(err.message, expected));
}

static void what_a_share_says_is_not_believed_without_a_lock(void **state)
{
    struct fixture *here = *state;
    static const char *const texts[] = { "other-abcdefgh 0 999999999 1\n", "", "x 0 -5 -5\n", "\xff\xff" };

    for (size_t i = 0; i < SW_COUNT(texts); i++) {
        sw_autofree char *path = sw_format("%s/other.%zu.room", here->folder, i);

        assert_int_equal(sw_file_write(path, texts[i], strlen(texts[i]), 0600, NULL), 0);
    }
    launch(here, room_of_machine().cpus, "true");
    fixture_wait_over(here, here->id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
}

static void the_message_names_what_is_missing_and_who_has_it(void **state)
{
    static const struct room machine = { 8, 16 * GIB };
    static const struct room_holder holders[] = {
        { "a", { 4, 0 } }, { "b", { 0, 6 * GIB } }, { "c", { 2, GIB } }, { "d", { 1, GIB } },
        { "e", { 1, 0 } },
    };
    static const struct { struct room asked; size_t count; int ahead; const char *message; } cases[] = {
        { { 2, 0 }, 1, 0, "waiting for 2 CPUs: 4 CPUs free of 8 CPUs; held by a" },
        { { 2, 0 }, 5, 2,
          "waiting for 2 CPUs: 0 CPUs free of 8 CPUs; held by a, c, d and 1 more; 2 jobs ahead" },
        { { 0, 12 * GIB }, 2, 0,
          "waiting for 12 GiB of memory: 10 GiB free of 16 GiB; held by b" },
        { { 1, GIB }, 2, 1,
          "waiting for 1 CPU and 1 GiB of memory: 4 CPUs and 10 GiB free of 8 CPUs and 16 GiB; held by a, b; "
          "1 job ahead" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        char message[256];

        room_message(&cases[i].asked, &machine, holders, cases[i].count, cases[i].ahead, message);
        assert_string_equal(message, cases[i].message);
    }
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(jobs_wait_in_line_for_cpus_and_see_who_has_them),
        CLAIM(memory_is_waited_for_as_well),
        CLAIM(a_waiting_job_can_be_canceled),
        CLAIM(the_share_of_a_killed_job_comes_back_once_nothing_of_it_runs),
        CLAIM(more_than_the_machine_has_is_refused_with_both_numbers),
        CLAIM(what_a_share_says_is_not_believed_without_a_lock),
        cmocka_unit_test(the_message_names_what_is_missing_and_who_has_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
