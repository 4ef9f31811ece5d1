/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_request.c - one operation becomes one signed request. No clock, no network, no environment.
 *
 * The payload is signed with its sha256 whenever the caller computed one; it does so over plain
 * http to another machine, where nothing else protects it. Over https and loopback the body is
 * UNSIGNED-PAYLOAD and its crc32c is in a signed header: the server says whether it arrived.
 */
#include "storage/s3_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"

#define LIST_REPLY_MAX (8 * 1024 * 1024)

bool s3_is_https(const struct s3_root *root)
{
    return !root->settings.endpoint || sw_text_starts(root->settings.endpoint, "https:");
}

/* May the bucket become a label of the host name? A dot would break the certificate. */
static bool is_label(const char *bucket)
{
    size_t length = strspn(bucket, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return !bucket[length] && length >= 3 && length <= 63 && bucket[0] != '-' &&
           bucket[length - 1] != '-';
}

void s3_address(const struct s3_root *root, struct sw_buf *origin, struct sw_buf *path)
{
    const struct s3_settings *set = &root->settings;
    sw_autofree char *aws = sw_format("https://s3.%s.amazonaws.com", set->region);
    const char *endpoint = set->endpoint ? set->endpoint : aws;
    const char *host = strstr(endpoint, "://") + 3;
    size_t host_length = strcspn(host, "/");
    bool in_host = set->virtual_style ||
                   (!set->path_style && !set->endpoint && is_label(root->bucket));

    sw_buf_add_bytes(origin, endpoint, (size_t)(host - endpoint));
    if (in_host)
        sw_buf_addf(origin, "%s.", root->bucket);
    sw_buf_add_bytes(origin, host, host_length);
    sw_buf_add(path, host + host_length);
    if (!in_host) {
        sw_buf_add_char(path, '/');
        sw_http_encode(path, root->bucket, strlen(root->bucket), "");
    }
}

/* What each operation asks: method, and whether the key is in the path. */
static const struct { const char *method; bool key; } shapes[] = {
    [SW_OP_STAT] = { "HEAD", true },       [SW_OP_LIST] = { "GET", false },
    [SW_OP_GET] = { "GET", true },         [SW_OP_PUT] = { "PUT", true },
    [SW_OP_DELETE] = { "DELETE", true },   [SW_OP_COPY] = { "PUT", true },
    [SW_OP_BEGIN] = { "POST", true },      [SW_OP_PART] = { "PUT", true },
    [SW_OP_PART_COPY] = { "PUT", true },   [SW_OP_COMPLETE] = { "POST", true },
    [SW_OP_ABORT] = { "DELETE", true },    [SW_OP_PARTS] = { "GET", true },
};

static void add_query(const struct sw_operation *op, struct s3_pairs *query)
{
    char number[16];

    snprintf(number, sizeof number, "%d", op->part);
    switch (op->kind) {
    case SW_OP_LIST:
        s3_pairs_add(query, "list-type", "2");
        s3_pairs_add(query, "prefix", op->key);
        s3_pairs_add(query, "encoding-type", "url");
        if (!op->recursive)
            s3_pairs_add(query, "delimiter", "/");
        if (op->note)
            s3_pairs_add(query, "continuation-token", op->note);
        break;
    case SW_OP_BEGIN:
        s3_pairs_add(query, "uploads", "");
        break;
    case SW_OP_PART:
    case SW_OP_PART_COPY:
        s3_pairs_add(query, "partNumber", number);
        s3_pairs_add(query, "uploadId", op->upload);
        break;
    case SW_OP_PARTS:
        if (op->note)
            s3_pairs_add(query, "part-number-marker", op->note);
        s3_pairs_add(query, "uploadId", op->upload);
        break;
    case SW_OP_COMPLETE:
    case SW_OP_ABORT:
        s3_pairs_add(query, "uploadId", op->upload);
        break;
    default:
        break;
    }
}

static void add_range(const struct sw_operation *op, const char *name, struct s3_pairs *headers)
{
    char range[64];

    if (sw_operation_range(op, range))
        s3_pairs_add(headers, name, range);
}

static void add_copy_source(const struct sw_operation *op, struct s3_pairs *headers)
{
    const struct s3_root *from = s3_root_of(op->from_root);
    sw_auto(sw_buf) struct sw_buf source = SW_BUF_INIT;

    sw_buf_add_char(&source, '/');
    sw_http_encode(&source, from->bucket, strlen(from->bucket), "");
    sw_buf_add_char(&source, '/');
    sw_http_encode(&source, op->from_key, strlen(op->from_key), "/");
    s3_pairs_add(headers, "x-amz-copy-source", sw_buf_text(&source));
    if (op->if_match) {
        sw_autofree char *quoted = sw_format("\"%s\"", op->if_match);

        s3_pairs_add(headers, "x-amz-copy-source-if-match", quoted);
    }
}

static int from_hex(const char *hex, unsigned char *out, size_t room)
{
    size_t count = 0;

    for (; hex[0] && hex[1] && count < room; hex += 2) {
        unsigned byte;

        if (sscanf(hex, "%2x", &byte) != 1)
            return -1;
        out[count++] = (unsigned char)byte;
    }
    return (int)count;
}

/* Digests travel in base64. Owned; NULL: there is none. */
static char *base64_of(const char *hex)
{
    unsigned char raw[SW_DIGEST_SIZE];
    int length = hex ? from_hex(hex, raw, sizeof raw) : 0;

    return length > 0 ? sw_base64(raw, (size_t)length) : NULL;
}

static void add_digest(const char *name, const char *hex, struct s3_pairs *headers)
{
    sw_autofree char *text = base64_of(hex);

    if (text)
        s3_pairs_add(headers, name, text);
}

static void add_checks(const struct sw_operation *op, struct s3_pairs *headers)
{
    const struct s3_root *root = s3_root_of(op->root);

    if (op->kind == SW_OP_BEGIN && op->check_parts && !root->no_checksums)
        s3_pairs_add(headers, "x-amz-checksum-algorithm", "CRC32C");
    if (op->kind == SW_OP_GET && op->offset == 0 && op->length < 0 && !root->no_checksums)
        s3_pairs_add(headers, "x-amz-checksum-mode", "ENABLED");
    if (op->kind != SW_OP_PUT && op->kind != SW_OP_PART)
        return;
    add_digest("content-md5", op->body_md5, headers);
    if (!root->no_checksums)
        add_digest("x-amz-checksum-crc32c", op->body_crc32c, headers);
}

static void add_headers(const struct sw_operation *op, struct s3_pairs *headers)
{
    char mtime[40];

    if (op->kind == SW_OP_GET) {
        add_range(op, "range", headers);
        if (op->if_match) {
            sw_autofree char *quoted = sw_format("\"%s\"", op->if_match);

            s3_pairs_add(headers, "if-match", quoted);
        }
    }
    if (op->kind == SW_OP_COPY || op->kind == SW_OP_PART_COPY)
        add_copy_source(op, headers);
    if (op->kind == SW_OP_PART_COPY)
        add_range(op, "x-amz-copy-source-range", headers);
    if ((op->kind == SW_OP_PUT || op->kind == SW_OP_BEGIN) && op->mtime_ms) {
        snprintf(mtime, sizeof mtime, "%lld.%03lld", (long long)(op->mtime_ms / 1000),
                 (long long)(op->mtime_ms % 1000));
        s3_pairs_add(headers, "x-amz-meta-mtime", mtime);
    }
    add_checks(op, headers);
}

static char *complete_body(const struct sw_operation *op)
{
    sw_auto(sw_buf) struct sw_buf body = SW_BUF_INIT;

    sw_buf_add(&body, "<CompleteMultipartUpload>");
    for (int i = 0; i < op->part_count; i++) {
        sw_autofree char *crc = op->part_crcs ? base64_of(op->part_crcs[i]) : NULL;

        sw_buf_addf(&body, "<Part><PartNumber>%d</PartNumber><ETag>\"%s\"</ETag>", i + 1,
                    op->part_etags[i]);
        if (crc)
            sw_buf_addf(&body, "<ChecksumCRC32C>%s</ChecksumCRC32C>", crc);
        sw_buf_add(&body, "</Part>");
    }
    sw_buf_add(&body, "</CompleteMultipartUpload>");
    return sw_buf_steal(&body);
}

/* The hash of the body, or the word in its place. */
static const char *payload_of(const struct sw_operation *op, const struct sw_http_request *request,
                              char hash[SW_DIGEST_HEX])
{
    if (request->body_owned) {
        sw_sha256_hex(request->body_owned, (size_t)request->body_length, hash);
        return hash;
    }
    if (op->kind != SW_OP_PUT && op->kind != SW_OP_PART)
        return S3_EMPTY_SHA256;
    if (op->body_sha256)
        return op->body_sha256;
    return op->size ? S3_UNSIGNED : S3_EMPTY_SHA256;
}

/* Who we are, and the proof. Without keys the request goes as it is. */
static void sign(const struct s3_root *root, struct s3_signing *signing)
{
    sw_autofree char *authorization = NULL;

    s3_pairs_add(signing->headers, "x-amz-content-sha256", signing->payload);
    if (!root->settings.keys.access)
        return;
    s3_pairs_add(signing->headers, "x-amz-date", signing->at);
    if (root->settings.keys.token)
        s3_pairs_add(signing->headers, "x-amz-security-token", root->settings.keys.token);
    authorization = s3_sign(signing, &root->settings.keys);
    s3_pairs_add(signing->headers, "authorization", authorization);
    explicit_bzero(authorization, strlen(authorization));
}

void s3_request(struct sw_operation *op, int64_t now_ms, struct sw_http_request *request)
{
    struct s3_root *root = s3_root_of(op->root);
    sw_auto(sw_buf) struct sw_buf origin = SW_BUF_INIT;
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    sw_auto(sw_buf) struct sw_buf query_text = SW_BUF_INIT;
    sw_auto(s3_pairs) struct s3_pairs query = { .count = 0 };
    sw_auto(s3_pairs) struct s3_pairs headers = { .count = 0 };
    char hash[SW_DIGEST_HEX], at[17];
    struct s3_signing signing = {
        .method = shapes[op->kind].method, .query = &query, .headers = &headers,
        .region = root->settings.region, .at = at, .kept = &root->day_key,
    };

    s3_time_text(now_ms + root->skew_ms, at);
    s3_address(root, &origin, &path);
    sw_buf_add_char(&path, '/');
    if (shapes[op->kind].key)
        sw_http_encode(&path, op->key, strlen(op->key), "/");
    add_query(op, &query);
    s3_query_text(&query, &query_text);
    snprintf(request->method, sizeof request->method, "%s", signing.method);
    request->plain_said = !s3_is_https(root);      /* only an endpoint can say http:// */
    request->url = sw_format("%s%s%s%s", sw_buf_text(&origin), sw_buf_text(&path),
                             query.count ? "?" : "", sw_buf_text(&query_text));
    if (op->kind == SW_OP_LIST || op->kind == SW_OP_PARTS)
        request->reply_limit = LIST_REPLY_MAX;
    if (op->kind == SW_OP_COMPLETE) {
        request->body_owned = complete_body(op);
        request->body_length = (int64_t)strlen(request->body_owned);
    }
    s3_pairs_add(&headers, "host", strstr(sw_buf_text(&origin), "://") + 3);
    add_headers(op, &headers);
    signing.path = sw_buf_text(&path);
    signing.payload = payload_of(op, request, hash);
    sign(root, &signing);
    for (size_t i = 0; i < headers.count; i++)
        if (strcmp(headers.at[i].name, "host") != 0)
            sw_http_request_header(request, headers.at[i].name, headers.at[i].value);
}
