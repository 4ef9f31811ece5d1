/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_api.c - the client against a real engine (tests/docker/engine starts it).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/text.h"
#include "platform/docker/docker_api.h"

static struct docker_api *open_api(void)
{
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
    struct sw_error err = { 0 };
    struct docker_api *api;

    if (docker_endpoint_find(NULL, &endpoint, &err) < 0)
        fail_msg("%s", err.message);
    api = docker_api_open(&endpoint, &err);
    if (!api)
        fail_msg("%s", err.message);
    return api;
}

static int engine(const char *order)
{
    sw_autofree char *line = sw_format("%s ctl %s", getenv("SLIPWAY_TEST_ENGINE_PROGRAM"), order);

    return system(line);
}

/* Create a container that runs one shell line; owned id. */
static char *make(struct docker_api *api, const char *name, const char *line)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    sw_auto(json) json_t *reply = NULL;
    sw_auto(json) json_t *body = sw_json_object(
        SW_STR("Image", getenv("SLIPWAY_TEST_IMAGE")),
        SW_SUB("Cmd", json_pack("[sss]", "/bin/sh", "-c", line)));
    struct sw_rest_call call = { .method = "POST", .json = body };
    struct sw_error err = { 0 };

    sw_buf_add(&path, "/containers/create");
    sw_rest_query(&path, "name", name);
    call.path = sw_buf_text(&path);
    if (docker_ask(api, &call, &reply, &err) < 0)
        fail_msg("%s", err.message);
    return sw_strdup(sw_json_str(reply, "Id"));
}

static void post(struct docker_api *api, const char *id, const char *what)
{
    sw_autofree char *path = sw_format("/containers/%s%s", id, what);
    struct sw_rest_call call = { .method = "POST", .path = path, .stall_ms = -1 };
    struct sw_error err = { 0 };

    if (docker_ask(api, &call, NULL, &err) < 0)
        fail_msg("%s: %s", path, err.message);
}

static void both_sides_settle_on_a_version(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_api();
    const char *version = docker_api_version(api, NULL);

    (void)state;
    assert_string_equal(version, "1.41");
    assert_true(api->endpoint.way == DOCKER_UNIX);
}

static void a_document_comes_back(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_api();
    struct sw_rest_call call = { .path = "/images/json" };
    sw_auto(json) json_t *list = NULL;

    (void)state;
    assert_int_equal(docker_ask(api, &call, &list, NULL), 0);
    assert_true(json_is_array(list));
    assert_int_equal(json_array_size(list), 1);
}

static void what_is_not_there_is_not_found(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_api();
    struct sw_rest_call call = { .path = "/containers/none/json" };
    struct sw_error err = { 0 };
    sw_auto(json) json_t *reply = NULL;

    (void)state;
    assert_int_equal(docker_ask(api, &call, &reply, &err), -1);
    assert_int_equal(err.code, SW_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "No such container: none"));
    assert_null(reply);
}

static void a_name_that_is_taken_is_a_conflict(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_api();
    sw_autofree char *id = make(api, "taken", "exit 0");
    sw_auto(json) json_t *body = sw_json_object(SW_STR("Image", getenv("SLIPWAY_TEST_IMAGE")));
    struct sw_rest_call call = { .method = "POST", .path = "/containers/create?name=taken",
                                 .json = body };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(docker_ask(api, &call, NULL, &err), -1);
    assert_int_equal(err.code, SW_E_CONFLICT);
    assert_non_null(strstr(err.message, id));
}

static void starting_twice_is_success(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_api();
    sw_autofree char *id = make(api, "twice", "sleep 100");

    (void)state;
    post(api, id, "/start");
    post(api, id, "/start");          /* 304 */
}

