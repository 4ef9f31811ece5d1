/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal.h - bytes that only the holder of a key can read, for a place where everyone can read what is stored.
 *
 *     receiver                              sender
 *     key = sw_seal_key_new()
 *     sw_seal_public(key)     -- text -->
 *                             <-- bytes --  sw_seal(text, secret)
 *     sw_unseal(key, bytes)
 *
 * A new key pair for each message on either side (X25519), a key of the two (HKDF-SHA256 over the shared
 * secret and both public keys), AES-256-GCM. All of it is mbedTLS's; docs/decisions/0073 says why. Who can
 * change what the receiver prints can make the sender seal for another key: it protects from readers.
 */
#ifndef SW_NET_SEAL_H
#define SW_NET_SEAL_H

#include "base/buf.h"
#include "base/error.h"

struct sw_seal_key;                  /* a private key, in memory alone; wiped when released */

struct sw_seal_key *sw_seal_key_new(struct sw_error *err);
void sw_seal_key_free(struct sw_seal_key *key);
SW_DEFINE_AUTO(sw_seal_key, struct sw_seal_key *, sw_seal_key_free)
/* Its public half as text, borrowed from the key. */
const char *sw_seal_public(const struct sw_seal_key *key);

/* Appended to `out`. SW_E_SPEC: that is no public key. */
int sw_seal(const char *public_text, const void *bytes, size_t length, struct sw_buf *out,
            struct sw_error *err);
/* Appended to `out`, which the caller wipes. SW_E_CREDENTIAL: it was not sealed for this key, or changed. */
int sw_unseal(const struct sw_seal_key *key, const void *bytes, size_t length, struct sw_buf *out,
              struct sw_error *err);

#endif
