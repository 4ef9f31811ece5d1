/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_life.c - how jobs of the local platform live and end, with real processes.
 */
#include "local_berth.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "platform/local/local_internal.h"

static void a_job_that_exits_0_is_complete_and_its_log_is_there(void **state)
{
    struct berth *here = *state;
    const char *id = berth_launch(here, "echo hello; echo oops >&2");
    sw_autofree char *log = NULL;

    berth_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
    assert_int_equal(here->seen.exit_code, 0);
    assert_true(here->seen.started_ms > 0 && here->seen.ended_ms >= here->seen.started_ms);
    log = berth_log(here, id, 0);
    assert_string_equal(log, "hello\noops\n");
}

static void a_job_that_exits_3_ends_in_error_and_says_3(void **state)
{
    struct berth *here = *state;
    const char *id = berth_launch(here, "exit 3");

    berth_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_int_equal(here->seen.exit_code, 3);
    assert_string_equal(here->seen.reason, "exit");
    assert_string_equal(here->seen.message, "exited with code 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_that_exits_0_is_complete_and_its_log_is_there,
                                        berth_open, berth_close),
        cmocka_unit_test_setup_teardown(a_job_that_exits_3_ends_in_error_and_says_3, berth_open,
                                        berth_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
