/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh_threads.c - all platforms are asked at once, and nobody waits for the slowest.
 *
 * Each question is an errand: one thread, which owns everything it needs. The caller waits for its
 * errands until the deadline; one that is not back by then goes on alone, finishes its work on the
 * store, and cleans up after itself. While it is out nobody else asks the same platform the same
 * thing: a second caller waits for the errand that is under way.
 *
 * An errand holds its monitor (the session) while it is out. Closing the session therefore never
 * waits for a dead platform: the last one home turns off the light (api/session.c).
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "base/thread.h"
#include "monitor/monitor_internal.h"

struct errand {
    struct sw_monitor monitor;
    struct question question;
    json_t *unreachable;
    int result;
    struct sw_error err;

    bool back;                       /* these three are guarded by the crew's lock */
    int references;                  /* the thread's and each waiting caller's */
    struct errand *next;
};

struct sw_refresh_pool {
    pthread_mutex_t lock;
    pthread_cond_t came_back;
    struct errand *out;
};

struct sw_refresh_pool *sw_refresh_pool_new(void)
{
    struct sw_refresh_pool *crew = sw_new(struct sw_refresh_pool);
    pthread_condattr_t monotonic;

    pthread_mutex_init(&crew->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&crew->came_back, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return crew;
}

void sw_refresh_pool_free(struct sw_refresh_pool *crew)
{
    if (!crew)
        return;
    pthread_mutex_destroy(&crew->lock);
    pthread_cond_destroy(&crew->came_back);
    free(crew);
}

/* With the lock held. */
static void drop(struct errand *errand)
{
    if (--errand->references > 0)
        return;
    free(errand->question.ids);
    free(errand->question.profile);
    json_decref(errand->unreachable);
    free(errand);
}

static void *go(void *argument)
{
    struct errand *errand = argument;
    struct sw_monitor monitor = errand->monitor;

    errand->result = monitor_look(&monitor, &errand->question, errand->unreachable, &errand->err);
    pthread_mutex_lock(&monitor.crew->lock);
    for (struct errand **at = &monitor.crew->out; *at; at = &(*at)->next)
        if (*at == errand) {
            *at = errand->next;
            break;
        }
    errand->back = true;
    drop(errand);
    pthread_cond_broadcast(&monitor.crew->came_back);
    pthread_mutex_unlock(&monitor.crew->lock);
    monitor.release(monitor.context);        /* the session may be gone after this */
    return NULL;
}

/* With the lock held: somebody is asking that very place already. */
static struct errand *under_way(struct sw_refresh_pool *crew, const struct question *question)
{
    for (struct errand *errand = crew->out; errand; errand = errand->next)
        if (errand->question.platform == question->platform &&
            errand->question.place == question->place &&
            sw_text_same(errand->question.profile, question->profile))
            return errand;
    return NULL;
}

/* Send somebody, or join who is out already. Takes over what `question` owns. */
static struct errand *send_errand(const struct sw_monitor *monitor, struct question *question)
{
    struct sw_refresh_pool *crew = monitor->crew;
    struct errand *errand;

    pthread_mutex_lock(&crew->lock);
    errand = under_way(crew, question);
    if (errand) {
        errand->references++;
        pthread_mutex_unlock(&crew->lock);
        return errand;
    }
    errand = sw_new(struct errand);
    errand->monitor = *monitor;
    errand->question = *question;
    *question = (struct question){ 0 };
    errand->unreachable = json_array();
    errand->references = 2;
    errand->next = crew->out;
    crew->out = errand;
    pthread_mutex_unlock(&crew->lock);

    monitor->hold(monitor->context);
    if (sw_thread_start(NULL, 0, go, errand) < 0)            /* no thread to be had: go ourselves */
        go(errand);
    return errand;
}

static void note_slow(json_t *unreachable, const struct question *question, int64_t asked_ms)
{
    char age[24];
    sw_autofree char *message = NULL;

    sw_age_format(sw_monotonic_ms() - asked_ms, age);
    message = sw_format("still asking after %s; its jobs are shown as they were last seen", age);
    json_array_append_new(unreachable, sw_json_object(
        SW_STR("platform", question->platform->name), SW_STR("message", message),
        SW_BOOL("slow", true)));
}

/* With the lock held. false: the deadline has passed. */
static bool await(struct sw_refresh_pool *crew, const struct errand *errand, int64_t deadline_ms)
{
    const struct timespec until = { .tv_sec = deadline_ms / 1000,
                                    .tv_nsec = deadline_ms % 1000 * 1000000 };

    while (!errand->back) {
        int code = deadline_ms < 0
                       ? pthread_cond_wait(&crew->came_back, &crew->lock)
                       : pthread_cond_timedwait(&crew->came_back, &crew->lock, &until);

        if (code == ETIMEDOUT)
            return errand->back;
    }
    return true;
}

static int collect(struct sw_refresh_pool *crew, struct errand **errands, size_t count, int64_t asked_ms,
                   int64_t patience_ms, json_t *unreachable, struct sw_error *err)
{
    int64_t deadline_ms = patience_ms < 0 ? -1 : asked_ms + patience_ms;
    int result = 0;

    pthread_mutex_lock(&crew->lock);
    for (size_t i = 0; i < count; i++) {
        struct errand *errand = errands[i];

        if (!await(crew, errand, deadline_ms)) {
            if (unreachable)
                note_slow(unreachable, &errand->question, asked_ms);
        } else {
            if (unreachable)
                json_array_extend(unreachable, errand->unreachable);
            if (errand->result < 0 && result == 0 && err)
                *err = errand->err;
            result = errand->result < 0 ? -1 : result;
        }
        drop(errand);
    }
    pthread_mutex_unlock(&crew->lock);
    return result;
}

int monitor_ask_all(const struct sw_monitor *monitor, struct question *questions, size_t count,
                    int64_t deadline_ms, json_t *unreachable, struct sw_error *err)
{
    sw_autofree struct errand **errands = NULL;
    int64_t asked_ms = sw_monotonic_ms();

    if (count == 0)
        return 0;
    if (!monitor->crew || (count == 1 && deadline_ms < 0)) {
        for (size_t i = 0; i < count; i++)
            if (monitor_look(monitor, &questions[i], unreachable, err) < 0)
                return -1;
        return 0;
    }
    errands = sw_alloc(count * sizeof *errands);
    for (size_t i = 0; i < count; i++)
        errands[i] = send_errand(monitor, &questions[i]);
    return collect(monitor->crew, errands, count, asked_ms, deadline_ms, unreachable, err);
}
