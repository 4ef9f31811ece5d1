/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hooks.c - which hook hears of which event.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/json.h"
#include "monitor/hooks.h"

#define ALL_HOOKS "\"hooks\": {\"on_complete\": \"c\", \"on_error\": \"e\", \"on_canceled\": \"x\"," \
                  " \"on_epoch_milestone\": \"m\", \"on_status\": \"s\"}"

static const struct row {
    const char *plan, *kind, *data, *hooks;
} rows[] = {
    { "{" ALL_HOOKS "}", "state", "{\"state\": \"Complete\", \"was\": \"Running\"}",
      "[\"on_complete\", \"on_status\"]" },
    { "{" ALL_HOOKS "}", "state", "{\"state\": \"Error\", \"was\": \"Running\"}",
      "[\"on_error\", \"on_status\"]" },
    { "{" ALL_HOOKS "}", "state", "{\"state\": \"Canceled\", \"was\": \"Pending\"}",
      "[\"on_canceled\", \"on_status\"]" },
    { "{" ALL_HOOKS "}", "state", "{\"state\": \"Pending\", \"was\": \"Pending\"}", "[]" },
    { "{" ALL_HOOKS "}", "attempt", "{\"number\": 2}", "[\"on_status\"]" },
    { "{" ALL_HOOKS "}", "epoch", "{\"epoch\": 10}", "[\"on_epoch_milestone\"]" },
    { "{" ALL_HOOKS "}", "hook", "{}", "[]" },
    { "{" ALL_HOOKS "}", "submitted", "{}", "[]" },
    { "{\"notify\": {\"command\": \"n\"}}", "state", "{\"state\": \"Error\", \"was\": \"Running\"}",
      "[\"notify.command\"]" },
    { "{\"notify\": {\"command\": \"n\"}}", "attempt", "{\"number\": 2}", "[]" },
    { "{\"notify\": {\"command\": \"n\"}}", "state", "{\"state\": \"Running\", \"was\": \"Pending\"}",
      "[]" },
    { "{\"notify\": {\"webhook\": \"w\", \"command\": \"n\", \"on\": [\"status\", \"complete\"]}}",
      "state", "{\"state\": \"Complete\", \"was\": \"Running\"}",
      "[\"notify.command\", \"notify.webhook\"]" },
    { "{\"notify\": {\"webhook\": \"w\", \"on\": [\"retry\"]}}", "attempt", "{\"number\": 2}",
      "[\"notify.webhook\"]" },
    { "{\"notify\": {\"webhook\": \"w\", \"on\": [\"guard\"]}}", "guard", "{}",
      "[\"notify.webhook\"]" },
    { "{}", "state", "{\"state\": \"Complete\", \"was\": \"Running\"}", "[]" },
};

static void each_event_is_heard_by_the_hooks_of_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *plan = json_loads(rows[i].plan, 0, NULL);
        sw_auto(json) json_t *data = json_loads(rows[i].data, 0, NULL);
        sw_auto(json) json_t *expected = json_loads(rows[i].hooks, 0, NULL);
        sw_auto(json) json_t *hooks = json_array();

        assert_non_null(plan);
        sw_hooks_for(plan, rows[i].kind, data, hooks);
        if (!json_equal(hooks, expected)) {
            sw_autofree char *got = sw_json_dump(hooks);

            fail_msg("row %zu: %s instead of %s", i, got, rows[i].hooks);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_event_is_heard_by_the_hooks_of_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
