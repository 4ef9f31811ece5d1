/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http_cut.c - an answer that ends too early is a failure, wherever it ends; a whole one is not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/http.h"

#define WHOLE "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
#define CHUNKS "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"

struct answer {
    const char *bytes;
    size_t length;
};

/* Far end of each connection: the request fits into the socket, so it need not be read first. */
static void speak(void *context, int fd)
{
    const struct answer *answer = context;
    char request[4096];

    assert_true(read(fd, request, sizeof request) > 0);
    assert_int_equal(write(fd, answer->bytes, answer->length), (ssize_t)answer->length);
    close(fd);
}

static int count(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    (void)so_far;
    (void)bytes;
    *(size_t *)context += length;
    return 0;
}

static void ask(const char *method, const char *bytes, size_t length, bool sink,
                struct sw_http_reply *reply)
{
    struct answer answer = { bytes, length };
    struct sw_http_options options = { .serve = speak, .serve_context = &answer };
    sw_auto(sw_http) struct sw_http *http = sw_http_open(&options, NULL);
    struct sw_http_request request = SW_HTTP_REQUEST_INIT;
    size_t taken = 0;

    assert_non_null(http);
    snprintf(request.method, sizeof request.method, "%s", method);
    request.url = sw_strdup("http://127.0.0.1/x");
    request.sink = sink ? count : NULL;
    request.sink_context = &taken;
    sw_http_ask(http, &request, reply, NULL);
}

static void every_beginning_of_an_answer_is_a_failure(void **state)
{
    /* Behind the chunk of length 0 only an empty line is missing: nothing of the body. */
    static const struct { const char *text; size_t needed; } answers[] = {
        { WHOLE, sizeof WHOLE - 1 }, { CHUNKS, sizeof CHUNKS - 1 - 2 },
    };

    (void)state;
    for (size_t a = 0; a < SW_COUNT(answers); a++)
        for (size_t length = 1; length < answers[a].needed; length++)
            for (int sink = 0; sink < 2; sink++) {
                sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };

                ask("GET", answers[a].text, length, sink, &reply);
                if (reply.status != 0 || reply.failure == SW_OK)
                    fail_msg("%zu bytes of answer %zu count as all of it", length, a);
            }
}

static void a_cut_answer_may_be_asked_for_again(void **state)
{
    sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };

    (void)state;
    ask("GET", WHOLE, 30, false, &reply);
    assert_int_equal(reply.failure, SW_E_UNREACHABLE);
    assert_true(reply.retriable);
}

static void whole_answers_are_none(void **state)
{
    static const struct { const char *method, *text; int status; } rows[] = {
        { "GET", WHOLE, 200 }, { "GET", CHUNKS, 200 },
        { "GET", "HTTP/1.1 204 No Content\r\n\r\n", 204 },
        { "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 304 },
        { "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", 200 },
        { "GET", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto its end", 200 },
        { "GET", "HTTP/1.1 100 Continue\r\n\r\n" WHOLE, 200 },
        { "GET", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };

        ask(rows[i].method, rows[i].text, strlen(rows[i].text), false, &reply);
        if (reply.status != rows[i].status || reply.failure != SW_OK)
            fail_msg("row %zu: status %d, %s", i, reply.status, reply.why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_beginning_of_an_answer_is_a_failure),
        cmocka_unit_test(a_cut_answer_may_be_asked_for_again),
        cmocka_unit_test(whole_answers_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
