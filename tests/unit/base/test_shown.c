/* SPDX-License-Identifier: Apache-2.0 */
/* test_shown.c - what people may see of a URI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/shown.h"

static const struct { const char *text, *shown; } rows[] = {
    { "", "" },
    { "no URI here: a//b, c:/d?e=f", "no URI here: a//b, c:/d?e=f" },
    { "https://host/x?X-Amz-Signature=SIG", "https://host/x?..." },
    { "cannot fetch 'https://host/x?sig=a%2Fb': no", "cannot fetch 'https://host/x?...': no" },
    { "'https://host/x?sig=it's'", "'https://host/x?...'" },
    { "{\"uri\":\"https://host/x?sig=1234\",\"n\":1}", "{\"uri\":\"https://host/x?...\",\"n\":1}" },
    { "http://me:pw@host:80/a", "http://host:80/a" },
    { "http://TOKEN@host/a b", "http://host/a b" },
    { "HTTPS://me:p@w@host/@scope", "HTTPS://host/@scope" },
    { "http://me:p/w@host/x", "http://host/x" },
    { "http://[::1]:80/a@b?long=1", "http://[::1]:80/a@b?..." },
    { "http://host:80/a@b", "http://host:80/a@b" },
    { "https://host/x#access_token=1", "https://host/x#..." },
    { "https://host?token=abc", "https://host?..." },
    { "input https://host/x?sig=SIG: 1 file (of https://host/?sig=SIG).",
      "input https://host/x?...: 1 file (of https://host/?...)." },
    { "https://a/?xyzzy from https://b/?xyzzy", "https://a/?... from https://b/?..." },
    { "http://proxy/http://me:pw@host/?sig=SIG", "http://proxy/http://host/?..." },
    { "http://me:pw@https://me:pw@host", "http://https://host" },
    { "git+https://tok:x@host/r.git@main", "git+https://host/r.git@main" },
    { "ssh://me@gpu1 and ssh://me:pw@gpu1", "ssh://me@gpu1 and ssh://me@gpu1" },
    { "s3://bucket/a#b", "s3://bucket/a#b" },
    { "file:///a?bcdef", "file:///a?bcdef" },
    { "docker://ubuntu@sha256:0123", "docker://ubuntu@sha256:0123" },
};

static void a_uri_is_shown_without_user_and_query(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *shown = sw_uri_shown(rows[i].text);

        assert_string_equal(shown, rows[i].shown);
    }
}

static void no_message_and_no_hint_holds_a_signature(void **state)
{
    const char *uri = "https://me:CANARY@host/x?sig=CANARY";
    struct sw_error err = { 0 };

    (void)state;
    sw_fail(&err, SW_E_IO, "cannot read '%s'", uri);
    sw_wrap(&err, "cannot copy '%s' to '%s'", uri, uri);
    sw_hint(&err, "look at %s", uri);
    assert_null(strstr(err.message, "CANARY"));
    assert_null(strstr(err.hint, "CANARY"));
    assert_string_equal(err.hint, "look at https://host/x?...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uri_is_shown_without_user_and_query),
        cmocka_unit_test(no_message_and_no_hint_holds_a_signature),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
