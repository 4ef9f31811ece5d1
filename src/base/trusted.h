/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trusted.h - certificates of authorities: which file the user named, and what of a file is one.
 */
#ifndef SW_BASE_TRUSTED_H
#define SW_BASE_TRUSTED_H

#include "base/buf.h"

#define SW_TRUSTED_MAX (1024 * 1024)       /* bytes of a bundle; Mozilla's has a fifth of it */

/* The file that the user named in the environment, and in which variable ($SSL_CERT_FILE first);
 * NULL: in none. Borrowed from the environment. `variable` may be NULL. */
const char *sw_trusted_named(const char **variable);

/* Append the certificates of a PEM text to `out`, nothing else of it: a file may hold a private key
 * or comments, too. Returns how many. */
size_t sw_trusted_pick(const char *text, size_t length, struct sw_buf *out);

/* Certificates one after the other in binary form (DER) to PEM. Returns how many; what is not
 * whole ends it. */
size_t sw_trusted_to_pem(const void *der, size_t length, struct sw_buf *out);

#endif
