/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kube_ports.c - a port of a pod, against a server that follows a scenario (streams-server).
 */
#include "streams.h"

static struct sw_stream *open_port(struct sw_rest *rest)
{
    struct sw_stream *stream = NULL;
    struct sw_error err = { 0 };

    if (kube_port_open(rest, "team a", "p-0", 8080, &stream, &err) < 0)
        fail_msg("%s", err.message);
    return stream;
}

static void much_goes_through_the_tunnel_and_the_end_of_the_input_too(void **state)
{
    enum { MUCH = 3 * 1024 * 1024 };
    struct peer peer = { PEER, "port-echo", NULL, 0 };
    sw_auto(sw_rest) struct sw_rest *rest = rest_of(&peer);
    struct sw_stream *stream = open_port(rest);
    struct pumped pumped = { 0 };
    struct sw_error err = { 0 };
    char *input = sw_alloc(MUCH);
    int code = -1;

    (void)state;
    for (size_t i = 0; i < MUCH; i++)
        input[i] = (char)(i * 2654435761u >> 13);
    pump(stream, input, MUCH, &pumped);
    if (stream->ops->status(stream, &code, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(pumped.out[1].length, MUCH + strlen("the end"));
    assert_memory_equal(pumped.out[1].data, input, MUCH);
    stream->ops->close(stream);
    peer_await(&peer);
    pumped_done(&pumped);
    free(input);
}

static void an_old_server_gets_channels(void **state)
{
    struct peer peer = { PEER, "port-channels", NULL, 0 };
    sw_auto(sw_rest) struct sw_rest *rest = rest_of(&peer);
    struct sw_stream *stream = open_port(rest);
    struct pumped pumped = { 0 };
    int code = -1;

    (void)state;
    pump(stream, "hello\n", 6, &pumped);
    assert_int_equal(stream->ops->status(stream, &code, NULL), 0);
    assert_string_equal(pumped.out[1].data, "you said hello\n");
    stream->ops->close(stream);
    peer_await(&peer);
    pumped_done(&pumped);
}

static void what_went_wrong_is_said_at_the_end(void **state)
{
    static const struct { const char *scenario, *words; } rows[] = {
        { "port-refused", "connection refused" }, { "port-channels-refused", "connection refused" },
        { "port-cut", "was cut" }, { "port-no-spdy", "not SPDY" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct peer peer = { PEER, rows[i].scenario, NULL, 0 };
        sw_auto(sw_rest) struct sw_rest *rest = rest_of(&peer);
        struct sw_stream *stream = open_port(rest);
        struct pumped pumped = { 0 };
        struct sw_error err = { 0 };
        int code = -1;

        pump(stream, NULL, 0, &pumped);
        assert_int_equal(stream->ops->status(stream, &code, &err), -1);
        if (!strstr(err.message, rows[i].words))
            fail_msg("%s: %s", rows[i].scenario, err.message);
        stream->ops->close(stream);
        peer_await(&peer);
        pumped_done(&pumped);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(much_goes_through_the_tunnel_and_the_end_of_the_input_too),
        cmocka_unit_test(an_old_server_gets_channels),
        cmocka_unit_test(what_went_wrong_is_said_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
