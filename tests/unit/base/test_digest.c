/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_digest.c - digests against the published test values, in one piece and in many.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/digest.h"

struct sample {
    enum sw_digest_algorithm algorithm;
    const char *text;
    const char *hex;
};

static const struct sample samples[] = {
    { SW_MD5, "", "d41d8cd98f00b204e9800998ecf8427e" },
    { SW_MD5, "abc", "900150983cd24fb0d6963f7d28e17f72" },
    { SW_MD5, "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
      "57edf4a22be3c955ac49da2e2107b67a" },
    { SW_SHA1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
    { SW_SHA1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d" },
    { SW_SHA1, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "84983e441c3bd26ebaae4aa1f95129e5e54670f1" },
    { SW_SHA256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { SW_SHA256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { SW_SHA256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    { SW_CRC32C, "123456789", "e3069283" },
    { SW_CRC32C, "", "00000000" },
};

static void digests_are_those_of_the_standards(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(samples); i++) {
        struct sw_digest digest;
        char hex[SW_DIGEST_HEX];

        sw_digest_init(&digest, samples[i].algorithm);
        sw_digest_add(&digest, samples[i].text, strlen(samples[i].text));
        sw_digest_end_hex(&digest, hex);
        assert_string_equal(hex, samples[i].hex);
    }
}

static void a_million_times_a_makes_the_known_sha256(void **state)
{
    struct sw_digest digest;
    char hex[SW_DIGEST_HEX], piece[1000];

    (void)state;
    memset(piece, 'a', sizeof piece);
    sw_digest_init(&digest, SW_SHA256);
    for (int i = 0; i < 1000; i++)
        sw_digest_add(&digest, piece, sizeof piece);
    sw_digest_end_hex(&digest, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void pieces_of_any_length_make_the_same_digest(void **state)
{
    unsigned char bytes[1000];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37 + 11);
    for (int algorithm = SW_MD5; algorithm <= SW_CRC32C; algorithm++)
        for (size_t step = 1; step < 200; step += 7) {
            struct sw_digest whole, pieces;
            char one[SW_DIGEST_HEX], two[SW_DIGEST_HEX];

            sw_digest_init(&whole, (enum sw_digest_algorithm)algorithm);
            sw_digest_init(&pieces, (enum sw_digest_algorithm)algorithm);
            sw_digest_add(&whole, bytes, sizeof bytes);
            for (size_t at = 0; at < sizeof bytes; at += step)
                sw_digest_add(&pieces, bytes + at, sizeof bytes - at < step ? sizeof bytes - at : step);
            sw_digest_end_hex(&whole, one);
            sw_digest_end_hex(&pieces, two);
            assert_string_equal(one, two);
        }
}

static void hmac_is_that_of_rfc_4231(void **state)
{
    unsigned char key[131], out[32];
    char hex[65];

    (void)state;
    sw_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, out);
    sw_hex(out, 32, hex);
    assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    sw_hmac_sha256(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First", 54, out);
    sw_hex(out, 32, hex);
    assert_string_equal(hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void base64_is_padded(void **state)
{
    static const char *const pairs[][2] = {
        { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" }, { "foobar", "Zm9vYmFy" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(pairs); i++) {
        sw_autofree char *text = sw_base64(pairs[i][0], strlen(pairs[i][0]));

        assert_string_equal(text, pairs[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_standards),
        cmocka_unit_test(a_million_times_a_makes_the_known_sha256),
        cmocka_unit_test(pieces_of_any_length_make_the_same_digest),
        cmocka_unit_test(hmac_is_that_of_rfc_4231),
        cmocka_unit_test(base64_is_padded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
