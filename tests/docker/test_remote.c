/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_remote.c - an engine reached over ssh (a real sshd) and over TCP with TLS.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "platform/docker/docker_api.h"

static const char *folder(void)
{
    return getenv("SLIPWAY_TEST_ENGINE");
}

static struct docker_api *open_at(const char *host)
{
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
    struct sw_error err = { 0 };
    struct docker_api *api;

    setenv("DOCKER_HOST", host, 1);
    if (docker_endpoint_find(NULL, &endpoint, &err) < 0)
        fail_msg("%s", err.message);
    endpoint.state_dir = sw_path_join(folder(), "state");
    api = docker_api_open(&endpoint, &err);
    if (!api)
        fail_msg("%s", err.message);
    return api;
}

static int alone(void **state)
{
    (void)state;
    unsetenv("DOCKER_TLS_VERIFY");
    unsetenv("DOCKER_TLS");
    unsetenv("DOCKER_CERT_PATH");
    return 0;
}

static int engine(const char *order)
{
    sw_autofree char *line = sw_format("%s ctl %s", getenv("SLIPWAY_TEST_ENGINE_PROGRAM"), order);

    return system(line);
}

static void expect_image(struct docker_api *api)
{
    struct sw_rest_call call = { .path = "/images/json" };
    sw_auto(json) json_t *list = NULL;
    struct sw_error err = { 0 };

    if (docker_ask(api, &call, &list, &err) < 0)
        fail_msg("%s (%s)", err.message, err.hint);
    assert_int_equal(json_array_size(list), 1);
}

static void expect_failure(const char *host, enum sw_code code, const char *message,
                           const char *hint)
{
    sw_auto(docker_api) struct docker_api *api = open_at(host);
    struct sw_error err = { 0 };

    assert_null(docker_api_version(api, &err));
    if (err.code != code || !strstr(err.message, message) || !strstr(err.hint, hint))
        fail_msg("%s: %s (%s)", sw_code_name(err.code), err.message, err.hint);
}

/* ---- ssh ------------------------------------------------------------------------------------------- */

static void an_engine_answers_over_ssh(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_at("ssh://root@far.test");

    (void)state;
    assert_false(api->endpoint.way == DOCKER_UNIX);
    expect_image(api);
    expect_image(api);
}

static void calls_one_after_the_other_share_a_connection(void **state)
{
    sw_autofree char *file = sw_path_join(folder(), "counters"), *text = NULL;
    sw_auto(json) json_t *counted = NULL;
    struct docker_api *api;

    (void)state;
    setenv("SLIPWAY_SSH_COUNTERS", file, 1);
    api = open_at("ssh://far.test");
    for (int i = 0; i < 5; i++)
        expect_image(api);
    docker_api_close(api);
    unsetenv("SLIPWAY_SSH_COUNTERS");
    text = sw_file_read(file, 4096, NULL, NULL);
    assert_non_null(text);
    counted = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
    /* The login, and one command over there for all calls. */
    assert_in_range(sw_json_int(counted, "processes", 99), 1, 2);
    assert_in_range(sw_json_int(counted, "connections", 99), 0, 1);
}

static int keep(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    (void)so_far;
    sw_buf_add_bytes(context, bytes, length);
    return 0;
}

static void note_end(void *context, const struct sw_rest_answer *answer)
{
    assert_int_equal(answer->error.code, SW_OK);
    *(bool *)context = true;
}

static void streams_and_calls_share_one_login(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_at("ssh://far.test");
    sw_auto(json) json_t *body = sw_json_object(
        SW_STR("Image", getenv("SLIPWAY_TEST_IMAGE")),
        SW_SUB("Cmd", json_pack("[sss]", "sh", "-c", "echo one; sleep 1; echo two")));
    struct sw_rest_call create = { .method = "POST", .path = "/containers/create?name=far",
                                   .json = body };
    struct sw_rest_call start = { .method = "POST", .path = "/containers/far/start" };
    sw_auto(sw_buf) struct sw_buf log = SW_BUF_INIT;
    bool over = false;
    struct sw_rest_call logs = { .path = "/containers/far/logs?follow=1&stdout=1", .sink = keep,
                                 .sink_context = &log, .stall_ms = -1 };
    int64_t deadline = sw_monotonic_ms() + 30000;

    (void)state;
    assert_int_equal(docker_ask(api, &create, NULL, NULL), 0);
    assert_int_equal(docker_ask(api, &start, NULL, NULL), 0);
    assert_int_equal(docker_send(api, &logs, note_end, &over, NULL), 0);
    expect_image(api);                       /* while the log is followed */
    while (!over && sw_monotonic_ms() < deadline)
        sw_rest_work(api->rest, 100, NULL);
    assert_true(over);
    assert_int_equal(log.length, 2 * (8 + 4));
}

