/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest_internal.h - one block function per algorithm, and which of them this processor runs.
 */
#ifndef SW_BASE_DIGEST_INTERNAL_H
#define SW_BASE_DIGEST_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/* Mix `count` blocks of 64 bytes into the state. */
typedef void sw_block_fn(uint32_t state[8], const unsigned char *bytes, size_t count);
/* Continue a crc32c (not inverted). */
typedef uint32_t sw_crc_fn(uint32_t crc, const unsigned char *bytes, size_t length);

/* NULL: the processor has no instructions for it. */
sw_block_fn *sw_sha256_hardware(void);
sw_crc_fn *sw_crc32c_hardware(void);

extern const uint32_t sw_sha256_k[64];

#endif
