/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_images.c - pulls from a real registry with TLS and a password (tests/docker/registry).
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
#include "base/text.h"
#include "platform/docker/docker_job.h"

static struct docker_api *api;
static char *small, *large, *registry;

static int begin(void **state)
{
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };

    (void)state;
    registry = getenv("SLIPWAY_TEST_REGISTRY");
    small = sw_format("%s/private/busybox:one", registry);
    large = sw_format("%s/private/large:one", registry);
    if (docker_endpoint_find(NULL, &endpoint, NULL) < 0)
        return -1;
    api = docker_api_open(&endpoint, NULL);
    return api ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    docker_api_close(api);
    free(small);
    free(large);
    return 0;
}

/* Each test begins without credentials and without the images. */
static int alone(void **state)
{
    static const char *const variables[] = { "DOCKER_USERNAME", "DOCKER_PASSWORD",
                                             "DOCKER_REGISTRY", "NGC_KEY" };
    const char *images[] = { small, large };
    sw_autofree char *config = sw_path_join(getenv("DOCKER_CONFIG"), "config.json");

    (void)state;
    unlink(config);
    for (size_t i = 0; i < SW_COUNT(variables); i++)
        unsetenv(variables[i]);
    for (size_t i = 0; i < SW_COUNT(images); i++) {
        sw_autofree char *path = sw_rest_path("/images/%s?force=1", images[i]);
        struct sw_rest_call call = { .method = "DELETE", .path = path };

        docker_ask(api, &call, NULL, NULL);
    }
    return 0;
}

static void use_variables(const char *password)
{
    setenv("DOCKER_REGISTRY", registry, 1);
    setenv("DOCKER_USERNAME", getenv("SLIPWAY_TEST_REGISTRY_USER"), 1);
    setenv("DOCKER_PASSWORD", password, 1);
}

static const char *right(void)
{
    return getenv("SLIPWAY_TEST_REGISTRY_PASSWORD");
}

static void write_config(const char *text)
{
    sw_autofree char *config = sw_path_join(getenv("DOCKER_CONFIG"), "config.json");

    assert_int_equal(sw_file_write(config, text, strlen(text), 0600, NULL), 0);
}

static void expect_there(const char *image, bool expected)
{
    assert_int_equal(docker_is_there(api, sw_rest_path("/images/%s/json", image), NULL), expected);
}

static void pull(const char *image, enum docker_pull_policy policy, const char *expected)
{
    struct docker_pull wanted = { .image = image, .policy = policy };
    sw_autofree char *use = NULL;
    struct sw_error err = { 0 };

    if (docker_image_ensure(api, &wanted, &use, NULL, &err) < 0)
        fail_msg("%s (%s)", err.message, err.hint);
    assert_string_equal(use, expected);
    expect_there(use, true);
}

/* It does not come, and these words are in message and hint. Never the password. */
static void refuse(const char *image, enum docker_pull_policy policy, enum sw_code code,
                   const char *message, const char *hint)
{
    struct docker_pull wanted = { .image = image, .policy = policy };
    sw_autofree char *use = NULL;
    struct sw_error err = { 0 };

    assert_int_equal(docker_image_ensure(api, &wanted, &use, NULL, &err), -1);
    if (!strstr(err.message, message) || !strstr(err.hint, hint) || err.code != code)
        fail_msg("%s: %s (%s)", sw_code_name(err.code), err.message, err.hint);
    assert_null(strstr(err.message, "wrong-secret"));
    assert_null(strstr(err.hint, "wrong-secret"));
    assert_null(use);
}

static void the_right_password_from_the_environment_opens(void **state)
{
    (void)state;
    use_variables(right());
    pull(small, DOCKER_PULL_MISSING, small);
}

