/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kube_exec.c - a command in a container, against a server that follows a scenario (streams-server).
 */
#include "streams.h"

static char *const cat_argv[] = { (char *)"sh", (char *)"-c", (char *)"cat; exit 7", NULL };

static int open_exec(struct sw_rest *rest, bool terminal, struct sw_stream **out, struct sw_error *err)
{
    struct sw_exec what = { .argv = cat_argv, .terminal = terminal };

    return kube_exec_open(rest, "team a", "p-0", "main", &what, out, err);
}

static void much_input_comes_back_and_the_exit_status_behind_it(void **state)
{
    enum { MUCH = 5 * 1024 * 1024 + 7 };
    struct peer peer = { PEER, "exec-cat", NULL, 0 };
    sw_auto(sw_rest) struct sw_rest *rest = rest_of(&peer);
    struct pumped pumped = { 0 };
    struct sw_stream *stream = NULL;
    struct sw_error err = { 0 };
    char *input = sw_alloc(MUCH);
    int code = -1;

    (void)state;
    for (size_t i = 0; i < MUCH; i++)
        input[i] = (char)(i * 2654435761u >> 13);
    if (open_exec(rest, false, &stream, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(stream->takes_input);
    pump(stream, input, MUCH, &pumped);
    assert_int_equal(stream->ops->status(stream, &code, &err), 0);
    assert_int_equal(code, 7);
    assert_int_equal(pumped.out[1].length, MUCH);
    assert_memory_equal(pumped.out[1].data, input, MUCH);
    assert_string_equal(pumped.out[2].data, "to errors");
    stream->ops->close(stream);
    peer_await(&peer);
    pumped_done(&pumped);
    free(input);
}

static void a_terminal_has_a_size_also_with_an_old_server(void **state)
{
    struct peer peer = { PEER, "exec-terminal", NULL, 0 };
    sw_auto(sw_rest) struct sw_rest *rest = rest_of(&peer);
    struct pumped pumped = { 0 };
    struct sw_stream *stream = NULL;
    int code = -1;

    (void)state;
    assert_int_equal(open_exec(rest, true, &stream, NULL), 0);
    assert_true(stream->terminal && stream->takes_input);
    stream->ops->resize(stream, 24, 80);
    assert_int_equal(stream->ops->write(stream, "exit\r", 5), 5);
    pump(stream, NULL, 0, &pumped);
    assert_int_equal(stream->ops->status(stream, &code, NULL), 0);
    assert_int_equal(code, 0);
    assert_string_equal(pumped.out[1].data, "24 80\r\n");
    stream->ops->close(stream);
    peer_await(&peer);
    pumped_done(&pumped);
}

/* The first handshake is refused, so two peers come one after the other. */
static void serve_again(void *context, int fd)
{
    struct peer *peer = context;

    if (peer->pid)
        peer_await(peer);
    peer_serve(peer, fd);
}

static void an_old_server_runs_the_command_without_input(void **state)
{
    struct peer peer = { PEER, "exec-old", NULL, 0 };
    struct sw_rest_options options = { .base_url = "http://localhost", .name = "the cluster",
                                       .http = { .serve = serve_again, .serve_context = &peer } };
    sw_auto(sw_rest) struct sw_rest *rest = sw_rest_open(&options, NULL);
    struct pumped pumped = { 0 };
    struct sw_stream *stream = NULL;
    struct sw_error err = { 0 };
    int code = -1;

    (void)state;
    if (open_exec(rest, false, &stream, &err) < 0)
        fail_msg("%s", err.message);
    assert_false(stream->takes_input);
    pump(stream, NULL, 0, &pumped);
    assert_int_equal(stream->ops->status(stream, &code, NULL), 0);
    assert_int_equal(code, 0);
    assert_string_equal(pumped.out[1].data, "no input");
    stream->ops->close(stream);
    peer_await(&peer);
    pumped_done(&pumped);
}

static void an_end_without_an_exit_status_is_an_error(void **state)
{
    static const struct { const char *scenario; enum sw_code code; const char *words; } rows[] = {
        { "exec-fails", SW_E_REFUSED, "container not found" },
        { "exec-cut", SW_E_UNREACHABLE, "ended before the command" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct peer peer = { PEER, rows[i].scenario, NULL, 0 };
        sw_auto(sw_rest) struct sw_rest *rest = rest_of(&peer);
        struct pumped pumped = { 0 };
        struct sw_stream *stream = NULL;
        struct sw_error err = { 0 };
        int code = -1;

        assert_int_equal(open_exec(rest, false, &stream, NULL), 0);
        pump(stream, NULL, 0, &pumped);
        assert_int_equal(stream->ops->status(stream, &code, &err), -1);
        assert_int_equal(err.code, rows[i].code);
        assert_non_null(strstr(err.message, rows[i].words));
        stream->ops->close(stream);
        peer_await(&peer);
        pumped_done(&pumped);
    }
}

static void a_refusal_reaches_the_user_in_the_servers_words(void **state)
{
    struct peer peer = { PEER, "refuse", NULL, 0 };
    struct sw_rest_options options = { .base_url = "http://localhost", .name = "the cluster",
                                       .http = { .serve = serve_again, .serve_context = &peer } };
    sw_auto(sw_rest) struct sw_rest *rest = sw_rest_open(&options, NULL);
    struct sw_stream *stream = NULL;
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(open_exec(rest, false, &stream, &err), -1);
    assert_int_equal(err.code, SW_E_REFUSED);
    assert_non_null(strstr(err.message, "cannot get resource \"pods/exec\""));
    peer_await(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(much_input_comes_back_and_the_exit_status_behind_it),
        cmocka_unit_test(a_terminal_has_a_size_also_with_an_old_server),
        cmocka_unit_test(an_old_server_runs_the_command_without_input),
        cmocka_unit_test(an_end_without_an_exit_status_is_an_error),
        cmocka_unit_test(a_refusal_reaches_the_user_in_the_servers_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
