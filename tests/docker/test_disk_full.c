/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_disk_full.c - a pull onto an engine whose disk is too small (started with --size 48m).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "platform/docker/docker_job.h"

static void a_full_disk_is_reported_and_the_engine_goes_on(void **state)
{
    sw_auto(docker_endpoint) struct docker_endpoint endpoint = { 0 };
    sw_auto(docker_api) struct docker_api *api = NULL;
    sw_autofree char *image = sw_format("%s/private/large:one", getenv("SLIPWAY_TEST_REGISTRY"));
    sw_autofree char *use = NULL;
    struct docker_pull wanted = { .image = image };
    struct sw_error err = { 0 };

    (void)state;
    setenv("DOCKER_REGISTRY", getenv("SLIPWAY_TEST_REGISTRY"), 1);
    setenv("DOCKER_USERNAME", getenv("SLIPWAY_TEST_REGISTRY_USER"), 1);
    setenv("DOCKER_PASSWORD", getenv("SLIPWAY_TEST_REGISTRY_PASSWORD"), 1);
    assert_int_equal(docker_endpoint_find(NULL, &endpoint, NULL), 0);
    api = docker_api_open(&endpoint, NULL);
    assert_int_equal(docker_image_ensure(api, &wanted, &use, NULL, &err), -1);
    if (err.code != SW_E_REFUSED || !strstr(err.message, "no space left on device"))
        fail_msg("%s: %s", sw_code_name(err.code), err.message);
    assert_non_null(strstr(err.hint, "docker system prune"));
    assert_int_equal(docker_is_there(api, sw_rest_path("/images/%s/json", image), NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_is_reported_and_the_engine_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
