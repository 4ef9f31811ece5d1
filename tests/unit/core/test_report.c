/* SPDX-License-Identifier: Apache-2.0 */
/* test_report.c - what a runner says is believed key by key, and found where it was said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/report.h"

#define LINE(rank, code)                                                                   \
    SW_REPORT_START "{\"version\":1,\"job_id\":\"job-1\",\"rank\":" #rank ",\"exit_code\":" #code "}\n"

static json_t *parsed(const char *text)
{
    return sw_report_parse(text, strlen(text));
}

static json_t *found(const char *log, int rank)
{
    return sw_report_in_log(log, strlen(log), "job-1", rank);
}

static void only_what_is_known_and_of_its_type_is_taken(void **state)
{
    sw_auto(json) json_t *report = parsed(
        "{\"phase\":\"over\",\"exit_code\":3,\"signal\":\"9\",\"rank\":-1,\"evil\":{},\"stopped\":false,"
        "\"in\":{\"files\":2,\"bytes\":-5,\"more\":1},\"out\":[],\"gpu\":{\"memory_peak_bytes\":7.5}}");
    sw_autofree char *text = sw_json_dump(report);

    (void)state;
    assert_string_equal(text, "{\"phase\":\"over\",\"exit_code\":3,\"in\":{\"files\":2}}");
}

static void texts_are_short_and_harmless(void **state)
{
    sw_autofree char *long_text = sw_alloc(2000);
    sw_autofree char *given = NULL;
    sw_auto(json) json_t *report = NULL;

    (void)state;
    memset(long_text, 'a', 1000);
    given = sw_format("{\"message\":\"\\u001b[2Jx\\n%s\xc3\xa9\"}", long_text);
    report = parsed(given);
    assert_non_null(report);
    assert_null(strchr(sw_json_str(report, "message"), '\033'));
    assert_null(strchr(sw_json_str(report, "message"), '\n'));
    assert_true(strlen(sw_json_str(report, "message")) < 300);
}

static void what_is_no_report_is_none(void **state)
{
    static const char *const bad[] = { "", "{}", "[]", "{\"evil\":1}", "{\"phase\":", "3" };
    sw_autofree char *huge = sw_alloc(2 * SW_REPORT_MAX);

    (void)state;
    for (size_t i = 0; i < SW_COUNT(bad); i++)
        assert_null(parsed(bad[i]));
    memset(huge, ' ', 2 * SW_REPORT_MAX - 1);
    memcpy(huge, "{\"rank\":1}", 10);
    assert_null(parsed(huge));
}

static void the_last_whole_line_of_the_job_and_rank_counts(void **state)
{
    sw_auto(json) json_t *last = found("a\n" LINE(0, 1) "b\n" LINE(0, 2) LINE(1, 3) "c\n", 0);
    sw_auto(json) json_t *any = found(LINE(0, 2) LINE(1, 3), -1);

    (void)state;
    assert_int_equal(sw_json_int(last, "exit_code", -1), 2);
    assert_int_equal(sw_json_int(any, "exit_code", -1), 3);
    assert_null(found("x " LINE(0, 1), 0));
    assert_null(found(SW_REPORT_START "{\"job_id\":\"job-2\",\"rank\":0}\n", 0));
    assert_null(found(SW_REPORT_START "{\"job_id\":\"job-1\",\"rank\":0}", 0));
    assert_null(found("", -1));
}

static void the_report_at_the_end_is_not_a_line_for_people(void **state)
{
    const char *log = "step 3\n" LINE(0, 1), *other = LINE(0, 1) "step 3\n";

    (void)state;
    assert_int_equal(sw_report_begin(log, strlen(log)), 7);
    assert_int_equal(sw_report_begin(other, strlen(other)), strlen(other));
    assert_int_equal(sw_report_begin("", 0), 0);
}

static void phases_add_up_and_become_facts(void **state)
{
    sw_auto(json) json_t *sum = json_object(), *facts = json_object();
    sw_auto(json) json_t *prepare = parsed("{\"exit_code\":0,\"in\":{\"files\":2,\"bytes\":9},"
                                           "\"out\":{\"files\":0}}");
    sw_auto(json) json_t *collect = parsed("{\"exit_code\":74,\"in\":{\"files\":0},\"out\":{\"files\":4},"
                                           "\"gpu\":{\"memory_peak_bytes\":5}}");
    sw_autofree char *text = NULL;

    (void)state;
    sw_report_add(sum, prepare);
    sw_report_add(sum, collect);
    sw_report_facts(NULL, facts);
    assert_int_equal(json_object_size(facts), 0);
    sw_report_facts(sum, facts);
    text = sw_json_dump(facts);
    assert_string_equal(text, "{\"runner\":{\"exit_code\":74,\"in\":{\"files\":2,\"bytes\":9},"
                              "\"out\":{\"files\":4},\"gpu\":{\"memory_peak_bytes\":5}},"
                              "\"peak_gpu_memory_bytes\":5}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_known_and_of_its_type_is_taken),
        cmocka_unit_test(texts_are_short_and_harmless),
        cmocka_unit_test(what_is_no_report_is_none),
        cmocka_unit_test(the_last_whole_line_of_the_job_and_rank_counts),
        cmocka_unit_test(the_report_at_the_end_is_not_a_line_for_people),
        cmocka_unit_test(phases_add_up_and_become_facts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