static void a_large_archive_goes_through_ssh(void **state)
{
    enum { SIZE = 20 * 1024 * 1024 };
    sw_auto(docker_api) struct docker_api *api = open_at("ssh://far.test");
    sw_autofree char *bytes = sw_alloc(SIZE);
    struct sw_rest_call load = { .method = "PUT", .path = "/containers/far/archive?path=/tmp",
                                 .bytes = bytes, .length = SIZE };
    struct sw_error err = { 0 };

    (void)state;                             /* zeros are an archive with nothing in it */
    if (docker_ask(api, &load, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

static void a_socket_that_is_not_there_is_what_docker_over_there_says(void **state)
{
    (void)state;
    expect_failure("ssh://far.test/run/nowhere.sock", SW_E_UNREACHABLE, "nowhere.sock",
                   "docker version");
}

static void an_unknown_host_is_refused_before_anything_is_sent(void **state)
{
    (void)state;
    expect_failure("ssh://stranger.test", SW_E_REFUSED, "stranger.test", "");
}

static void a_host_that_does_not_answer_is_unreachable(void **state)
{
    (void)state;
    expect_failure("ssh://far.test:1", SW_E_UNREACHABLE, "far.test", "");
}

static void a_cut_connection_is_unreachable_and_the_next_call_logs_in_again(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_at("ssh://far.test");
    sw_autofree char *kill_masters = sw_format("fuser -s -k %s/state/ssh/* 2>/dev/null; "
                                               "pkill -P $(cat %s/ssh/pid)", folder(), folder());
    struct sw_rest_call call = { .path = "/containers/far/wait?condition=next-exit",
                                 .method = "POST", .stall_ms = -1 };
    struct sw_error err = { 0 };
    bool over = false;
    int64_t deadline = sw_monotonic_ms() + 30000;

    (void)state;
    expect_image(api);
    assert_int_equal(docker_send(api, &call, note_end, &over, NULL), 0);
    sw_rest_work(api->rest, 500, NULL);
    sw_rest_drop(api->rest, &over);
    (void)!system(kill_masters);
    /* The kept connection is dead; whether the call fails or is repeated on a new login is
     * libcurl's choice. Soon it works again, and until then nothing else is said. */
    for (;;) {
        struct sw_rest_call list = { .path = "/images/json" };

        memset(&err, 0, sizeof err);
        if (docker_ask(api, &list, NULL, &err) == 0 || sw_monotonic_ms() > deadline)
            break;
        assert_int_equal(err.code, SW_E_UNREACHABLE);
    }
    assert_int_equal(err.code, SW_OK);
}

static void a_dead_engine_behind_ssh_is_unreachable(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_at("ssh://far.test");
    struct sw_rest_call call = { .path = "/images/json" };
    struct sw_error err = { 0 };

    (void)state;
    expect_image(api);
    assert_int_equal(engine("kill"), 0);
    assert_int_equal(docker_ask(api, &call, NULL, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_int_equal(engine("start"), 0);
    expect_image(api);
}

/* ---- tcp with TLS ---------------------------------------------------------------------------------- */

static void use_certificates(const char *name)
{
    sw_autofree char *path = sw_path_join(folder(), name);

    setenv("DOCKER_CERT_PATH", path, 1);
    setenv("DOCKER_TLS_VERIFY", "1", 1);
}

static void an_engine_answers_over_tls(void **state)
{
    (void)state;
    use_certificates("tls");
    {
        sw_auto(docker_api) struct docker_api *api = open_at("tcp://engine.test:2376");

        expect_image(api);
        assert_false(api->endpoint.way == DOCKER_UNIX);
    }
    sw_auto(docker_api) struct docker_api *usual_port = open_at("tcp://192.0.2.2");

    expect_image(usual_port);
}

static void an_engine_we_do_not_trust_gets_nothing(void **state)
{
    (void)state;
    use_certificates("other");
    expect_failure("tcp://engine.test:2376", SW_E_CREDENTIAL, "certificate", "other/ca.pem");
}

static void an_engine_that_does_not_trust_us_says_so(void **state)
{
    sw_autofree char *ours = sw_path_join(folder(), "tls/ca.pem");
    sw_autofree char *theirs = sw_path_join(folder(), "other/ca.pem");

    (void)state;
    assert_int_equal(sw_copy_tree(ours, theirs, &(int64_t){ 0 }, &(int64_t){ 0 }, NULL), 0);
    use_certificates("other");
    expect_failure("tcp://engine.test:2376", SW_E_UNREACHABLE, "engine.test", "other/cert.pem");
}

static void plain_http_to_a_tls_engine_names_the_variables(void **state)
{
    (void)state;
    expect_failure("tcp://engine.test:2376", SW_E_REFUSED, "HTTPS", "DOCKER_TLS_VERIFY");
}

static void a_port_without_listener_is_unreachable(void **state)
{
    (void)state;
    expect_failure("tcp://engine.test:9", SW_E_UNREACHABLE, "engine.test:9", "(DOCKER_HOST)");
}

static void something_else_than_an_engine_is_noticed(void **state)
{
    (void)state;
    expect_failure("tcp://far.test:2222", SW_E_REFUSED, "far.test:2222", "");
}

#define ALONE(test) cmocka_unit_test_setup(test, alone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(an_engine_answers_over_ssh),
        ALONE(calls_one_after_the_other_share_a_connection),
        ALONE(streams_and_calls_share_one_login),
        ALONE(a_large_archive_goes_through_ssh),
        ALONE(a_socket_that_is_not_there_is_what_docker_over_there_says),
        ALONE(an_unknown_host_is_refused_before_anything_is_sent),
        ALONE(a_host_that_does_not_answer_is_unreachable),
        ALONE(a_cut_connection_is_unreachable_and_the_next_call_logs_in_again),
        ALONE(a_dead_engine_behind_ssh_is_unreachable),
        ALONE(an_engine_answers_over_tls),
        ALONE(an_engine_we_do_not_trust_gets_nothing),
        ALONE(an_engine_that_does_not_trust_us_says_so),
        ALONE(plain_http_to_a_tls_engine_names_the_variables),
        ALONE(a_port_without_listener_is_unreachable),
        ALONE(something_else_than_an_engine_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
