/* SPDX-License-Identifier: Apache-2.0 */
/* test_reason.c - each reason has at most one row, and a row says something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "core/reason.h"

static void a_word_finds_its_row(void **state)
{
    (void)state;
    for (const struct sw_reason *row = sw_reasons; row->word; row++) {
        assert_ptr_equal(sw_reason_find(row->word), row);          /* so there is no second one */
        assert_true(row->failed.name || row->waiting.what);
    }
    assert_null(sw_reason_find("no-such-reason"));
    assert_null(sw_reason_find(""));
    assert_null(sw_reason_find(NULL));
}

static void a_ruling_is_whole(void **state)
{
    (void)state;
    for (const struct sw_reason *row = sw_reasons; row->word; row++) {
        if (!row->failed.name) {
            assert_false(row->symptom);
            continue;
        }
        assert_true(sw_text_starts(row->failed.name, "reason-"));
        assert_string_equal(row->failed.name + strlen("reason-"), row->word);
        assert_true(strcmp(row->failed.err_class, SW_CLASS_PROGRAM) == 0 ||
                    strcmp(row->failed.err_class, SW_CLASS_INFRA) == 0);
        assert_non_null(row->failed.cause);
        assert_true(strlen(row->failed.suggestion) > 0);
    }
}

static void waiting_has_advice(void **state)
{
    (void)state;
    for (const struct sw_reason *row = sw_reasons; row->word; row++)
        if (row->waiting.what)
            assert_non_null(row->waiting.advice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_finds_its_row),
        cmocka_unit_test(a_ruling_is_whole),
        cmocka_unit_test(waiting_has_advice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
