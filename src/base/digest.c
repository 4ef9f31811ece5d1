/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.c - the portable block functions (RFC 1321, FIPS 180-4, Castagnoli's crc) and the common
 * part around them: collecting blocks, padding, hex.
 *
 * The constants of sha256 and md5 are written down rather than computed: a reader can compare them
 * with the standards.
 */
#include "base/digest.h"

#include <stdbool.h>
#include <string.h>

#include "base/auto.h"
#include "base/digest_internal.h"

const uint32_t sw_sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static const uint32_t md5_k[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static inline uint32_t left(uint32_t x, int n)  { return x << n | x >> (32 - n); }
static inline uint32_t right(uint32_t x, int n) { return x >> n | x << (32 - n); }

static inline uint32_t big(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint32_t little(const unsigned char *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* ---- md5 --------------------------------------------------------------------------------- */

#define MD5_STEP(f, a, b, c, d, word, k, s) a = b + left(a + (f) + (k) + (word), s)
#define MD5_F(b, c, d) ((d) ^ ((b) & ((c) ^ (d))))
/* The two halves of G share no bit: adding them lets the processor work on both at once. */
#define MD5_G(b, c, d) ((~(d) & (c)) + ((d) & (b)))
#define MD5_H(b, c, d) ((b) ^ (c) ^ (d))
#define MD5_I(b, c, d) ((c) ^ ((b) | ~(d)))
#define MD5_FOUR(F, i, w0, w1, w2, w3, s0, s1, s2, s3)                  \
    MD5_STEP(F(b, c, d), a, b, c, d, m[w0], md5_k[i], s0);              \
    MD5_STEP(F(a, b, c), d, a, b, c, m[w1], md5_k[(i) + 1], s1);        \
    MD5_STEP(F(d, a, b), c, d, a, b, m[w2], md5_k[(i) + 2], s2);        \
    MD5_STEP(F(c, d, a), b, c, d, a, m[w3], md5_k[(i) + 3], s3)

static void md5_blocks(uint32_t state[8], const unsigned char *bytes, size_t count)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];

    for (; count; count--, bytes += 64) {
        uint32_t m[16], old[4] = { a, b, c, d };

        for (int i = 0; i < 16; i++)
            m[i] = little(bytes + 4 * i);
        MD5_FOUR(MD5_F, 0, 0, 1, 2, 3, 7, 12, 17, 22);
        MD5_FOUR(MD5_F, 4, 4, 5, 6, 7, 7, 12, 17, 22);
        MD5_FOUR(MD5_F, 8, 8, 9, 10, 11, 7, 12, 17, 22);
        MD5_FOUR(MD5_F, 12, 12, 13, 14, 15, 7, 12, 17, 22);
        MD5_FOUR(MD5_G, 16, 1, 6, 11, 0, 5, 9, 14, 20);
        MD5_FOUR(MD5_G, 20, 5, 10, 15, 4, 5, 9, 14, 20);
        MD5_FOUR(MD5_G, 24, 9, 14, 3, 8, 5, 9, 14, 20);
        MD5_FOUR(MD5_G, 28, 13, 2, 7, 12, 5, 9, 14, 20);
        MD5_FOUR(MD5_H, 32, 5, 8, 11, 14, 4, 11, 16, 23);
        MD5_FOUR(MD5_H, 36, 1, 4, 7, 10, 4, 11, 16, 23);
        MD5_FOUR(MD5_H, 40, 13, 0, 3, 6, 4, 11, 16, 23);
        MD5_FOUR(MD5_H, 44, 9, 12, 15, 2, 4, 11, 16, 23);
        MD5_FOUR(MD5_I, 48, 0, 7, 14, 5, 6, 10, 15, 21);
        MD5_FOUR(MD5_I, 52, 12, 3, 10, 1, 6, 10, 15, 21);
        MD5_FOUR(MD5_I, 56, 8, 15, 6, 13, 6, 10, 15, 21);
        MD5_FOUR(MD5_I, 60, 4, 11, 2, 9, 6, 10, 15, 21);
        a += old[0];
        b += old[1];
        c += old[2];
        d += old[3];
    }
    state[0] = a;
    state[1] = b;
    state[2] = c;
    state[3] = d;
}

/* ---- sha1 -------------------------------------------------------------------------------- */

static uint32_t sha1_mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
    if (round < 20)
        return ((b & c) | (~b & d)) + 0x5a827999;
    if (round < 40)
        return (b ^ c ^ d) + 0x6ed9eba1;
    if (round < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
}

static void sha1_blocks(uint32_t state[8], const unsigned char *bytes, size_t count)
{
    for (; count; count--, bytes += 64) {
        uint32_t w[80], s[5];

        memcpy(s, state, sizeof s);
        for (int i = 0; i < 16; i++)
            w[i] = big(bytes + 4 * i);
        for (int i = 16; i < 80; i++)
            w[i] = left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        for (int i = 0; i < 80; i++) {
            uint32_t next = left(s[0], 5) + sha1_mix(i, s[1], s[2], s[3]) + s[4] + w[i];

            s[4] = s[3];
            s[3] = s[2];
            s[2] = left(s[1], 30);
            s[1] = s[0];
            s[0] = next;
        }
        for (int i = 0; i < 5; i++)
            state[i] += s[i];
    }
}

/* ---- sha256 ------------------------------------------------------------------------------ */

static void sha256_blocks(uint32_t state[8], const unsigned char *bytes, size_t count)
{
    for (; count; count--, bytes += 64) {
        uint32_t w[64], s[8];

        memcpy(s, state, sizeof s);
        for (int i = 0; i < 16; i++)
            w[i] = big(bytes + 4 * i);
        for (int i = 16; i < 64; i++)
            w[i] = w[i - 16] + w[i - 7] +
                   (right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ w[i - 15] >> 3) +
                   (right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ w[i - 2] >> 10);
        for (int i = 0; i < 64; i++) {
            uint32_t one = s[7] + sw_sha256_k[i] + w[i] + ((s[4] & s[5]) ^ (~s[4] & s[6])) +
                           (right(s[4], 6) ^ right(s[4], 11) ^ right(s[4], 25));
            uint32_t two = (right(s[0], 2) ^ right(s[0], 13) ^ right(s[0], 22)) +
                           ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

            memmove(s + 1, s, 7 * sizeof *s);
            s[4] += one;
            s[0] = one + two;
        }
        for (int i = 0; i < 8; i++)
            state[i] += s[i];
    }
}

/* ---- crc32c ------------------------------------------------------------------------------ */

static uint32_t crc32c_portable(uint32_t crc, const unsigned char *bytes, size_t length)
{
    for (; length; length--) {
        crc ^= *bytes++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82f63b78 & (0u - (crc & 1)));
    }
    return crc;
}

/* ---- the common part --------------------------------------------------------------------- */

static const struct {
    uint32_t start[8];
    size_t words;             /* of the state that make the digest */
    bool little_endian;
} algorithms[] = {
    [SW_MD5] = { { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 }, 4, true },
    [SW_SHA1] = { { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 }, 5, false },
    [SW_SHA256] = { { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                      0x1f83d9ab, 0x5be0cd19 }, 8, false },
    [SW_CRC32C] = { { 0xffffffff }, 1, false },
};

/* Which code runs is found once; two threads that race here find the same. */
static sw_block_fn *blocks_of(enum sw_digest_algorithm algorithm)
{
    static sw_block_fn *sha256;
    sw_block_fn *found;

    if (algorithm == SW_MD5)
        return md5_blocks;
    if (algorithm == SW_SHA1)
        return sha1_blocks;
    found = __atomic_load_n(&sha256, __ATOMIC_RELAXED);
    if (!found) {
        found = sw_sha256_hardware();
        found = found ? found : sha256_blocks;
        __atomic_store_n(&sha256, found, __ATOMIC_RELAXED);
    }
    return found;
}

static uint32_t crc_add(uint32_t crc, const unsigned char *bytes, size_t length)
{
    static sw_crc_fn *chosen;
    sw_crc_fn *found = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

    if (!found) {
        found = sw_crc32c_hardware();
        found = found ? found : crc32c_portable;
        __atomic_store_n(&chosen, found, __ATOMIC_RELAXED);
    }
    return found(crc, bytes, length);
}

void sw_digest_init(struct sw_digest *digest, enum sw_digest_algorithm algorithm)
{
    memset(digest, 0, sizeof *digest);
    digest->algorithm = algorithm;
    memcpy(digest->state, algorithms[algorithm].start, sizeof digest->state);
}

void sw_digest_add(struct sw_digest *digest, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    size_t held = digest->length % 64;
    sw_block_fn *mix;

    digest->length += length;
    if (digest->algorithm == SW_CRC32C) {
        digest->state[0] = crc_add(digest->state[0], bytes, length);
        return;
    }
    mix = blocks_of(digest->algorithm);
    if (held) {
        size_t part = length < 64 - held ? length : 64 - held;

        memcpy(digest->block + held, bytes, part);
        bytes += part;
        length -= part;
        if (held + part < 64)
            return;
        mix(digest->state, digest->block, 1);
    }
    if (length >= 64)
        mix(digest->state, bytes, length / 64);
    if (length % 64)
        memcpy(digest->block, bytes + (length - length % 64), length % 64);
}

static void pad(struct sw_digest *digest)
{
    static const unsigned char padding[64] = { 0x80 };
    uint64_t bits = digest->length * 8;
    size_t held = digest->length % 64;
    unsigned char tail[8];

    for (int i = 0; i < 8; i++)
        tail[i] = (unsigned char)(bits >> 8 * (algorithms[digest->algorithm].little_endian ? i
                                                                                           : 7 - i));
    sw_digest_add(digest, padding, held < 56 ? 56 - held : 120 - held);
    sw_digest_add(digest, tail, sizeof tail);
}

size_t sw_digest_end(struct sw_digest *digest, unsigned char out[SW_DIGEST_SIZE])
{
    size_t words = algorithms[digest->algorithm].words;

    if (digest->algorithm == SW_CRC32C)
        digest->state[0] = ~digest->state[0];
    else
        pad(digest);
    for (size_t i = 0; i < 4 * words; i++) {
        int shift = 8 * (int)(algorithms[digest->algorithm].little_endian ? i % 4 : 3 - i % 4);

        out[i] = (unsigned char)(digest->state[i / 4] >> shift);
    }
    return 4 * words;
}

void sw_hex(const unsigned char *bytes, size_t length, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < length; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

void sw_digest_end_hex(struct sw_digest *digest, char out[SW_DIGEST_HEX])
{
    unsigned char raw[SW_DIGEST_SIZE];

    sw_hex(raw, sw_digest_end(digest, raw), out);
}

void sw_sha256_hex(const void *bytes, size_t length, char out[SW_DIGEST_HEX])
{
    struct sw_digest digest;

    sw_digest_init(&digest, SW_SHA256);
    sw_digest_add(&digest, bytes, length);
    sw_digest_end_hex(&digest, out);
}

void sw_hmac_sha256(const void *key, size_t key_length, const void *bytes, size_t length,
                    unsigned char out[32])
{
    unsigned char inner[64] = { 0 }, outer[64];
    struct sw_digest digest;

    if (key_length > 64) {
        sw_digest_init(&digest, SW_SHA256);
        sw_digest_add(&digest, key, key_length);
        sw_digest_end(&digest, inner);
    } else {
        memcpy(inner, key, key_length);
    }
    for (size_t i = 0; i < 64; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    sw_digest_init(&digest, SW_SHA256);
    sw_digest_add(&digest, inner, 64);
    sw_digest_add(&digest, bytes, length);
    sw_digest_end(&digest, out);
    sw_digest_init(&digest, SW_SHA256);
    sw_digest_add(&digest, outer, 64);
    sw_digest_add(&digest, out, 32);
    sw_digest_end(&digest, out);
    explicit_bzero(inner, sizeof inner);
    explicit_bzero(outer, sizeof outer);
    explicit_bzero(&digest, sizeof digest);
}

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *sw_base64(const void *data, size_t length)
{
    const unsigned char *bytes = data;
    char *out = sw_alloc((length + 2) / 3 * 4 + 1), *at = out;

    for (size_t i = 0; i < length; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16;

        three |= i + 1 < length ? (uint32_t)bytes[i + 1] << 8 : 0;
        three |= i + 2 < length ? bytes[i + 2] : 0;
        *at++ = letters[three >> 18];
        *at++ = letters[three >> 12 & 63];
        *at++ = i + 1 < length ? letters[three >> 6 & 63] : '=';
        *at++ = i + 2 < length ? letters[three & 63] : '=';
    }
    *at = '\0';
    return out;
}

static int digit_of(char c)
{
    const char *found = strchr(letters, c == '-' ? '+' : c == '_' ? '/' : c);

    return c && found ? (int)(found - letters) : -1;
}

char *sw_base64_bytes(const char *text, size_t *bytes)
{
    size_t length = strlen(text), used = 0;
    char *out = sw_alloc(length + 1);
    unsigned bits = 0;
    int have = 0;

    while (length && strchr("=\r\n ", text[length - 1]))
        length--;
    for (size_t i = 0; i < length; i++) {
        int digit = digit_of(text[i]);

        if (digit < 0) {
            explicit_bzero(out, used);
            free(out);
            return NULL;
        }
        bits = (bits << 6) | (unsigned)digit;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[used++] = (char)(bits >> have & 255);
        }
    }
    *bytes = used;
    return out;
}

char *sw_unbase64(const char *text)
{
    size_t length = 0;
    char *out = sw_base64_bytes(text, &length);

    if (!out || strlen(out) == length)
        return out;
    explicit_bzero(out, length);
    free(out);
    return NULL;
}
