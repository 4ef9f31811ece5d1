/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_wait.c - waiting for sockets, for time, and for other threads.
 *
 * libcurl names the sockets it waits for; we name those that are ready. The simpler
 * curl_multi_perform() asks every request under way whenever anything happens: with 64 small
 * uploads that was 28 poll() calls a file, a quarter of what a file cost.
 *
 * A kept connection stays in the set with its last events, since the next request needs the same. When
 * bytes come while no request waits, the server has closed it, and it leaves the set.
 */
#include "net/http_internal.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

#define EVENTS_MOST 64

enum { RUNNING, WOKEN, SLEEPING };          /* http->sleep */

/* ---- what libcurl asks for ------------------------------------------------------------------- */

static void want(struct sw_http *http, int fd, unsigned char wanted)
{
    struct epoll_event event = { .data.fd = fd };

    if ((size_t)fd >= http->wanted_room) {
        size_t room = (size_t)fd * 2 + 64;

        http->wanted = sw_realloc_array(http->wanted, room, 1);
        memset(http->wanted + http->wanted_room, 0, room - http->wanted_room);
        http->wanted_room = room;
    }
    http->wanted[fd] = wanted;
    if (!wanted)
        return;
    event.events = (wanted & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) |
                   (wanted & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0);
    /* The number may be that of a socket closed meanwhile: the kernel knows, we do not. */
    if (epoll_ctl(http->epoll_fd, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
        epoll_ctl(http->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int socket_wanted(CURL *easy, curl_socket_t fd, int what, void *context, void *unused)
{
    (void)easy;
    (void)unused;
    want(context, fd, what == CURL_POLL_REMOVE ? 0 : (unsigned char)what);
    return 0;
}

static int timer_wanted(CURLM *multi, long timeout_ms, void *context)
{
    struct sw_http *http = context;

    (void)multi;
    http->timer_ms = timeout_ms < 0 ? -1 : sw_monotonic_ms() + timeout_ms;
    return 0;
}

int http_wait_open(struct sw_http *http)
{
    struct epoll_event event = { .events = EPOLLIN };

    http->timer_ms = -1;
    http->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    http->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    event.data.fd = http->wake_fd;
    http->curl->multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, socket_wanted);
    http->curl->multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    http->curl->multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, timer_wanted);
    http->curl->multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
    return http->epoll_fd < 0 || http->wake_fd < 0
               ? -1
               : epoll_ctl(http->epoll_fd, EPOLL_CTL_ADD, http->wake_fd, &event);
}

void http_wait_close(struct sw_http *http)
{
    if (http->epoll_fd >= 0)
        close(http->epoll_fd);
    if (http->wake_fd >= 0)
        close(http->wake_fd);
    free(http->wanted);
}

/* ---- what happened --------------------------------------------------------------------------- */

static CURLMcode happened(struct sw_http *http, const struct epoll_event *event)
{
    int fd = event->data.fd, bits = 0, running;

    if ((size_t)fd >= http->wanted_room || !http->wanted[fd]) {
        epoll_ctl(http->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return CURLM_OK;
    }
    bits |= event->events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0;
    bits |= event->events & EPOLLOUT ? CURL_CSELECT_OUT : 0;
    bits |= event->events & EPOLLERR ? CURL_CSELECT_ERR : 0;
    return http->curl->multi_socket_action(http->multi, fd, bits, &running);
}

CURLMcode http_wait_timer(struct sw_http *http)
{
    int running;

    if (http->timer_ms < 0 || http->timer_ms > sw_monotonic_ms())
        return CURLM_OK;
    http->timer_ms = -1;
    return http->curl->multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

/* How long epoll may sleep: not past the timer, and not at all when a thread called meanwhile. */
static int sleep_for(struct sw_http *http, int64_t wait_ms)
{
    int running = RUNNING;

    if (http->timer_ms >= 0) {
        int64_t left = http->timer_ms - sw_monotonic_ms();

        wait_ms = left < wait_ms ? left : wait_ms;
    }
    if (!__atomic_compare_exchange_n(&http->sleep, &running, SLEEPING, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return 0;
    return wait_ms < 0 ? 0 : wait_ms > 60000 ? 60000 : (int)wait_ms;
}

CURLMcode http_wait(struct sw_http *http, int64_t wait_ms)
{
    struct epoll_event events[EVENTS_MOST];
    CURLMcode result = CURLM_OK;
    uint64_t calls;
    int count = epoll_wait(http->epoll_fd, events, EVENTS_MOST, sleep_for(http, wait_ms));

    __atomic_store_n(&http->sleep, RUNNING, __ATOMIC_SEQ_CST);
    for (int i = 0; i < count && result == CURLM_OK; i++)
        if (events[i].data.fd == http->wake_fd)
            (void)!read(http->wake_fd, &calls, sizeof calls);
        else
            result = happened(http, &events[i]);
    return result == CURLM_OK ? http_wait_timer(http) : result;
}

/* Only a sleeper costs a system call. */
void sw_http_wake(struct sw_http *http)
{
    uint64_t one = 1;

    if (__atomic_exchange_n(&http->sleep, WOKEN, __ATOMIC_SEQ_CST) == SLEEPING)
        (void)!write(http->wake_fd, &one, sizeof one);
}
