/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_docker_version.c - engines of other ages, and servers that are none. No such engine can be
 * installed beside the one of this system, so a child of ours answers in their words.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/text.h"
#include "platform/docker/docker_api.h"

static char path[64];
static pid_t server;

/* Answer each connection's requests: the ping with `ping`, anything else with its own first line. */
static void answer(int listener, const char *ping)
{
    for (;;) {
        char asked[4096] = "", reply[8192], line[200] = "";
        int fd = accept(listener, NULL, NULL);

        while (read(fd, asked, sizeof asked - 1) > 0) {
            sscanf(asked, "%199[^\r]", line);
            if (strstr(line, "/_ping"))
                snprintf(reply, sizeof reply, "%s", ping);
            else
                snprintf(reply, sizeof reply, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\n\r\n{\"asked\":\"%s\"}", strlen(line) + 12, line);
            if (write(fd, reply, strlen(reply)) < 0 || strstr(reply, "Connection: close"))
                break;
            memset(asked, 0, sizeof asked);
        }
        close(fd);
    }
}

static struct docker_api *engine_that_says(const char *ping)
{
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(path, sizeof path, "/tmp/test-docker-version-XXXXXX");
    assert_non_null(mkdtemp(path));
    strcat(path, "/engine");
    strcpy(address.sun_path, path);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        answer(listener, ping);
    }
    close(listener);
    assert_int_equal(docker_endpoint_parse(path, &endpoint, NULL), 0);
    endpoint.origin = "the test";
    return docker_api_open(&endpoint, NULL);
}

static void end_server(void)
{
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
}

#define PING(headers) "HTTP/1.1 200 OK\r\n" headers "Content-Length: 2\r\n\r\nOK"

static void the_lower_version_of_both_is_spoken(void **state)
{
    static const struct { const char *ping, *version; bool podman; } cases[] = {
        { PING("Api-Version: 1.40\r\n"), "1.40", false },
        { PING("API-Version: 1.43\r\n"), "1.43", false },
        { PING("Api-Version: 1.51\r\n"), "1.44", false },
        { PING("Api-Version: 1.41\r\nLibpod-Api-Version: 4.3.1\r\n"), "1.41", true },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(docker_api) struct docker_api *api = engine_that_says(cases[i].ping);
        sw_autofree char *expected = sw_format("GET /v%s/info HTTP/1.1", cases[i].version);
        sw_auto(json) json_t *reply = NULL;
        struct sw_error err = { 0 };

        if (docker_ask(api, &(struct sw_rest_call){ .path = "/info" }, &reply, &err) < 0)
            fail_msg("%s", err.message);
        assert_string_equal(sw_json_str(reply, "asked"), expected);
        assert_int_equal(api->podman, cases[i].podman);
        end_server();
    }
}

static void what_cannot_be_spoken_with_is_reported(void **state)
{
    static const struct { const char *ping; enum sw_code code; const char *message, *hint; } cases[] = {
        { PING("Api-Version: 1.39\r\n"), SW_E_UNSUPPORTED, "supports Docker API 1.39", "19.03" },
        { PING("Server: nginx\r\n"), SW_E_REFUSED, "is not a Docker engine",
          "the test points to another kind of server" },
        { PING("Api-Version: two\r\n"), SW_E_REFUSED, "is not a Docker engine", "" },
        { "HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n"
          "{\"message\":\"down\"}", SW_E_UNREACHABLE, "Docker says: down", "" },
        { "HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\nforbidden", SW_E_CREDENTIAL,
          "Docker says: forbidden", "" },
        { "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", SW_E_NOT_FOUND, "status 404", "" },
        { "SSH-2.0-OpenSSH\r\nConnection: close\r\n\r\n", SW_E_UNREACHABLE, "does not answer", "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(docker_api) struct docker_api *api = engine_that_says(cases[i].ping);
        struct sw_error err = { 0 };

        assert_null(docker_api_version(api, &err));
        if (err.code != cases[i].code || !strstr(err.message, cases[i].message) ||
            !strstr(err.hint, cases[i].hint))
            fail_msg("case %zu: %s: %s (%s)", i, sw_code_name(err.code), err.message, err.hint);
        end_server();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lower_version_of_both_is_spoken),
        cmocka_unit_test(what_cannot_be_spoken_with_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
