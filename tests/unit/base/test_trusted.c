/* SPDX-License-Identifier: Apache-2.0 */
/* test_trusted.c - which file of certificates the user named, and what of a file is a certificate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/trusted.h"

static const char *const variables[] = { "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
                                         "AWS_CA_BUNDLE" };

static int name_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(variables); i++)
        unsetenv(variables[i]);
    return 0;
}

static void the_first_variable_that_names_a_file_counts(void **state)
{
    const char *variable = NULL;

    (void)state;
    assert_null(sw_trusted_named(&variable));
    for (size_t i = SW_COUNT(variables); i-- > 0;) {
        setenv(variables[i], variables[i], 1);
        assert_string_equal(sw_trusted_named(&variable), variables[i]);
        assert_string_equal(variable, variables[i]);
    }
    setenv("SSL_CERT_FILE", "", 1);                    /* empty is as good as not there */
    assert_string_equal(sw_trusted_named(NULL), "CURL_CA_BUNDLE");
}

#define ONE   "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
#define TWO   "-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----\n"
#define A_KEY "-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n"

static void only_certificates_are_picked(void **state)
{
    static const struct { const char *text; size_t count; const char *picked; } rows[] = {
        { ONE TWO, 2, ONE TWO },
        { "# words\n" ONE A_KEY "more" TWO A_KEY, 2, ONE TWO },
        { A_KEY, 0, "" },
        { "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
          "-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----", 2, ONE TWO },
        { "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"      /* five dashes for both */
          "BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----", 1, ONE },
        { "", 0, "" },
        { "-----BEGIN CERTIFICATE-----\nAAAA\n", 0, "" },
        { "-----BEGIN CERTIFICATE-----\n" A_KEY ONE, 1, ONE },      /* cut off before a key */
        { "-----BEGIN CERTIFICATE-----\n" A_KEY "-----END CERTIFICATE-----\n", 0, "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

        assert_int_equal(sw_trusted_pick(rows[i].text, strlen(rows[i].text), &out), rows[i].count);
        assert_string_equal(sw_buf_text(&out), rows[i].picked);
    }
}

static void binary_certificates_become_text_one_by_one(void **state)
{
    static const unsigned char two[] = { 0x30, 3, 1, 2, 3, 0x30, 0x81, 1, 9 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    assert_int_equal(sw_trusted_to_pem(two, sizeof two, &out), 2);
    assert_string_equal(sw_buf_text(&out),
                        "-----BEGIN CERTIFICATE-----\nMAMBAgM=\n-----END CERTIFICATE-----\n"
                        "-----BEGIN CERTIFICATE-----\nMIEBCQ==\n-----END CERTIFICATE-----\n");
}

static void what_is_not_whole_ends_the_list(void **state)
{
    static const struct { unsigned char bytes[8]; size_t length, count; } rows[] = {
        { { 0x30, 3, 1, 2 }, 4, 0 },                          /* shorter than it says */
        { { 0x30, 1, 1, 0x30, 0x83, 0xff, 0xff, 0xff }, 8, 1 },
        { { 0x30, 1, 1, 0x31, 1, 1 }, 6, 1 },                 /* something else behind it */
        { { 0x30, 0x80, 1, 0, 0 }, 5, 0 },                    /* without a length */
        { { 0x30 }, 1, 0 },
        { { 0 }, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

        assert_int_equal(sw_trusted_to_pem(rows[i].bytes, rows[i].length, &out), rows[i].count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_first_variable_that_names_a_file_counts, name_nothing),
        cmocka_unit_test(only_certificates_are_picked),
        cmocka_unit_test(binary_certificates_become_text_one_by_one),
        cmocka_unit_test(what_is_not_whole_ends_the_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
