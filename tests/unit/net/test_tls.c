/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tls.c - the words for refused certificates, the bundle inside, and credentials that stay off
 * open wires. Refused requests never leave: the address used is one that no host has (RFC 5737).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "net/http_internal.h"
#include "net/trust.h"

static void both_libraries_are_understood(void **state)
{
    static const struct { const char *said, *why, *hint; } rows[] = {
        { "SSL certificate problem: certificate has expired", "has expired", "clock" },
        { "Cert verify failed: BADCERT_EXPIRED", "has expired", "clock" },
        { "SSL certificate problem: certificate is not yet valid", "not valid yet", "clock" },
        { "SSL: no alternative certificate subject name matches target host name 'x'",
          "another host name", "name" },
        { "Cert verify failed: BADCERT_CN_MISMATCH", "another host name", "name" },
        { "SSL certificate problem: unable to get local issuer certificate", "no trusted authority",
          "SSL_CERT_FILE" },
        { "SSL certificate problem: self-signed certificate", "no trusted authority", "SSL_CERT_FILE" },
        { "Cert verify failed: BADCERT_NOT_TRUSTED", "no trusted authority", "SSL_CERT_FILE" },
        { "", "no trusted authority", "SSL_CERT_FILE" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        const char *hint = NULL;

        assert_non_null(strstr(http_tls_refusal(rows[i].said, &hint), rows[i].why));
        assert_non_null(strstr(hint, rows[i].hint));
    }
}

static void a_credential_travels_in_the_open_only_where_the_user_said_so(void **state)
{
    static const struct { const char *url, *header; bool said, required; } rows[] = {
        { "http://storage.example/x", "Authorization", false, true },
        { "http://storage.example/x", "authorization", false, true },
        { "http://storage.example/x", "x-amz-security-token", false, true },
        { "http://storage.example/x", "Authorization", true, false },
        { "http://storage.example/x", "Range", false, false },
        { "https://storage.example/x", "Authorization", false, false },
        { "http://127.0.0.1:9000/x", "Authorization", false, false },
        { "http://127.0.0.1", "Authorization", false, false },
        { "http://localhost:1/x", "Authorization", false, false },
        { "http://[::1]:9000/x", "Authorization", false, false },
        { "http://127.0.0.1.evil.example/x", "Authorization", false, true },
        { "http://localhost.evil.example/x", "Authorization", false, true },
        { "http://127.0.0.1@evil.example/x", "Authorization", false, true },
        { "http://evil.example?127.0.0.1", "Authorization", false, true },
        { "http://[::1].evil.example/x", "Authorization", false, true },
        { "HTTP://storage.example/x", "Authorization", false, true },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_http_request) struct sw_http_request request = SW_HTTP_REQUEST_INIT;

        request.url = sw_strdup(rows[i].url);
        request.plain_said = rows[i].said;
        sw_http_request_header(&request, rows[i].header, "x");
        if (http_tls_required(&request) != rows[i].required)
            fail_msg("%s with %s", rows[i].url, rows[i].header);
    }
}

static void such_a_request_is_refused_before_it_is_sent(void **state)
{
    sw_auto(sw_http_request) struct sw_http_request request = SW_HTTP_REQUEST_INIT;
    sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };
    struct sw_error err = { 0 };
    sw_auto(sw_http) struct sw_http *http = sw_http_open(NULL, &err);

    (void)state;
    assert_non_null(http);
    strcpy(request.method, "GET");
    request.url = sw_strdup("http://192.0.2.1/x");
    sw_http_request_header(&request, "Authorization", "Bearer canary");
    assert_int_equal(sw_http_ask(http, &request, &reply, &err), -1);
    assert_int_equal(err.code, SW_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "192.0.2.1"));
    assert_non_null(strstr(err.message, "without TLS"));
    assert_non_null(strstr(err.hint, "https://"));
    assert_null(strstr(err.message, "canary"));
}

static void a_certificate_for_another_name_is_asked_for_where_the_server_is(void **state)
{
    static const struct { const char *url, *name, *named, *connect_to, *host; } rows[] = {
        { "https://10.0.0.1:6443/api?x=1", "api", "https://api:6443/api?x=1", "::10.0.0.1:6443",
          "Host: 10.0.0.1:6443" },
        { "https://host/x", "api", "https://api/x", "::host:", "Host: host" },
        { "https://[fd00::1]:1/x", "api", "https://api:1/x", "::[fd00::1]:1", "Host: [fd00::1]:1" },
        { "https://[fd00::1]", "api", "https://api", "::[fd00::1]:", "Host: [fd00::1]" },
        { "https://host:1/a:b", "fd00::2", "https://[fd00::2]:1/a:b", "::host:1", "Host: host:1" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *connect_to = NULL, *host = NULL;
        sw_autofree char *named = http_tls_named(rows[i].url, rows[i].name, &connect_to, &host);

        assert_string_equal(named, rows[i].named);
        assert_string_equal(connect_to, rows[i].connect_to);
        assert_string_equal(host, rows[i].host);
    }
}

/* gzip of { 0x30, 1, 7 }, as `static/trust` would pack it. */
static const unsigned char packed[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x33, 0x60,
    0x64, 0x07, 0x00, 0x60, 0x98, 0x55, 0x5c, 0x03, 0x00, 0x00, 0x00,
};

static void a_packed_bundle_is_unpacked_or_refused_whole(void **state)
{
    size_t length = 0;
    sw_autofree char *pem = sw_trust_unpack(packed, sizeof packed, &length);

    (void)state;
    assert_non_null(pem);
    assert_string_equal(pem, "-----BEGIN CERTIFICATE-----\nMAEH\n-----END CERTIFICATE-----\n");
    assert_int_equal(length, strlen(pem));
    for (size_t cut = 0; cut < sizeof packed; cut++)
        assert_null(sw_trust_unpack(packed, cut, &length));
    assert_null(sw_trust_unpack("no gzip at all", 14, &length));
}

static void the_jobs_own_file_comes_before_what_the_image_names(void **state)
{
    char path[] = "/tmp/slipway-trust-XXXXXX";
    int fd = mkstemp(path);
    struct sw_error err = { 0 };

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    setenv("SSL_CERT_FILE", "/image/own.crt", 1);
    assert_int_equal(sw_trust_job(path, &err), 0);
    {
        sw_autofree char *job = trust_file(NULL), *caller = trust_file("/caller.crt");

        assert_string_equal(job, path);
        assert_string_equal(caller, "/caller.crt");
    }
    assert_int_equal(sw_trust_job(NULL, &err), 0);
    {
        sw_autofree char *named = trust_file(NULL);

        assert_string_equal(named, "/image/own.crt");
    }
    unlink(path);
    assert_int_equal(sw_trust_job(path, &err), -1);
    assert_non_null(strstr(err.message, path));
    unsetenv("SSL_CERT_FILE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_libraries_are_understood),
        cmocka_unit_test(a_credential_travels_in_the_open_only_where_the_user_said_so),
        cmocka_unit_test(such_a_request_is_refused_before_it_is_sent),
        cmocka_unit_test(a_certificate_for_another_name_is_asked_for_where_the_server_is),
        cmocka_unit_test(a_packed_bundle_is_unpacked_or_refused_whole),
        cmocka_unit_test(the_jobs_own_file_comes_before_what_the_image_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
