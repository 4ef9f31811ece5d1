/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_secret.c - secrets travel by pipe and never through a redacted stream.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/secret.h"

static struct sw_secrets *secrets_of(const char *first, const char *second)
{
    struct sw_secrets *secrets = sw_secrets_new();

    setenv("SW_TEST_FIRST", first, 1);
    assert_int_equal(sw_secrets_add_env(secrets, "SW_TEST_FIRST", NULL), 0);
    if (second) {
        setenv("SW_TEST_SECOND", second, 1);
        assert_int_equal(sw_secrets_add_env(secrets, "SW_TEST_SECOND", NULL), 0);
    }
    return secrets;
}

/* The stream in pieces of `size` bytes, redacted. Owned. */
static char *redact(const struct sw_secrets *secrets, const char *stream, size_t size)
{
    sw_auto(sw_redactor) struct sw_redactor *redactor = sw_redactor_new(secrets);
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    size_t length = strlen(stream);

    for (size_t at = 0; at < length; at += size)
        sw_redactor_feed(redactor, stream + at, at + size < length ? size : length - at, &out);
    sw_redactor_flush(redactor, &out);
    return sw_buf_steal(&out);
}

static void a_secret_is_found_however_the_stream_is_cut(void **state)
{
    static const struct { const char *first, *second, *stream, *clean; } cases[] = {
        { "hunter2", NULL, "password hunter2 ok hunter2", "password [redacted] ok [redacted]" },
        { "hunter2", NULL, "hunter hunter2hunter2 hunt", "hunter [redacted][redacted] hunt" },
        { "aaab", NULL, "aaaaaab!", "aaa[redacted]!" },
        { "abcd", "abcdefgh", "x abcdefgh y abcdx abcdefg",
          "x [redacted] y [redacted]x [redacted]efg" },
        { "abcabd", "bcab", "abcabcabd", "a[redacted]" },
        { "passphrase-one", "one-and-two", "x passphrase-one-and-two y one-and-twopassphrase-one",
          "x [redacted] y [redacted][redacted]" },
        { "abab-1", "-1ab", "abab-1abab-1abc!", "[redacted]c!" },
        { "line\nbreak", NULL, "a line\nbreak b", "a [redacted] b" },
        { "hunter2", "abc", "abc is too short to hide", "abc is too short to hide" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(sw_secrets) struct sw_secrets *secrets =
            secrets_of(cases[i].first, cases[i].second);

        for (size_t size = 1; size <= strlen(cases[i].stream) + 1; size++) {
            sw_autofree char *clean = redact(secrets, cases[i].stream, size);

            assert_string_equal(clean, cases[i].clean);
        }
    }
}

/* Made with Python: base64, urllib.parse.quote and json.dumps of a longer text. */
static void a_secret_is_found_as_base64_url_and_json_write_it(void **state)
{
    static const struct { const char *secret, *stream, *clean; } cases[] = {
        { "hf_abc/DEF+123", "aGZfYWJjL0RFRisxMjM=", "[redacted]M=" },
        { "hf_abc/DEF+123", "eGhmX2FiYy9ERUYrMTIz", "eG[redacted]" },
        { "hf_abc/DEF+123", "eHhoZl9hYmMvREVGKzEyMw==", "eHh[redacted]w==" },
        { "hf_abc/DEF+123", "dXNlcjpoZl9hYmMvREVGKzEyM0B4", "dXNlcjp[redacted]0B4" },
        { "k?>k?>k?>k?>", "az8-az8-az8-az8-", "[redacted]" },
        { "hf_abc/DEF+123", "token=hf_abc%2FDEF%2B123&x", "token=[redacted]&x" },
        { "hf_abc/DEF+123", "token=hf_abc%2fDEF%2b123&x", "token=[redacted]&x" },
        { "hf_abc/DEF+123", "token=hf_abc/DEF%2B123&x", "token=[redacted]&x" },
        { "say \"x\"\n\\end", "{\"k\": \"say \\\"x\\\"\\n\\\\end\"}", "{\"k\": \"[redacted]\"}" },
        { "gr\xc3\xbc\xc3\x9f\xf0\x9f\x98\x80-1", "\"gr\\u00fc\\u00df\\ud83d\\ude00-1\"", "\"[redacted]\"" },
        { "hf_abc/DEF+123", "\"hf_abc\\/DEF+123\"", "\"[redacted]\"" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(sw_secrets) struct sw_secrets *secrets = secrets_of(cases[i].secret, NULL);

        for (size_t size = 1; size <= strlen(cases[i].stream) + 1; size++) {
            sw_autofree char *clean = redact(secrets, cases[i].stream, size);

            assert_string_equal(clean, cases[i].clean);
        }
    }
}

static void no_more_than_a_secrets_length_is_held_back(void **state)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = secrets_of("aaaaaaaaaaaaaaab", NULL);
    sw_auto(sw_redactor) struct sw_redactor *redactor = sw_redactor_new(secrets);
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    for (size_t fed = 1; fed <= 1000; fed++) {
        sw_redactor_feed(redactor, "a", 1, &out);
        assert_true(out.length + strlen("aaaaaaaaaaaaaaab") >= fed);
    }
}

static void without_secrets_bytes_pass_untouched(void **state)
{
    sw_auto(sw_redactor) struct sw_redactor *redactor = sw_redactor_new(NULL);
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)state;
    sw_redactor_feed(redactor, "a\0b", 3, &out);
    sw_redactor_flush(redactor, &out);
    assert_int_equal(out.length, 3);
    assert_memory_equal(out.data, "a\0b", 3);
}

static void secrets_cross_a_pipe_and_arrive_in_the_environment(void **state)
{
    sw_auto(sw_secrets) struct sw_secrets *sent = secrets_of("one=1", "two\nlines");
    sw_auto(sw_secrets) struct sw_secrets *received = NULL;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(sw_secrets_send(sent, ends[1]), 0);
    close(ends[1]);
    received = sw_secrets_receive(ends[0], NULL);
    close(ends[0]);
    assert_int_equal(sw_secrets_count(received), 2);
    unsetenv("SW_TEST_FIRST");
    unsetenv("SW_TEST_SECOND");
    sw_secrets_export(received);
    assert_string_equal(getenv("SW_TEST_FIRST"), "one=1");
    assert_string_equal(getenv("SW_TEST_SECOND"), "two\nlines");
}

static void a_missing_secret_is_named_with_a_way_out(void **state)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();
    struct sw_error err = { 0 };

    (void)state;
    unsetenv("SW_TEST_FIRST");
    assert_int_equal(sw_secrets_add_env(secrets, "SW_TEST_FIRST", &err), -1);
    assert_int_equal(err.code, SW_E_CREDENTIAL);
    assert_non_null(strstr(err.message, "SW_TEST_FIRST"));
    assert_string_not_equal(err.hint, "");
    assert_int_equal(sw_secrets_count(secrets), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_is_found_however_the_stream_is_cut),
        cmocka_unit_test(a_secret_is_found_as_base64_url_and_json_write_it),
        cmocka_unit_test(no_more_than_a_secrets_length_is_held_back),
        cmocka_unit_test(without_secrets_bytes_pass_untouched),
        cmocka_unit_test(secrets_cross_a_pipe_and_arrive_in_the_environment),
        cmocka_unit_test(a_missing_secret_is_named_with_a_way_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
