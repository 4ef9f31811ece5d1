/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_checks.c - what an engine lacks for a job, here and over ssh. The engine is started with a
 * runtime "nvidia" that is FOLDER/nvidia-container-runtime, and with a registry beside it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "platform/docker/docker_job.h"

static const char *const hosts[] = { NULL, "ssh://far.test" };     /* NULL: the socket */

static struct docker_api *open_at(const char *host)
{
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
    sw_auto(json) json_t *options = host ? json_pack("{s:s}", "host", host) : NULL;

    assert_int_equal(docker_endpoint_find(options, &endpoint, NULL), 0);
    endpoint.state_dir = sw_path_join(getenv("SLIPWAY_TEST_ENGINE"), "state");
    return docker_api_open(&endpoint, NULL);
}

static void expect(const json_t *rows, const char *check, bool ok, const char *message,
                   const char *fix)
{
    sw_autofree char *all = sw_json_dump(rows);
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        const char *said = sw_json_str(row, "fix");

        if (!sw_text_same(sw_json_str(row, "check"), check))
            continue;
        if (sw_json_bool(row, "ok", !ok) != ok || !strstr(sw_json_str(row, "message"), message) ||
            (said ? !fix || !strstr(said, fix) : fix != NULL))
            fail_msg("%s: %s", check, all);
        return;
    }
    fail_msg("there is no check '%s': %s", check, all);
}

static void a_fit_engine_is_called_fit_from_here_and_from_afar(void **state)
{
    struct docker_needs needs = { .policy = DOCKER_PULL_MISSING, .image = getenv("SLIPWAY_TEST_IMAGE"),
                                  .gpus = true };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(hosts); i++) {
        sw_auto(docker_api) struct docker_api *api = open_at(hosts[i]);
        sw_auto(json) json_t *mounts = json_pack("[{s:s,s:s,s:s}]", "Type", "bind", "Source", "/etc",
                                                 "Target", "/x");
        sw_auto(json) json_t *rows = NULL;

        needs.mounts = mounts;
        rows = docker_checks(api, &needs);
        expect(rows, "engine", true, "version ", NULL);
        expect(rows, "API version", true, "1.41", NULL);
        expect(rows, "disk", true, "GiB free in", NULL);
        expect(rows, "GPUs", true, "runtime nvidia, NVIDIA Container Runtime version 1.14.3", NULL);
        expect(rows, "image", true, "is there", NULL);
        expect(rows, "mount /etc", true, "visible to the engine", NULL);
    }
}

static void what_is_missing_is_reported_with_its_fix(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_at(NULL);
    sw_autofree char *image = sw_format("%s/private/busybox:one", getenv("SLIPWAY_TEST_REGISTRY"));
    sw_auto(json) json_t *mounts = json_pack("[{s:s,s:s,s:s}]", "Type", "bind", "Source",
                                             "/no/such/folder", "Target", "/x");
    struct docker_needs needs = { .image = image, .mounts = mounts, .runtime = "kata" };
    sw_auto(json) json_t *rows = docker_checks(api, &needs);

    (void)state;
    expect(rows, "image", false, "no basic auth credentials", "docker login");
    expect(rows, "mount /no/such/folder", false, "does not exist", "create it on the machine of");
    expect(rows, "GPUs", false, "no runtime of that name", "daemon.json");
}

static void an_image_that_could_be_pulled_is_not_pulled(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_at(NULL);
    sw_autofree char *image = sw_format("%s/private/busybox:one", getenv("SLIPWAY_TEST_REGISTRY"));
    struct docker_needs needs = { .image = image };

    (void)state;
    setenv("DOCKER_REGISTRY", getenv("SLIPWAY_TEST_REGISTRY"), 1);
    setenv("DOCKER_USERNAME", getenv("SLIPWAY_TEST_REGISTRY_USER"), 1);
    setenv("DOCKER_PASSWORD", getenv("SLIPWAY_TEST_REGISTRY_PASSWORD"), 1);
    {
        sw_auto(json) json_t *rows = docker_checks(api, &needs);

        expect(rows, "image", true, "can be pulled", NULL);
    }
    assert_int_equal(docker_is_there(api, sw_rest_path("/images/%s/json", image), NULL), 0);
    needs.policy = DOCKER_PULL_NEVER;
    sw_auto(json) json_t *rows = docker_checks(api, &needs);

    expect(rows, "image", false, "may not be pulled", "pull: missing");
}

static void an_engine_that_is_not_there_is_one_answer(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_at("unix:///nowhere.sock");
    struct docker_needs needs = { .image = "ubuntu", .gpus = true };
    sw_auto(json) json_t *rows = docker_checks(api, &needs);

    (void)state;
    assert_int_equal(json_array_size(rows), 1);
    expect(rows, "engine", false, "nowhere.sock", "systemctl start docker");
}

static void checking_leaves_nothing_on_the_engine(void **state)
{
    sw_auto(docker_api) struct docker_api *api = open_at(NULL);
    sw_auto(json) json_t *containers = NULL;

    (void)state;
    assert_int_equal(docker_ask(api, &(struct sw_rest_call){ .path = "/containers/json?all=1" },
                                &containers, NULL), 0);
    assert_int_equal(json_array_size(containers), 0);
}

static int begin(void **state)
{
    static const char script[] = "#!/bin/sh\n[ \"$1\" = --version ] && "
                                 "echo NVIDIA Container Runtime version 1.14.3 && echo commit: x\n";
    sw_autofree char *path = sw_path_join(getenv("SLIPWAY_TEST_ENGINE"), "nvidia-container-runtime");

    (void)state;
    return sw_file_write(path, script, strlen(script), 0755, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_engine_is_called_fit_from_here_and_from_afar),
        cmocka_unit_test(what_is_missing_is_reported_with_its_fix),
        cmocka_unit_test(an_image_that_could_be_pulled_is_not_pulled),
        cmocka_unit_test(an_engine_that_is_not_there_is_one_answer),
        cmocka_unit_test(checking_leaves_nothing_on_the_engine),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
