/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_registry_login.c - which credential a registry gets.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/file.h"
#include "core/registry_login.h"

static const char *const variables[] = { "DOCKER_USERNAME", "DOCKER_PASSWORD", "DOCKER_REGISTRY",
                                         "NGC_KEY" };
static char folder[64];

static int settle_in(void **state)
{
    sw_autofree char *path = NULL;

    (void)state;
    strcpy(folder, "/tmp/test-registry-login-XXXXXX");
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < SW_COUNT(variables); i++)
        unsetenv(variables[i]);
    setenv("DOCKER_CONFIG", folder, 1);
    path = sw_format("%s:%s", folder, getenv("PATH"));
    setenv("PATH", path, 1);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    setenv("PATH", strchr(getenv("PATH"), ':') + 1, 1);
    return sw_remove_tree(folder, NULL);
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    sw_autofree char *path = sw_path_join(folder, name);

    assert_int_equal(sw_file_write(path, text, strlen(text), mode, NULL), 0);
}

static void find(const char *registry, struct sw_registry_login *out)
{
    sw_registry_login_find(&(struct sw_registry_query){ .registry = registry }, out);
}

/* What the header says, or "-" without one. */
static void expect(const char *registry, const char *wanted, const char *origin)
{
    sw_auto(sw_registry_login) struct sw_registry_login login = { 0 };
    sw_auto(sw_text_wipe) char *header = NULL;
    sw_autofree char *said = NULL;

    find(registry, &login);
    header = sw_registry_auth_header(&login, registry);
    said = header ? sw_unbase64(header) : sw_strdup("-");
    assert_string_equal(said, wanted);
    assert_string_equal(login.origin ? login.origin : "-", origin);
}

static void without_any_credential_there_is_none(void **state)
{
    (void)state;
    expect("docker.io", "-", "-");
    expect("nvcr.io", "-", "-");
}

static void the_ngc_key_goes_to_nvcr_io_and_nowhere_else(void **state)
{
    (void)state;
    setenv("NGC_KEY", "nvapi-k\"ey", 1);
    expect("nvcr.io", "{\"username\":\"$oauthtoken\",\"password\":\"nvapi-k\\\"ey\","
                      "\"serveraddress\":\"nvcr.io\"}", "NGC_KEY");
    expect("docker.io", "-", "-");
    expect("nvcr.io.evil.example", "-", "-");
    expect("nvcr.io:5000", "-", "-");
    setenv("DOCKER_USERNAME", "me", 1);
    expect("nvcr.io", "{\"username\":\"me\",\"password\":\"nvapi-k\\\"ey\","
                      "\"serveraddress\":\"nvcr.io\"}", "NGC_KEY");
}

static void a_password_goes_to_the_registry_it_belongs_to(void **state)
{
    (void)state;
    setenv("DOCKER_USERNAME", "me", 1);
    setenv("DOCKER_PASSWORD", "pw", 1);
    setenv("NGC_KEY", "key", 1);
    expect("docker.io", "{\"username\":\"me\",\"password\":\"pw\",\"serveraddress\":"
                        "\"https://index.docker.io/v1/\"}", "DOCKER_USERNAME and DOCKER_PASSWORD");
    expect("quay.io", "-", "-");
    expect("nvcr.io", "{\"username\":\"$oauthtoken\",\"password\":\"key\",\"serveraddress\":"
                      "\"nvcr.io\"}", "NGC_KEY");
    setenv("DOCKER_REGISTRY", "https://quay.io", 1);
    expect("docker.io", "-", "-");
    expect("quay.io", "{\"username\":\"me\",\"password\":\"pw\",\"serveraddress\":\"quay.io\"}",
           "DOCKER_USERNAME and DOCKER_PASSWORD");
}

