/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_inside.c - the authorities that a released program carries are all ones that its TLS library
 * understands.
 */
#include <stdio.h>
#include <string.h>

#include <mbedtls/x509_crt.h>

#include "net/trust.h"

enum { AT_LEAST = 100 };          /* Mozilla trusts about 140 */

int main(void)
{
    mbedtls_x509_crt chain;
    size_t length = 0;
    int count = 0, broken;
    const char *pem = sw_trust_inside(&length);

    if (!pem)
        return puts("no bundle is inside"), 1;
    mbedtls_x509_crt_init(&chain);
    broken = mbedtls_x509_crt_parse(&chain, (const unsigned char *)pem, length + 1);
    for (const mbedtls_x509_crt *one = &chain; one && one->raw.len; one = one->next)
        count++;
    mbedtls_x509_crt_free(&chain);
    printf("%d authorities, %d not understood\n", count, broken);
    return broken == 0 && count >= AT_LEAST ? 0 : 1;
}
