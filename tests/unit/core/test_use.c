/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_use.c - what a job says it uses: each fact, or null.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/use.h"

static void each_fact_is_read_or_null(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        { "", "{\"cpu_seconds\":null,\"memory_bytes\":null,\"gpus\":[]}" },
        { "memory 4096\ncpu_us 1500000\n", "{\"cpu_seconds\":1.5,\"memory_bytes\":4096,\"gpus\":[]}" },
        { "cpu_ns 2500000000\n", "{\"cpu_seconds\":2.5,\"memory_bytes\":null,\"gpus\":[]}" },
        { "memory \ncpu_us x\nmemory -1\nmemory 1 2\nother 3",
          "{\"cpu_seconds\":null,\"memory_bytes\":null,\"gpus\":[]}" },
        { "memory 99999999999999999999999\n", "{\"cpu_seconds\":null,\"memory_bytes\":null,\"gpus\":[]}" },
        { "gpu 0, GPU-1a2b, 00000000:01:00.0, 81559, 1024, 45, 0, NVIDIA H200\ngpu nonsense\n",
          "{\"cpu_seconds\":null,\"memory_bytes\":null,\"gpus\":[{\"uuid\":\"GPU-1a2b\","
          "\"name\":\"NVIDIA H200\",\"used_percent\":45,\"memory_used\":1073741824,"
          "\"memory_total\":85520809984}]}" },
        { "gpu 1, GPU-3c, 00000000:01:00.0, 1, 0, [N/A], [N/A], T4\n",
          "{\"cpu_seconds\":null,\"memory_bytes\":null,\"gpus\":[{\"uuid\":\"GPU-3c\",\"name\":\"T4\","
          "\"used_percent\":null,\"memory_used\":0,\"memory_total\":1048576}]}" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(json) json_t *use = sw_use_read(cases[i].text);
        sw_autofree char *text = sw_json_dump(use);

        assert_string_equal(text, cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_fact_is_read_or_null) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