static void entries_of_the_configuration_are_found_under_all_their_spellings(void **state)
{
    static const char *const keys[][2] = {
        { "https://index.docker.io/v1/", "docker.io" }, { "index.docker.io", "docker.io" },
        { "docker.io", "docker.io" },                   { "host:5000", "host:5000" },
        { "https://host:5000", "host:5000" },           { "https://host:5000/v2/", "host:5000" },
        { "Host.Example", "host.example" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(keys); i++) {
        sw_autofree char *config = sw_format("{\"auths\":{\"%s\":{\"auth\":\"bWU6cDp3\"}}}",
                                             keys[i][0]);
        sw_auto(sw_registry_login) struct sw_registry_login login = { 0 };

        write_file("config.json", config, 0600);
        find(keys[i][1], &login);
        assert_string_equal(login.user, "me");
        assert_non_null(login.secret);
        assert_string_equal(sw_secret_reveal(login.secret), "p:w");
        expect("other.example", "-", "-");
    }
}

static void an_identity_token_is_sent_as_one(void **state)
{
    (void)state;
    write_file("config.json", "{\"auths\":{\"h.example\":{\"auth\":\"\",\"identitytoken\":\"tok\"}}}",
               0600);
    expect("h.example", "{\"identitytoken\":\"tok\",\"serveraddress\":\"h.example\"}",
           "the docker configuration");
}

static void a_helper_is_asked_with_the_registry_on_its_input(void **state)
{
    (void)state;
    write_file("docker-credential-tell",
               "#!/bin/sh\nread -r host\n[ \"$1\" = get ] || exit 9\n"
               "case $host in *none*) echo credentials not found in native keychain; exit 1;; esac\n"
               "printf '{\"ServerURL\":\"%s\",\"Username\":\"u\",\"Secret\":\"for %s\"}' $host $host\n",
               0700);
    write_file("config.json", "{\"credsStore\":\"gone\",\"credHelpers\":{\"a.example\":\"tell\","
                              "\"none.example\":\"tell\",\"docker.io\":\"tell\"},"
                              "\"auths\":{\"b.example\":{\"auth\":\"bWU6cHc=\"}}}", 0600);
    expect("a.example", "{\"username\":\"u\",\"password\":\"for a.example\",\"serveraddress\":"
                        "\"a.example\"}", "docker-credential-tell");
    expect("none.example", "-", "-");
    expect("docker.io", "{\"username\":\"u\",\"password\":\"for https://index.docker.io/v1/\","
                        "\"serveraddress\":\"https://index.docker.io/v1/\"}",
           "docker-credential-tell");
    expect("b.example", "{\"username\":\"me\",\"password\":\"pw\",\"serveraddress\":\"b.example\"}",
           "the docker configuration");
}

static void trouble_with_a_helper_is_reported_and_stops_nothing(void **state)
{
    static const char *const scripts[][2] = {
        { NULL, "cannot be started" },
        { "#!/bin/sh\nexit 3\n", "failed" },
        { "#!/bin/sh\necho nonsense\n", "did not return a login" },
        { "#!/bin/sh\nyes | head -c 100000\n", "did not answer" },
    };

    (void)state;
    write_file("config.json", "{\"credHelpers\":{\"a.example\":\"odd\"}}", 0600);
    for (size_t i = 0; i < SW_COUNT(scripts); i++) {
        sw_auto(sw_registry_login) struct sw_registry_login login = { 0 };

        if (scripts[i][0])
            write_file("docker-credential-odd", scripts[i][0], 0700);
        find("a.example", &login);
        assert_null(login.secret);
        assert_non_null(login.trouble);
        assert_non_null(strstr(login.trouble, scripts[i][1]));
    }
}

static void a_helper_with_a_path_in_its_name_is_not_run(void **state)
{
    sw_auto(sw_registry_login) struct sw_registry_login login = { 0 };

    (void)state;
    write_file("config.json", "{\"credsStore\":\"x/../../../bin/sh\"}", 0600);
    find("a.example", &login);
    assert_null(login.secret);
    assert_non_null(strstr(login.trouble, "not a credential helper"));
}

static void base64_that_is_none_gives_nothing(void **state)
{
    (void)state;
    assert_null(sw_unbase64("a b"));
    assert_null(sw_unbase64("AAAA"));        /* NULs */
    write_file("config.json", "{\"auths\":{\"a.example\":{\"auth\":\"!!\"}}}", 0600);
    expect("a.example", "-", "-");
}

static const char *values(void *unused, const char *name)
{
    (void)unused;
    return strcmp(name, "DOCKER_PASSWORD") == 0   ? "pw"
           : strcmp(name, "DOCKER_REGISTRY") == 0 ? "h.example" : NULL;
}

static void the_variables_alone_and_the_user_of_the_image(void **state)
{
    sw_auto(sw_registry_login) struct sw_registry_login login = { 0 };
    struct sw_registry_query query = { .registry = "h.example", .env = values };

    (void)state;
    write_file("config.json", "{\"auths\":{\"h.example\":{\"auth\":\"bWU6cHc=\"}}}", 0600);
    assert_false(sw_registry_login_from_env(&query, &login));
    query.user = "ann";
    assert_true(sw_registry_login_from_env(&query, &login));
    assert_string_equal(login.user, "ann");
    assert_string_equal(sw_secret_reveal(login.secret), "pw");
    assert_string_equal(sw_registry_variable("nvcr.io"), "NGC_KEY");
    assert_null(sw_registry_variable("h.example"));
}

#define PLACED(test) cmocka_unit_test_setup_teardown(test, settle_in, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACED(without_any_credential_there_is_none),
        PLACED(the_ngc_key_goes_to_nvcr_io_and_nowhere_else),
        PLACED(a_password_goes_to_the_registry_it_belongs_to),
        PLACED(entries_of_the_configuration_are_found_under_all_their_spellings),
        PLACED(an_identity_token_is_sent_as_one),
        PLACED(a_helper_is_asked_with_the_registry_on_its_input),
        PLACED(trouble_with_a_helper_is_reported_and_stops_nothing),
        PLACED(a_helper_with_a_path_in_its_name_is_not_run),
        PLACED(base64_that_is_none_gives_nothing),
        PLACED(the_variables_alone_and_the_user_of_the_image),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
