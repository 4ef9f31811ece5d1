/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_s3_sign.c - the examples of AWS's documentation ("Signature Calculations for the
 * Authorization Header"), and the queries and paths that go wrong elsewhere.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "storage/s3_sign.h"

#define AT    "20130524T000000Z"
#define AT_MS 1369353600000

static const struct s3_keys keys = {
    .access = (char *)"AKIAIOSFODNN7EXAMPLE",
    .secret = (char *)"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};

struct example {
    const char *method, *path, *payload, *signature;
    const char *const *query, *const *headers;      /* name, value, ..., NULL */
};

static const char *const none[] = { NULL };
static const char *const lifecycle[] = { "lifecycle", "", NULL };
static const char *const list[] = { "prefix", "J", "max-keys", "2", NULL };
static const char *const ranged[] = { "range", "bytes=0-9", NULL };
static const char *const put[] = { "x-amz-storage-class", "REDUCED_REDUNDANCY",
                                   "date", "Fri, 24 May 2013 00:00:00 GMT", NULL };

static const struct example examples[] = {
    { "GET", "/test.txt", S3_EMPTY_SHA256,
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41", none, ranged },
    { "PUT", "/test%24file.text", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd", none, put },
    { "GET", "/", S3_EMPTY_SHA256,
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543", lifecycle, none },
    { "GET", "/", S3_EMPTY_SHA256,
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7", list, none },
};

static void add_all(struct s3_pairs *pairs, const char *const *texts)
{
    for (; *texts; texts += 2)
        s3_pairs_add(pairs, texts[0], texts[1]);
}

static void signatures_are_those_of_the_documentation(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(examples); i++) {
        sw_auto(s3_pairs) struct s3_pairs query = { .count = 0 };
        sw_auto(s3_pairs) struct s3_pairs headers = { .count = 0 };
        sw_autofree char *made = NULL;
        struct s3_signing signing = {
            .method = examples[i].method, .path = examples[i].path, .query = &query,
            .headers = &headers, .payload = examples[i].payload, .region = "us-east-1",
            .at = AT,
        };

        add_all(&query, examples[i].query);
        add_all(&headers, examples[i].headers);
        s3_pairs_add(&headers, "host", "examplebucket.s3.amazonaws.com");
        s3_pairs_add(&headers, "x-amz-content-sha256", examples[i].payload);
        s3_pairs_add(&headers, "x-amz-date", AT);
        made = s3_sign(&signing, &keys);
        assert_non_null(strstr(made, examples[i].signature));
    }
}

static void a_query_is_sorted_and_encoded(void **state)
{
    sw_auto(s3_pairs) struct s3_pairs query = { .count = 0 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    s3_pairs_add(&query, "uploadId", "a/b+c=");
    s3_pairs_add(&query, "partNumber", "7");
    s3_query_text(&query, &out);
    assert_string_equal(sw_buf_text(&out), "partNumber=7&uploadId=a%2Fb%2Bc%3D");
}

static void the_secret_is_nowhere_in_the_result(void **state)
{
    sw_auto(s3_pairs) struct s3_pairs query = { .count = 0 };
    sw_auto(s3_pairs) struct s3_pairs headers = { .count = 0 };
    struct s3_signing signing = { .method = "GET", .path = "/", .query = &query,
                                  .headers = &headers, .payload = S3_UNSIGNED,
                                  .region = "us-east-1", .at = AT };
    sw_autofree char *made = s3_sign(&signing, &keys);

    (void)state;
    assert_null(strstr(made, keys.secret));
}

static char *signed_with(struct s3_day_key *kept, const char *region, const char *at)
{
    sw_auto(s3_pairs) struct s3_pairs query = { .count = 0 };
    sw_auto(s3_pairs) struct s3_pairs headers = { .count = 0 };
    struct s3_signing signing = { .method = "GET", .path = "/", .query = &query,
                                  .headers = &headers, .payload = S3_UNSIGNED,
                                  .region = region, .at = at, .kept = kept };

    return s3_sign(&signing, &keys);
}

static void a_kept_key_serves_its_own_day_and_region_only(void **state)
{
    static const char *const cases[][2] = {
        { "us-east-1", AT }, { "us-east-1", "20130524T235959Z" }, { "us-east-1", "20130525T000000Z" },
        { "eu-west-1", "20130525T000000Z" }, { "us-east-1", AT },
        { "a-region-whose-name-is-longer-than-the-room-that-there-is-for-its-name-1", AT },
    };
    struct s3_day_key kept = { .date = "" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_autofree char *quick = signed_with(&kept, cases[i][0], cases[i][1]);
        sw_autofree char *anew = signed_with(NULL, cases[i][0], cases[i][1]);

        assert_string_equal(quick, anew);
    }
}

static void a_time_is_reported_in_digits(void **state)
{
    char text[17];

    (void)state;
    s3_time_text(AT_MS, text);
    assert_string_equal(text, AT);
    s3_time_text(AT_MS + 86399999, text);
    assert_string_equal(text, "20130524T235959Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_are_those_of_the_documentation),
        cmocka_unit_test(a_query_is_sorted_and_encoded),
        cmocka_unit_test(the_secret_is_nowhere_in_the_result),
        cmocka_unit_test(a_kept_key_serves_its_own_day_and_region_only),
        cmocka_unit_test(a_time_is_reported_in_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
