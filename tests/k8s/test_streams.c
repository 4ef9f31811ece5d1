/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_streams.c - commands in a pod and ports of a pod, with a real API server, kubelet and containerd:
 *
 *     tests/k8s/cluster --real -- build/tests/k8s/test_streams
 *
 * With `old` against an API server as it was before 1.30, which passes WebSockets on to the kubelet:
 *
 *     tests/k8s/cluster --real --apiserver=--feature-gates=PortForwardWebsockets=false,\
 *         TranslateStreamCloseWebsocketRequests=false -- build/tests/k8s/test_streams old
 */
#include "../unit/platform/kube/streams.h"

#include <stdio.h>

enum { READY_MS = 60000, MUCH = 5 * 1024 * 1024 + 7 };

#define POD "streams"

struct run {
    struct pumped pumped;
    int code;                        /* -1: `err` */
    struct sw_error err;
};

static const char *given(const char *name)
{
    const char *value = getenv(name);

    if (!value)
        fail_msg("%s is not set: run this inside tests/k8s/cluster --real", name);
    return value;
}

static struct sw_rest *client(const char *token_name)
{
    sw_auto(sw_secret) struct sw_secret *token = sw_secret_new(given(token_name));
    struct sw_rest_options options = { .base_url = given("K8S_URL"), .name = "the cluster",
                                       .http = { .ca_file = given("K8S_CA") },
                                       .token = sw_rest_token_given, .token_context = token };
    struct sw_error err = { 0 };
    struct sw_rest *rest = sw_rest_open(&options, &err);

    if (!rest || sw_rest_call(rest, &(struct sw_rest_call){ .path = "/version" }, NULL, &err) < 0)
        fail_msg("%s", err.message);             /* ... and the client has its token now */
    return rest;
}

/* ---- a pod that serves files at 8080 and gives back what comes at 9000 --------------------------- */

static int make_pod(void **state)
{
    static const char script[] = "mkdir /www; echo a page > /www/page; httpd -p 8080 -h /www; "
                                 "while :; do nc -l -p 9000 -e cat; done";
    sw_auto(json) json_t *pod = json_pack(
        "{s:s, s:s, s:{s:s}, s:{s:i, s:[{s:s, s:s, s:[s, s, s]}]}}", "apiVersion", "v1", "kind", "Pod",
        "metadata", "name", POD, "spec", "terminationGracePeriodSeconds", 0, "containers", "name", "main",
        "image", given("K8S_IMAGE"), "command", "sh", "-c", script);
    struct sw_rest_call create = { .method = "POST", .path = "/api/v1/namespaces/default/pods", .json = pod };
    int64_t until_ms = sw_monotonic_ms() + READY_MS;
    struct sw_error err = { 0 };
    struct sw_rest *rest = client("K8S_TOKEN");
    bool runs = false;

    if (sw_rest_call(rest, &create, NULL, &err) < 0 && err.code != SW_E_CONFLICT)
        fail_msg("%s", err.message);
    while (!runs && sw_monotonic_ms() < until_ms) {
        sw_auto(json) json_t *seen = NULL;

        sw_sleep_ms(100);
        sw_rest_call(rest, &(struct sw_rest_call){ .path = "/api/v1/namespaces/default/pods/" POD }, &seen,
                     NULL);
        runs = sw_text_same(sw_json_str(json_object_get(seen, "status"), "phase"), "Running");
    }
    *state = rest;
    return runs ? 0 : -1;
}

static int forget_pod(void **state)
{
    struct sw_rest_call drop = { .method = "DELETE", .path = "/api/v1/namespaces/default/pods/" POD };

    sw_rest_call(*state, &drop, NULL, NULL);
    sw_rest_close(*state);
    return 0;
}

