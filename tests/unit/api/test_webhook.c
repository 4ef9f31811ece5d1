/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_webhook.c - a webhook is posted once, tried again when the server stumbles, and its address
 * stays a secret.
 */
#include "watch_test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

/* A server that answers each POST with the next of its codes and remembers the bodies. */
struct server {
    int listener, port;
    const int *codes;
    size_t count;
    char bodies[8][4096];
    char paths[8][64];
    size_t got;
    pthread_t thread;
};

static void answer(struct server *server, int client)
{
    char request[8192] = "";
    size_t length = 0, wanted = SIZE_MAX;
    char *body = NULL;
    sw_autofree char *reply = sw_format("HTTP/1.1 %d x\r\nContent-Length: 0\r\n"
                                        "Connection: close\r\n\r\n",
                                        server->codes[server->got]);

    while (length < sizeof request - 1 && (!body || length < wanted)) {
        ssize_t n = read(client, request + length, sizeof request - 1 - length);

        if (n <= 0)
            break;
        length += (size_t)n;
        request[length] = '\0';
        if (!body && (body = strstr(request, "\r\n\r\n"))) {
            const char *size = strcasestr(request, "content-length:");

            body += 4;
            wanted = (size_t)(body - request) + (size_t)(size ? atoi(size + 15) : 0);
        }
    }
    snprintf(server->bodies[server->got], sizeof server->bodies[0], "%s", body ? body : "");
    sscanf(request, "POST %63s", server->paths[server->got]);
    server->got++;
    if (write(client, reply, strlen(reply)) < 0)
        server->got = 0;
}

static void *serve(void *argument)
{
    struct server *server = argument;

    while (server->got < server->count) {
        int client = accept(server->listener, NULL, NULL);

        if (client < 0)
            break;
        answer(server, client);
        close(client);
    }
    return NULL;
}

static void server_begin(struct server *server, const int *codes, size_t count)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;

    memset(server, 0, sizeof *server);
    server->codes = codes;
    server->count = count;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &length), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static json_t *hook_event(struct post *here, const char *id)
{
    int64_t until = sw_monotonic_ms() + 30000;

    while (sw_monotonic_ms() < until) {
        sw_auto(json) json_t *document = ask(here, sw_events(here->session, id, 0, &here->err));
        json_t *event;
        size_t i;

        json_array_foreach(json_object_get(document, "events"), i, event)
            if (strcmp(sw_json_str(event, "kind"), "hook") == 0)
                return json_incref(json_object_get(event, "data"));
        json_decref(status_of(here, id));
        sw_sleep_ms(50);
    }
    fail_msg("no hook was run");
    return NULL;
}

static void a_stumbling_server_is_asked_again_and_hears_the_job(void **state)
{
    static const int codes[] = { 503, 200 };
    struct post *here = *state;
    struct server server;
    sw_auto(json) json_t *result = NULL;
    sw_auto(json) json_t *body = NULL;
    const char *id;

    server_begin(&server, codes, SW_COUNT(codes));
    {
        sw_autofree char *port = sw_format("http://127.0.0.1:%d/s3cret-path", server.port);

        setenv("WATCH_TEST_HOOK_URL", port, 1);
    }
    id = submit(here, "name: w\ncommand: x\nplatform: rehearsal\n"
                      "notify: {webhook: '${WATCH_TEST_HOOK_URL}'}\n"
                      "rehearsal: {script: 'running 10ms, exit 3'}\n");
    result = hook_event(here, id);
    pthread_join(server.thread, NULL);
    close(server.listener);
    assert_int_equal(server.got, 2);
    assert_string_equal(server.paths[1], "/s3cret-path");
    assert_int_equal(sw_json_int(result, "exit_status", -1), 0);
    body = json_loads(server.bodies[1], 0, NULL);
    assert_string_equal(sw_json_str(body, "id"), id);
    assert_string_equal(sw_json_str(body, "event"), "error");
    assert_string_equal(sw_json_str(body, "status"), "Error");
    assert_int_equal(sw_json_int(body, "exit_code", 0), 3);
    assert_non_null(strstr(sw_json_str(body, "text"), "is Error"));
}

static void a_refusal_is_final_and_the_address_is_not_told(void **state)
{
    static const int codes[] = { 404 };
    struct post *here = *state;
    struct server server;
    sw_auto(json) json_t *result = NULL;
    sw_autofree char *text = NULL;
    sw_autofree char *yaml = NULL;

    server_begin(&server, codes, SW_COUNT(codes));
    yaml = sw_format("name: w\ncommand: x\nplatform: rehearsal\n"
                     "notify: {webhook: 'http://127.0.0.1:%d/s3cret-path'}\n"
                     "rehearsal: {script: 'exit 0'}\n", server.port);
    result = hook_event(here, submit(here, yaml));
    pthread_join(server.thread, NULL);
    close(server.listener);
    text = sw_json_dump(result);
    assert_int_equal(server.got, 1);
    assert_non_null(strstr(text, "answered 404"));
    assert_null(strstr(text, "s3cret-path"));
}

static void a_missing_variable_is_named(void **state)
{
    struct post *here = *state;
    const char *id = submit(here, "name: w\ncommand: x\nplatform: rehearsal\n"
                                  "notify: {webhook: '${NOT_SET_ANYWHERE}'}\n"
                                  "rehearsal: {script: 'exit 0'}\n");
    sw_auto(json) json_t *result = hook_event(here, id);

    assert_non_null(strstr(sw_json_str(result, "output"), "NOT_SET_ANYWHERE"));
    assert_int_equal(sw_json_int(result, "exit_status", 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        POST_TEST(a_stumbling_server_is_asked_again_and_hears_the_job),
        POST_TEST(a_refusal_is_final_and_the_address_is_not_told),
        POST_TEST(a_missing_variable_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
