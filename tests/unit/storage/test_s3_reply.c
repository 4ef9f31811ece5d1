/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_s3_reply.c - what the s3 storage asks and how it understands the answers, without a server.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "storage/storage.h"

#define NOW_MS 1700000000000

static const char *lookup(void *context, const char *name)
{
    for (const char *const *pair = context; *pair; pair += 2)
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    return NULL;
}

static const char *const with_keys[] = { "AWS_ACCESS_KEY_ID", "AK", "AWS_SECRET_ACCESS_KEY",
                                         "very-secret", NULL };
static const char *const with_endpoint[] = { "AWS_ACCESS_KEY_ID", "AK", "AWS_SECRET_ACCESS_KEY",
                                             "very-secret", "AWS_ENDPOINT_URL",
                                             "http://minio:9000", NULL };
static const char *const without_keys[] = { "HOME", "/nonexistent", NULL };

/* An operation on s3://bucket-1/KEY and what came of it. */
struct talk {
    struct sw_root *root;
    char *key;
    struct sw_operation op;
    struct sw_http_request request;
    struct sw_error err;
};

static void begin(struct talk *talk, const char *const *environment, const char *uri,
                  enum sw_operation_kind kind)
{
    struct sw_storage_options options = { lookup, (void *)environment };

    *talk = (struct talk){ .op = SW_OP_INIT(kind), .request = SW_HTTP_REQUEST_INIT };
    assert_non_null(sw_storage_open(uri, &options, &talk->root, &talk->key, NULL));
    talk->op.root = talk->root;
    talk->op.key = talk->key;
    assert_int_equal(sw_storage_s3.next(&talk->op, NULL, NOW_MS, &talk->request, NULL),
                     SW_STEP_SEND);
}

static enum sw_step answer(struct talk *talk, int status, const char *headers, const char *body)
{
    struct sw_http_reply reply = { .status = status, .length = 7 };
    enum sw_step step;

    sw_buf_add(&reply.headers, headers);
    sw_buf_add(&reply.body, body);
    sw_http_request_done(&talk->request);
    step = sw_storage_s3.next(&talk->op, &reply, NOW_MS, &talk->request, &talk->err);
    sw_http_reply_done(&reply);
    return step;
}

static void end(struct talk *talk)
{
    sw_http_request_done(&talk->request);
    sw_operation_done(&talk->op);
    sw_storage_close(talk->root);
    free(talk->key);
}

static bool sends(const struct talk *talk, const char *beginning)
{
    for (size_t i = 0; i < talk->request.header_count; i++)
        if (strncmp(talk->request.headers[i], beginning, strlen(beginning)) == 0)
            return true;
    return false;
}

static int found_nothing(void *context, struct sw_object *object)
{
    (void)context, (void)object;
    return 0;
}

/* Tokens as a hostile server may send them: always the same one, or a few in turn. */
static void a_listing_whose_token_comes_again_ends_with_an_error(void **state)
{
    static const char *const tokens[] = { "a", "b", "c" };

    (void)state;
    for (int turn = 1; turn <= 3; turn++) {
        struct talk talk;
        enum sw_step step = SW_STEP_SEND;

        begin(&talk, with_keys, "s3://bucket-1/p/", SW_OP_LIST);
        talk.op.found = found_nothing;
        for (int page = 0; step == SW_STEP_SEND && page < 50; page++) {
            char body[256];

            snprintf(body, sizeof body, "<ListBucketResult><IsTruncated>true</IsTruncated>"
                     "<NextContinuationToken>%s</NextContinuationToken></ListBucketResult>",
                     tokens[page % turn]);
            step = answer(&talk, 200, "", body);
        }
        assert_int_equal(step, SW_STEP_FAILED);
        assert_int_equal(talk.err.code, SW_E_REFUSED);
        assert_non_null(strstr(talk.err.message, "does not end"));
        end(&talk);
    }
}

