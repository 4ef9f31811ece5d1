/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounded.c - a call to a platform that its caller does not wait for longer than it wants.
 *
 * Platforms have deadlines of their own, but not all, and not for every request. The call runs in a
 * thread that holds the session; a caller whose time is up leaves it to itself, and it cleans up.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/thread.h"

struct bounded_call {
    struct sw_session *session;
    struct api_bounded what;
    int result;
    struct sw_error err;

    pthread_mutex_t lock;
    pthread_cond_t came_back;
    bool back, left;                 /* guarded */
};

static void release(struct bounded_call *call)
{
    struct sw_session *session = call->session;

    call->what.release(call->what.context);
    pthread_cond_destroy(&call->came_back);
    pthread_mutex_destroy(&call->lock);
    free(call);
    api_release(session);            /* it may be gone after this */
}

static void *run_call(void *argument)
{
    struct bounded_call *call = argument;
    bool left;

    call->result = call->what.run(call->what.context, &call->err);
    pthread_mutex_lock(&call->lock);
    call->back = true;
    left = call->left;
    pthread_cond_broadcast(&call->came_back);
    pthread_mutex_unlock(&call->lock);
    if (left)
        release(call);
    return NULL;
}

/* true: it is back. Otherwise it is left alone from now on. */
static bool await(struct bounded_call *call, int64_t patience_ms)
{
    int64_t until_ms = sw_monotonic_ms() + patience_ms;
    const struct timespec until = { .tv_sec = until_ms / 1000,
                                    .tv_nsec = until_ms % 1000 * 1000000 };
    bool back;
    int code = 0;

    pthread_mutex_lock(&call->lock);
    while (!call->back && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&call->came_back, &call->lock, &until);
    back = call->back;
    call->left = !back;
    pthread_mutex_unlock(&call->lock);
    return back;
}

int api_call_within(struct sw_session *session, const struct api_bounded *what,
                    int64_t patience_ms, bool *late, struct sw_error *err)
{
    struct bounded_call *call = sw_new(struct bounded_call);
    int result;

    *late = false;
    *call = (struct bounded_call){ .session = session, .what = *what };
    pthread_mutex_init(&call->lock, NULL);
    sw_cond_init_monotonic(&call->came_back);
    api_hold(session);
    if (sw_thread_start(NULL, 0, run_call, call) < 0)              /* no thread to be had */
        run_call(call);
    if (!await(call, patience_ms)) {
        *late = true;
        return sw_fail(err, SW_E_UNREACHABLE, "no answer after %lld s",
                       (long long)(patience_ms / 1000));
    }
    result = call->result;
    if (result < 0 && err)
        *err = call->err;
    release(call);
    return result;
}
