/* SPDX-License-Identifier: Apache-2.0 */
/* test_image.c - what a registry asks for and answers, without one. tests/docker/test_registry.c has a
 * real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "storage/image.h"

static const struct { const char *header; bool known, basic; const char *realm, *service,
                      *scope; } challenges[] = {
    { "Bearer realm=\"https://auth.example.org/token\",service=\"registry.example.org\","
      "scope=\"repository:a/b:pull\"",
      true, false, "https://auth.example.org/token", "registry.example.org", "repository:a/b:pull" },
    { "bearer realm=\"https://a.example.org/t?x=1\", scope=\"repository:a:pull,push\"", true, false,
      "https://a.example.org/t?x=1", NULL, "repository:a:pull,push" },
    { "Basic realm=\"test\"", true, true, NULL, NULL, NULL },
    { "Bearer realm=\"http://auth.example.org/token\"", false, false, NULL, NULL, NULL },
        /* in the open */
    { "Bearer service=\"x\"", false, false, NULL, NULL, NULL },
    { "Bearer realm=\"https://cut", false, false, NULL, NULL, NULL },
    { "Negotiate", false, false, NULL, NULL, NULL },
    { "", false, false, NULL, NULL, NULL },
    { NULL, false, false, NULL, NULL, NULL },
};

static void expect_text(const char *is, const char *wanted)
{
    if (wanted)
        assert_string_equal(is, wanted);
    else
        assert_null(is);
}

static void a_challenge_says_where_the_token_comes_from(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(challenges); i++) {
        sw_auto(sw_image_challenge) struct sw_image_challenge asked = { 0 };

        assert_int_equal(sw_image_challenge_parse(challenges[i].header, &asked), challenges[i].known);
        if (!challenges[i].known)
            continue;
        assert_int_equal(asked.basic, challenges[i].basic);
        expect_text(asked.realm, challenges[i].realm);
        expect_text(asked.service, challenges[i].service);
        expect_text(asked.scope, challenges[i].scope);
    }
}

static const struct { const char *document, *machine, *found; bool fits; } images[] = {
    { "{\"manifests\":[{\"platform\":{\"architecture\":\"amd64\",\"os\":\"linux\"}},"
      "{\"platform\":{\"architecture\":\"arm64\",\"os\":\"linux\"}},"
      "{\"platform\":{\"architecture\":\"unknown\",\"os\":\"unknown\"}}]}", "x86_64", "amd64, arm64", true },
    { "{\"architecture\":\"arm64\",\"os\":\"linux\"}", "aarch64", "arm64", true },
    { "{\"architecture\":\"arm64\",\"os\":\"linux\"}", "amd64", "arm64", false },
    { "{\"architecture\":\"amd64\",\"os\":\"windows\"}", "amd64", "amd64", false },
    { "{\"architecture\":\"arm64\",\"os\":\"linux\"}", NULL, "arm64", true },
    { "{\"schemaVersion\":1}", "amd64", "", true },
    { "[]", "amd64", "", true },
};

static void an_image_fits_the_processors_it_is_built_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(images); i++) {
        sw_auto(json) json_t *document = json_loads(images[i].document, 0, NULL);
        sw_auto(json) json_t *platforms = sw_image_platforms(document);
        sw_auto(sw_buf) struct sw_buf found = SW_BUF_INIT;

        assert_int_equal(sw_image_fits(platforms, images[i].machine, &found), images[i].fits);
        assert_string_equal(sw_buf_text(&found), images[i].found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_challenge_says_where_the_token_comes_from),
        cmocka_unit_test(an_image_fits_the_processors_it_is_built_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