static void aws_is_addressed_by_host_and_others_by_path(void **state)
{
    struct talk talk;

    (void)state;
    begin(&talk, with_keys, "s3://bucket-1/a b", SW_OP_GET);
    assert_string_equal(talk.request.url, "https://bucket-1.s3.us-east-1.amazonaws.com/a%20b");
    end(&talk);
    begin(&talk, with_keys, "s3://dotted.name/k", SW_OP_GET);
    assert_string_equal(talk.request.url, "https://s3.us-east-1.amazonaws.com/dotted.name/k");
    end(&talk);
    begin(&talk, with_endpoint, "s3://bucket-1/a/../b//c", SW_OP_GET);
    assert_string_equal(talk.request.url, "http://minio:9000/bucket-1/a/../b//c");
    end(&talk);
}

static void requests_are_signed_and_hold_no_secret(void **state)
{
    struct talk talk;

    (void)state;
    begin(&talk, with_keys, "s3://bucket-1/k", SW_OP_GET);
    assert_true(sends(&talk, "authorization: AWS4-HMAC-SHA256 Credential=AK/20231114/us-east-1/s3/"));
    for (size_t i = 0; i < talk.request.header_count; i++)
        assert_null(strstr(talk.request.headers[i], "very-secret"));
    end(&talk);
    begin(&talk, without_keys, "s3://bucket-1/k", SW_OP_GET);
    assert_false(sends(&talk, "authorization:"));
    end(&talk);
}

