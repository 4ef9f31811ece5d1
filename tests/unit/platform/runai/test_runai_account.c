/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runai_account.c - how long a token is used.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "platform/runai/runai_internal.h"

#define NOW_MS (INT64_C(1800000000) * 1000)

static int64_t life_of(int64_t expires_in, const char *claims)
{
    sw_autofree char *encoded = sw_base64(claims, strlen(claims)), *token = NULL;

    for (char *at = encoded; *at; at++)
        *at = *at == '+' ? '-' : *at == '/' ? '_' : *at == '=' ? '\0' : *at;
    token = sw_format("head.%s.signature", encoded);
    return runai_token_life_ms(expires_in, token, NOW_MS);
}

static void the_answer_or_the_token_says_how_long_it_lasts(void **state)
{
    (void)state;
    assert_int_equal(life_of(3600, "{}"), 3600000);
    assert_int_equal(life_of(0, "{\"exp\":1800000600}"), 600000);
    assert_int_equal(life_of(0, "{\"iat\":1000,\"exp\":1300}"),
                     300000);      /* by the server's clock alone */
    assert_int_equal(life_of(0, "{\"exp\":1700000000}"), 0);
    assert_int_equal(life_of(0, "{}"), 0);
    assert_int_equal(life_of(INT64_MAX, "{}"), 0);
    assert_int_equal(runai_token_life_ms(0, "no-jwt", NOW_MS), 0);
    assert_int_equal(runai_token_life_ms(0, NULL, NOW_MS), 0);
    assert_int_equal(runai_token_life_ms(0, "a.!!!.b", NOW_MS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_answer_or_the_token_says_how_long_it_lasts) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
