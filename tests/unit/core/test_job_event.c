/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_event.c - events have one word, and `notify.on` takes no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/job_event.h"

static void the_first_row_that_fits_has_the_word(void **state)
{
    static const struct {
        const char *kind, *json, *word;
    } rows[] = {
        { "state", "{\"state\": \"Complete\"}", "complete" },
        { "state", "{\"state\": \"Error\"}", "error" },
        { "state", "{\"state\": \"Canceled\"}", "canceled" },
        { "state", "{\"state\": \"Running\"}", "status" },
        { "attempt", "{}", "retry" }, { "epoch", "{}", "epoch" }, { "guard", "{}", "guard" },
        { "submitted", "{}", "submitted" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *data = json_loads(rows[i].json, 0, NULL);

        assert_string_equal(sw_job_event_word(rows[i].kind, data), rows[i].word);
    }
}

static void every_word_of_notify_happens(void **state)
{
    (void)state;
    for (const char *const *word = sw_job_event_words; *word; word++) {
        bool found = false;

        for (const struct sw_job_event *row = sw_job_events; row->kind; row++)
            found |= strcmp(row->word, *word) == 0;
        assert_true(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_row_that_fits_has_the_word),
        cmocka_unit_test(every_word_of_notify_happens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