static char *many_bytes(void)
{
    char *bytes = sw_alloc(MUCH);

    for (size_t i = 0; i < MUCH; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    return bytes;
}

/* ---- commands ------------------------------------------------------------------------------------ */

static struct sw_stream *open_exec(struct sw_rest *rest, const char *script, bool terminal)
{
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
    struct sw_exec what = { .argv = argv, .terminal = terminal };
    struct sw_stream *stream = NULL;
    struct sw_error err = { 0 };

    if (kube_exec_open(rest, "default", POD, "main", &what, &stream, &err) < 0)
        fail_msg("%s", err.message);
    return stream;
}

static struct run end_of(struct sw_stream *stream, const char *input, size_t length)
{
    struct run run = { .code = -1 };

    pump(stream, input, length, &run.pumped);
    if (stream->ops->status(stream, &run.code, &run.err) < 0)
        run.code = -1;
    stream->ops->close(stream);
    return run;
}

static void the_exit_status_comes_back(void **state)
{
    struct run run = end_of(open_exec(*state, "echo out; echo err >&2; exit 7", false), "", 0);

    assert_int_equal(run.code, 7);
    assert_string_equal(sw_buf_text(&run.pumped.out[1]), "out\n");
    assert_string_equal(sw_buf_text(&run.pumped.out[2]), "err\n");
    pumped_done(&run.pumped);
    run = end_of(open_exec(*state, "true", false), "", 0);
    assert_int_equal(run.code, 0);
}

static void five_megabytes_of_input_come_back_byte_for_byte(void **state)
{
    sw_autofree char *bytes = many_bytes();
    struct run run = end_of(open_exec(*state, "cat", false), bytes, MUCH);

    if (run.code != 0)
        fail_msg("%d %s", run.code, run.err.message);
    assert_int_equal(run.pumped.out[1].length, MUCH);
    assert_memory_equal(run.pumped.out[1].data, bytes, MUCH);
    pumped_done(&run.pumped);
}

static void the_end_of_the_input_is_seen(void **state)
{
    struct run run = end_of(open_exec(*state, "wc -c", false), "12345", 5);

    assert_int_equal(run.code, 0);
    assert_int_equal(atoi(sw_buf_text(&run.pumped.out[1])), 5);
    pumped_done(&run.pumped);
}

/* Much input would not do: a kubelet may never come to the end of such a command, with kubectl neither. */
static void a_command_that_takes_no_input_ends_all_the_same(void **state)
{
    struct run run = end_of(open_exec(*state, "true", false), "not read", 8);

    assert_int_equal(run.code, 0);
    pumped_done(&run.pumped);
}

static void an_old_server_gives_a_command_no_input(void **state)
{
    struct sw_stream *stream = open_exec(*state, "cat; exit 7", false);
    struct run run;

    assert_false(stream->takes_input);
    run = end_of(stream, NULL, 0);
    assert_int_equal(run.code, 7);
}

/* Size and input take different ways through the kubelet: the command may be there before its size. */
static void a_terminal_has_the_size_it_was_given(void **state)
{
    static const char script[] = "read go; until stty size 2>/dev/null | grep 1; do usleep 50000; done; "
                                 "read end; exit 3";
    struct sw_stream *stream = open_exec(*state, script, true);
    int64_t until_ms = sw_monotonic_ms() + READY_MS;
    struct pumped shown = { 0 };
    struct run run;

    stream->ops->resize(stream, 33, 101);
    assert_int_equal(stream->ops->write(stream, "go\n", 3), 3);
    while (!strstr(sw_buf_text(&shown.out[1]), "33 101")) {
        struct pollfd one = { .fd = stream->fd, .events = POLLIN | (stream->unsent ? POLLOUT : 0) };

        if (stream->ops->read(stream, gather, &shown) != 0 || sw_monotonic_ms() > until_ms)
            fail_msg("%s", sw_buf_text(&shown.out[1]));
        poll(&one, 1, 100);
    }
    assert_int_equal(stream->ops->write(stream, "end\n", 4), 4);
    run = end_of(stream, NULL, 0);
    assert_int_equal(run.code, 3);
    pumped_done(&run.pumped);
    pumped_done(&shown);
}

static void a_program_that_is_not_there_is_an_error_in_words(void **state)
{
    char *argv[] = { (char *)"/no/such", NULL };
    struct sw_exec what = { .argv = argv };
    struct sw_stream *stream = NULL;
    struct sw_error err = { 0 };
    struct run run;

    if (kube_exec_open(*state, "default", POD, "main", &what, &stream, &err) < 0)
        fail_msg("%s", err.message);
    run = end_of(stream, "", 0);
    if (run.code == -1 ? !strstr(run.err.message, "/no/such") : run.code == 0)
        fail_msg("%d: %s", run.code, run.err.message);
    pumped_done(&run.pumped);
}

static void refusals_come_in_the_servers_words(void **state)
{
    static const struct { const char *token, *pod, *words; } rows[] = {
        { "K8S_TOKEN_ANN", POD, "forbidden" }, { "K8S_TOKEN", "nothing", "not found" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_secret) struct sw_secret *token = sw_secret_new(given(rows[i].token));
        struct sw_rest_options options = { .base_url = given("K8S_URL"), .name = "the cluster",
                                           .http = { .ca_file = given("K8S_CA") },
                                           .token = sw_rest_token_given, .token_context = token };
        sw_auto(sw_rest) struct sw_rest *rest = sw_rest_open(&options, NULL);
        char *argv[] = { (char *)"true", NULL };
        struct sw_exec what = { .argv = argv };
        struct sw_stream *stream = NULL;
        struct sw_error err = { 0 };

        assert_int_equal(kube_exec_open(rest, "default", rows[i].pod, "main", &what, &stream, &err), -1);
        if (!strstr(err.message, rows[i].words))
            fail_msg("%s", err.message);
        err = (struct sw_error){ 0 };
        assert_int_equal(kube_port_open(rest, "default", rows[i].pod, 8080, &stream, &err), -1);
        if (!strstr(err.message, rows[i].words))
            fail_msg("%s", err.message);
    }
}

/* ---- ports --------------------------------------------------------------------------------------- */

static struct run talk_to(struct sw_rest *rest, uint16_t port, const char *input, size_t length)
{
    struct sw_stream *stream = NULL;
    struct sw_error err = { 0 };

    if (kube_port_open(rest, "default", POD, port, &stream, &err) < 0)
        fail_msg("%s", err.message);
    return end_of(stream, input, length);
}

static void a_page_comes_through_a_port(void **state)
{
    static const char ask[] = "GET /page HTTP/1.0\r\n\r\n";
    struct run run = talk_to(*state, 8080, ask, strlen(ask));

    if (run.code != 0)
        fail_msg("%s", run.err.message);
    assert_non_null(strstr(sw_buf_text(&run.pumped.out[1]), "a page\n"));
    pumped_done(&run.pumped);
}

static void five_megabytes_go_through_a_port_and_back(void **state)
{
    sw_autofree char *bytes = many_bytes();
    int64_t until_ms = sw_monotonic_ms() + READY_MS;
    struct run run = talk_to(*state, 9000, bytes, MUCH);

    while (run.code != 0 && sw_monotonic_ms() < until_ms) {      /* nc listens soon */
        pumped_done(&run.pumped);
        run = talk_to(*state, 9000, bytes, MUCH);
    }
    if (run.code != 0)
        fail_msg("%s", run.err.message);
    assert_int_equal(run.pumped.out[1].length, MUCH);
    assert_memory_equal(run.pumped.out[1].data, bytes, MUCH);
    pumped_done(&run.pumped);
}

static void a_port_at_which_nothing_listens_says_so(void **state)
{
    struct run run = talk_to(*state, 9999, "x", 1);

    assert_int_equal(run.code, -1);
    if (!strstr(run.err.message, "refused"))
        fail_msg("%s", run.err.message);
    pumped_done(&run.pumped);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exit_status_comes_back),
        cmocka_unit_test(five_megabytes_of_input_come_back_byte_for_byte),
        cmocka_unit_test(the_end_of_the_input_is_seen),
        cmocka_unit_test(a_command_that_takes_no_input_ends_all_the_same),
        cmocka_unit_test(a_terminal_has_the_size_it_was_given),
        cmocka_unit_test(a_program_that_is_not_there_is_an_error_in_words),
        cmocka_unit_test(refusals_come_in_the_servers_words),
        cmocka_unit_test(a_page_comes_through_a_port),
        cmocka_unit_test(five_megabytes_go_through_a_port_and_back),
        cmocka_unit_test(a_port_at_which_nothing_listens_says_so),
    };
    const struct CMUnitTest old[] = {
        cmocka_unit_test(an_old_server_gives_a_command_no_input),
        cmocka_unit_test(a_terminal_has_the_size_it_was_given),
        cmocka_unit_test(a_program_that_is_not_there_is_an_error_in_words),
        cmocka_unit_test(refusals_come_in_the_servers_words),
        cmocka_unit_test(a_page_comes_through_a_port),
        cmocka_unit_test(a_port_at_which_nothing_listens_says_so),
    };

    if (argc > 1 && strcmp(argv[1], "old") == 0)
        return cmocka_run_group_tests(old, make_pod, forget_pod);
    return cmocka_run_group_tests(tests, make_pod, forget_pod);
}
