/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpus.c - COUNT or TYPE:COUNT, and nothing that only looks like it. */
#include "fixture.h"

static const struct { const char *text, *type; int count; } good[] = {
    { "0", NULL, 0 }, { "8", NULL, 8 }, { "1024", NULL, 1024 }, { "H100:8", "H100", 8 },
    { "gb200.4x:1", "gb200.4x", 1 }, { "A100-80GB:2", "A100-80GB", 2 }, { "007", NULL, 7 },
};

static const char *const bad[] = {
    "", "H100", ":8", "H100:", "H100:0", "-1", "+1", "1.5", " 8", "8 ", "1025", "H 100:1",
    "99999999999999999999", "H100:8:8:", "a:b:1", "-a:1", "H100:-1", "0x8",
};

static void counts_with_and_without_a_type_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(good); i++) {
        sw_autofree char *type = NULL;
        struct sw_error err = { 0 };
        int count = -1;

        assert_int_equal(sw_gpus_parse(good[i].text, &type, &count, &err), 0);
        assert_int_equal(count, good[i].count);
        assert_int_equal(type == NULL, good[i].type == NULL);
        if (type)
            assert_string_equal(type, good[i].type);
    }
}

static void anything_else_is_refused_with_an_example(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(bad); i++) {
        char *type = NULL;
        struct sw_error err = { 0 };
        int count = -1;

        assert_int_equal(sw_gpus_parse(bad[i], &type, &count, &err), -1);
        assert_int_equal(err.code, SW_E_SPEC);
        assert_non_null(strstr(err.message, "H100:8"));
        assert_int_equal(count, -1);
        assert_null(type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_with_and_without_a_type_are_read),
        cmocka_unit_test(anything_else_is_refused_with_an_example),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
