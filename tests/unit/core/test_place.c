/* SPDX-License-Identifier: Apache-2.0 */
/* test_place.c - comparing identities, and the options that lead to a place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/place.h"

static void the_first_word_of_an_identity_decides(void **state)
{
    static const struct {
        const char *one, *other;
        bool same;
    } cases[] = {
        { "AB:CD gpu1", "AB:CD gpu1", true },   { "AB:CD gpu1", "AB:CD renamed", true },
        { "AB:CD", "AB:CD gpu1", true },        { "AB:CD gpu1", "AB:CE gpu1", false },
        { "AB:CD", "AB:CDE", false },           { "", "AB:CD", true },
        { "AB:CD", "", true },                  { NULL, NULL, true },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++)
        assert_int_equal(sw_identity_same(cases[i].one, cases[i].other), cases[i].same);
}

static const struct sw_option table[] = {
    { "host", SW_TEXT, SW_CONNECTION }, { "user", SW_TEXT, SW_CONNECTION },
    { "queue", SW_TEXT }, { 0 }
};

static void the_row_alone_decides_about_the_connection(void **state)
{
    sw_auto(json) json_t *today = sw_json_object(SW_STR("host", "b"), SW_STR("user", "eve"),
                                                 SW_STR("queue", "q"));
    sw_auto(json) json_t *kept = sw_json_object(SW_STR("host", "a"));
    struct sw_place place = { .options = kept };
    sw_auto(json) json_t *whole = sw_place_open_options(&place, table, today);

    (void)state;
    assert_string_equal(sw_json_str(whole, "host"), "a");
    assert_null(sw_json_str(whole, "user"));
    assert_string_equal(sw_json_str(whole, "queue"), "q");
}

static void only_connection_options_are_kept(void **state)
{
    sw_auto(json) json_t *all = sw_json_object(SW_STR("host", "a"), SW_STR("queue", "q"));
    sw_auto(json) json_t *kept = sw_connection_options(table, all);

    (void)state;
    assert_int_equal(json_object_size(kept), 1);
    assert_string_equal(sw_json_str(kept, "host"), "a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_word_of_an_identity_decides),
        cmocka_unit_test(the_row_alone_decides_about_the_connection),
        cmocka_unit_test(only_connection_options_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
