/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pool.c - jobs of all weights are worked on once and answered in the loop; a loop that waits is woken
 * by a job or by another thread; the end waits for what is at work.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/clock.h"
#include "storage/pool.h"

enum { MANY = 300, LONG_MS = 60000 };

struct task {
    struct pool_job job;
    pthread_t worked_in, done_in;
    int worked, done;
    int *gate;                       /* work() ends when this is set; NULL: at once */
};

static void work(struct pool_job *job)
{
    struct task *task = (struct task *)job;

    task->worked_in = pthread_self();
    while (task->gate && !__atomic_load_n(task->gate, __ATOMIC_SEQ_CST))
        sw_sleep_ms(1);
    __atomic_add_fetch(&task->worked, 1, __ATOMIC_SEQ_CST);
}

static void done(struct pool_job *job)
{
    struct task *task = (struct task *)job;

    task->done_in = pthread_self();
    task->done++;
}

static void set_flag(void *context)
{
    __atomic_store_n((int *)context, 1, __ATOMIC_SEQ_CST);
}

static void every_job_is_worked_once_and_answered_in_the_loop(void **state)
{
    struct task *tasks = calloc(MANY, sizeof *tasks);
    struct pool *pool = pool_new();
    int64_t until = sw_monotonic_ms() + LONG_MS;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        tasks[i].job = (struct pool_job){ .work = work, .done = done, .weight = i % 3 };
        pool_run(pool, &tasks[i].job);
    }
    assert_int_equal(pool_pending(pool), MANY);
    while (pool_pending(pool) > 0 && sw_monotonic_ms() < until) {
        pool_wait(pool, 1000);
        pool_collect(pool);
    }
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(tasks[i].worked, 1);
        assert_int_equal(tasks[i].done, 1);
        assert_true(pthread_equal(tasks[i].done_in, pthread_self()));
        if (i % 3 == POOL_HEAVY)
            assert_false(pthread_equal(tasks[i].worked_in, pthread_self()));
    }
    pool_free(pool);
    free(tasks);
}

static void a_finished_job_wakes_the_loop(void **state)
{
    struct pool *pool = pool_new();
    int gate = 0, woken = 0;
    struct task task = { .job = { .work = work, .done = done, .weight = POOL_HEAVY }, .gate = &gate };
    int64_t until = sw_monotonic_ms() + LONG_MS / 2;

    (void)state;
    pool_on_ready(pool, set_flag, &woken);
    pool_run(pool, &task.job);
    assert_int_equal(pool_collect(pool), 0);
    assert_int_equal(__atomic_load_n(&woken, __ATOMIC_SEQ_CST), 0);
    set_flag(&gate);
    pool_wait(pool, LONG_MS);
    assert_true(sw_monotonic_ms() < until);
    assert_int_equal(pool_collect(pool), 1);
    assert_int_equal(__atomic_load_n(&woken, __ATOMIC_SEQ_CST), 1);
    pool_free(pool);
}

static void *poke(void *pool)
{
    pool_poke(pool);
    return NULL;
}

static void another_thread_wakes_the_loop_also_before_it_waits(void **state)
{
    struct pool *pool = pool_new();
    int64_t until = sw_monotonic_ms() + LONG_MS / 2;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, poke, pool), 0);
    pool_wait(pool, LONG_MS);
    pthread_join(thread, NULL);
    pool_poke(pool);
    pool_wait(pool, LONG_MS);
    assert_true(sw_monotonic_ms() < until);
    pool_collect(pool);                      /* it has been heard */
    until = sw_monotonic_ms() + 50;
    pool_wait(pool, 100);
    assert_true(sw_monotonic_ms() >= until);
    pool_free(pool);
}

static void *open_gate(void *gate)
{
    sw_sleep_ms(50);
    set_flag(gate);
    return NULL;
}

static void the_end_waits_for_what_is_at_work_and_answers_no_client(void **state)
{
    struct pool *pool = pool_new();
    int gate = 0;
    struct task task = { .job = { .work = work, .done = done, .weight = POOL_HEAVY }, .gate = &gate };
    pthread_t thread;

    (void)state;
    pool_run(pool, &task.job);
    while (pool_pending(pool) == 0)
        sw_sleep_ms(1);
    assert_int_equal(pthread_create(&thread, NULL, open_gate, &gate), 0);
    pool_free(pool);                         /* the job may not even have begun: then it never does */
    assert_int_equal(task.done, 0);
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_is_worked_once_and_answered_in_the_loop),
        cmocka_unit_test(a_finished_job_wakes_the_loop),
        cmocka_unit_test(another_thread_wakes_the_loop_also_before_it_waits),
        cmocka_unit_test(the_end_waits_for_what_is_at_work_and_answers_no_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
