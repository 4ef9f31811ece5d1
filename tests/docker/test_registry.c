/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry.c - an image in a real registry with a password, asked for from this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "storage/image.h"

static char image[256];

static const char *named(const char *tag)
{
    snprintf(image, sizeof image, "%s/private/busybox:%s", getenv("SLIPWAY_TEST_REGISTRY"), tag);
    return image;
}

static void log_in(const char *password)
{
    if (!password) {
        unsetenv("DOCKER_PASSWORD");
        return;
    }
    setenv("DOCKER_REGISTRY", getenv("SLIPWAY_TEST_REGISTRY"), 1);
    setenv("DOCKER_USERNAME", getenv("SLIPWAY_TEST_REGISTRY_USER"), 1);
    setenv("DOCKER_PASSWORD", password, 1);
}

static enum sw_code look(const char *what, char words[256])
{
    sw_auto(sw_image_seen) struct sw_image_seen seen = { 0 };
    struct sw_error err = { 0 };
    const struct sw_gpu_archs none = { 0 };
    const struct sw_image_query query = { .image = what, .machine = "x86_64", .gpus = &none };
    int result = sw_image_look(&query, &seen, &err);

    assert_int_equal(result < 0, err.code != SW_OK);
    snprintf(words, 256, "%.255s", err.message);
    if (result == 0) {
        assert_int_equal(json_array_size(seen.platforms), 1);
        assert_true(seen.date_ms > 0);
        assert_true(json_array_size(seen.env) > 0);
    }
    return err.code;
}

static const struct { const char *tag; const char *password; enum sw_code code; } cases[] = {
    { "one", "", SW_OK },                       /* "": the right one */
    { "none", "", SW_E_NOT_FOUND },
    { "one", "wrong", SW_E_CREDENTIAL },
    { "one", NULL, SW_E_CREDENTIAL },
};

static void a_registry_says_whether_it_has_an_image_and_denies_strangers(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        const char *right = getenv("SLIPWAY_TEST_REGISTRY_PASSWORD");
        char words[256];

        log_in(!cases[i].password ? NULL : *cases[i].password ? cases[i].password : right);
        assert_int_equal(look(named(cases[i].tag), words), cases[i].code);
        assert_null(strstr(words, right));
    }
}

static const struct { const char *tag, *password, *state; } rows_of[] = {
    { "one", "", "ok" }, { "none", "", "failed" }, { "one", "wrong", "failed" }, { "one", NULL,
            "not checked" },
};

static void what_this_machine_may_not_see_stays_open(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows_of); i++) {
        sw_auto(json) json_t *rows = json_array();

        log_in(!rows_of[i].password ? NULL : *rows_of[i].password
               ? rows_of[i].password : getenv("SLIPWAY_TEST_REGISTRY_PASSWORD"));
        sw_image_rows(rows, &(struct sw_image_query){ .image = named(rows_of[i].tag), .machine = "x86_64" });
        assert_string_equal(sw_json_str(json_array_get(rows, 0), "check"), "image");
        assert_string_equal(sw_json_str(json_array_get(rows, 0), "state"), rows_of[i].state);
    }
}

static void a_registry_that_does_not_answer_leaves_the_question_open(void **state)
{
    sw_auto(json) json_t *rows = json_array();

    (void)state;
    sw_image_rows(rows, &(struct sw_image_query){ .image = "registry.test:1/a/b:1" });
    assert_string_equal(sw_json_str(json_array_get(rows, 0), "state"), "not checked");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_registry_says_whether_it_has_an_image_and_denies_strangers),
        cmocka_unit_test(what_this_machine_may_not_see_stays_open),
        cmocka_unit_test(a_registry_that_does_not_answer_leaves_the_question_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
