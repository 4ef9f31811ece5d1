/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_log_pages.c - a log in pages by time: every line once and in order, whatever falls on one moment.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "platform/kit/log_pages.h"

struct service {                     /* keeps lines by time, and hands out at most `most` */
    const char *const *lines;        /* "STAMP text"; the last is NULL */
    int most, asked;
    struct sw_buf got;
};

static json_t *ask(void *context, int64_t from_ns, int64_t end_ns, bool backward, int limit,
                   struct sw_error *err)
{
    struct service *service = context;
    json_t *streams[2] = { json_array(), json_array() };
    int given = 0, count = 0;

    (void)err;
    service->asked++;
    while (service->lines[count])
        count++;
    for (int i = 0; i < count && given < limit && given < service->most; i++) {
        int at = backward ? count - 1 - i : i;
        long long stamp = atoll(service->lines[at]);
        const char *text = strchr(service->lines[at], ' ') + 1;

        if (stamp < from_ns || stamp >= end_ns)
            continue;
        json_array_append_new(streams[at % 2], json_pack("[o,s]", json_sprintf("%lld", stamp), text));
        given++;
    }
    return json_pack("{s:{s:[{s:o},{s:o}]}}", "data", "result", "values", streams[0], "values", streams[1]);
}

static int take(void *context, const struct sw_log_message *message)
{
    struct service *service = context;

    sw_buf_add_bytes(&service->got, message->bytes, message->length);
    return 0;
}

static void expect(const char *const *lines, int full, int last, const char *wanted)
{
    struct service service = { .lines = lines, .most = 1000, .got = SW_BUF_INIT };
    const struct sw_log_pages pages = { ask, &service, full, 1, 1000 };
    const struct sw_log_sink sink = { .take = take, .context = &service };

    assert_int_equal(sw_log_pages_read(&pages, last, &sink, NULL), 0);
    assert_string_equal(sw_buf_text(&service.got), wanted);
    sw_buf_done(&service.got);
}

static const char *const plain[] = { "10 a", "20 b", "30 c", "40 d", "50 e", NULL };
static const char *const crowded[] = { "10 a", "20 b", "20 c", "20 b", "30 d", NULL };
static const char *const one_moment[] = { "20 a", "20 b", "20 c", "30 d", NULL };

static void pages_follow_one_another_and_no_line_comes_twice(void **state)
{
    (void)state;
    for (int full = 2; full < 7; full++)
        expect(plain, full, 0, "a\nb\nc\nd\ne\n");
    for (int full = 4; full < 7; full++)
        expect(crowded, full, 0, "a\nc\nb\nb\nd\n");      /* of one moment: stream by stream */
}

static void a_page_of_a_single_moment_says_that_lines_may_be_missing(void **state)
{
    (void)state;
    expect(one_moment, 2, 0, "a\nb\nslipway: the platform returns only part of the lines of this moment; "
                             "some may be missing here\nd\n");
}

static void the_last_lines_are_the_last(void **state)
{
    (void)state;
    expect(plain, 100, 2, "d\ne\n");
    expect(plain, 3, 9, "c\nd\ne\n");
}

static void the_last_report_of_each_rank_is_found(void **state)
{
    sw_auto(json) json_t *page = json_loads(
        "{\"data\":{\"result\":[{\"values\":[[\"5\",\"x slipway: report "
        "{\\\"job_id\\\":\\\"j\\\",\\\"rank\\\":0,\\\"exit_code\\\":4}\"],"
        "[\"1\",\"slipway: report {\\\"job_id\\\":\\\"j\\\",\\\"rank\\\":0,\\\"phase\\\":\\\"run\\\"}\"],"
        "[\"no number\",\"y\"],[\"2\"],7]},{\"values\":[[\"3\",\"slipway: report "
        "{\\\"job_id\\\":\\\"j\\\",\\\"rank\\\":2,"
        "\\\"exit_code\\\":0}\", {}],[\"4\",\"slipway: report "
        "{\\\"job_id\\\":\\\"other\\\",\\\"rank\\\":2,\\\"exit_code\\\":1}\"]]}]}}",
        0, NULL);
    sw_auto(json) json_t *reports = sw_log_page_reports(page, "j");

    (void)state;
    assert_non_null(page);
    assert_int_equal(json_object_size(reports), 2);
    assert_non_null(strstr(sw_json_str(reports, "0"), "\"exit_code\":4"));
    assert_non_null(strstr(sw_json_str(reports, "2"), "\"exit_code\":0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_follow_one_another_and_no_line_comes_twice),
        cmocka_unit_test(a_page_of_a_single_moment_says_that_lines_may_be_missing),
        cmocka_unit_test(the_last_lines_are_the_last),
        cmocka_unit_test(the_last_report_of_each_rank_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