/* A tar file with one empty folder entry "made/", as written by hand. */
static void a_tar_file_goes_in(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_api();
    sw_autofree char *id = make(api, "archive", "exit 0");
    sw_autofree char *path = sw_rest_path("/containers/%s/archive?path=/", id);
    char tar[1536] = "made/";
    struct sw_rest_call call = { .method = "PUT", .path = path, .bytes = tar, .length = sizeof tar };
    unsigned sum = 0;
    struct sw_error err = { 0 };

    (void)state;
    strcpy(tar + 100, "0000755");
    strcpy(tar + 108, "0000000");
    strcpy(tar + 116, "0000000");
    strcpy(tar + 124, "00000000000");
    strcpy(tar + 136, "00000000000");
    memset(tar + 148, ' ', 8);
    tar[156] = '5';
    memcpy(tar + 257, "ustar\00000", 8);
    for (size_t i = 0; i < 512; i++)
        sum += (unsigned char)tar[i];
    snprintf(tar + 148, 8, "%06o", sum);
    if (docker_ask(api, &call, NULL, &err) < 0)
        fail_msg("%s", err.message);
    free(sw_take(path));
    path = sw_rest_path("/containers/%s/archive?path=/made", id);
    call = (struct sw_rest_call){ .method = "HEAD", .path = path };
    assert_int_equal(docker_ask(api, &call, NULL, &err), 0);
}

struct seen {
    struct sw_buf bytes;
    size_t stop_at;
};

static int keep(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    struct seen *seen = context;

    (void)so_far;
    sw_buf_add_bytes(&seen->bytes, bytes, length);
    return seen->stop_at && seen->bytes.length >= seen->stop_at;
}

static void a_followed_log_ends_with_its_container(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_api();
    sw_autofree char *id = make(api, "log", "echo one; sleep 1; echo two");
    sw_autofree char *path = sw_rest_path("/containers/%s/logs?follow=1&stdout=1", id);
    struct seen seen = { 0 };
    struct sw_rest_call call = { .path = path, .sink = keep, .sink_context = &seen,
                                 .stall_ms = -1 };

    (void)state;
    post(api, id, "/start");
    assert_int_equal(docker_ask(api, &call, NULL, NULL), 0);
    assert_int_equal(seen.bytes.length, 2 * (8 + 4));
    assert_memory_equal(seen.bytes.data + 8, "one\n", 4);
    sw_buf_done(&seen.bytes);
}

static void a_sink_that_has_enough_ends_the_stream(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_api();
    sw_autofree char *id = make(api, "yes", "yes");
    sw_autofree char *path = sw_rest_path("/containers/%s/logs?follow=1&stdout=1", id);
    struct seen seen = { .stop_at = 1000 };
    struct sw_rest_call call = { .path = path, .sink = keep, .sink_context = &seen,
                                 .stall_ms = -1 };
    struct sw_error err = { 0 };

    (void)state;
    post(api, id, "/start");
    assert_int_equal(docker_ask(api, &call, NULL, &err), -1);
    assert_int_equal(err.code, SW_E_INTERRUPTED);
    sw_buf_done(&seen.bytes);
    post(api, id, "/kill");
}

static int count_starts(void *context, json_t *event)
{
    int *starts = context;

    *starts += sw_text_same(sw_json_str(event, "Action"), "start");
    return 0;
}

static void note_end(void *context, const struct sw_rest_answer *answer)
{
    (void)answer;
    *(bool *)context = true;
}

static void events_and_calls_share_a_client(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_api();
    int starts = 0;
    bool over = false;
    struct sw_rest_lines lines = { .take = count_starts, .context = &starts };
    struct sw_rest_call events = { .path = "/events?filters=%7B%22type%22%3A%5B%22container%22%5D%7D",
                                   .sink = sw_rest_lines_sink, .sink_context = &lines,
                                   .stall_ms = -1 };
    int64_t deadline = sw_monotonic_ms() + 30000;

    (void)state;
    assert_int_equal(docker_send(api, &events, note_end, &over, NULL), 0);
    for (int i = 0; i < 3; i++) {
        sw_autofree char *name = sw_format("event-%d", i);
        sw_autofree char *id = make(api, name, "exit 0");

        post(api, id, "/start");
    }
    while (starts < 3 && sw_monotonic_ms() < deadline)
        sw_rest_work(api->rest, 100, NULL);
    assert_int_equal(starts, 3);
    assert_false(over);
    sw_rest_drop(api->rest, &over);
    assert_int_equal(sw_rest_busy(api->rest), 0);
    sw_rest_lines_done(&lines);
}

