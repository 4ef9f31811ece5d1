/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_image_digest.c - the digest in what engines and clusters call an image.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/auto.h"
#include "platform/kit/image_digest.h"

#define SUM "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void every_way_to_name_it_has_one_digest(void **state)
{
    static const struct { const char *said, *digest; } rows[] = {
        { SUM, SUM }, { "app@" SUM, SUM }, { "host:5000/team/app@" SUM, SUM },
        { "docker-pullable://host/app@" SUM, SUM }, { "docker://" SUM, SUM },
        { NULL, "" }, { "", "" }, { "app:1", "" }, { "sha256:12", "" }, { SUM "0", "" }, { SUM "\n", "" },
        { "x" SUM, "" },
    };
    char digest[SW_DIGEST_TEXT];

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_image_digest(rows[i].said, digest);
        assert_string_equal(digest, rows[i].digest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_way_to_name_it_has_one_digest) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