static void the_docker_configuration_opens(void **state)
{
    sw_autofree char *pair = sw_format("%s:%s", getenv("SLIPWAY_TEST_REGISTRY_USER"), right());
    sw_autofree char *auth = sw_base64(pair, strlen(pair));
    sw_autofree char *config = sw_format("{\"auths\":{\"%s\":{\"auth\":\"%s\"}}}", registry, auth);

    (void)state;
    write_config(config);
    pull(small, DOCKER_PULL_ALWAYS, small);
}

static void a_credential_helper_opens(void **state)
{
    sw_autofree char *helper = sw_path_join(getenv("DOCKER_CONFIG"), "docker-credential-test");
    sw_autofree char *path = sw_format("%s:%s", getenv("DOCKER_CONFIG"), getenv("PATH"));
    sw_autofree char *config = sw_format("{\"credHelpers\":{\"%s\":\"test\"}}", registry);
    static const char script[] =
        "#!/bin/sh\nread -r host\n[ \"$host\" = \"$SLIPWAY_TEST_REGISTRY\" ] || exit 1\n"
        "printf '{\"Username\":\"%s\",\"Secret\":\"%s\"}' \"$SLIPWAY_TEST_REGISTRY_USER\" "
        "\"$SLIPWAY_TEST_REGISTRY_PASSWORD\"\n";

    (void)state;
    assert_int_equal(sw_file_write(helper, script, strlen(script), 0700, NULL), 0);
    setenv("PATH", path, 1);
    write_config(config);
    pull(small, DOCKER_PULL_MISSING, small);
}

static void a_wrong_password_is_named_by_where_it_came_from(void **state)
{
    (void)state;
    use_variables("wrong-secret");
    refuse(small, DOCKER_PULL_MISSING, SW_E_CREDENTIAL, "unauthorized",
           "DOCKER_USERNAME and DOCKER_PASSWORD was used (as 'reader')");
}

static void without_a_credential_the_way_to_one_is_reported(void **state)
{
    (void)state;
    refuse(small, DOCKER_PULL_MISSING, SW_E_CREDENTIAL, "no basic auth credentials",
           "no credential was used: `docker login registry.test:5000`");
}

static void a_helper_that_fails_is_the_reason(void **state)
{
    sw_autofree char *config = sw_format("{\"credHelpers\":{\"%s\":\"missing\"}}", registry);

    (void)state;
    write_config(config);
    refuse(small, DOCKER_PULL_MISSING, SW_E_CREDENTIAL, "no basic auth credentials",
           "docker-credential-missing cannot be started");
}

static void a_tag_that_is_not_there_is_not_found(void **state)
{
    sw_autofree char *image = sw_format("%s/private/busybox:two", registry);

    (void)state;
    use_variables(right());
    refuse(image, DOCKER_PULL_MISSING, SW_E_NOT_FOUND, "manifest unknown", "check name and tag");
}

static void a_digest_is_pulled_as_one_also_beside_a_tag(void **state)
{
    const char *digest = getenv("SLIPWAY_TEST_DIGEST");
    sw_autofree char *both = sw_format("%s/private/busybox:anything@%s", registry, digest);
    sw_autofree char *use = sw_format("%s/private/busybox@%s", registry, digest);

    (void)state;
    use_variables(right());
    pull(both, DOCKER_PULL_MISSING, use);
    unsetenv("DOCKER_PASSWORD");
    pull(both, DOCKER_PULL_MISSING, use);            /* is there: no registry is asked */
}

static void never_means_never(void **state)
{
    (void)state;
    use_variables(right());
    refuse(small, DOCKER_PULL_NEVER, SW_E_NOT_FOUND, "may not be pulled", "pull: missing");
    expect_there(small, false);
    pull(getenv("SLIPWAY_TEST_IMAGE"), DOCKER_PULL_NEVER, getenv("SLIPWAY_TEST_IMAGE"));
}

