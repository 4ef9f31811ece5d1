/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_thread.c - threads that no caller joins are joined when they end, and counted until then.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/thread.h"

static void *wait_for_a_byte(void *context)
{
    char byte;

    assert_int_equal(read(*(const int *)context, &byte, 1), 1);
    return NULL;
}

static void those_that_work_are_counted_until_they_are_through(void **state)
{
    enum { COUNT = 5 };
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(sw_thread_start(NULL, 0, wait_for_a_byte, &ends[0]), 0);
    assert_int_equal(sw_thread_settle(), COUNT);
    for (int left = COUNT; left > 0; left--) {
        assert_int_equal(write(ends[1], "x", 1), 1);
        while (sw_thread_settle() != left - 1)
            usleep(1000);
    }
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_work_are_counted_until_they_are_through),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
