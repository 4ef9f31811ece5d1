/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_sign.h - Signature Version 4, as a pure function from a request to its Authorization.
 *
 * Why not libcurl's CURLOPT_AWS_SIGV4: docs/decisions/0009-our-own-s3-signatures.md.
 */
#ifndef SW_STORAGE_S3_SIGN_H
#define SW_STORAGE_S3_SIGN_H

#include "base/buf.h"
#include "storage/credentials.h"

#define S3_PAIRS_MAX 16
#define S3_UNSIGNED "UNSIGNED-PAYLOAD"
#define S3_EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* Names and values, not encoded; sorted when signed. */
struct s3_pairs {
    struct { const char *name; char *value; } at[S3_PAIRS_MAX];
    size_t count;
};
void s3_pairs_add(struct s3_pairs *pairs, const char *name, const char *value);   /* copies value */
void s3_pairs_done(struct s3_pairs *pairs);
static inline void s3_pairs_auto(struct s3_pairs *pairs) { s3_pairs_done(pairs); }

/* What all signatures of a day and a region have in common; of one pair of keys. As secret as they are. */
struct s3_day_key {
    char date[9], region[64];     /* empty: there is none yet */
    unsigned char key[32];
};

struct s3_signing {
    const char *method;
    const char *path;             /* encoded once, not normalised, begins with '/' */
    const struct s3_pairs *query;
    struct s3_pairs *headers;     /* lower-case names; host included */
    const char *payload;          /* hex sha256, or S3_UNSIGNED */
    const char *region;
    const char *at;               /* "20130524T000000Z", as in x-amz-date */
    struct s3_day_key *kept;      /* NULL: the key is made anew */
};

/* "name=value&..." sorted and encoded: for the URL and for the signature alike. */
void s3_query_text(const struct s3_pairs *query, struct sw_buf *out);
void s3_time_text(int64_t now_ms, char out[17]);                 /* "20130524T000000Z" */

/* The value of the Authorization header, owned; sorts signing->headers. */
char *s3_sign(const struct s3_signing *signing, const struct s3_keys *keys);

#endif
