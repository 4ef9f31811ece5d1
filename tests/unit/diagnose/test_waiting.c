/* SPDX-License-Identifier: Apache-2.0 */
/* test_waiting.c - a job that waits always has one line that says why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "diagnose/diagnose.h"

static const struct {
    enum sw_state state;
    const char *reason, *message;
    int64_t age_ms;
    const char *says;
} cases[] = {
    { SW_PENDING, "gpu-wait", "2 of 2 GPUs are in use", 5000,
      "no GPU is free; it starts as soon as one is (for 5s): 2 of 2 GPUs are in use" },
    { SW_PENDING, "submitting", NULL, 1000, "it is being handed to the platform (for 1s)" },
    { SW_PENDING, "queued", "", 3000, "queued (for 3s)" },
    { SW_PENDING, "queue", NULL, 7200000,
      "queued (for 2h); ask for fewer GPUs, a shorter 'time:' or "
      "another queue" },
    { SW_PENDING, "image", NULL, -1, "its image is being fetched" },
    { SW_PENDING, "image-error", "manifest unknown", -1,
      "its image cannot be fetched: manifest unknown; check the image's name and the pull secret" },
    { SW_PENDING, "QOSMaxJobs", NULL, 1000,
      "it is waiting to start; reason: QOSMaxJobs (for "
      "1s)" },
    { SW_PENDING, NULL, NULL, -1,
      "it is waiting to start" },
    { SW_RUNNING, "", NULL, 1000, "Running (for 1s)" },
    { SW_RUNNING, "guard", "no output for 1s", 0, "Running, but no output for 1s (guard)" },
    { SW_UNKNOWN, NULL, NULL, 1000, "its state is unknown; the job itself may be fine (for "
      "1s)" },
    { SW_PENDING, "held", "by\nan \033[2J admin", -1,
      "it is held: by an ^[[2J admin; release it on the platform, or ask its administrator" },
};

static void every_wait_has_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_autofree char *line = sw_explain_waiting(cases[i].state, cases[i].reason,
                                                    cases[i].message, cases[i].age_ms);

        assert_string_equal(line, cases[i].says);
        assert_null(strchr(line, '\n'));
    }
}

static void a_job_that_is_over_waits_for_nothing(void **state)
{
    (void)state;
    assert_null(sw_explain_waiting(SW_COMPLETE, "exit", NULL, 0));
    assert_null(sw_explain_waiting(SW_ERROR, "gpu-wait", NULL, 0));
    assert_null(sw_explain_waiting(SW_CANCELED, NULL, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_wait_has_one_line),
        cmocka_unit_test(a_job_that_is_over_waits_for_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
