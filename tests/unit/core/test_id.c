/* SPDX-License-Identifier: Apache-2.0 */
/* test_id.c - job ids are valid everywhere they are used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/id.h"

static void any_name_gives_a_valid_id(void **state)
{
    static const char *const names[] = {
        "dino-train", "DINO Train", "9lives", "", "---", "ünïcödé", "a", "x/y/z.py", "train_v2.1",
        "a-name-that-is-much-longer-than-any-platform-allows-for-a-job",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(names); i++) {
        char id[SW_ID_SIZE];

        sw_id_make(names[i], id);
        assert_true(strlen(id) <= SW_ID_MAX);
        assert_true(sw_id_valid(id));
    }
}

static void the_name_stays_readable(void **state)
{
    char id[SW_ID_SIZE];

    (void)state;
    sw_id_make("DINO Train", id);
    assert_memory_equal(id, "dino-train-", 11);
    assert_int_equal(strlen(id), 11 + 8);
}

static void two_ids_of_one_name_differ(void **state)
{
    char a[SW_ID_SIZE], b[SW_ID_SIZE];

    (void)state;
    sw_id_make("same", a);
    sw_id_make("same", b);
    assert_string_not_equal(a, b);
}

static void what_is_no_id_is_refused_with_a_reason(void **state)
{
    static const char *const bad[] = {
        "", "-a", "1a", "A", "a_b", "a.b", "a/b", "..", "a-",
        "abcdefghijklmnopqrstuvwxyz0123456789",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(bad); i++) {
        struct sw_error err = { 0 };

        assert_int_equal(sw_id_check(bad[i], &err), -1);
        assert_int_equal(err.code, SW_E_USAGE);
        assert_non_null(strstr(err.message, "is not a job id"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_name_gives_a_valid_id),
        cmocka_unit_test(the_name_stays_readable),
        cmocka_unit_test(two_ids_of_one_name_differ),
        cmocka_unit_test(what_is_no_id_is_refused_with_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
