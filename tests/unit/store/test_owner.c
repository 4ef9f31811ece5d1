/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_owner.c - who is at work on a row is known by a lock, whatever the pid says; where locks mean
 * nothing, by a heartbeat.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "store_test.h"

enum { OLD_MS = 10 * 60 * 1000 };

static struct sw_job row_of(const char *boot, int64_t updated_ms)
{
    struct sw_job job = { .updated_ms = updated_ms, .owner = sw_owner_json() };

    snprintf(job.id, sizeof job.id, "own-aaaaaaaa");
    if (boot)
        json_object_set_new(job.owner, "boot", json_string(boot));
    json_object_set_new(job.owner, "pid", json_integer(0x3ffffffe));      /* no process we can see */
    return job;
}

static void an_owner_that_holds_its_lock_lives_whatever_its_pid(void **state)
{
    struct store_fixture *here = *state;
    struct sw_job job = row_of(NULL, sw_now_ms() - OLD_MS);
    int owners = sw_owner_open(here->store);

    assert_true(owners >= 0);
    assert_true(sw_owner_take(owners, job.id));
    assert_true(sw_owner_lives(here->store, &job, sw_now_ms()));
    sw_owner_release(owners, job.id);
    assert_false(sw_owner_lives(here->store, &job, sw_now_ms()));
    close(owners);
    json_decref(job.owner);
}

static void one_of_two_gets_a_lock_and_others_are_not_touched(void **state)
{
    struct store_fixture *here = *state;
    int one = sw_owner_open(here->store), two = sw_owner_open(here->store);

    assert_true(sw_owner_take(one, "own-aaaaaaaa"));
    assert_false(sw_owner_take(two, "own-aaaaaaaa"));
    assert_true(sw_owner_take(two, "own-bbbbbbbb"));
    close(one);
    assert_true(sw_owner_take(two, "own-aaaaaaaa"));
    close(two);
}

static void a_lock_goes_with_its_process(void **state)
{
    struct store_fixture *here = *state;
    int ready[2], owners = sw_owner_open(here->store);
    char byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        int own = sw_owner_open(here->store);

        (void)!write(ready[1], sw_owner_take(own, "own-aaaaaaaa") ? "y" : "n", 1);
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    assert_false(sw_owner_take(owners, "own-aaaaaaaa"));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_true(sw_owner_take(owners, "own-aaaaaaaa"));
    close(owners);
    close(ready[0]);
    close(ready[1]);
}

static void an_owner_of_another_machine_is_left_alone_while_its_heart_beats(void **state)
{
    struct store_fixture *here = *state;
    const char *elsewhere = "11111111-2222-3333-4444-555555555555";
    int64_t now = sw_now_ms();
    struct sw_job fresh = row_of(elsewhere, now - 60 * 1000), old = row_of(elsewhere, now - OLD_MS);
    struct sw_job ahead = row_of(elsewhere, now + 60 * 1000);

    assert_true(sw_owner_lives(here->store, &fresh, now));
    assert_true(sw_owner_lives(here->store, &ahead, now));          /* its clock is a minute ahead */
    assert_false(sw_owner_lives(here->store, &old, now));
    json_decref(fresh.owner);
    json_decref(old.owner);
    json_decref(ahead.owner);
}

static void a_beat_is_written_for_the_owner_alone(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *me = sw_owner_json();
    struct sw_job job = { .name = (char *)"own", .platform = (char *)"local", .owner = me }, seen = { 0 };
    bool won;
    int64_t before;

    snprintf(job.id, sizeof job.id, "own-aaaaaaaa");
    assert_int_equal(sw_store_add(here->store, &job, &here->err), 0);
    assert_int_equal(sw_store_get(here->store, job.id, SW_COLUMNS_LIST, &seen, &here->err), 0);
    before = seen.updated_ms;
    sw_job_done(&seen);
    while (sw_now_ms() == before)
        sw_sleep_ms(1);
    sw_store_beat(here->store, job.id);
    assert_int_equal(sw_store_get(here->store, job.id, SW_COLUMNS_LIST, &seen, &here->err), 0);
    assert_true(seen.updated_ms > before);
    before = seen.updated_ms;
    sw_job_done(&seen);
    assert_int_equal(sw_store_claim(here->store, job.id, me, NULL, &won, &here->err), 0);
    while (sw_now_ms() == before)
        sw_sleep_ms(1);
    sw_store_beat(here->store, job.id);
    assert_int_equal(sw_store_get(here->store, job.id, SW_COLUMNS_LIST, &seen, &here->err), 0);
    assert_int_equal(seen.updated_ms, before);
    sw_job_done(&seen);
}

static void a_store_has_an_id_of_its_own_and_keeps_it(void **state)
{
    struct store_fixture *here = *state;
    char id[64], dir[] = "/tmp/slipway-store-XXXXXX";
    sw_auto(sw_store) struct sw_store *other = NULL;

    snprintf(id, sizeof id, "%s", sw_store_id(here->store));
    assert_int_equal(strlen(id), 16);
    reopen(here);
    assert_string_equal(sw_store_id(here->store), id);
    assert_non_null(mkdtemp(dir));
    other = sw_store_open(dir, false, &here->err);
    assert_string_not_equal(sw_store_id(other), id);
    sw_remove_tree(dir, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(an_owner_that_holds_its_lock_lives_whatever_its_pid),
        STORE_TEST(one_of_two_gets_a_lock_and_others_are_not_touched),
        STORE_TEST(a_lock_goes_with_its_process),
        STORE_TEST(an_owner_of_another_machine_is_left_alone_while_its_heart_beats),
        STORE_TEST(a_beat_is_written_for_the_owner_alone),
        STORE_TEST(a_store_has_an_id_of_its_own_and_keeps_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
