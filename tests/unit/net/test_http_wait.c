/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http_wait.c - a loop that waits for sockets is woken by other threads, sleeps when there is nothing
 * to do, and is not kept awake by a connection that its server has closed. The server is a thread of ours
 * on loopback.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "net/http_internal.h"

enum { LONG_MS = 60000 };

/* ---- a server that answers one request per connection and keeps it until told otherwise --------- */

struct server {
    int listener, kept;
    unsigned port;
    pthread_t thread;
};

static void read_request(int fd)
{
    char text[4096];
    size_t length = 0;
    ssize_t n;

    while (length < sizeof text - 1 && (n = read(fd, text + length, sizeof text - 1 - length)) > 0) {
        length += (size_t)n;
        text[length] = '\0';
        if (strstr(text, "\r\n\r\n"))
            return;
    }
}

static void *answer_one(void *context)
{
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    struct server *server = context;

    server->kept = accept(server->listener, NULL, NULL);
    read_request(server->kept);
    (void)!write(server->kept, reply, sizeof reply - 1);
    return NULL;
}

static void server_listen(struct server *server)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;

    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server->listener, 4), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
}

static void ask(struct sw_http *http, struct server *server)
{
    __attribute__((cleanup(sw_http_request_auto))) struct sw_http_request request =
        SW_HTTP_REQUEST_INIT;
    __attribute__((cleanup(sw_http_reply_auto))) struct sw_http_reply reply = { 0 };

    assert_int_equal(pthread_create(&server->thread, NULL, answer_one, server), 0);
    snprintf(request.method, sizeof request.method, "GET");
    request.url = sw_format("http://127.0.0.1:%u/", server->port);
    assert_int_equal(sw_http_ask(http, &request, &reply, NULL), 0);
    assert_int_equal(reply.status, 200);
    assert_string_equal(sw_buf_text(&reply.body), "ok");
    pthread_join(server->thread, NULL);
}

/* ---- the claims ---------------------------------------------------------------------------------- */

static void *wake_the_sleeper(void *context)
{
    struct sw_http *http = context;

    while (!__atomic_load_n(&http->sleep, __ATOMIC_SEQ_CST))
        sw_sleep_ms(1);
    sw_http_wake(http);
    return NULL;
}

static void another_thread_ends_the_wait(void **state)
{
    sw_auto(sw_http) struct sw_http *http = sw_http_open(NULL, NULL);
    int64_t until = sw_monotonic_ms() + LONG_MS / 2;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, wake_the_sleeper, http), 0);
    assert_int_equal(http_wait(http, LONG_MS), CURLM_OK);
    pthread_join(thread, NULL);
    assert_true(sw_monotonic_ms() < until);
}

static void a_call_before_the_wait_is_not_lost_and_counts_once(void **state)
{
    sw_auto(sw_http) struct sw_http *http = sw_http_open(NULL, NULL);
    int64_t until = sw_monotonic_ms() + LONG_MS / 2;

    (void)state;
    sw_http_wake(http);
    sw_http_wake(http);
    assert_int_equal(http_wait(http, LONG_MS), CURLM_OK);
    assert_true(sw_monotonic_ms() < until);
    until = sw_monotonic_ms() + 50;
    assert_int_equal(http_wait(http, 100), CURLM_OK);
    assert_true(sw_monotonic_ms() >= until);
}

static void a_connection_that_its_server_closed_leaves_the_set(void **state)
{
    sw_auto(sw_http) struct sw_http *http = sw_http_open(NULL, NULL);
    struct server server = { 0 };
    int64_t until = sw_monotonic_ms() + LONG_MS / 2;

    (void)state;
    server_listen(&server);
    ask(http, &server);
    close(server.kept);                                        /* it becomes ready: the end is there */
    assert_int_equal(http_wait(http, LONG_MS), CURLM_OK);
    assert_true(sw_monotonic_ms() < until);
    until = sw_monotonic_ms() + 50;                            /* and then no more */
    for (int i = 0; i < 3; i++)
        assert_int_equal(http_wait(http, 100), CURLM_OK);
    assert_true(sw_monotonic_ms() >= until);
    ask(http, &server);                                        /* over a new one */
    close(server.kept);
    close(server.listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_thread_ends_the_wait),
        cmocka_unit_test(a_call_before_the_wait_is_not_lost_and_counts_once),
        cmocka_unit_test(a_connection_that_its_server_closed_leaves_the_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
