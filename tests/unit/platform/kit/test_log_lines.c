/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_log_lines.c - lines with times in front give the same messages however the answer is cut.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "platform/kit/log_lines.h"

static const char text[] =
    "2026-11-15T08:17:25.000000001Z one\n"
    "2026-11-15T08:17:25.000000002Z \n"
    "without a time\n"
    "2026-11-15T08:17:26Z last wordslipway: report {\"version\":1,\"job_id\":\"a\"}\n"
    "2026-11-15T08:17:27Z no end";

static int take(void *context, const struct sw_log_message *message)
{
    sw_buf_addf(context, "%lld '%.*s'\n", (long long)(message->at_ns % 3000000000), (int)message->length,
                message->bytes);
    return 0;
}

static void lines_may_be_cut_anywhere(void **state)
{
    (void)state;
    for (size_t step = 1; step <= sizeof text - 1; step++) {
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
        struct sw_log_sink sink = { .take = take, .context = &out };
        struct sw_log_lines lines = { .sink = &sink };

        for (size_t i = 0; i < sizeof text - 1; i += step)
            assert_int_equal(sw_log_lines_sink(&lines, NULL, text + i,
                                               sizeof text - 1 - i < step ? sizeof text - 1 - i : step), 0);
        assert_int_equal(sw_log_lines_end(&lines), 0);
        sw_log_lines_done(&lines);
        assert_string_equal(sw_buf_text(&out), "1000000001 'one\n'\n1000000002 '\n'\n0 'without a time\n'\n"
                                               "2000000000 'last word'\n0 'no end'\n");
    }
}

static int stop(void *context, const struct sw_log_message *message)
{
    (void)message;
    return ++*(int *)context == 2;
}

static void a_sink_may_stop(void **state)
{
    int taken = 0;
    struct sw_log_sink sink = { .take = stop, .context = &taken };
    struct sw_log_lines lines = { .sink = &sink };

    (void)state;
    assert_int_equal(sw_log_lines_sink(&lines, NULL, text, sizeof text - 1), -1);
    assert_int_equal(taken, 2);
    sw_log_lines_done(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_may_be_cut_anywhere),
        cmocka_unit_test(a_sink_may_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
