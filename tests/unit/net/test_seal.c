/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_seal.c - what is sealed for a key only that key opens, and only unchanged.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/secret.h"
#include "net/seal.h"

static void what_is_sealed_is_opened_by_its_key_alone(void **state)
{
    sw_auto(sw_seal_key) struct sw_seal_key *key = sw_seal_key_new(NULL), *other = sw_seal_key_new(NULL);
    sw_auto(sw_buf) struct sw_buf sealed = SW_BUF_INIT, plain = SW_BUF_INIT;
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(sw_seal(sw_seal_public(key), "geheim", 6, &sealed, NULL), 0);
    assert_null(memmem(sealed.data, sealed.length, "geheim", 6));
    assert_int_equal(sw_unseal(other, sealed.data, sealed.length, &plain, &err), -1);
    assert_int_equal(err.code, SW_E_CREDENTIAL);
    assert_int_equal(plain.length, 0);
    assert_int_equal(sw_unseal(key, sealed.data, sealed.length, &plain, NULL), 0);
    assert_string_equal(sw_buf_text(&plain), "geheim");
}

static void a_changed_bit_anywhere_is_noticed(void **state)
{
    sw_auto(sw_seal_key) struct sw_seal_key *key = sw_seal_key_new(NULL);
    sw_auto(sw_buf) struct sw_buf sealed = SW_BUF_INIT, plain = SW_BUF_INIT;

    (void)state;
    assert_int_equal(sw_seal(sw_seal_public(key), "geheim", 6, &sealed, NULL), 0);
    for (size_t i = 0; i < sealed.length; i++) {
        sealed.data[i] ^= 1;
        assert_int_equal(sw_unseal(key, sealed.data, sealed.length, &plain, NULL), -1);
        sealed.data[i] ^= 1;
    }
    for (size_t length = 0; length < sealed.length; length++)
        assert_int_equal(sw_unseal(key, sealed.data, length, &plain, NULL), -1);
}

static void a_text_that_is_no_key_is_refused(void **state)
{
    sw_auto(sw_buf) struct sw_buf sealed = SW_BUF_INIT;

    (void)state;
    assert_int_equal(sw_seal("AAAA", "x", 1, &sealed, NULL), -1);
    assert_int_equal(sw_seal("no base64 at all!", "x", 1, &sealed, NULL), -1);
    assert_int_equal(sw_seal("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "x", 1, &sealed, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sealed_is_opened_by_its_key_alone),
        cmocka_unit_test(a_changed_bit_anywhere_is_noticed),
        cmocka_unit_test(a_text_that_is_no_key_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
