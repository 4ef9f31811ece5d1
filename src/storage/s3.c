/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3.c - s3://bucket/key on AWS and everything that speaks its language (MinIO, Ceph, VAST, ...).
 *
 * A custom endpoint is addressed in path style, AWS by bucket host names. The region starts as a
 * guess and is corrected by the server's first complaint, once per bucket.
 */
#include "storage/s3_internal.h"

#include <string.h>

#include "base/text.h"

static int check_bucket(const char *bucket, struct sw_error *err)
{
    size_t length = strspn(bucket, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789-._");

    if (!bucket[length] && length >= 1 && length <= 255 && bucket[0] != '.')
        return 0;
    return sw_fail(err, SW_E_USAGE, "'%s' cannot be the name of a bucket", bucket);
}

static void s3_close(struct sw_root *opened)
{
    struct s3_root *root = s3_root_of(opened);

    s3_settings_done(&root->settings);
    explicit_bzero(&root->day_key, sizeof root->day_key);
    free(root->bucket);
    free(root->head.uri);
    free(root);
}

static struct sw_root *s3_open(const struct sw_uri *uri, const struct sw_storage_options *options,
                               char **key, struct sw_error *err)
{
    struct s3_root *root;

    if (check_bucket(uri->host, err) < 0)
        return NULL;
    root = sw_new(struct s3_root);
    root->head.storage = &sw_storage_s3;
    root->head.uri = sw_format("s3://%s", uri->host);
    root->bucket = sw_strdup(uri->host);
    if (s3_settings_read(options, &root->settings, err) < 0) {
        s3_close((struct sw_root *)root);
        return NULL;
    }
    *key = sw_strdup(uri->path);
    return (struct sw_root *)root;
}

static enum sw_step s3_next(struct sw_operation *op, const struct sw_http_reply *reply, int64_t now_ms,
                            struct sw_http_request *request, struct sw_error *err)
{
    if (reply) {
        enum sw_step step = s3_judge(op, reply, now_ms, err);

        if (step != SW_STEP_SEND)
            return step;
    }
    s3_request(op, now_ms, request);
    return SW_STEP_SEND;
}

static enum sw_digest_kind s3_body_digest(const struct sw_root *opened)
{
    const struct s3_root *root = (const struct s3_root *)opened;
    const struct s3_settings *set = &root->settings;
    /* What never leaves this machine needs no more protection than what TLS covers. */
    bool covered = s3_is_https(root) || (set->endpoint && sw_http_is_loopback(set->endpoint));

    if (set->keys.access && (set->sign_payload == S3_ALWAYS ||
                             (set->sign_payload == S3_AS_NEEDED && !covered)))
        return SW_DIGEST_SHA256;
    return root->no_checksums ? SW_DIGEST_NONE : SW_DIGEST_CRC32C;
}

const struct sw_storage sw_storage_s3 = {
    .scheme = "s3",
    .summary = "objects in S3 and compatible stores: s3://bucket/key",
    .can = SW_CAN(SW_OP_STAT) | SW_CAN(SW_OP_LIST) | SW_CAN(SW_OP_GET) | SW_CAN(SW_OP_PUT) |
           SW_CAN(SW_OP_DELETE) | SW_CAN(SW_OP_COPY) | SW_CAN(SW_OP_BEGIN) | SW_CAN(SW_OP_PART) |
           SW_CAN(SW_OP_PART_COPY) | SW_CAN(SW_OP_COMPLETE) | SW_CAN(SW_OP_ABORT) |
           SW_CAN(SW_OP_PARTS),
    .lists_empty = true,
    .open = s3_open,
    .close = s3_close,
    .next = s3_next,
    .body_digest = s3_body_digest,
    .part_least = 5 * 1024 * 1024,
    .part_most = 10000,
    .put_most = 5LL * 1024 * 1024 * 1024,
};
