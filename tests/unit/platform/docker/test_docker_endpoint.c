/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_docker_endpoint.c - addresses of engines, and which one is meant.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/file.h"
#include "platform/docker/docker_endpoint.h"

static void addresses_are_read(void **state)
{
    static const struct {
        const char *text;
        enum docker_way way;
        const char *host, *user, *path;      /* path: the socket, here or there */
        int port;
    } cases[] = {
        { "unix:///var/run/docker.sock", DOCKER_UNIX, NULL, NULL, "/var/run/docker.sock", 0 },
        { "/run/podman/podman.sock", DOCKER_UNIX, NULL, NULL, "/run/podman/podman.sock", 0 },
        { "tcp://engine:2375", DOCKER_TCP, "engine", NULL, NULL, 2375 },
        { "tcp://engine", DOCKER_TCP, "engine", NULL, NULL, 0 },
        { "tcp://10.0.0.1:1/", DOCKER_TCP, "10.0.0.1", NULL, NULL, 1 },
        { "tcp://[fe80::1%eth0]:2376", DOCKER_TCP, "fe80::1%eth0", NULL, NULL, 2376 },
        { "tcp://[::1]", DOCKER_TCP, "::1", NULL, NULL, 0 },
        { "http://engine:80", DOCKER_TCP, "engine", NULL, NULL, 80 },
        { "https://engine:2376", DOCKER_TLS, "engine", NULL, NULL, 2376 },
        { "SSH://gpu-box", DOCKER_SSH, "gpu-box", NULL, NULL, 0 },
        { "ssh://me@gpu-box:2222", DOCKER_SSH, "gpu-box", "me", NULL, 2222 },
        { "ssh://me@corp.example@gpu/run/user/1/podman.sock", DOCKER_SSH, "gpu",
          "me@corp.example", "/run/user/1/podman.sock", 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
        struct sw_error err = { 0 };
        const char *path;

        if (docker_endpoint_parse(cases[i].text, &endpoint, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.message);
        path = endpoint.way == DOCKER_UNIX ? endpoint.socket : endpoint.remote_socket;
        assert_int_equal(endpoint.way, cases[i].way);
        assert_string_equal(endpoint.host ? endpoint.host : "-", cases[i].host ? cases[i].host : "-");
        assert_string_equal(endpoint.user ? endpoint.user : "-", cases[i].user ? cases[i].user : "-");
        assert_string_equal(path ? path : "-", cases[i].path ? cases[i].path : "-");
        assert_int_equal(endpoint.port, cases[i].port);
        assert_non_null(endpoint.text);
    }
}

static void what_is_no_address_is_refused_with_the_forms_there_are(void **state)
{
    static const char *const cases[] = {
        "", "engine", "engine:2375", "unix://", "unix://docker.sock", "tcp://", "tcp://:2375",
        "tcp://a:0", "tcp://a:65536", "tcp://a:2375x", "tcp://a/path", "tcp://me@a",
        "tcp://[::1", "tcp://[::1]x", "tcp://[]:1", "ftp://a", "npipe:////./pipe/docker",
        "fd://", "ssh://", "ssh://@a", "ssh://-oProxyCommand=x", "ssh://-l@a", "ssh://a b",
        "ssh://a/run/x;reboot", "ssh://a/run/$(x)", "ssh://a?x", "tcp://a:", "ssh://a\nb",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
        struct sw_error err = { 0 };

        if (docker_endpoint_parse(cases[i], &endpoint, &err) == 0)
            fail_msg("'%s' was taken for an address", cases[i]);
        assert_int_equal(err.code, SW_E_SPEC);
        assert_non_null(strstr(err.hint, "ssh://user@host"));
    }
}

static void a_password_in_an_address_is_refused_and_not_repeated(void **state)
{
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(docker_endpoint_parse("ssh://me:hunter2@host", &endpoint, &err), -1);
    assert_null(strstr(err.message, "hunter2"));
    assert_non_null(strstr(err.message, "password"));
}

/* ---- which engine is meant ----------------------------------------------------------------------- */

struct place {
    char folder[64];
};

static const char *const variables[] = {
    "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_TLS",
    "DOCKER_CERT_PATH", "XDG_RUNTIME_DIR",
};

static int settle_in(void **state)
{
    struct place *place = sw_new(struct place);

    strcpy(place->folder, "/tmp/test-docker-where-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    for (size_t i = 0; i < SW_COUNT(variables); i++)
        unsetenv(variables[i]);
    setenv("HOME", place->folder, 1);
    *state = place;
    return 0;
}

static int leave(void **state)
{
    struct place *place = *state;

    sw_remove_tree(place->folder, NULL);
    free(place);
    return 0;
}

static void write_file(const struct place *place, const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(place->folder, name);
    sw_autofree char *folder = sw_strdup(path);

    *strrchr(folder, '/') = '\0';
    assert_int_equal(sw_mkdirs(folder, 0700, NULL), 0);
    assert_int_equal(sw_file_write(path, text, strlen(text), 0600, NULL), 0);
}

static void add_context(const struct place *place, const char *name, const char *host)
{
    char hex[SW_DIGEST_HEX];
    sw_autofree char *path = NULL, *text = NULL;

    sw_sha256_hex(name, strlen(name), hex);
    path = sw_format(".docker/contexts/meta/%s/meta.json", hex);
    text = sw_format("{\"Name\":\"%s\",\"Metadata\":{},\"Endpoints\":{\"docker\":"
                     "{\"Host\":\"%s\",\"SkipTLSVerify\":false}}}", name, host);
    write_file(place, path, text);
}

static void expect(const char *options, const char *text, const char *origin)
{
    sw_auto(json) json_t *given = json_loads(options, 0, NULL);
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
    struct sw_error err = { 0 };

    if (docker_endpoint_find(given, &endpoint, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(endpoint.text, text);
    assert_string_equal(endpoint.origin, origin);
}

static void the_order_is_dockers_own(void **state)
{
    const struct place *place = *state;

    expect("{}", "unix:///var/run/docker.sock", "the usual place");
    add_context(place, "far", "ssh://me@far");
    add_context(place, "near", "tcp://near:2375");
    write_file(place, ".docker/config.json", "{\"currentContext\": \"far\"}");
    expect("{}", "ssh://me@far", "docker's current context");
    setenv("DOCKER_CONTEXT", "near", 1);
    expect("{}", "tcp://near:2375", "DOCKER_CONTEXT");
    setenv("DOCKER_CONTEXT", "default", 1);
    expect("{}", "unix:///var/run/docker.sock", "the usual place");
    setenv("DOCKER_HOST", "tcp://env:1", 1);
    expect("{}", "tcp://env:1", "DOCKER_HOST");
    expect("{\"context\": \"far\"}", "ssh://me@far", "option context");
    expect("{\"context\": \"far\", \"host\": \"tcp://here:1\"}", "tcp://here:1", "option host");
}

static void a_context_that_is_not_there_is_named(void **state)
{
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    setenv("DOCKER_CONTEXT", "../../gone", 1);
    assert_int_equal(docker_endpoint_find(NULL, &endpoint, &err), -1);
    assert_int_equal(err.code, SW_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "../../gone"));
    assert_non_null(strstr(err.hint, "docker context ls"));
}

static void tls_takes_its_files_from_the_folder_that_is_named(void **state)
{
    const struct place *place = *state;
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
    sw_autofree char *folder = sw_path_join(place->folder, "certs");
    struct sw_error err = { 0 };

    setenv("DOCKER_HOST", "tcp://far:2376", 1);
    setenv("DOCKER_TLS_VERIFY", "1", 1);
    setenv("DOCKER_CERT_PATH", folder, 1);
    write_file(place, "certs/ca.pem", "x");
    write_file(place, "certs/cert.pem", "x");
    assert_int_equal(docker_endpoint_find(NULL, &endpoint, &err), -1);
    assert_int_equal(err.code, SW_E_CREDENTIAL);
    assert_non_null(strstr(err.message, "key.pem is missing"));
    write_file(place, "certs/key.pem", "x");
    assert_int_equal(docker_endpoint_find(NULL, &endpoint, NULL), 0);
    assert_int_equal(endpoint.way, DOCKER_TLS);
    assert_non_null(strstr(endpoint.key, "certs/key.pem"));
    assert_false(endpoint.trust_any);
    assert_null(docker_endpoint_warning(&endpoint));
}

static void a_context_brings_its_own_certificates(void **state)
{
    const struct place *place = *state;
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
    sw_autofree char *path = NULL;
    char hex[SW_DIGEST_HEX];

    add_context(place, "lab", "tcp://lab:2376");
    sw_sha256_hex("lab", 3, hex);
    path = sw_format(".docker/contexts/tls/%s/docker/ca.pem", hex);
    write_file(place, path, "x");
    setenv("DOCKER_CONTEXT", "lab", 1);
    assert_int_equal(docker_endpoint_find(NULL, &endpoint, NULL), 0);
    assert_int_equal(endpoint.way, DOCKER_TLS);
    assert_non_null(endpoint.ca);
    assert_null(endpoint.cert);
}

static void an_open_door_is_warned_about_unless_it_is_this_machine(void **state)
{
    static const struct { const char *text; bool warned; } cases[] = {
        { "tcp://far:2375", true }, { "tcp://127.0.0.1:2375", false }, { "tcp://[::1]:1", false },
        { "tcp://localhost", false }, { "ssh://far", false }, { "unix:///x", false },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
        sw_autofree char *text = NULL;

        assert_int_equal(docker_endpoint_parse(cases[i].text, &endpoint, NULL), 0);
        text = docker_endpoint_warning(&endpoint);
        assert_int_equal(text != NULL, cases[i].warned);
    }
}

static void a_socket_no_client_listens_on_gives_way_to_one_that_answers(void **state)
{
    const struct place *place = *state;
    sw_autofree char *podman = sw_path_join(place->folder, "podman/podman.sock");
    sw_autofree char *expected = sw_format("unix://%s", podman);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    sw_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    write_file(place, "docker.sock", "no socket at all");
    write_file(place, "podman/other", "");
    strcpy(address.sun_path, podman);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    setenv("XDG_RUNTIME_DIR", place->folder, 1);
    if (access("/var/run/docker.sock", F_OK) == 0)
        skip();                       /* an engine of this machine would win */
    expect("{}", expected, "the usual place");
}

static void a_broken_configuration_is_an_error_that_names_the_file(void **state)
{
    const struct place *place = *state;
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
    struct sw_error err = { 0 };

    write_file(place, ".docker/config.json", "{\"auths\": ");
    assert_int_equal(docker_endpoint_find(NULL, &endpoint, &err), -1);
    assert_non_null(strstr(err.message, ".docker/config.json"));
}

#define PLACED(test) cmocka_unit_test_setup_teardown(test, settle_in, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(what_is_no_address_is_refused_with_the_forms_there_are),
        cmocka_unit_test(a_password_in_an_address_is_refused_and_not_repeated),
        PLACED(the_order_is_dockers_own),
        PLACED(a_context_that_is_not_there_is_named),
        PLACED(tls_takes_its_files_from_the_folder_that_is_named),
        PLACED(a_context_brings_its_own_certificates),
        PLACED(an_open_door_is_warned_about_unless_it_is_this_machine),
        PLACED(a_socket_no_client_listens_on_gives_way_to_one_that_answers),
        PLACED(a_broken_configuration_is_an_error_that_names_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
