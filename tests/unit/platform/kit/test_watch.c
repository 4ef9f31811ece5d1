/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_watch.c - a thread that listens, with a source that the test drives.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "platform/kit/watch.h"

enum { LONG_MS = 20000 };

static struct stub {                 /* what the source does, and what it was asked */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum sw_watch_end end;           /* of the streams */
    json_t *event;                   /* to be told by the stream that is open */
    bool refuses, hang_up, interrupted, freed;
    int streams;
} stub = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static bool stub_start(void *context)
{
    (void)context;
    return !stub.refuses;
}

static enum sw_watch_end stub_listen(void *context, struct sw_watch *watch)
{
    (void)context;
    pthread_mutex_lock(&stub.lock);
    stub.streams++;
    pthread_cond_broadcast(&stub.changed);
    while (stub.end == SW_WATCH_STREAM_ENDED && !stub.hang_up && !stub.interrupted) {
        json_t *event = stub.event;

        stub.event = NULL;
        if (!event) {
            pthread_cond_wait(&stub.changed, &stub.lock);
            continue;
        }
        pthread_mutex_unlock(&stub.lock);        /* interrupt() comes with the watch's lock held */
        sw_watch_event(watch, event);
        json_decref(event);
        pthread_mutex_lock(&stub.lock);
    }
    stub.hang_up = false;
    pthread_mutex_unlock(&stub.lock);
    return stub.end;
}

static void stub_interrupt(void *context)
{
    (void)context;
    pthread_mutex_lock(&stub.lock);
    stub.interrupted = true;
    pthread_cond_broadcast(&stub.changed);
    pthread_mutex_unlock(&stub.lock);
}

static bool stub_note(json_t *cache, const json_t *event)
{
    json_object_set(cache, "heard", (json_t *)event);
    return !json_is_false(event);
}

static void stub_done(void *context)
{
    (void)context;
    pthread_mutex_lock(&stub.lock);
    stub.freed = true;
    pthread_cond_broadcast(&stub.changed);
    pthread_mutex_unlock(&stub.lock);
}

static const struct sw_watch_source source = {
    .start = stub_start, .listen = stub_listen, .interrupt = stub_interrupt, .note = stub_note,
    .done = stub_done,
};

static int begin(void **state)
{
    stub.end = SW_WATCH_STREAM_ENDED;
    stub.refuses = stub.hang_up = stub.interrupted = stub.freed = false;
    stub.streams = 0;
    *state = sw_watch_new(&source, NULL);
    return 0;
}

static void tell(json_t *event)
{
    pthread_mutex_lock(&stub.lock);
    stub.event = event;
    stub.hang_up = event == NULL;
    pthread_cond_broadcast(&stub.changed);
    pthread_mutex_unlock(&stub.lock);
}

static void wait_for_streams(int count)
{
    pthread_mutex_lock(&stub.lock);
    while (stub.streams < count)
        pthread_cond_wait(&stub.changed, &stub.lock);
    pthread_mutex_unlock(&stub.lock);
}

static bool wakes(int fd)
{
    uint64_t count;

    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, LONG_MS) == 1 &&
           read(fd, &count, sizeof count) == sizeof count;
}

static json_t *heard(struct sw_watch *watch, bool *listening)
{
    json_t *cache = sw_watch_lock(watch), *found = json_incref(json_object_get(cache, "heard"));

    *listening = cache != NULL;
    sw_watch_unlock(watch);
    return found;
}

static int end(void **state)
{
    sw_watch_close(*state);
    pthread_mutex_lock(&stub.lock);
    while (!stub.freed)
        pthread_cond_wait(&stub.changed, &stub.lock);
    pthread_mutex_unlock(&stub.lock);
    return 0;
}

static void nothing_is_opened_before_a_descriptor_is_wanted(void **state)
{
    bool listening;

    json_decref(heard(*state, &listening));
    assert_false(listening);
    assert_int_equal(stub.streams, 0);
}

static void an_event_wakes_and_is_in_the_cache(void **state)
{
    int fd = sw_watch_fd(*state);
    bool listening;
    json_t *found;

    assert_true(fd >= 0);
    assert_int_equal(sw_watch_fd(*state), fd);
    wait_for_streams(1);
    tell(json_string("die"));
    assert_true(wakes(fd));
    found = heard(*state, &listening);
    assert_true(listening);
    assert_string_equal(json_string_value(found), "die");
    json_decref(found);
}

static void an_event_that_changes_nothing_wakes_no_caller(void **state)
{
    int fd = sw_watch_fd(*state);
    bool listening = false;
    json_t *found = NULL;

    wait_for_streams(1);
    tell(json_false());
    while (!found) {
        found = heard(*state, &listening);
        sw_sleep_ms(1);
    }
    assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0), 0);
    json_decref(found);
}

static void after_a_gap_the_cache_is_empty_and_callers_list_again(void **state)
{
    int fd = sw_watch_fd(*state);
    bool listening;

    wait_for_streams(1);
    tell(json_string("die"));
    assert_true(wakes(fd));
    tell(NULL);
    assert_true(wakes(fd));
    wait_for_streams(2);
    assert_null(heard(*state, &listening));
}

static void a_server_without_streams_is_asked_less_and_less_often(void **state)
{
    int64_t began_ms = sw_monotonic_ms();

    stub.end = SW_WATCH_NO_STREAM;
    assert_true(sw_watch_fd(*state) >= 0);
    wait_for_streams(3);
    assert_true(sw_monotonic_ms() - began_ms >= 400 + 800);
}

static void a_server_whose_events_are_not_reliable_has_no_descriptor(void **state)
{
    stub.end = SW_WATCH_UNSUPPORTED;
    for (int64_t until = sw_monotonic_ms() + LONG_MS; sw_watch_fd(*state) >= 0;) {
        assert_true(sw_monotonic_ms() < until);
        sw_sleep_ms(1);
    }
    assert_int_equal(stub.streams, 1);
}

static void a_source_that_cannot_start_has_no_descriptor(void **state)
{
    stub.refuses = true;
    assert_int_equal(sw_watch_fd(*state), -1);
    assert_int_equal(sw_watch_fd(*state), -1);
    assert_int_equal(stub.streams, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_opened_before_a_descriptor_is_wanted, begin, end),
        cmocka_unit_test_setup_teardown(an_event_wakes_and_is_in_the_cache, begin, end),
        cmocka_unit_test_setup_teardown(an_event_that_changes_nothing_wakes_no_caller, begin, end),
        cmocka_unit_test_setup_teardown(after_a_gap_the_cache_is_empty_and_callers_list_again, begin, end),
        cmocka_unit_test_setup_teardown(a_server_without_streams_is_asked_less_and_less_often, begin, end),
        cmocka_unit_test_setup_teardown(a_server_whose_events_are_not_reliable_has_no_descriptor, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_source_that_cannot_start_has_no_descriptor, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