static void a_dead_engine_is_unreachable_and_a_started_one_answers_again(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_api();
    struct sw_rest_call call = { .path = "/containers/json" };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(docker_ask(api, &call, NULL, NULL), 0);
    assert_int_equal(engine("kill"), 0);
    assert_int_equal(docker_ask(api, &call, NULL, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_non_null(strstr(err.message, getenv("DOCKER_HOST")));
    assert_non_null(strstr(err.hint, "start docker"));
    assert_int_equal(engine("start"), 0);
    assert_int_equal(docker_ask(api, &call, NULL, NULL), 0);
}

/* To most it is one that cannot be reached; to a few the silence is what they wanted to know. */
static void a_silent_engine_is_unreachable_or_an_answer(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_api();
    struct sw_rest_call call = { .path = "/containers/json", .stall_ms = 2000 };
    struct sw_error err = { 0 }, counted = { 0 };

    (void)state;
    assert_non_null(docker_api_version(api, NULL));
    assert_int_equal(engine("pause"), 0);
    assert_int_equal(docker_ask(api, &call, NULL, &err), -1);
    call.silence_counts = true;
    assert_int_equal(docker_ask(api, &call, NULL, &counted), -1);
    assert_int_equal(engine("resume"), 0);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_int_equal(counted.code, SW_E_TIMEOUT);
}

/* In a child, which must not come back with what it lost. */
static void a_user_who_may_not_learns_of_the_group(void **state)
{
    int status = -1;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        struct sw_error err = { 0 };
        sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
        struct docker_api *api;

        if (docker_endpoint_find(NULL, &endpoint, NULL) < 0 || setresuid(65534, 65534, 65534) < 0)
            _exit(2);
        api = docker_api_open(&endpoint, NULL);
        if (docker_api_version(api, &err) || err.code != SW_E_UNREACHABLE ||
            !strstr(err.message, "Permission denied") || !strstr(err.hint, "usermod -aG docker"))
            _exit(3);
        _exit(0);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void the_usual_socket_is_found(void **state)
{
    sw_autofree char *host = sw_strdup(getenv("DOCKER_HOST"));

    (void)state;
    unsetenv("DOCKER_HOST");
    {
        sw_auto(docker_api) struct docker_api *api = open_api();

        assert_string_equal(api->endpoint.socket, "/var/run/docker.sock");
        assert_non_null(docker_api_version(api, NULL));
    }
    setenv("DOCKER_HOST", host, 1);
}

static void without_a_socket_the_hint_says_what_to_do(void **state)
{
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
    sw_auto(docker_api) struct docker_api *api = NULL;
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(docker_endpoint_parse("unix:///nowhere/docker.sock", &endpoint, NULL), 0);
    api = docker_api_open(&endpoint, NULL);
    assert_null(docker_api_version(api, &err));
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_non_null(strstr(err.message, "No such file"));
    assert_non_null(strstr(err.hint, "DOCKER_HOST"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_settle_on_a_version),
        cmocka_unit_test(a_document_comes_back),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(a_name_that_is_taken_is_a_conflict),
        cmocka_unit_test(starting_twice_is_success),
        cmocka_unit_test(a_tar_file_goes_in),
        cmocka_unit_test(a_followed_log_ends_with_its_container),
        cmocka_unit_test(a_sink_that_has_enough_ends_the_stream),
        cmocka_unit_test(events_and_calls_share_a_client),
        cmocka_unit_test(a_dead_engine_is_unreachable_and_a_started_one_answers_again),
        cmocka_unit_test(a_silent_engine_is_unreachable_or_an_answer),
        cmocka_unit_test(a_user_who_may_not_learns_of_the_group),
        cmocka_unit_test(the_usual_socket_is_found),
        cmocka_unit_test(without_a_socket_the_hint_says_what_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
