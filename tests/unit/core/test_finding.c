/* SPDX-License-Identifier: Apache-2.0 */
/* test_finding.c - rows of a report: one form, four states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/finding.h"

static void expect_row(const json_t *rows, size_t index, const char *text)
{
    sw_autofree char *row = sw_json_dump(json_array_get(rows, index));

    assert_string_equal(row, text);
}

static void every_row_says_check_state_cause_and_fix(void **state)
{
    sw_auto(json) json_t *rows = json_array();
    struct sw_error why = { .code = SW_E_CREDENTIAL, .message = "A is not set", .hint = "export A" };

    (void)state;
    sw_finding(rows, "one", true, "fine", "never shown");
    sw_finding(rows, "two", false, "broken", "repair it");
    assert_false(sw_finding_error(rows, "three", &why));
    sw_finding_open(rows, "four", SW_STATE_NOT_CHECKED, "no node was free", NULL);
    expect_row(rows, 0, "{\"check\":\"one\",\"ok\":true,\"message\":\"fine\",\"state\":\"ok\"}");
    expect_row(rows, 1, "{\"check\":\"two\",\"ok\":false,\"message\":\"broken\",\"fix\":\"repair it\","
                        "\"state\":\"failed\"}");
    expect_row(rows, 2, "{\"check\":\"three\",\"ok\":false,\"message\":\"A is not set\",\"fix\":\"export A\","
                        "\"state\":\"failed\"}");
    expect_row(rows, 3, "{\"check\":\"four\",\"ok\":null,\"message\":\"no node was free\","
                        "\"state\":\"not checked\"}");
}

static void a_row_without_a_state_has_the_one_of_its_answer(void **state)
{
    sw_auto(json) json_t *fine = json_pack("{s:b}", "ok", 1), *wrong = json_pack("{s:b}", "ok", 0);
    sw_auto(json) json_t *open = json_pack("{s:n}", "ok");

    (void)state;
    assert_string_equal(sw_finding_state(fine), "ok");
    assert_string_equal(sw_finding_state(wrong), "failed");
    assert_string_equal(sw_finding_state(open), "not set up");
}

static void clocks_may_be_seconds_apart_and_not_minutes(void **state)
{
    static const struct { int64_t theirs_ms; bool ok; const char *words; } clocks[] = {
        { 1000000500, true, "agree" }, { 999998000, true, "agree" },
        { 1000030000, true, "30s ahead of this machine" },
        { 999970000, true, "30s behind this machine" }, { 1000600000, false, "10m ahead of this machine" },
        { 996400000, false, "1h behind this machine" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(clocks); i++) {
        sw_auto(json) json_t *rows = json_array();

        sw_finding_clock(rows, "the server", clocks[i].theirs_ms, 1000000000);
        assert_int_equal(sw_json_bool(json_array_get(rows, 0), "ok", !clocks[i].ok), clocks[i].ok);
        assert_non_null(strstr(sw_json_str(json_array_get(rows, 0), "message"), clocks[i].words));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_says_check_state_cause_and_fix),
        cmocka_unit_test(a_row_without_a_state_has_the_one_of_its_answer),
        cmocka_unit_test(clocks_may_be_seconds_apart_and_not_minutes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
