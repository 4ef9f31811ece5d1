/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_watchers.c - watchers of several hosts on one store: who asks a place, and who sends an attempt.
 */
#include "store_test.h"

static const char ID[] = "job-aaaaaaaa";
enum { EVERY_MS = 60 * 1000 };

static int64_t add_place(struct store_fixture *here)
{
    sw_auto(json) json_t *options = json_object();
    const struct sw_place place = { .platform = (char *)"rehearsal", .address = (char *)"here",
                                    .identity = (char *)"one", .options = options };
    int64_t seq = 0;

    assert_ok(sw_store_place_add(here->store, &place, &seq, &here->err));
    return seq;
}

static void set(struct store_fixture *here, const char *sql)
{
    assert_int_equal(sqlite3_exec(here->store->db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static int ask(struct store_fixture *here, int64_t place, const char *host)
{
    return sw_store_place_ask(here->store, place, host, EVERY_MS, &here->err);
}

static void a_place_that_was_just_asked_is_not_asked_by_another(void **state)
{
    struct store_fixture *here = *state;
    int64_t place = add_place(here);

    assert_int_equal(ask(here, place, "ann"), 1);
    assert_int_equal(ask(here, place, "ann"), 1);
    assert_int_equal(ask(here, place, "ben"), 0);
    set(here, "UPDATE places SET asked_ms = asked_ms - 61000");
    assert_int_equal(ask(here, place, "ben"), 1);
    assert_int_equal(ask(here, place, "ann"), 0);
}

static void a_place_that_gave_no_answer_is_the_next_ones(void **state)
{
    struct store_fixture *here = *state;
    int64_t place = add_place(here);

    assert_int_equal(ask(here, place, "ann"), 1);
    sw_store_place_unasked(here->store, place, "ben");
    assert_int_equal(ask(here, place, "ben"), 0);
    sw_store_place_unasked(here->store, place, "ann");
    assert_int_equal(ask(here, place, "ben"), 1);
    sw_store_watcher_gone(here->store, "ben");
    assert_int_equal(ask(here, place, "ann"), 1);
}

static void a_clock_that_was_far_ahead_stops_no_other_host(void **state)
{
    struct store_fixture *here = *state;
    int64_t place = add_place(here);

    assert_int_equal(ask(here, place, "ann"), 1);
    set(here, "UPDATE places SET asked_ms = asked_ms + 3600000");
    assert_int_equal(ask(here, place, "ben"), 1);
}

static void a_watcher_lives_while_it_shows_itself(void **state)
{
    struct store_fixture *here = *state;

    assert_false(sw_store_watcher_lives(here->store, "ann"));
    assert_false(sw_store_watcher_lives(here->store, NULL));
    assert_ok(sw_store_watcher_beat(here->store, "ann", &here->err));
    assert_true(sw_store_watcher_lives(here->store, "ann"));
    assert_false(sw_store_watcher_lives(here->store, "ben"));
    set(here, "UPDATE watchers SET seen_ms = seen_ms - 151000");
    assert_false(sw_store_watcher_lives(here->store, "ann"));
    assert_ok(sw_store_watcher_beat(here->store, "ann", &here->err));
    sw_store_watcher_gone(here->store, "ann");
    assert_false(sw_store_watcher_lives(here->store, "ann"));
}

static int count_job(void *context, const struct sw_job *job)
{
    assert_string_equal(job->id, ID);
    ++*(int *)context;
    return 0;
}

static int own(struct store_fixture *here, int64_t place, const char *host)
{
    int count = 0;

    assert_ok(sw_store_own_attempts(here->store, place, host, count_job, &count, &here->err));
    return count;
}

static void attempts_belong_to_the_host_that_a_job_was_left_on(void **state)
{
    struct store_fixture *here = *state;
    struct sw_job job = { .name = (char *)"train", .platform = (char *)"rehearsal",
                          .place = add_place(here), .host = (char *)"ann" };
    sw_auto(sw_job) struct sw_job row = { 0 };

    memcpy(job.id, ID, sizeof ID);
    assert_ok(sw_store_add(here->store, &job, &here->err));
    assert_int_equal(own(here, job.place, "ann"), 1);
    assert_int_equal(own(here, job.place, "ben"), 0);
    assert_ok(sw_store_left_on(here->store, ID, "ben", &here->err));
    assert_int_equal(own(here, job.place, "ann"), 0);
    assert_int_equal(own(here, job.place, "ben"), 1);
    assert_ok(sw_store_get(here->store, ID, SW_COLUMNS_ALL, &row, &here->err));
    assert_string_equal(row.host, "ben");
    set(here, "UPDATE jobs SET phase = 'active'");
    assert_int_equal(own(here, job.place, "ben"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_place_that_was_just_asked_is_not_asked_by_another),
        STORE_TEST(a_place_that_gave_no_answer_is_the_next_ones),
        STORE_TEST(a_clock_that_was_far_ahead_stops_no_other_host),
        STORE_TEST(a_watcher_lives_while_it_shows_itself),
        STORE_TEST(attempts_belong_to_the_host_that_a_job_was_left_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
