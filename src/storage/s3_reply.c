/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_reply.c - what an S3 server's reply means: an answer, a correction of ours, or an error.
 *
 * Complete and copy may answer 200 and put an <Error> into the body, after minutes of blanks: a
 * status is believed only after its body was read.
 */
#include "storage/s3_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "net/retry.h"
#include "storage/s3_xml.h"

#define TURNS_MAX 3

struct s3_error {
    char *code, *message, *region;
};

static void s3_error_auto(struct s3_error *error)
{
    free(error->code);
    free(error->message);
    free(error->region);
}

static void read_error(const struct sw_http_reply *reply, struct s3_error *error)
{
    error->region = sw_http_header(reply, "x-amz-bucket-region");
    if (!reply->body.length)
        return;
    error->code = s3_xml_find(reply->body.data, reply->body.length, "Code");
    error->message = s3_xml_find(reply->body.data, reply->body.length, "Message");
    if (!error->region)
        error->region = s3_xml_find(reply->body.data, reply->body.length, "Region");
}

/* ---- the server's words ------------------------------------------------------------------------ */

static const struct {
    const char *code;
    enum sw_step step;
    enum sw_code meaning;
} words[] = {
    { "SlowDown",             SW_STEP_SLOWER,  SW_E_UNREACHABLE },
    { "SlowDownRead",         SW_STEP_SLOWER,  SW_E_UNREACHABLE },
    { "SlowDownWrite",        SW_STEP_SLOWER,  SW_E_UNREACHABLE },
    { "ServiceUnavailable",   SW_STEP_SLOWER,  SW_E_UNREACHABLE },
    { "TooManyRequests",      SW_STEP_SLOWER,  SW_E_UNREACHABLE },
    { "InternalError",        SW_STEP_LATER,   SW_E_UNREACHABLE },
    { "RequestTimeout",       SW_STEP_LATER,   SW_E_UNREACHABLE },
    { "OperationAborted",     SW_STEP_LATER,   SW_E_UNREACHABLE },
    { "BadDigest",            SW_STEP_LATER,   SW_E_IO },
    { "XAmzContentSHA256Mismatch", SW_STEP_LATER, SW_E_IO },
    { "XAmzContentChecksumMismatch", SW_STEP_LATER, SW_E_IO },
    { "IncompleteBody",       SW_STEP_LATER,   SW_E_UNREACHABLE },
    { "PreconditionFailed",   SW_STEP_CHANGED, SW_E_CONFLICT },
    { "NoSuchBucket",         SW_STEP_FAILED,  SW_E_NOT_FOUND },
    { "NoSuchKey",            SW_STEP_FAILED,  SW_E_NOT_FOUND },
    { "NoSuchUpload",         SW_STEP_FAILED,  SW_E_NOT_FOUND },
    { "AccessDenied",         SW_STEP_FAILED,  SW_E_CREDENTIAL },
    { "InvalidAccessKeyId",   SW_STEP_FAILED,  SW_E_CREDENTIAL },
    { "SignatureDoesNotMatch", SW_STEP_FAILED, SW_E_CREDENTIAL },
    { "ExpiredToken",         SW_STEP_FAILED,  SW_E_CREDENTIAL },
    { "InvalidToken",         SW_STEP_FAILED,  SW_E_CREDENTIAL },
    { "EntityTooLarge",       SW_STEP_FAILED,  SW_E_REFUSED },
    { "QuotaExceeded",        SW_STEP_FAILED,  SW_E_REFUSED },
};

static char *name_of(const struct sw_operation *op)
{
    const struct s3_root *root = s3_root_of(op->root);

    return sw_format("%s/%s", root->head.uri, op->key ? op->key : "");
}

static void hint_about_keys(const struct s3_root *root, struct sw_error *err)
{
    if (err && err->code == SW_E_CREDENTIAL && !root->settings.keys.access)
        sw_hint(err, "no keys were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or "
                     "ACCESS_KEY and SECRET_KEY), or a profile in ~/.aws/credentials");
    else if (err && err->code == SW_E_CREDENTIAL)
        sw_hint(err, "check which keys are used: AWS_ACCESS_KEY_ID, then ACCESS_KEY, then the "
                     "profile $AWS_PROFILE; and whether they may do this");
}

