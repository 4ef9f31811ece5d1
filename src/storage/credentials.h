/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.h - keys and settings for S3, from wherever people keep them.
 *
 * In this order: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; TAO's ACCESS_KEY and SECRET_KEY; the
 * profile ($AWS_PROFILE, else "default") in ~/.aws/credentials and ~/.aws/config, with keys or a
 * credential_process. None at all is no error: public buckets need none, and the server's refusal
 * then names the variables. Half a pair is an error naming the other half.
 */
#ifndef SW_STORAGE_CREDENTIALS_H
#define SW_STORAGE_CREDENTIALS_H

#include "storage/storage.h"

/* Never formatted into anything but a signature. */
struct s3_keys {
    char *access;       /* NULL: no keys, requests are not signed */
    char *secret;
    char *token;        /* of temporary keys; NULL: none */
};
void s3_keys_done(struct s3_keys *keys);      /* wipes them */

struct s3_settings {
    struct s3_keys keys;
    char *region;       /* never NULL */
    bool region_given;  /* by the user: else it is a guess */
    char *endpoint;     /* "https://host[:port][/path]" without a slash at the end; NULL: AWS */
    enum { S3_AS_NEEDED, S3_ALWAYS, S3_NEVER } sign_payload;     /* payload_signing_enabled */
    bool unasked;       /* there is a credential_process, and options->look_only kept it from running */
    bool path_style, virtual_style;      /* asked for by name; neither: we choose */
};

int s3_settings_read(const struct sw_storage_options *options, struct s3_settings *out,
                     struct sw_error *err);
void s3_settings_done(struct s3_settings *settings);

#endif
