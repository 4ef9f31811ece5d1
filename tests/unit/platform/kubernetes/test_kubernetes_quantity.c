/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kubernetes_quantity.c - amounts as Kubernetes writes them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "platform/kubernetes/kubernetes_internal.h"

static void every_suffix_is_read_in_thousandths(void **state)
{
    static const struct { const char *text; int64_t thousandths; } cases[] = {
        { "2", 2000 }, { "0", 0 }, { "500m", 500 }, { "1500000u", 1500 }, { "1n", 1 },
        { "0n", 0 }, { "1001u", 2 },
        { "2k", 2000000 }, { "3M", 3000000000 }, { "1G", 1000000000000 }, { "1T", 1000000000000000 },
        { "1P", 1000000000000000000 }, { "1Ki", 1024000 }, { "1Mi", 1048576000 }, { "64Gi", 68719476736000 },
        { "1Ti", 1099511627776000 }, { "1Pi", 1125899906842624000 }, { "0.5", 500 },
        { "1.5Gi", 1610612736000 },
        { ".5", 500 }, { "5.", 5000 }, { "+3", 3000 }, { "1e3", 1000000 }, { "1E3", 1000000 }, { "1e-3", 1 },
        { "1E+2", 100000 }, { "12.5e1", 125000 }, { "0.0000001", 1 }, { "1e-999999999999", 1 },
        { "0000000000000000000000000000012", 12000 }, { "0e99999", 0 },
        { "0.000000000000000000000000001", 1 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++)
        if (k8s_quantity(cases[i].text) != cases[i].thousandths)
            fail_msg("%s is %lld", cases[i].text, (long long)k8s_quantity(cases[i].text));
}

static void what_no_number_holds_is_the_largest_one(void **state)
{
    static const char *const cases[] = { "1E", "1Ei", "16Ei", "999999999999999999999999", "9e99999999999999",
                                         "9223372036854775807", "99999999999999999999999999999999999999Ei" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++)
        assert_int_equal(k8s_quantity(cases[i]), INT64_MAX);
}

static void other_texts_are_no_quantity(void **state)
{
    static const char *const cases[] = { "", "-1", "Gi", "1GiB", "1g", "1 Gi", "e3", "1e", "1e+",
                                         "1e3x", ".", "+", "1..2", "1ei", "1mi", "0x10", "1K", "nan",
                                         "1E3i" };

    (void)state;
    assert_int_equal(k8s_quantity(NULL), -1);
    for (size_t i = 0; i < SW_COUNT(cases); i++)
        if (k8s_quantity(cases[i]) != -1)
            fail_msg("'%s' is %lld", cases[i], (long long)k8s_quantity(cases[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_suffix_is_read_in_thousandths),
        cmocka_unit_test(what_no_number_holds_is_the_largest_one),
        cmocka_unit_test(other_texts_are_no_quantity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
