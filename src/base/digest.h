/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.h - md5, sha1, sha256, crc32c and HMAC-SHA256, fed piece by piece.
 *
 * Our own, because the program loads no TLS library unless it must, and the static one has another
 * than the dynamic (docs/decisions/0010-our-own-digests.md). Hardware instructions are used where
 * the processor has them. md5 and sha1 say whether bytes are the same, never who sent them.
 */
#ifndef SW_BASE_DIGEST_H
#define SW_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum sw_digest_algorithm { SW_MD5, SW_SHA1, SW_SHA256, SW_CRC32C };

#define SW_DIGEST_SIZE 32                        /* the longest, in bytes */
#define SW_DIGEST_HEX  (2 * SW_DIGEST_SIZE + 1)  /* room for its hex and a NUL */

struct sw_digest {
    enum sw_digest_algorithm algorithm;
    uint32_t state[8];
    uint64_t length;
    unsigned char block[64];
};

void sw_digest_init(struct sw_digest *digest, enum sw_digest_algorithm algorithm);
void sw_digest_add(struct sw_digest *digest, const void *bytes, size_t length);
/* Returns how many bytes it wrote: 16, 20, 32, 4 (big-endian). The digest is used up. */
size_t sw_digest_end(struct sw_digest *digest, unsigned char out[SW_DIGEST_SIZE]);
void sw_digest_end_hex(struct sw_digest *digest, char out[SW_DIGEST_HEX]);

void sw_hex(const unsigned char *bytes, size_t length, char *out);      /* lower case, NUL */
void sw_sha256_hex(const void *bytes, size_t length, char out[SW_DIGEST_HEX]);
void sw_hmac_sha256(const void *key, size_t key_length, const void *bytes, size_t length,
                    unsigned char out[32]);

/* Standard alphabet with padding; owned. */
char *sw_base64(const void *bytes, size_t length);
/* base64 of either alphabet, owned and with a NUL behind its bytes; NULL: it is none. */
char *sw_base64_bytes(const char *text, size_t *length);
/* The same as text; NULL also when it holds a NUL. */
char *sw_unbase64(const char *text);

#endif
