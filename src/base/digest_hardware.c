/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest_hardware.c - sha256 and crc32c with the instructions made for them.
 *
 * Signing a payload means hashing every byte that is uploaded: 2 GB/s with these instructions and
 * 0.4 without. Functions carry their own target attribute and are chosen at run time, so one
 * binary runs everywhere. Other processors use the portable code in digest.c.
 */
#include "base/digest_internal.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

static bool has_sha(void)
{
    unsigned a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1) || !(c & bit_SSSE3))
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 29));
}

static bool has_crc(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
}

/* Four rounds: words m[i] plus constants into the two halves of the state. */
#define ROUNDS(i, words)                                                                      \
    do {                                                                                      \
        __m128i wk_ = _mm_add_epi32((words), _mm_loadu_si128((const __m128i *)&sw_sha256_k[i])); \
        low = _mm_sha256rnds2_epu32(low, high, wk_);                                          \
        high = _mm_sha256rnds2_epu32(high, low, _mm_shuffle_epi32(wk_, 0x0E));                \
    } while (0)

__attribute__((target("sha,sse4.1,ssse3")))
static void sha256_x86(uint32_t state[8], const unsigned char *bytes, size_t count)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i half = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)&state[0]), 0xB1);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)&state[4]), 0x1B);
    __m128i high = _mm_alignr_epi8(half, low, 8);

    low = _mm_blend_epi16(low, half, 0xF0);
    for (; count; count--, bytes += 64) {
        __m128i before_high = high, before_low = low, m[4];

        for (int i = 0; i < 4; i++) {
            m[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(bytes + 16 * i)), swap);
            ROUNDS(4 * i, m[i]);
        }
        for (int i = 16; i < 64; i += 4) {
            __m128i next = _mm_sha256msg1_epu32(m[0], m[1]);

            next = _mm_add_epi32(next, _mm_alignr_epi8(m[3], m[2], 4));
            next = _mm_sha256msg2_epu32(next, m[3]);
            m[0] = m[1];
            m[1] = m[2];
            m[2] = m[3];
            m[3] = next;
            ROUNDS(i, next);
        }
        high = _mm_add_epi32(high, before_high);
        low = _mm_add_epi32(low, before_low);
    }
    half = _mm_shuffle_epi32(high, 0x1B);
    low = _mm_shuffle_epi32(low, 0xB1);
    _mm_storeu_si128((__m128i *)&state[0], _mm_blend_epi16(half, low, 0xF0));
    _mm_storeu_si128((__m128i *)&state[4], _mm_alignr_epi8(low, half, 8));
}

__attribute__((target("sse4.2")))
static uint32_t crc32c_x86(uint32_t crc, const unsigned char *bytes, size_t length)
{
    uint64_t wide = crc;

    for (; length >= 8; length -= 8, bytes += 8) {
        uint64_t word;

        memcpy(&word, bytes, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    for (; length; length--)
        wide = _mm_crc32_u8((uint32_t)wide, *bytes++);
    return (uint32_t)wide;
}

sw_block_fn *sw_sha256_hardware(void)
{
    return has_sha() ? sha256_x86 : NULL;
}

sw_crc_fn *sw_crc32c_hardware(void)
{
    return has_crc() ? crc32c_x86 : NULL;
}

#elif defined(__aarch64__)
#include <arm_acle.h>
#include <arm_neon.h>
#include <sys/auxv.h>

#define HAS_SHA2 (1u << 6)      /* HWCAP_SHA2; musl and glibc agree on the kernel's numbers */
#define HAS_CRC  (1u << 7)      /* HWCAP_CRC32 */

__attribute__((target("+crypto")))
static void sha256_arm(uint32_t state[8], const unsigned char *bytes, size_t count)
{
    uint32x4_t first = vld1q_u32(&state[0]), second = vld1q_u32(&state[4]);

    for (; count; count--, bytes += 64) {
        uint32x4_t before_first = first, before_second = second, m[4], wk, kept;

        for (int i = 0; i < 4; i++)
            m[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes + 16 * i)));
        for (int i = 0; i < 64; i += 4) {
            wk = vaddq_u32(m[0], vld1q_u32(&sw_sha256_k[i]));
            kept = first;
            first = vsha256hq_u32(first, second, wk);
            second = vsha256h2q_u32(second, kept, wk);
            kept = vsha256su1q_u32(vsha256su0q_u32(m[0], m[1]), m[2], m[3]);
            m[0] = m[1];
            m[1] = m[2];
            m[2] = m[3];
            m[3] = kept;
        }
        first = vaddq_u32(first, before_first);
        second = vaddq_u32(second, before_second);
    }
    vst1q_u32(&state[0], first);
    vst1q_u32(&state[4], second);
}

sw_block_fn *sw_sha256_hardware(void)
{
    return getauxval(AT_HWCAP) & HAS_SHA2 ? sha256_arm : NULL;
}

__attribute__((target("+crc")))
static uint32_t crc32c_arm(uint32_t crc, const unsigned char *bytes, size_t length)
{
    for (; length >= 8; length -= 8, bytes += 8) {
        uint64_t word;

        memcpy(&word, bytes, 8);
        crc = __crc32cd(crc, word);
    }
    for (; length; length--)
        crc = __crc32cb(crc, *bytes++);
    return crc;
}

sw_crc_fn *sw_crc32c_hardware(void)
{
    return getauxval(AT_HWCAP) & HAS_CRC ? crc32c_arm : NULL;
}

#else

sw_block_fn *sw_sha256_hardware(void)
{
    return NULL;
}

sw_crc_fn *sw_crc32c_hardware(void)
{
    return NULL;
}

#endif
