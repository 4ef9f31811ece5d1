/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_units.c - durations and sizes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/units.h"

struct amount {
    const char *text;
    int64_t number;
};

static void durations_mean_what_people_write(void **state)
{
    static const struct amount cases[] = {
        { "90s", 90000 }, { "30m", 1800000 }, { "12h", 43200000 }, { "2d", 172800000 },
        { "1h30m", 5400000 }, { "1.5h", 5400000 }, { "500ms", 500 }, { "42", 42000 },
        { "0", 0 }, { "0.5", 500 }, { "0.1s", 100 }, { "1w", 604800000 }, { " 2 d ", 172800000 },
        { "1h 30m 5s", 5405000 }, { "10min", 600000 }, { "3 hours", 10800000 }, { "1H", 3600000 },
        { "106751991167d", INT64_C(9223372036828800000) },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        int64_t ms = -1;

        assert_int_equal(sw_duration_parse(cases[i].text, &ms, NULL), 0);
        assert_int_equal(ms, cases[i].number);
    }
}

static void sizes_follow_kubernetes(void **state)
{
    static const struct amount cases[] = {
        { "512GiB", 512LL << 30 }, { "8GB", 8000000000 }, { "64Gi", 64LL << 30 }, { "1K", 1000 },
        { "1Ki", 1024 }, { "1k", 1000 }, { "500Mi", 500LL << 20 }, { "1.5 GiB", 3LL << 29 },
        { "2T", 2000000000000 }, { "1TiB", 1LL << 40 }, { "100", 100 }, { "7B", 7 },
        { "64gb", 64000000000 },
        { "9223372036854775806", INT64_MAX - 1 }, { "0.5", 0 },
        { "0.999999999PiB", INT64_C(1125899905716724) },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        int64_t bytes = -1;

        assert_int_equal(sw_size_parse(cases[i].text, &bytes, NULL), 0);
        assert_int_equal(bytes, cases[i].number);
    }
}

static void what_is_no_quantity_is_refused_with_a_hint(void **state)
{
    static const char *const words[] = {
        "", " ", "abc", "-5s", "12:30", "1h30", "h", "5x", "1..5h", ".", "1e3", "5m!", "1,5h",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(words); i++) {
        struct sw_error err = { 0 };
        int64_t number = -1;

        assert_int_equal(sw_duration_parse(words[i], &number, &err), -1);
        assert_int_equal(err.code, SW_E_SPEC);
        assert_non_null(strstr(err.hint, "1h30m"));
        assert_int_equal(sw_size_parse(words[i], &number, &err), -1);
        assert_non_null(strstr(err.hint, "GiB"));
        assert_int_equal(number, -1);
    }
}

static void too_large_is_an_error_not_a_wrap_around(void **state)
{
    static const char *const words[] = {
        "99999999999999999999999d", "9223372036854775807w", "10000000000000h", "8192PiB",
        "9223372036854775808", "106751991167d 999999999999d", "9223.5P",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(words); i++) {
        bool is_size = strchr(words[i], 'P') || strlen(words[i]) == 19;
        struct sw_error err = { 0 };
        int64_t number = -1;

        if (is_size)
            assert_int_equal(sw_size_parse(words[i], &number, &err), SW_TOO_LARGE);
        else
            assert_int_equal(sw_duration_parse(words[i], &number, &err), SW_TOO_LARGE);
        assert_non_null(strstr(err.message, "too large"));
        assert_int_equal(number, -1);
    }
}

static void a_written_duration_reads_back_exactly(void **state)
{
    static const struct { int64_t ms; const char *text; } cases[] = {
        { 0, "0s" }, { 5400000, "1h30m" }, { 172800000, "2d" }, { 90061001, "1d1h1m1s1ms" },
        { 1500, "1s500ms" },
    };
    char text[32];
    int64_t again = -1;

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_duration_format(cases[i].ms, text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(sw_duration_parse(text, &again, NULL), 0);
        assert_int_equal(again, cases[i].ms);
    }
    sw_duration_format(INT64_MAX, text);
    assert_int_equal(sw_duration_parse(text, &again, NULL), 0);
    assert_int_equal(again, INT64_MAX);
}

static void sizes_are_written_for_people(void **state)
{
    static const struct { int64_t bytes; const char *text; } cases[] = {
        { 0, "0 B" }, { 1023, "1023 B" }, { 1024, "1 KiB" }, { 1536, "1.5 KiB" },
        { 512LL << 30, "512 GiB" }, { 3LL << 29, "1.5 GiB" }, { 2047, "1.9 KiB" },
        { INT64_MAX, "7.9 EiB" },
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_size_format(cases[i].bytes, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void a_duration_in_a_document_is_a_number_or_a_text(void **state)
{
    sw_auto(json) json_t *options = json_pack("{s:s, s:i, s:s}", "a", "1m", "b", 2, "c", "soon");

    (void)state;
    assert_int_equal(sw_json_duration_ms(options, "a", 7), 60000);
    assert_int_equal(sw_json_duration_ms(options, "b", 7), 2000);
    assert_int_equal(sw_json_duration_ms(options, "c", 7), 7);
    assert_int_equal(sw_json_duration_ms(options, "d", 7), 7);
}

static void a_range_of_durations_has_two_ends(void **state)
{
    static const struct {
        const char *text;
        int64_t low_ms, high_ms;             /* -1: it is refused */
    } rows[] = {
        { "30s", 30000, 30000 }, { "30s..10m", 30000, 600000 }, { "5..5", 5000, 5000 },
        { "10m..30s", -1, -1 }, { "..10m", -1, -1 }, { "30s..", -1, -1 }, { "soon", -1, -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t low_ms = -1, high_ms = -1;

        sw_duration_range_parse(rows[i].text, &low_ms, &high_ms, NULL);
        if (low_ms != rows[i].low_ms || high_ms != rows[i].high_ms)
            fail_msg("'%s' is %lld..%lld", rows[i].text, (long long)low_ms, (long long)high_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_of_durations_has_two_ends),
        cmocka_unit_test(durations_mean_what_people_write),
        cmocka_unit_test(a_duration_in_a_document_is_a_number_or_a_text),
        cmocka_unit_test(sizes_follow_kubernetes),
        cmocka_unit_test(what_is_no_quantity_is_refused_with_a_hint),
        cmocka_unit_test(too_large_is_an_error_not_a_wrap_around),
        cmocka_unit_test(a_written_duration_reads_back_exactly),
        cmocka_unit_test(sizes_are_written_for_people),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
