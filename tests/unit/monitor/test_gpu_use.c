/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gpu_use.c - how busy the GPUs of a job were: a mean of one sample a minute.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "monitor/monitor_internal.h"

static json_t *after(json_t *known, const char *live, int64_t now_ms)
{
    sw_auto(json) json_t *before = known, *seen = live ? json_loads(live, 0, NULL) : NULL;

    return monitor_gpu_use(before, seen, now_ms);
}

static double mean_of(const json_t *use)
{
    return json_number_value(json_object_get(use, "mean"));
}

static void samples_of_a_minute_are_one_and_others_are_averaged(void **state)
{
    sw_auto(json) json_t *use = after(NULL, "{\"gpus\":[{\"used_percent\":100},{\"used_percent\":60}]}",
        1000);

    (void)state;
    assert_true(mean_of(use) == 80);
    use = after(use, "{\"gpus\":[{\"used_percent\":0}]}", 30000);
    assert_true(mean_of(use) == 80);
    use = after(use, "{\"gpus\":[{\"used_percent\":0}]}", 61000);
    assert_true(mean_of(use) == 40);
    use = after(use, NULL, 300000);
    assert_true(mean_of(use) == 40);
    assert_int_equal(sw_json_int(use, "samples", 0), 2);
}

static void what_was_not_measured_is_not_known(void **state)
{
    static const char *const rows[] = { NULL, "{}", "{\"gpus\":[]}", "{\"gpus\":[{\"used_percent\":null}]}",
                                        "{\"gpus\":[{\"used_percent\":5},{}]}" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        assert_null(after(NULL, rows[i], 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_a_minute_are_one_and_others_are_averaged),
        cmocka_unit_test(what_was_not_measured_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
