/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal.c - see seal.h. A sealed message is the sender's public key (32 bytes), the tag (16) and the
 * ciphertext. The key is used once, so the nonce is zero.
 */
#include "net/seal.h"

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/ecdh.h>
#include <mbedtls/entropy.h>
#include <mbedtls/gcm.h>
#include <mbedtls/hkdf.h>
#include <mbedtls/md.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/secret.h"

enum { POINT = 32, TAG = 16, NONCE = 12, KEY = 32, KEY_BITS = 256 };
#define CONTEXT "slipway sealed secrets 1"

struct sw_seal_key {
    mbedtls_ecp_group group;
    mbedtls_mpi secret;
    mbedtls_ecp_point point;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    unsigned char bytes[POINT];      /* the public half */
    char *text;                      /* the same, base64 */
};

void sw_seal_key_free(struct sw_seal_key *key)
{
    if (!key)
        return;
    mbedtls_mpi_free(&key->secret);          /* wipes it */
    mbedtls_ecp_point_free(&key->point);
    mbedtls_ecp_group_free(&key->group);
    mbedtls_ctr_drbg_free(&key->random);
    mbedtls_entropy_free(&key->entropy);
    free(key->text);
    free(key);
}

struct sw_seal_key *sw_seal_key_new(struct sw_error *err)
{
    struct sw_seal_key *key = sw_new(struct sw_seal_key);

    mbedtls_ecp_group_init(&key->group);
    mbedtls_mpi_init(&key->secret);
    mbedtls_ecp_point_init(&key->point);
    mbedtls_entropy_init(&key->entropy);
    mbedtls_ctr_drbg_init(&key->random);
    if (mbedtls_ctr_drbg_seed(&key->random, mbedtls_entropy_func, &key->entropy, NULL, 0) == 0 &&
        mbedtls_ecp_group_load(&key->group, MBEDTLS_ECP_DP_CURVE25519) == 0 &&
        mbedtls_ecdh_gen_public(&key->group, &key->secret, &key->point, mbedtls_ctr_drbg_random,
                                &key->random) == 0 &&
        mbedtls_mpi_write_binary_le(&key->point.X, key->bytes, POINT) == 0) {
        key->text = sw_base64(key->bytes, POINT);
        return key;
    }
    sw_fail(err, SW_E_IO, "cannot make a key: the system gives no random numbers");
    sw_seal_key_free(key);
    return NULL;
}

const char *sw_seal_public(const struct sw_seal_key *key)
{
    return key->text;
}

/* The key of both for one message: `sender` and `receiver` are the public halves. */
static int shared_key(const struct sw_seal_key *own, const unsigned char *theirs, const unsigned char *sender,
                      const unsigned char *receiver, unsigned char out[KEY])
{
    struct sw_seal_key *key = (struct sw_seal_key *)own;
    unsigned char shared[POINT], both[2 * POINT];
    mbedtls_ecp_point point;
    mbedtls_mpi z;
    int bad;

    mbedtls_ecp_point_init(&point);
    mbedtls_mpi_init(&z);
    memcpy(both, sender, POINT);
    memcpy(both + POINT, receiver, POINT);
    bad = mbedtls_mpi_read_binary_le(&point.X, theirs, POINT) != 0 ||
          mbedtls_mpi_lset(&point.Z, 1) != 0 ||
          mbedtls_ecdh_compute_shared(&key->group, &z, &point, &key->secret, mbedtls_ctr_drbg_random,
                                      &key->random) != 0 ||
          mbedtls_mpi_write_binary_le(&z, shared, POINT) != 0 ||
          mbedtls_hkdf(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), both, sizeof both, shared, POINT,
                       (const unsigned char *)CONTEXT, strlen(CONTEXT), out, KEY) != 0;
    mbedtls_ecp_point_free(&point);
    mbedtls_mpi_free(&z);
    explicit_bzero(shared, sizeof shared);
    return bad ? -1 : 0;
}

static int open_cipher(mbedtls_gcm_context *gcm, const struct sw_seal_key *own, const unsigned char *theirs,
                       const unsigned char *sender, const unsigned char *receiver)
{
    unsigned char key[KEY];
    int bad = shared_key(own, theirs, sender, receiver, key) != 0 ||
              mbedtls_gcm_setkey(gcm, MBEDTLS_CIPHER_ID_AES, key, KEY_BITS) != 0;

    explicit_bzero(key, sizeof key);
    return bad ? -1 : 0;
}

static int public_of(const char *text, unsigned char out[POINT])
{
    size_t length = 0;
    sw_autofree char *bytes = sw_base64_bytes(text, &length);

    if (!bytes || length != POINT)
        return -1;
    memcpy(out, bytes, POINT);
    return 0;
}

int sw_seal(const char *public_text, const void *bytes, size_t length, struct sw_buf *out,
            struct sw_error *err)
{
    static const unsigned char nonce[NONCE];
    sw_auto(sw_seal_key) struct sw_seal_key *own = NULL;
    unsigned char receiver[POINT], tag[TAG];
    mbedtls_gcm_context gcm;
    char *room;
    int bad;

    if (public_of(public_text, receiver) < 0)
        return sw_fail(err, SW_E_SPEC, "that is no public key");
    if (!(own = sw_seal_key_new(err)))
        return -1;
    room = sw_buf_reserve(out, POINT + TAG + length + 1);
    mbedtls_gcm_init(&gcm);
    bad = open_cipher(&gcm, own, receiver, own->bytes, receiver) < 0 ||
          mbedtls_gcm_crypt_and_tag(&gcm, MBEDTLS_GCM_ENCRYPT, length, nonce, NONCE, NULL, 0, bytes,
                                    (unsigned char *)room + POINT + TAG, TAG, tag) != 0;
    mbedtls_gcm_free(&gcm);
    if (bad)
        return sw_fail(err, SW_E_SPEC, "that is no public key");
    memcpy(room, own->bytes, POINT);
    memcpy(room + POINT, tag, TAG);
    out->length += POINT + TAG + length;
    out->data[out->length] = '\0';
    return 0;
}

int sw_unseal(const struct sw_seal_key *key, const void *bytes, size_t length, struct sw_buf *out,
              struct sw_error *err)
{
    static const unsigned char nonce[NONCE];
    const unsigned char *sender = bytes, *tag = sender + POINT, *hidden = tag + TAG;
    mbedtls_gcm_context gcm;
    size_t plain = length - POINT - TAG;
    char *room;
    int bad;

    if (length < POINT + TAG)
        return sw_fail(err, SW_E_CREDENTIAL, "the sealed secrets are cut off");
    sw_buf_reserve_wiping(out, plain + 1);
    room = out->data + out->length;
    mbedtls_gcm_init(&gcm);
    bad = open_cipher(&gcm, key, sender, sender, key->bytes) < 0 ||
          mbedtls_gcm_auth_decrypt(&gcm, plain, nonce, NONCE, NULL, 0, tag, TAG, hidden,
                                   (unsigned char *)room) != 0;
    mbedtls_gcm_free(&gcm);
    if (bad)
        return sw_fail(err, SW_E_CREDENTIAL, "the secrets were not sealed for this job, or were changed");
    out->length += plain;
    out->data[out->length] = '\0';
    return 0;
}