/* How a body is covered: over plain http by the signature, else by a crc32c that the server checks. */
static void a_body_is_signed_or_checked(void **state)
{
    static const struct { const char *endpoint; enum sw_digest_kind wanted; } rows[] = {
        { "https://minio:9000",   SW_DIGEST_CRC32C },
        { "http://minio:9000",    SW_DIGEST_SHA256 },
        { "http://10.0.0.1",      SW_DIGEST_SHA256 },
        { "http://127.0.0.1:9000", SW_DIGEST_CRC32C },
        { "http://localhost:9000", SW_DIGEST_CRC32C },
        { "http://[::1]:9000",    SW_DIGEST_CRC32C },
        { "http://localhost.example.com", SW_DIGEST_SHA256 },
        { "http://127.example.com", SW_DIGEST_SHA256 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const environment[] = { "AWS_ACCESS_KEY_ID", "AK", "AWS_SECRET_ACCESS_KEY", "SK",
                                            "AWS_ENDPOINT_URL", rows[i].endpoint, NULL };
        struct talk talk;

        begin(&talk, environment, "s3://bucket-1/a", SW_OP_PUT);
        assert_int_equal(sw_storage_s3.body_digest(talk.root), rows[i].wanted);
        end(&talk);
    }
}

static void put_again(struct talk *talk)
{
    sw_http_request_done(&talk->request);
    assert_int_equal(sw_storage_s3.next(&talk->op, NULL, NOW_MS, &talk->request, NULL),
                     SW_STEP_SEND);
}

static void a_refused_checksum_is_left_out_from_then_on(void **state)
{
    struct talk talk;

    (void)state;
    begin(&talk, with_keys, "s3://bucket-1/a", SW_OP_PUT);
    talk.op.size = 5;
    talk.op.body_crc32c = "9a71bb4c";
    put_again(&talk);
    assert_true(sends(&talk, "x-amz-checksum-crc32c: mnG7TA=="));
    assert_true(sends(&talk, "x-amz-content-sha256: UNSIGNED-PAYLOAD"));
    assert_int_equal(answer(&talk, 400, "", "<Error><Code>InvalidArgument</Code><Message>Unsupported "
                                            "header 'x-amz-checksum-crc32c'</Message></Error>"),
                     SW_STEP_SEND);
    assert_false(sends(&talk, "x-amz-checksum"));
    assert_int_equal(sw_storage_s3.body_digest(talk.root), SW_DIGEST_NONE);
    end(&talk);
}

static void the_checksum_of_a_whole_object_is_its_digest(void **state)
{
    static const struct { const char *header; enum sw_digest_kind kind; const char *digest; } rows[] = {
        { "x-amz-checksum-crc32c: mnG7TA==\n",   SW_DIGEST_CRC32C, "9a71bb4c" },
        { "x-amz-checksum-crc32c: mnG7TA==-8\n", SW_DIGEST_MD5, "5d41402abc4b2a76b9719d911017c592" },
        { "x-amz-checksum-crc32c: mn!7TA==\n",   SW_DIGEST_MD5, "5d41402abc4b2a76b9719d911017c592" },
        { "",                                    SW_DIGEST_MD5, "5d41402abc4b2a76b9719d911017c592" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct talk talk;
        char headers[200] = "ETag: \"5d41402abc4b2a76b9719d911017c592\"\n";

        begin(&talk, with_keys, "s3://bucket-1/a", SW_OP_GET);
        assert_true(sends(&talk, "x-amz-checksum-mode: ENABLED"));
        assert_int_equal(answer(&talk, 200, strcat(headers, rows[i].header), ""), SW_STEP_DONE);
        assert_int_equal(talk.op.object.digest_kind, rows[i].kind);
        assert_string_equal(talk.op.object.digest, rows[i].digest);
        end(&talk);
    }
}

static void a_wrong_checksum_is_sent_again_with_it(void **state)
{
    struct talk talk;

    (void)state;
    begin(&talk, with_keys, "s3://bucket-1/a", SW_OP_PUT);
    talk.op.size = 5;
    talk.op.body_crc32c = "9a71bb4c";
    assert_int_equal(answer(&talk, 400, "", "<Error><Code>XAmzContentChecksumMismatch</Code><Message>The "
                                            "provided 'x-amz-checksum' header does not match</Message>"
                                            "</Error>"),
                     SW_STEP_LATER);
    assert_int_equal(sw_storage_s3.body_digest(talk.root), SW_DIGEST_CRC32C);
    end(&talk);
}

static void the_region_is_learnt_from_the_server(void **state)
{
    struct talk talk;

    (void)state;
    begin(&talk, with_keys, "s3://bucket-1/k", SW_OP_STAT);
    assert_int_equal(answer(&talk, 301, "x-amz-bucket-region: eu-west-1\n", ""), SW_STEP_SEND);
    assert_string_equal(talk.request.url, "https://bucket-1.s3.eu-west-1.amazonaws.com/k");
    assert_true(sends(&talk, "authorization: AWS4-HMAC-SHA256 Credential=AK/20231114/eu-west-1/"));
    end(&talk);
    begin(&talk, with_endpoint, "s3://bucket-1/k", SW_OP_GET);
    assert_int_equal(answer(&talk, 400, "", "<Error><Code>AuthorizationHeaderMalformed</Code>"
                                            "<Region>x-1</Region></Error>"), SW_STEP_SEND);
    assert_int_equal(answer(&talk, 301, "x-amz-bucket-region: evil.host/\n", ""), SW_STEP_FAILED);
    end(&talk);
}

static void the_clock_is_learnt_from_the_server(void **state)
{
    struct talk talk;
    struct sw_http_reply reply = { .status = 403, .date_ms = NOW_MS + 3600000 };

    (void)state;
    begin(&talk, with_keys, "s3://bucket-1/k", SW_OP_GET);
    sw_buf_add(&reply.body, "<Error><Code>RequestTimeTooSkewed</Code></Error>");
    sw_http_request_done(&talk.request);
    assert_int_equal(sw_storage_s3.next(&talk.op, &reply, NOW_MS, &talk.request, NULL),
                     SW_STEP_SEND);
    assert_true(sends(&talk, "x-amz-date: 20231114T231320Z"));
    sw_http_reply_done(&reply);
    end(&talk);
}

static void replies_mean_what_servers_mean(void **state)
{
    static const struct {
        enum sw_operation_kind kind;
        int status;
        const char *body;
        enum sw_step step;
        enum sw_code code;
    } cases[] = {
        { SW_OP_GET, 404, "<Error><Code>NoSuchKey</Code></Error>", SW_STEP_FAILED, SW_E_NOT_FOUND },
        { SW_OP_GET, 403, "<Error><Code>AccessDenied</Code></Error>", SW_STEP_FAILED,
          SW_E_CREDENTIAL },
        { SW_OP_STAT, 403, "", SW_STEP_FAILED, SW_E_CREDENTIAL },
        { SW_OP_GET, 503, "<Error><Code>SlowDown</Code></Error>", SW_STEP_SLOWER,
          SW_E_UNREACHABLE },
        { SW_OP_GET, 500, "<Error><Code>InternalError</Code></Error>", SW_STEP_LATER,
          SW_E_UNREACHABLE },
        { SW_OP_PUT, 400, "<Error><Code>RequestTimeout</Code></Error>", SW_STEP_LATER,
          SW_E_UNREACHABLE },
        { SW_OP_PUT, 400, "<Error><Code>BadDigest</Code></Error>", SW_STEP_LATER, SW_E_IO },
        { SW_OP_PUT, 400, "<Error><Code>InvalidArgument</Code></Error>", SW_STEP_FAILED,
          SW_E_REFUSED },
        { SW_OP_GET, 412, "", SW_STEP_CHANGED, SW_E_CONFLICT },
        { SW_OP_COMPLETE, 200, "  <Error><Code>InternalError</Code></Error>", SW_STEP_LATER,
          SW_E_UNREACHABLE },
        { SW_OP_COPY, 200, "<Error><Code>SlowDown</Code></Error>", SW_STEP_SLOWER,
          SW_E_UNREACHABLE },
        { SW_OP_COMPLETE, 200, "<R><ETag>\"x-2\"</ETag></R>", SW_STEP_DONE, SW_OK },
        { SW_OP_DELETE, 404, "", SW_STEP_DONE, SW_OK },
        { SW_OP_BEGIN, 200, "<R><UploadId>u</UploadId></R>", SW_STEP_DONE, SW_OK },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        struct talk talk;

        begin(&talk, with_endpoint, "s3://bucket-1/k", SW_OP_GET);
        talk.op.kind = cases[i].kind;
        assert_int_equal(answer(&talk, cases[i].status, "", cases[i].body), cases[i].step);
        assert_int_equal(talk.err.code, cases[i].code);
        end(&talk);
    }
}

static void a_denied_request_without_keys_names_the_variables(void **state)
{
    struct talk talk;

    (void)state;
    begin(&talk, without_keys, "s3://bucket-1/k", SW_OP_GET);
    assert_int_equal(answer(&talk, 403, "", "<Error><Code>AccessDenied</Code></Error>"),
                     SW_STEP_FAILED);
    assert_int_equal(talk.err.code, SW_E_CREDENTIAL);
    assert_non_null(strstr(talk.err.hint, "AWS_ACCESS_KEY_ID"));
    end(&talk);
}

static void an_etag_is_a_digest_unless_the_object_is_encrypted_with_a_key(void **state)
{
    static const char md5[] = "ETag: \"900150983cd24fb0d6963f7d28e17f72\"\n"
                              "x-amz-meta-mtime: 1700000000.123456\n";
    static const char kms[] = "ETag: \"900150983cd24fb0d6963f7d28e17f72\"\n"
                              "x-amz-server-side-encryption: aws:kms\n";
    struct talk talk;

    (void)state;
    begin(&talk, with_keys, "s3://bucket-1/k", SW_OP_STAT);
    assert_int_equal(answer(&talk, 200, md5, ""), SW_STEP_DONE);
    assert_int_equal(talk.op.object.digest_kind, SW_DIGEST_MD5);
    assert_int_equal(talk.op.object.mtime_ms, 1700000000123);
    assert_int_equal(talk.op.object.size, 7);
    end(&talk);
    begin(&talk, with_keys, "s3://bucket-1/k", SW_OP_STAT);
    assert_int_equal(answer(&talk, 200, kms, ""), SW_STEP_DONE);
    assert_int_equal(talk.op.object.digest_kind, SW_DIGEST_NONE);
    end(&talk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listing_whose_token_comes_again_ends_with_an_error),
        cmocka_unit_test(aws_is_addressed_by_host_and_others_by_path),
        cmocka_unit_test(requests_are_signed_and_hold_no_secret),
        cmocka_unit_test(a_body_is_signed_or_checked),
        cmocka_unit_test(a_refused_checksum_is_left_out_from_then_on),
        cmocka_unit_test(the_checksum_of_a_whole_object_is_its_digest),
        cmocka_unit_test(a_wrong_checksum_is_sent_again_with_it),
        cmocka_unit_test(the_region_is_learnt_from_the_server),
        cmocka_unit_test(the_clock_is_learnt_from_the_server),
        cmocka_unit_test(replies_mean_what_servers_mean),
        cmocka_unit_test(a_denied_request_without_keys_names_the_variables),
        cmocka_unit_test(an_etag_is_a_digest_unless_the_object_is_encrypted_with_a_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
