/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.h - whose certificates https connections of this process believe, in this order:
 *
 *     what the caller of sw_http_open() gives      a platform that brings its own authority
 *     sw_trust_job()                               what came with the job
 *     $SSL_CERT_FILE, $CURL_CA_BUNDLE, ...         what the user named (base/trusted.h)
 *     the usual places                             what the machine has
 *     the bundle inside                            static programs carry Mozilla's
 *
 * One of them alone, never a mixture: who names a file means that file.
 */
#ifndef SW_NET_TRUST_H
#define SW_NET_TRUST_H

#include <stddef.h>

#include "base/error.h"

/* The certificates that came with the job, for all connections made after this; NULL: none. */
int sw_trust_job(const char *file, struct sw_error *err);

/* The bundle inside as PEM, unpacked once and kept; NULL: this build carries none. */
const char *sw_trust_inside(size_t *length);

/* A packed bundle (gzip of certificates in binary form) as PEM; owned, NULL: it is not one. */
char *sw_trust_unpack(const void *packed, size_t size, size_t *length);

#endif