static enum sw_step refuse(struct sw_operation *op, const struct sw_http_reply *reply,
                           const struct s3_error *error, int64_t now_ms, struct sw_error *err)
{
    const struct s3_root *root = s3_root_of(op->root);
    sw_autofree char *name = name_of(op);
    enum sw_step step;

    step = sw_operation_judge(reply, name, now_ms, op, err);
    if (step == SW_STEP_DONE)                /* 200 with an <Error> inside */
        step = SW_STEP_LATER;
    for (size_t i = 0; error->code && i < SW_COUNT(words); i++)
        if (strcmp(words[i].code, error->code) == 0) {
            step = words[i].step;
            sw_fail(err, words[i].meaning, "%s", "");
        }
    if (error->code) {
        sw_autofree char *said = sw_text_printable(error->message ? error->message : "",
                                                   strlen(error->message ? error->message : ""));

        sw_fail(err, err ? (err->code ? err->code : SW_E_REFUSED) : SW_E_REFUSED,
                "%s: %.80s%s%.300s", name, error->code, *said ? ": " : "", said);
    }
    hint_about_keys(root, err);
    return step;
}

/* ---- corrections -------------------------------------------------------------------------------- */

/* The server told us the bucket's region: the request is signed again for it. */
static bool learn_region(struct s3_root *root, const struct sw_http_reply *reply,
                         const struct s3_error *error)
{
    bool moved = reply->status == 301 || reply->status == 307 || reply->status == 400 ||
                 reply->status == 403;

    if (!moved || sw_text_empty(error->region) || sw_text_same(error->region, root->settings.region))
        return false;
    if (strspn(error->region, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(error->region))
        return false;
    free(root->settings.region);
    root->settings.region = sw_strdup(error->region);
    return true;
}

static bool learn_clock(struct s3_root *root, const struct sw_http_reply *reply,
                        const struct s3_error *error, int64_t now_ms)
{
    if (!sw_text_same(error->code, "RequestTimeTooSkewed") || !reply->date_ms)
        return false;
    root->skew_ms = reply->date_ms - now_ms;
    return true;
}

/* Some stores refuse what they do not know: it is left out from then on. */
static bool learn_checksums(struct s3_root *root, const struct sw_operation *op,
                            const struct sw_http_reply *reply, const struct s3_error *error)
{
    bool asked = (op->kind == SW_OP_BEGIN && op->check_parts) ||
                 ((op->kind == SW_OP_PUT || op->kind == SW_OP_PART) && op->body_crc32c) ||
                 (op->kind == SW_OP_GET && op->offset == 0 && op->length < 0);
    bool named = error->message && strcasestr(error->message, "x-amz-checksum") &&
                 !sw_text_same(error->code, "XAmzContentChecksumMismatch");

    if (!asked || root->no_checksums || (reply->status != 501 && !(reply->status == 400 && named)))
        return false;
    root->no_checksums = true;
    return true;
}

/* ---- answers ------------------------------------------------------------------------------------ */

static char *etag_of(const struct sw_http_reply *reply)
{
    sw_autofree char *quoted = sw_http_header(reply, "etag");
    char *begin = quoted;
    size_t length;

    if (!quoted)
        return NULL;
    begin += sw_text_starts(begin, "W/") ? 2 : 0;
    length = strlen(begin);
    if (length > 1 && begin[0] == '"' && begin[length - 1] == '"')
        return sw_strndup(begin + 1, length - 2);
    return sw_strdup(begin);
}

/* "1700000000.123", as rclone and s5cmd write it too; else the server's own date. */
static int64_t mtime_of(const struct sw_http_reply *reply)
{
    sw_autofree char *kept = sw_http_header(reply, "x-amz-meta-mtime");
    sw_autofree char *modified = NULL;
    double seconds = kept ? strtod(kept, NULL) : 0;
    int64_t at_ms;

    if (seconds > 0 && seconds < 1e11)
        return (int64_t)(seconds * 1000 + 0.5);
    modified = sw_http_header(reply, "last-modified");
    at_ms = modified ? sw_http_date(modified) : 0;
    return at_ms < 0 ? 0 : at_ms;
}

/* Encrypted with a key of its own, an object's ETag is no digest of its content any more. */
static bool is_digest(const struct sw_http_reply *reply, const char *etag)
{
    sw_autofree char *encryption = sw_http_header(reply, "x-amz-server-side-encryption");
    sw_autofree char *customer = sw_http_header(reply,
                                                "x-amz-server-side-encryption-customer-algorithm");

    return etag && strlen(etag) == 32 && strspn(etag, "0123456789abcdef") == 32 && !customer &&
           (!encryption || strcmp(encryption, "AES256") == 0);
}

/* The crc32c of the whole object, which is cheaper to compare than the md5; a checksum of checksums
 * ("...-8") says nothing about the bytes in one piece. */
static bool read_crc(const struct sw_http_reply *reply, char hex[SW_CRC_HEX])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    sw_autofree char *said = sw_http_header(reply, "x-amz-checksum-crc32c");
    uint64_t value = 0;

    if (!said || strlen(said) != 8 || strcmp(said + 6, "==") != 0)
        return false;
    for (size_t i = 0; i < 6; i++) {
        const char *letter = strchr(letters, said[i]);

        if (!letter)
            return false;
        value = value << 6 | (uint64_t)(letter - letters);
    }
    snprintf(hex, SW_CRC_HEX, "%08x", (unsigned)(value >> 4));
    return true;
}

