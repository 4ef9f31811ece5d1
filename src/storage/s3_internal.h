/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_internal.h - what the files of the s3 storage share.
 *
 *     s3.c          roots (buckets), and the step function that ties the others together
 *     s3_request.c  an operation to a signed request
 *     s3_reply.c    a reply to an answer, a correction or an error
 */
#ifndef SW_STORAGE_S3_INTERNAL_H
#define SW_STORAGE_S3_INTERNAL_H

#include "storage/credentials.h"
#include "storage/s3_sign.h"
#include "storage/storage.h"

struct s3_root {
    struct sw_root_head head;
    struct s3_settings settings;
    char *bucket;
    int64_t skew_ms;             /* the server's clock minus ours */
    bool no_checksums;           /* the server refused x-amz-checksum-... */
    struct s3_day_key day_key;
};

static inline struct s3_root *s3_root_of(struct sw_root *root)
{
    return (struct s3_root *)root;
}

/* Where a bucket is: "https://host" + "/bucket" or "https://bucket.host" + "". */
void s3_address(const struct s3_root *root, struct sw_buf *origin, struct sw_buf *path);
bool s3_is_https(const struct s3_root *root);

void s3_request(struct sw_operation *op, int64_t now_ms, struct sw_http_request *request);
enum sw_step s3_judge(struct sw_operation *op, const struct sw_http_reply *reply, int64_t now_ms,
                      struct sw_error *err);

#endif
