/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_transfer.c - how far a copy or a pull is, in one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/cli_transfer.h"

static const struct sw_copy_progress half = {
    .files_done = 3, .files_total = 12, .bytes_done = 1536LL << 20, .bytes_total = 3LL << 30,
    .bytes_per_second = 256LL << 20, .left_ms = 120000,
};

static void a_pull_counts_layers(void **state)
{
    sw_auto(sw_buf) struct sw_buf line = SW_BUF_INIT;

    (void)state;
    cli_transfer_named_line("pulling me/app:1", &half, 80, &line);
    assert_string_equal(sw_buf_text(&line), "pulling me/app:1  3/12 layers, 1.5 GiB of 3 GiB, "
                                            "256 MiB/s, 2m left");
}

static void a_pull_that_has_not_begun_says_only_what_it_is(void **state)
{
    static const struct sw_copy_progress nothing = { .left_ms = -1 };
    sw_auto(sw_buf) struct sw_buf line = SW_BUF_INIT;

    (void)state;
    cli_transfer_named_line("pulling me/app:1", &nothing, 80, &line);
    assert_string_equal(sw_buf_text(&line), "pulling me/app:1  ");
}

static void a_wide_terminal_gets_a_bar(void **state)
{
    sw_auto(sw_buf) struct sw_buf line = SW_BUF_INIT;

    (void)state;
    cli_transfer_named_line("pulling me/app:1", &half, 200, &line);
    assert_non_null(strstr(sw_buf_text(&line), "[===============>"));
}

static void a_copy_counts_files(void **state)
{
    sw_auto(sw_buf) struct sw_buf line = SW_BUF_INIT;

    (void)state;
    cli_transfer_line(&half, 80, &line);
    assert_string_equal(sw_buf_text(&line), "3/12 files, 1.5 GiB of 3 GiB, 256 MiB/s, 2m left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pull_counts_layers),
        cmocka_unit_test(a_pull_that_has_not_begun_says_only_what_it_is),
        cmocka_unit_test(a_wide_terminal_gets_a_bar),
        cmocka_unit_test(a_copy_counts_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
