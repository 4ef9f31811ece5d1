/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_generic_table.c - lists of things fit the terminal and keep what people look for first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "cli/cli_generic_table.h"

/* As a Slurm cluster tells of its partitions. */
static const char partitions[] =
    "[{\"name\": \"batch\", \"default\": true, \"state\": \"UP\", \"time_limit_minutes\": 240,"
    " \"default_time_minutes\": null, \"max_nodes\": null, \"nodes\": 128, \"nodes_up\": 120,"
    " \"nodes_idle\": 3, \"gpus_total\": 1024, \"gpus_free\": 24, \"gpu_types\": {\"h100\": 1024},"
    " \"node_gpus\": 8, \"cpus_total\": 24576, \"cpus_free\": 800, \"node_memory_bytes\": 2199023255552},"
    " {\"name\": \"interactive\", \"default\": false, \"state\": \"UP\", \"time_limit_minutes\": 60,"
    " \"default_time_minutes\": null, \"max_nodes\": null, \"nodes\": 4, \"nodes_up\": 4,"
    " \"nodes_idle\": 1, \"gpus_total\": 32, \"gpus_free\": 8, \"gpu_types\": {\"a100\": 32},"
    " \"node_gpus\": 8, \"cpus_total\": 512, \"cpus_free\": 64, \"node_memory_bytes\": 1099511627776}]";

static void a_wide_list_fits_the_terminal(void **state)
{
    static const char *const kept[] = { "NAME", "GPUS FREE", "GPUS TOTAL", "TIME LIMIT MINUTES", "batch",
                                        "interactive", "1024", "240" };
    sw_auto(json) json_t *things = sw_json_parse(partitions, sizeof partitions - 1, "test", NULL);
    struct cli cli = { .screen = { .width = 80 } };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    cli_generic_table(&out, &cli, things);
    for (size_t i = 0; i < SW_COUNT(kept); i++)
        if (!strstr(sw_buf_text(&out), kept[i]))
            fail_msg("'%s' is not shown:\n%s", kept[i], sw_buf_text(&out));
    for (const char *line = sw_buf_text(&out); *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
}

static void a_property_that_nothing_has_is_no_column(void **state)
{
    sw_auto(json) json_t *things = sw_json_parse(partitions, sizeof partitions - 1, "test", NULL);
    struct cli cli = { 0 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    cli_generic_table(&out, &cli, things);
    assert_null(strstr(sw_buf_text(&out), "MAX NODES"));
    assert_non_null(strstr(sw_buf_text(&out), "NODES IDLE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_list_fits_the_terminal),
        cmocka_unit_test(a_property_that_nothing_has_is_no_column),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