static void read_object(struct sw_operation *op, const struct sw_http_reply *reply)
{
    sw_object_done(&op->object);
    op->object.kind = SW_OBJECT_FILE;
    op->object.size = reply->length;
    op->object.etag = etag_of(reply);
    op->object.mtime_ms = mtime_of(reply);
    if (is_digest(reply, op->object.etag)) {
        op->object.digest_kind = SW_DIGEST_MD5;
        memcpy(op->object.digest, op->object.etag, 33);
    }
    if (op->kind == SW_OP_GET && op->offset == 0 && op->length < 0 &&
        read_crc(reply, op->object.digest))
        op->object.digest_kind = SW_DIGEST_CRC32C;
}

/* ETag from the body of complete, copy and part-copy; NULL: there is an error inside. */
static char *etag_in_body(const struct sw_http_reply *reply)
{
    const char *bytes = sw_buf_text(&reply->body);
    sw_autofree char *code = s3_xml_find(bytes, reply->body.length, "Code");
    sw_autofree char *quoted = s3_xml_find(bytes, reply->body.length, "ETag");
    size_t length = quoted ? strlen(quoted) : 0;

    if (code || !quoted)
        return NULL;
    if (length > 1 && quoted[0] == '"')
        return sw_strndup(quoted + 1, length - 2);
    return sw_take(quoted);
}

static bool has_header(const struct sw_http_reply *reply, const char *name)
{
    sw_autofree char *value = sw_http_header(reply, name);

    return value != NULL;
}

static enum sw_step next_page(struct sw_operation *op, const struct sw_http_reply *reply,
                              struct sw_error *err)
{
    char *token = NULL;
    sw_autofree char *what = NULL;
    int result = s3_xml_list(sw_buf_text(&reply->body), reply->body.length, op->found,
                             op->found_context, &token, err);

    free(op->note);
    op->note = token;
    if (result < 0)
        return SW_STEP_FAILED;
    what = token ? name_of(op) : NULL;
    return token ? sw_operation_turn_page(op, token, what, err) : SW_STEP_DONE;
}

static enum sw_step accept(struct sw_operation *op, const struct sw_http_reply *reply,
                           struct sw_error *err)
{
    switch (op->kind) {
    case SW_OP_LIST:
    case SW_OP_PARTS:
        return next_page(op, reply, err);
    case SW_OP_STAT:
    case SW_OP_GET:
    case SW_OP_PUT:
    case SW_OP_PART:
        read_object(op, reply);
        return SW_STEP_DONE;
    case SW_OP_BEGIN:
        op->upload_made = s3_xml_find(sw_buf_text(&reply->body), reply->body.length, "UploadId");
        op->parts_checked = op->check_parts && has_header(reply, "x-amz-checksum-algorithm");
        return op->upload_made ? SW_STEP_DONE : SW_STEP_LATER;
    case SW_OP_COMPLETE:
    case SW_OP_COPY:
    case SW_OP_PART_COPY:
        op->object.etag = etag_in_body(reply);
        return op->object.etag ? SW_STEP_DONE : SW_STEP_LATER;
    case SW_OP_DELETE:
    case SW_OP_ABORT:
        break;
    }
    return SW_STEP_DONE;
}

enum sw_step s3_judge(struct sw_operation *op, const struct sw_http_reply *reply, int64_t now_ms,
                      struct sw_error *err)
{
    struct s3_root *root = s3_root_of(op->root);
    __attribute__((cleanup(s3_error_auto))) struct s3_error error = { 0 };
    enum sw_step step;

    if (reply->status >= 200 && reply->status < 300) {
        step = accept(op, reply, err);
        if (step != SW_STEP_LATER)
            return step;
    }
    if ((op->kind == SW_OP_DELETE || op->kind == SW_OP_ABORT) && reply->status == 404)
        return SW_STEP_DONE;
    read_error(reply, &error);
    if (op->turns < TURNS_MAX &&
        (learn_region(root, reply, &error) || learn_clock(root, reply, &error, now_ms) ||
         learn_checksums(root, op, reply, &error))) {
        op->turns++;
        return SW_STEP_SEND;
    }
    return refuse(op, reply, &error, now_ms, err);
}
