/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh_threads.c - all platforms are polled at once, and no caller waits for the slowest.
 *
 * Each group of jobs is a task: one thread, which owns everything it needs. The caller waits for its tasks
 * until the deadline. A task that is slower goes on alone, writes what it learns into the store, and frees
 * itself. While it runs, a second caller that wants to poll the same place waits for it instead of starting
 * another one.
 *
 * A task holds a reference to its session (hold, release). So closing a session never waits for a platform
 * that does not answer: the last reference frees it (api/session.c).
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "base/thread.h"
#include "monitor/monitor_internal.h"

struct refresh_task {
    struct sw_monitor monitor;
    struct poll_group group;
    json_t *unreachable;
    int result;
    struct sw_error err;

    bool done;                       /* these three are guarded by the pool's lock */
    int references;                  /* the thread's and each waiting caller's */
    struct refresh_task *next;
};

struct sw_refresh_pool {
    pthread_mutex_t lock;
    pthread_cond_t task_done;
    struct refresh_task *running;
};

struct sw_refresh_pool *sw_refresh_pool_new(void)
{
    struct sw_refresh_pool *pool = sw_new(struct sw_refresh_pool);

    pthread_mutex_init(&pool->lock, NULL);
    sw_cond_init_monotonic(&pool->task_done);
    return pool;
}

void sw_refresh_pool_free(struct sw_refresh_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->task_done);
    free(pool);
}

static void drop_reference(struct refresh_task *task)
{
    SW_ASSERT_HELD(&task->monitor.pool->lock);
    assert(task->references > 0);
    if (--task->references > 0)
        return;
    free(task->group.ids);
    free(task->group.profile);
    json_decref(task->unreachable);
    free(task);
}

static void *run_task(void *argument)
{
    struct refresh_task *task = argument;
    struct sw_monitor monitor = task->monitor;

    task->result = monitor_reconcile(&monitor, &task->group, task->unreachable, &task->err);
    pthread_mutex_lock(&monitor.pool->lock);
    for (struct refresh_task **at = &monitor.pool->running; *at; at = &(*at)->next)
        if (*at == task) {
            *at = task->next;
            break;
        }
    task->done = true;
    drop_reference(task);
    pthread_cond_broadcast(&monitor.pool->task_done);
    pthread_mutex_unlock(&monitor.pool->lock);
    monitor.release(monitor.context);        /* the session may be gone after this */
    return NULL;
}

/* The task that polls the place of this group already; NULL: none. */
static struct refresh_task *task_for(struct sw_refresh_pool *pool, const struct poll_group *group)
{
    SW_ASSERT_HELD(&pool->lock);
    for (struct refresh_task *task = pool->running; task; task = task->next)
        if (task->group.platform == group->platform && task->group.place == group->place &&
            (task->group.act || !group->act) && sw_text_same(task->group.profile, group->profile))
            return task;
    return NULL;
}

/* Start a task, or join the one that runs already. Takes over what `group` owns. */
static struct refresh_task *start_task(const struct sw_monitor *monitor, struct poll_group *group)
{
    struct sw_refresh_pool *pool = monitor->pool;
    struct refresh_task *task;

    pthread_mutex_lock(&pool->lock);
    task = task_for(pool, group);
    if (task) {
        task->references++;
        pthread_mutex_unlock(&pool->lock);
        return task;
    }
    task = sw_new(struct refresh_task);
    task->monitor = *monitor;
    task->group = *group;
    *group = (struct poll_group){ 0 };
    task->unreachable = json_array();
    task->references = 2;
    task->next = pool->running;
    pool->running = task;
    pthread_mutex_unlock(&pool->lock);

    monitor->hold(monitor->context);
    if (sw_thread_start(NULL, 0, run_task, task) < 0)        /* the system gives no thread: run it here */
        run_task(task);
    return task;
}

static void note_slow(json_t *unreachable, const struct poll_group *group, int64_t asked_ms)
{
    char age[24];
    sw_autofree char *message = NULL;

    sw_age_format(sw_monotonic_ms() - asked_ms, age);
    message = sw_format("no answer after %s; its jobs are shown as last seen", age);
    json_array_append_new(unreachable, sw_json_object(
        SW_STR("platform", group->platform->name), SW_STR("message", message),
        SW_BOOL("slow", true)));
}

/* false: the deadline has passed. */
static bool wait_for_task(struct sw_refresh_pool *pool, const struct refresh_task *task,
                          int64_t deadline_ms)
{
    const struct timespec until = { .tv_sec = deadline_ms / 1000,
                                    .tv_nsec = deadline_ms % 1000 * 1000000 };

    SW_ASSERT_HELD(&pool->lock);
    while (!task->done) {
        int code = deadline_ms < 0
                       ? pthread_cond_wait(&pool->task_done, &pool->lock)
                       : pthread_cond_timedwait(&pool->task_done, &pool->lock, &until);

        if (code == ETIMEDOUT)
            return task->done;
    }
    return true;
}

static int collect(struct sw_refresh_pool *pool, struct refresh_task **tasks, size_t count,
                   int64_t asked_ms, int64_t patience_ms, json_t *unreachable, struct sw_error *err)
{
    int64_t deadline_ms = patience_ms < 0 ? -1 : asked_ms + patience_ms;
    int result = 0;

    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < count; i++) {
        struct refresh_task *task = tasks[i];

        if (!wait_for_task(pool, task, deadline_ms)) {
            if (unreachable)
                note_slow(unreachable, &task->group, asked_ms);
        } else {
            if (unreachable)
                json_array_extend(unreachable, task->unreachable);
            if (task->result < 0 && result == 0 && err)
                *err = task->err;
            result = task->result < 0 ? -1 : result;
        }
        drop_reference(task);
    }
    pthread_mutex_unlock(&pool->lock);
    return result;
}

int monitor_poll_all(const struct sw_monitor *monitor, struct poll_group *groups, size_t count,
                     int64_t deadline_ms, json_t *unreachable, struct sw_error *err)
{
    sw_autofree struct refresh_task **tasks = NULL;
    int64_t asked_ms = sw_monotonic_ms();

    if (count == 0)
        return 0;
    if (!monitor->pool || (count == 1 && deadline_ms < 0)) {
        for (size_t i = 0; i < count; i++)
            if (monitor_reconcile(monitor, &groups[i], unreachable, err) < 0)
                return -1;
        return 0;
    }
    tasks = sw_alloc(count * sizeof *tasks);
    for (size_t i = 0; i < count; i++)
        tasks[i] = start_task(monitor, &groups[i]);
    return collect(monitor->pool, tasks, count, asked_ms, deadline_ms, unreachable, err);
}