static void what_is_there_is_not_asked_for_unless_always(void **state)
{
    (void)state;
    use_variables(right());
    pull(small, DOCKER_PULL_MISSING, small);
    use_variables("wrong-secret");
    pull(small, DOCKER_PULL_MISSING, small);
    refuse(small, DOCKER_PULL_ALWAYS, SW_E_CREDENTIAL, "unauthorized", "was used");
}

static void an_id_is_found_and_never_pulled(void **state)
{
    sw_autofree char *path = sw_rest_path("/images/%s/json", getenv("SLIPWAY_TEST_IMAGE"));
    struct sw_rest_call call = { .path = path };
    sw_auto(json) json_t *image = NULL;

    (void)state;
    assert_int_equal(docker_ask(api, &call, &image, NULL), 0);
    pull(sw_json_str(image, "Id"), DOCKER_PULL_ALWAYS, sw_json_str(image, "Id"));
}

static void an_unreachable_registry_is_not_the_engines_fault(void **state)
{
    (void)state;
    refuse("nowhere.test/a:1", DOCKER_PULL_MISSING, SW_E_REFUSED, "lookup nowhere.test",
           "cannot reach nowhere.test");
}

struct heard {
    int calls;
    struct sw_copy_progress last;
    bool stop;
};

static int hear(void *context, const char *what, const struct sw_copy_progress *progress)
{
    struct heard *heard = context;

    assert_true(sw_text_starts(what, "pulling registry.test"));
    heard->calls++;
    heard->last = *progress;
    return heard->stop && progress->files_total > 0;
}

static void progress_is_reported_layer_by_layer(void **state)
{
    struct heard heard = { 0 };
    struct docker_pull wanted = { .image = large, .progress = hear, .progress_context = &heard };
    sw_autofree char *use = NULL;

    (void)state;
    use_variables(right());
    assert_int_equal(docker_image_ensure(api, &wanted, &use, NULL, NULL), 0);
    assert_true(heard.calls >= 2);
    assert_int_equal(heard.last.files_total, 1);
    assert_int_equal(heard.last.files_done, 1);
    assert_true(heard.last.bytes_total > 29000000);
    assert_int_equal(heard.last.bytes_done, heard.last.bytes_total);
}

static void a_pull_can_be_stopped(void **state)
{
    struct heard heard = { .stop = true };
    struct docker_pull wanted = { .image = large, .progress = hear, .progress_context = &heard };
    sw_autofree char *use = NULL;
    struct sw_error err = { 0 };

    (void)state;
    use_variables(right());
    assert_int_equal(docker_image_ensure(api, &wanted, &use, NULL, &err), -1);
    assert_int_equal(err.code, SW_E_INTERRUPTED);
    expect_there(large, false);
}

static void whether_it_could_be_pulled_is_known_without_pulling(void **state)
{
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(docker_image_reachable(api, small, NULL, &err), -1);
    assert_int_equal(err.code, SW_E_CREDENTIAL);
    use_variables(right());
    assert_int_equal(docker_image_reachable(api, small, NULL, NULL), 0);
    expect_there(small, false);
}

#define ALONE(test) cmocka_unit_test_setup(test, alone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(the_right_password_from_the_environment_opens),
        ALONE(the_docker_configuration_opens),
        ALONE(a_credential_helper_opens),
        ALONE(a_wrong_password_is_named_by_where_it_came_from),
        ALONE(without_a_credential_the_way_to_one_is_reported),
        ALONE(a_helper_that_fails_is_the_reason),
        ALONE(a_tag_that_is_not_there_is_not_found),
        ALONE(a_digest_is_pulled_as_one_also_beside_a_tag),
        ALONE(never_means_never),
        ALONE(what_is_there_is_not_asked_for_unless_always),
        ALONE(an_id_is_found_and_never_pulled),
        ALONE(an_unreachable_registry_is_not_the_engines_fault),
        ALONE(progress_is_reported_layer_by_layer),
        ALONE(a_pull_can_be_stopped),
        ALONE(whether_it_could_be_pulled_is_known_without_pulling),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
