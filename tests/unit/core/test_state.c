/* SPDX-License-Identifier: Apache-2.0 */
/* test_state.c - the names of states, and which may follow which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/auto.h"
#include "core/state.h"

static void a_final_state_never_goes_back(void **state)
{
    static const enum sw_state all[] = { SW_UNKNOWN, SW_PENDING, SW_RUNNING, SW_PAUSED,
                                         SW_COMPLETE, SW_ERROR, SW_CANCELED };
    (void)state;
    for (size_t i = 0; i < SW_COUNT(all); i++)
        for (size_t j = 0; j < SW_COUNT(all); j++)
            if (sw_state_is_final(all[i]))
                assert_int_equal(sw_state_may_follow(all[i], false, all[j]), i == j);
}

static void a_job_being_canceled_can_only_end(void **state)
{
    (void)state;
    assert_false(sw_state_may_follow(SW_PENDING, true, SW_RUNNING));
    assert_true(sw_state_may_follow(SW_RUNNING, true, SW_CANCELED));
    assert_true(sw_state_may_follow(SW_RUNNING, true, SW_COMPLETE));
    assert_true(sw_state_may_follow(SW_RUNNING, true, SW_ERROR));
}

static void losing_sight_of_a_job_is_no_news_about_it(void **state)
{
    (void)state;
    assert_false(sw_state_may_follow(SW_RUNNING, false, SW_UNKNOWN));
    assert_false(sw_state_may_follow(SW_COMPLETE, false, SW_UNKNOWN));
}

static void names_and_words_are_read_back(void **state)
{
    enum sw_state read = SW_UNKNOWN;

    (void)state;
    assert_int_equal(sw_state_parse("canceled", &read), 0);
    assert_int_equal(read, SW_CANCELED);
    assert_int_equal(sw_state_parse("cancelled", &read), -1);
    assert_string_equal(sw_state_name(SW_COMPLETE), "Complete");
}

static void a_platforms_word_matches_as_a_prefix_and_the_unknown_stays_unknown(void **state)
{
    static const struct sw_state_word words[] = {
        { "CANCELLED", SW_CANCELED, NULL },
        { "COMPLETING", SW_RUNNING, "cleaning up" },
        { "COMPLETED", SW_COMPLETE, NULL },
    };
    const char *note = NULL;

    (void)state;
    assert_int_equal(sw_state_lookup(words, 3, "CANCELLED by 1000", NULL), SW_CANCELED);
    assert_int_equal(sw_state_lookup(words, 3, "CANCELLED+", NULL), SW_CANCELED);
    assert_int_equal(sw_state_lookup(words, 3, "COMPLETING", &note), SW_RUNNING);
    assert_string_equal(note, "cleaning up");
    assert_int_equal(sw_state_lookup(words, 3, "COMPLETED_OR_NOT", NULL), SW_UNKNOWN);
    assert_int_equal(sw_state_lookup(words, 3, "HIBERNATING", NULL), SW_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_final_state_never_goes_back),
        cmocka_unit_test(a_job_being_canceled_can_only_end),
        cmocka_unit_test(losing_sight_of_a_job_is_no_news_about_it),
        cmocka_unit_test(names_and_words_are_read_back),
        cmocka_unit_test(a_platforms_word_matches_as_a_prefix_and_the_unknown_stays_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
