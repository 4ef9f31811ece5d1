/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket.h - a small S3 server inside the suite, for what a job's data needs there: it keeps what it is
 * sent and notes how each request was signed. Real servers are asked in tests/storage.
 */
#ifndef SW_TESTS_CONTRACT_BUCKET_H
#define SW_TESTS_CONTRACT_BUCKET_H

struct bucket;

/* Answers on 127.0.0.1. Requests must be signed by `key` for `region`, with this session token (NULL: none);
 * others are refused (403). It has one bucket, "here", with the object "in.txt" ("hello\n"). */
struct bucket *bucket_open(const char *key, const char *region, const char *token);
void bucket_close(struct bucket *bucket);
const char *bucket_address(const struct bucket *bucket);      /* "http://127.0.0.1:PORT" */
char *bucket_object(struct bucket *bucket, const char *name); /* what was put there; owned, NULL: nothing */
int bucket_refused(struct bucket *bucket);                    /* how many requests were signed otherwise */

#endif
