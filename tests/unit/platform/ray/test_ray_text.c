/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ray_text.c - Ray's log without Ray's own lines, however it is cut.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/report.h"
#include "platform/ray/ray_internal.h"

#define OWN    "Running entrypoint for job j-1: exec x --start-by 17\n"
#define BEGIN  SW_REPORT_BEGIN " 17"
#define EARLIER \
    "Running entrypoint for job j-1: exec x --start-by 16\n" SW_REPORT_BEGIN " 16\nof another job\n"
#define BEFORE "2026-11-18 INFO job_manager.py -- Runtime env is setting up.\n"

static int keep(void *context, const struct sw_log_message *message)
{
    sw_buf_add_bytes(context, message->bytes, message->length);
    return 0;
}

static char *read_in_pieces(const char *log, size_t piece, bool ended)
{
    sw_auto(json) json_t *job = json_pack("{s:s,s:s}", "submission_id", "j-1", "entrypoint",
                                          "exec x --start-by 17");
    struct sw_buf out = SW_BUF_INIT;
    struct sw_log_sink sink = { .take = keep, .context = &out };
    struct ray_text text;

    ray_text_init(&text, job);
    text.sink = &sink;
    for (size_t at = 0, length = strlen(log); at < length; at += piece)
        assert_int_equal(ray_text_feed(&text, log + at, length - at < piece ? length - at : piece), 0);
    if (ended)
        assert_int_equal(ray_text_end(&text), 0);
    ray_text_done(&text);
    return sw_buf_steal(&out);
}

static void rays_lines_are_left_out_wherever_they_stand(void **state)
{
    static const struct { const char *log, *shown; } rows[] = {
        { BEFORE OWN BEGIN "\na\nb", "a\nb" },
        { BEFORE BEGIN "\n" OWN "a\n", "a\n" },
        { BEFORE BEGIN "\nab" OWN "c\n", "abc\n" },
        { BEFORE BEGIN "\na\nslipway: report {\"job_id\":\"j-1\"}\n", "a\n" },
        { BEFORE BEGIN "\na" "slipway: report {\"job_id\":\"j-1\"}\n", "a" },
        { BEFORE OWN "sh: no such file\n", BEFORE OWN "sh: no such file\n" },
        { EARLIER BEFORE OWN BEGIN "\na\n", "a\n" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        for (size_t piece = 1; piece < 200; piece += 7) {
            sw_autofree char *shown = read_in_pieces(rows[i].log, piece, true);

            assert_string_equal(shown, rows[i].shown);
        }
}

static void half_a_line_waits_for_its_end(void **state)
{
    sw_autofree char *shown = read_in_pieces(BEGIN "\na\nb", 3, false);

    (void)state;
    assert_string_equal(shown, "a\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rays_lines_are_left_out_wherever_they_stand),
        cmocka_unit_test(half_a_line_waits_for_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
