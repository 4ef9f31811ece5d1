/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_websocket.c - the WebSocket client against a server that follows a scenario (websocket-server), honest
 * or not.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/text.h"
#include "harness/peer.h"
#include "net/websocket.h"

enum { PATIENCE_MS = 30000 };

struct talk {
    struct peer peer;
    struct sw_http *http;
    struct sw_websocket *ws;
    struct sw_http_reply reply;
    struct sw_buf heard;             /* all messages, each with a '|' behind it */
    int messages;
    size_t bytes;
};

static int hear(void *context, const char *bytes, size_t length)
{
    struct talk *talk = context;

    talk->messages++;
    talk->bytes += length;
    if (length < 1000) {
        sw_buf_add_bytes(&talk->heard, bytes, length);
        sw_buf_add_char(&talk->heard, '|');
    }
    return 0;
}

static struct talk begin_with(const char *scenario, const char *protocols, struct sw_http_options options,
                              const char *folder)
{
    struct talk talk = { .peer = { PEER, scenario, folder, 0 } };
    struct sw_http_request request = SW_HTTP_REQUEST_INIT;

    if (!options.unix_socket) {
        options.serve = peer_serve;
        options.serve_context = &talk.peer;
    }
    talk.http = sw_http_open(&options, NULL);
    assert_non_null(talk.http);
    request.url = sw_strdup(folder ? "https://localhost/a?b=c" : "http://localhost/a?b=c");
    sw_http_request_header(&request, "X-Given", "yes");
    talk.ws = sw_websocket_open(talk.http, &request, protocols, &talk.reply);
    sw_http_request_done(&request);
    return talk;
}

static struct talk begin(const char *scenario)
{
    return begin_with(scenario, NULL, (struct sw_http_options){ 0 }, NULL);
}

static void finish(struct talk *talk)
{
    sw_websocket_close(talk->ws);
    peer_await(&talk->peer);
    sw_http_close(talk->http);
    sw_http_reply_done(&talk->reply);
    sw_buf_done(&talk->heard);
}

/* Until so many messages came, or it is over: 1. */
static int listen_for(struct talk *talk, int messages)
{
    int64_t until_ms = sw_monotonic_ms() + PATIENCE_MS;
    int over;

    while ((over = sw_websocket_read(talk->ws, hear, talk)) == 0 && talk->messages < messages) {
        struct pollfd one = { .fd = sw_websocket_fd(talk->ws),
                              .events = POLLIN | (sw_websocket_unsent(talk->ws) ? POLLOUT : 0) };

        if (sw_monotonic_ms() > until_ms)
            fail_msg("%d of %d messages came", talk->messages, messages);
        poll(&one, 1, 1000);
    }
    return over;
}

static void messages_of_every_size_come_back(void **state)
{
    static const size_t sizes[] = { 0, 1, 125, 126, 127, 65535, 65536, 1000000 };
    struct talk talk = begin("echo");
    char *bytes = sw_alloc(1000000);
    size_t total = 0;

    (void)state;
    assert_non_null(talk.ws);
    memset(bytes, 'm', 1000000);
    for (size_t i = 0; i < SW_COUNT(sizes); i++) {
        assert_int_equal(sw_websocket_send(talk.ws, "<", 1, bytes, sizes[i]), 0);
        total += sizes[i] + 1;
        assert_int_equal(listen_for(&talk, (int)i + 1), 0);
    }
    assert_int_equal(talk.bytes, total);
    assert_int_equal(sw_websocket_unsent(talk.ws), 0);
    finish(&talk);
    free(bytes);
}

static void bytes_may_be_cut_anywhere(void **state)
{
    struct talk talk = begin("one-byte-at-a-time");

    (void)state;
    assert_int_equal(listen_for(&talk, 5), 0);
    assert_int_equal(talk.bytes, 0 + 1 + 125 + 126 + 300);
    finish(&talk);
}

static void what_comes_with_the_head_counts(void **state)
{
    struct talk talk = begin("with-the-head");

    (void)state;
    assert_int_equal(listen_for(&talk, 2), 0);
    assert_string_equal(talk.heard.data, "early|second|");
    finish(&talk);
}

static void a_message_in_pieces_is_whole_and_pings_between_are_answered(void **state)
{
    struct talk talk = begin("pieces-and-pings");
    const struct sw_websocket_end *end = sw_websocket_end(talk.ws);

    (void)state;
    assert_int_equal(listen_for(&talk, 1), 0);
    assert_string_equal(talk.heard.data, "one two three|");
    sw_websocket_send(talk.ws, "one two three", 13, NULL, 0);
    assert_int_equal(listen_for(&talk, 2), 1);
    assert_true(end->closed);
    assert_int_equal(end->code, 1011);
    assert_non_null(strstr(end->why, "went away"));
    assert_null(strchr(end->why, '\033'));
    assert_int_equal(sw_websocket_send(talk.ws, "x", 1, NULL, 0), -1);
    finish(&talk);
}

static void nothing_counts_behind_a_close_frame(void **state)
{
    struct talk talk = begin("closes-without-a-word");

    (void)state;
    assert_int_equal(listen_for(&talk, 2), 1);
    assert_string_equal(talk.heard.data, "last|");
    assert_true(sw_websocket_end(talk.ws)->closed);
    assert_int_equal(sw_websocket_end(talk.ws)->code, SW_WS_NOT_SAID);
    finish(&talk);
}

