/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_crowd.c - many processes and threads at once, some of them killed: no row lost, doubled or
 * half written, one winner for each claim.
 */
#include "store_test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { PROCESSES = 16, JOBS_EACH = 25, SHARED = 10, THREADS = 8, KILLS = 30 };

static void join(const pid_t *children, size_t count)
{
    int failed = 0;

    for (size_t i = 0; i < count; i++) {
        int status = 0;

        failed += waitpid(children[i], &status, 0) != children[i] || status != 0;
    }
    assert_int_equal(failed, 0);
}

static void crowd(struct store_fixture *here, int (*work)(const char *dir, int index))
{
    pid_t children[PROCESSES];

    sw_store_close(here->store);          /* a database must not be carried through a fork */
    here->store = NULL;
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(work(here->dir, i));
    }
    join(children, PROCESSES);
    reopen(here);
}

static int report(const struct sw_error *err)
{
    fprintf(stderr, "%s\n", err->message);
    return 1;
}

/* ---- own jobs and shared ones --------------------------------------------------------------- */

static int live(struct sw_store *store, const char *id, struct sw_error *err)
{
    struct sw_observation running = observation(id, SW_RUNNING), done = observation(id, SW_COMPLETE);

    if (sw_store_submitted(store, id, "remote", NULL, NULL, err) < 0 ||
        sw_store_saw(store, &running, NULL, sw_now_ms(), NULL, err) < 0)
        return -1;
    return sw_store_saw(store, &done, NULL, sw_now_ms(), NULL, err);
}

/* Add our own jobs; race with everybody for the shared ids. */
static int add_and_live(const char *dir, int index)
{
    struct sw_error err = { 0 };
    sw_auto(sw_store) struct sw_store *store = sw_store_open(dir, false, &err);
    char id[SW_ID_SIZE];

    if (!store)
        return report(&err);
    for (int i = 0; i < JOBS_EACH; i++) {
        snprintf(id, sizeof id, "job%d-%d-aaaaaaaa", index, i);
        if (add_job(store, id, &err) < 0 || live(store, id, &err) < 0)
            return report(&err);
        snprintf(id, sizeof id, "shared%d-aaaaaaaa", i % SHARED);
        if (add_job(store, id, &err) < 0 && err.code != SW_E_CONFLICT)
            return report(&err);
        if (live(store, id, &err) < 0)
            return report(&err);
    }
    return 0;
}

static void sixteen_processes_lose_and_double_nothing(void **state)
{
    struct store_fixture *here = *state;
    const int jobs = PROCESSES * JOBS_EACH + SHARED;
    sw_autofree char *problem = NULL;

    crowd(here, add_and_live);
    assert_int_equal(number(here, "SELECT count(*) FROM jobs"), jobs);
    assert_int_equal(number(here, "SELECT count(*) FROM jobs WHERE state = 'Complete'"), jobs);
    assert_int_equal(number(here, "SELECT count(*) FROM attempts"), jobs);
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE kind = 'submitting'"), jobs);
    /* A late process learnt that the job is complete; none wrote Running over it. */
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE kind = 'state'"), 2 * jobs);
    assert_ok(sw_store_check(here->store, &problem, &here->err));
    assert_string_equal(problem, "");
}

/* ---- one winner ----------------------------------------------------------------------------- */

static json_t *owner(int index)
{
    return sw_json_object(SW_INT("pid", index));
}

static int claim_all(const char *dir, int index)
{
    struct sw_error err = { 0 };
    sw_auto(sw_store) struct sw_store *store = sw_store_open(dir, false, &err);
    sw_auto(json) json_t *dead = owner(-1);
    sw_auto(json) json_t *me = owner(index);
    char id[SW_ID_SIZE];

    for (int i = 0; store && i < SHARED; i++) {
        int attempt = 0;
        bool won = false;

        snprintf(id, sizeof id, "shared%d-aaaaaaaa", i);
        if (sw_store_claim(store, id, dead, me, &won, &err) < 0 ||
            (won && sw_store_event(store, id, "won", me, &err) < 0))
            return report(&err);
        snprintf(id, sizeof id, "failed%d-aaaaaaaa", i);
        if (sw_store_next_attempt(store, id, 1, "again", &attempt, &err) < 0 &&
            err.code != SW_E_CONFLICT)
            return report(&err);
    }
    return store ? 0 : report(&err);
}

