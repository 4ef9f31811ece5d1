/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http_text.c - headers, dates, locations and percent signs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "net/http.h"

static void dates_of_both_kinds_are_read(void **state)
{
    static const struct { const char *text; int64_t at_ms; } cases[] = {
        { "Sun, 06 Nov 1994 08:49:37 GMT", 784111777000 },
        { "2009-10-12T17:50:30.000Z", 1255369830000 },
        { "2009-10-12T17:50:30.25Z", 1255369830250 },
        { "2009-10-12T19:50:30+02:00", 1255369830000 },
        { "2009-10-12T17:50:30", 1255369830000 },
        { "Sunday,6 nov 1994 8:49:37  GMT", 784111777000 },
        { "Sun, 06 Nov 1994 08:49 GMT", -1 }, { "Sun, 06 Nov 1994 08:49:37", -1 }, { "Sun,", -1 },
        { "Sun, 00 Nov 1994 08:49:37 GMT", -1 }, { "Sun, -6 Nov 1994 08:49:37 GMT", -1 },
        { "yesterday", -1 }, { "", -1 }, { "Sun, 06 Foo 1994 08:49:37 GMT", -1 },
        { "Sun, 06 Nov 1994 28:49:37 GMT", -1 }, { "2009-10-12T17:50:30 nonsense", -1 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++)
        assert_int_equal(sw_http_date(cases[i].text), cases[i].at_ms);
}

static void a_range_is_read_exactly_or_not_at_all(void **state)
{
    static const struct { const char *text; bool good; int64_t first, last, whole; } rows[] = {
        { "bytes 0-9/100", true, 0, 9, 100 },
        { "Bytes  5-5/*", true, 5, 5, -1 },
        { "bytes 0-9223372036854775806/9223372036854775807", true, 0, INT64_MAX - 1, INT64_MAX },
        { "bytes 0-9/9223372036854775808", false, 0, 0, 0 },
        { "bytes 9-0/100", false, 0, 0, 0 },   { "bytes 0-100/100", false, 0, 0, 0 },
        { "bytes */100", false, 0, 0, 0 },     { "bytes 0-9", false, 0, 0, 0 },
        { "bytes -9/100", false, 0, 0, 0 },    { "bytes=0-9/100", false, 0, 0, 0 },
        { "bytes 0-9/100, 20-29/100", false, 0, 0, 0 }, { "", false, 0, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        int64_t first = 0, last = 0, whole = 0;

        if (sw_http_content_range(rows[i].text, &first, &last, &whole) != rows[i].good)
            fail_msg("'%s'", rows[i].text);
        if (rows[i].good && (first != rows[i].first || last != rows[i].last || whole != rows[i].whole))
            fail_msg("'%s': %lld %lld %lld", rows[i].text, (long long)first, (long long)last,
                     (long long)whole);
    }
}

static void locations_are_resolved_against_the_url(void **state)
{
    static const char *const cases[][3] = {
        { "https://h/a/b?q", "https://other/x", "https://other/x" },
        { "https://h:1/a/b?q", "/x?y", "https://h:1/x?y" },
        { "https://h/a/b?q/r", "c", "https://h/a/c" },
        { "https://h", "c", "https://h/c" },
        { "https://h/a", "//other/x", "https://other/x" },
        { "https://h/a", "ftp://other/x", NULL },
        { "https://h/a", "file:///etc/passwd", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_autofree char *found = sw_http_location(cases[i][0], cases[i][1]);

        if (cases[i][2])
            assert_string_equal(found, cases[i][2]);
        else
            assert_null(found);
    }
}

static void another_port_or_scheme_is_another_host(void **state)
{
    (void)state;
    assert_true(sw_http_same_host("https://Host/a", "https://host:443/b"));
    assert_true(sw_http_same_host("http://h:80", "http://h/b?c"));
    assert_false(sw_http_same_host("https://host/a", "http://host/a"));
    assert_false(sw_http_same_host("https://host/a", "https://host:8443/a"));
    assert_false(sw_http_same_host("https://host/a", "https://host.evil/a"));
}

static void any_bytes_survive_being_encoded(void **state)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_autofree char *back = NULL;
    char bytes[256];

    (void)state;
    for (int i = 1; i < 256; i++)
        bytes[i - 1] = (char)i;
    bytes[255] = '\0';
    sw_http_encode(&out, bytes, 255, "/");
    assert_non_null(strstr(sw_buf_text(&out), "%20"));
    assert_null(strpbrk(sw_buf_text(&out), " +?#&="));
    back = sw_http_decode(sw_buf_text(&out), out.length);
    assert_string_equal(back, bytes);
}

static void headers_are_found_in_any_case(void **state)
{
    struct sw_http_reply reply = { 0 };
    sw_autofree char *etag = NULL, *none = NULL;

    (void)state;
    sw_buf_add(&reply.headers, "Content-Type: text/plain\nETAG:  \"abc\" \nX-ETag: no\n");
    etag = sw_http_header(&reply, "ETag");
    none = sw_http_header(&reply, "Tag");
    assert_string_equal(etag, "\"abc\"");
    assert_null(none);
    sw_http_reply_done(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_of_both_kinds_are_read),
        cmocka_unit_test(a_range_is_read_exactly_or_not_at_all),
        cmocka_unit_test(locations_are_resolved_against_the_url),
        cmocka_unit_test(another_port_or_scheme_is_another_host),
        cmocka_unit_test(any_bytes_survive_being_encoded),
        cmocka_unit_test(headers_are_found_in_any_case),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