static void a_server_that_breaks_the_rules_is_left_with_a_reason(void **state)
{
    static const struct { const char *scenario, *why; } rows[] = {
        { "too-large", "too large" }, { "too-large-in-pieces", "too large" },
        { "negative", "length" }, { "long-way-round", "length" }, { "masked", "masked" },
        { "extension", "extension" }, { "unknown-kind", "unknown kind" },
        { "long-ping", "control frame" }, { "ping-in-pieces", "control frame" },
        { "piece-of-nothing", "wrong order" }, { "two-beginnings", "wrong order" },
        { "cut-in-a-message", "cut" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct talk talk = begin(rows[i].scenario);

        assert_non_null(talk.ws);
        assert_int_equal(listen_for(&talk, 1), 1);
        assert_int_equal(talk.messages, 0);
        assert_false(sw_websocket_end(talk.ws)->closed);
        if (!strstr(sw_websocket_end(talk.ws)->why, rows[i].why))
            fail_msg("%s: %s", rows[i].scenario, sw_websocket_end(talk.ws)->why);
        finish(&talk);
    }
}

static void a_refusal_keeps_its_words(void **state)
{
    static const struct { const char *scenario; int status; const char *body; } rows[] = {
        { "refuses", 403, "{\"message\":\"no rights\"}" }, { "refuses-in-chunks", 403, "no rights" },
        { "refuses-and-goes", 403, "no rights" }, { "no-upgrade", 200, "{}" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct talk talk = begin(rows[i].scenario);

        assert_null(talk.ws);
        assert_int_equal(talk.reply.status, rows[i].status);
        assert_string_equal(sw_buf_text(&talk.reply.body), rows[i].body);
        finish(&talk);
    }
}

static void a_wrong_handshake_is_no_websocket(void **state)
{
    static const struct { const char *scenario, *protocols, *why; } rows[] = {
        { "wrong-key", NULL, "handshake" }, { "wrong-protocol", "a, b", "protocols" },
        { "no-protocol", "a", "protocols" }, { "goes", NULL, "cut" }, { "no-http", NULL, "cut" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct talk talk = begin_with(rows[i].scenario, rows[i].protocols, (struct sw_http_options){ 0 },
                                      NULL);

        assert_null(talk.ws);
        assert_int_equal(talk.reply.status, 0);
        assert_true(talk.reply.failure != SW_OK);
        if (!strstr(talk.reply.why, rows[i].why))
            fail_msg("%s: %s", rows[i].scenario, talk.reply.why);
        finish(&talk);
    }
}

static void the_server_chooses_among_the_protocols(void **state)
{
    struct talk talk = begin_with("chosen", "a, b", (struct sw_http_options){ 0 }, NULL);

    (void)state;
    assert_non_null(talk.ws);
    assert_string_equal(sw_websocket_protocol(talk.ws), "b");
    finish(&talk);
}

/* Both directions are full: neither side may wait for the other. */
static void sending_never_waits_for_a_server_that_sends(void **state)
{
    struct talk talk = begin("reads-late");
    char *bytes = sw_alloc(1000000);

    (void)state;
    memset(bytes, 'z', 1000000);
    for (int i = 0; i < 5; i++)
        assert_int_equal(sw_websocket_send(talk.ws, NULL, 0, bytes, 1000000), 0);
    assert_true(sw_websocket_unsent(talk.ws) > 0);
    assert_int_equal(listen_for(&talk, 2), 0);
    assert_string_equal(talk.heard.data, "5000000|");
    finish(&talk);
    free(bytes);
}

/* A descriptor at which connections to this path can be taken. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static void tls_with_a_client_certificate_carries_much_in_both_directions(void **state)
{
    char folder[] = "/tmp/slipway-websocket-XXXXXX", ca[64], cert[64], key[64], path[64];
    struct peer certificates = { PEER, "certificates", folder, 0 };
    struct peer server = { PEER, "echo-secure", folder, 0 };
    struct talk talk;
    char *bytes = sw_alloc(1000000), command[128];

    (void)state;
    assert_non_null(mkdtemp(folder));
    peer_run(&certificates);
    snprintf(ca, sizeof ca, "%s/ca.pem", folder);
    snprintf(cert, sizeof cert, "%s/client.pem", folder);
    snprintf(key, sizeof key, "%s/client-key.pem", folder);
    snprintf(path, sizeof path, "%s/socket", folder);
    peer_serve(&server, listen_at(path));
    talk = begin_with("echo-secure", NULL, (struct sw_http_options){ .unix_socket = path, .ca_file = ca,
                      .client_cert = cert, .client_key = key, .http2 = true }, folder);
    talk.peer = server;
    if (!talk.ws)
        fail_msg("%s", talk.reply.why);
    memset(bytes, 's', 1000000);
    for (int i = 0; i < 5; i++)
        assert_int_equal(sw_websocket_send(talk.ws, NULL, 0, bytes, 1000000), 0);
    assert_int_equal(listen_for(&talk, 5), 0);
    assert_int_equal(talk.bytes, 5000000);
    finish(&talk);
    free(bytes);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_every_size_come_back),
        cmocka_unit_test(bytes_may_be_cut_anywhere),
        cmocka_unit_test(what_comes_with_the_head_counts),
        cmocka_unit_test(a_message_in_pieces_is_whole_and_pings_between_are_answered),
        cmocka_unit_test(nothing_counts_behind_a_close_frame),
        cmocka_unit_test(a_server_that_breaks_the_rules_is_left_with_a_reason),
        cmocka_unit_test(a_refusal_keeps_its_words),
        cmocka_unit_test(a_wrong_handshake_is_no_websocket),
        cmocka_unit_test(the_server_chooses_among_the_protocols),
        cmocka_unit_test(sending_never_waits_for_a_server_that_sends),
        cmocka_unit_test(tls_with_a_client_certificate_carries_much_in_both_directions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