static void a_claim_and_an_attempt_have_exactly_one_winner(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *dead = owner(-1);

    for (int i = 0; i < SHARED; i++) {
        struct sw_job job = { .name = (char *)"n", .platform = (char *)"local", .owner = dead };

        snprintf(job.id, sizeof job.id, "shared%d-aaaaaaaa", i);
        assert_ok(sw_store_add(here->store, &job, &here->err));
        snprintf(job.id, sizeof job.id, "failed%d-aaaaaaaa", i);
        assert_ok(sw_store_add(here->store, &job, &here->err));
        saw(here, job.id, SW_ERROR);
    }
    crowd(here, claim_all);
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE kind = 'won'"), SHARED);
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE kind = 'claimed'"), SHARED);
    assert_int_equal(number(here, "SELECT max(attempt) FROM jobs"), 2);
    assert_int_equal(number(here, "SELECT count(*) FROM attempts WHERE number = 2"), SHARED);
}

/* ---- kill -9 -------------------------------------------------------------------------------- */

/* Adds jobs for ever; tells through the pipe each time one is certainly stored. */
static void write_until_killed(const char *dir, int round, int tell)
{
    sw_auto(sw_store) struct sw_store *store = sw_store_open(dir, false, NULL);
    char id[SW_ID_SIZE];

    for (int i = 0; store; i++) {
        snprintf(id, sizeof id, "kill%d-%d-aaaaaaaa", round, i);
        if (add_job(store, id, NULL) < 0 || write(tell, "+", 1) != 1)
            break;
    }
    _exit(1);
}

/* Kill a writer after it told of `wanted` jobs, wherever it is then. How many it told of. */
static int64_t kill_a_writer(struct store_fixture *here, int round)
{
    int wanted = 1 + round % 7, ends[2];
    int64_t told = 0;
    pid_t child;
    char byte;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        write_until_killed(here->dir, round, ends[1]);
    }
    close(ends[1]);
    while (told < wanted && read(ends[0], &byte, 1) == 1)
        told++;
    for (volatile int spin = 0; spin < round * 20000; spin++)
        ;                                 /* a different instant each time */
    kill(child, SIGKILL);
    while (read(ends[0], &byte, 1) == 1)
        told++;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return told;
}

static void a_killed_writer_leaves_whole_rows_and_every_promise_kept(void **state)
{
    struct store_fixture *here = *state;
    int64_t told = 0;

    sw_store_close(here->store);
    here->store = NULL;
    for (int round = 0; round < KILLS; round++) {
        told += kill_a_writer(here, round);
        here->store = sw_store_open(here->dir, false, &here->err);
        assert_non_null(here->store);
        /* One more than told is possible each time: killed between commit and chosen. */
        assert_in_range(number(here, "SELECT count(*) FROM jobs"), told, told + round + 1);
        assert_int_equal(number(here, "SELECT count(*) FROM jobs WHERE seq NOT IN (SELECT job"
                                      " FROM attempts) OR seq NOT IN (SELECT job FROM events) OR"
                                      " seq NOT IN (SELECT job FROM documents)"), 0);
        sw_store_close(here->store);
        here->store = NULL;
    }
    reopen(here);
    {
        sw_autofree char *problem = NULL;

        assert_ok(sw_store_check(here->store, &problem, &here->err));
        assert_string_equal(problem, "");
    }
}

/* ---- threads -------------------------------------------------------------------------------- */

struct thread {
    pthread_t id;
    int index;
    struct store_fixture *here;
    struct sw_error err;
    int result;
};

static int ignore_job(void *context, const struct sw_job *job)
{
    (void)context;
    (void)job;
    return 0;
}

static void *use_store(void *argument)
{
    struct thread *self = argument;
    struct sw_store *store = self->here->store;
    const struct sw_job_filter active = { .active_only = true, .columns = SW_COLUMNS_ALL };
    char id[SW_ID_SIZE];

    for (int i = 0; i < JOBS_EACH && self->result == 0; i++) {
        snprintf(id, sizeof id, "job%d-%d-aaaaaaaa", self->index, i);
        if (add_job(store, id, &self->err) < 0 || live(store, id, &self->err) < 0 ||
            sw_store_list(store, &active, ignore_job, NULL, &self->err) < 0)
            self->result = -1;
    }
    return NULL;
}

static void one_store_serves_many_threads(void **state)
{
    struct store_fixture *here = *state;
    struct thread threads[THREADS] = { 0 };

    for (int i = 0; i < THREADS; i++) {
        threads[i].index = i;
        threads[i].here = here;
        assert_int_equal(pthread_create(&threads[i].id, NULL, use_store, &threads[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i].id, NULL);
        if (threads[i].result < 0)
            fail_msg("%s", threads[i].err.message);
    }
    assert_int_equal(number(here, "SELECT count(*) FROM jobs WHERE state = 'Complete'"),
                     THREADS * JOBS_EACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(sixteen_processes_lose_and_double_nothing),
        STORE_TEST(a_claim_and_an_attempt_have_exactly_one_winner),
        STORE_TEST(a_killed_writer_leaves_whole_rows_and_every_promise_kept),
        STORE_TEST(one_store_serves_many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
