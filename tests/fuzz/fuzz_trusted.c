/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_trusted.c - any bytes as certificates, binary and text: no private key comes through, and what
 * was made text is picked again, one by one.
 */
#include <string.h>

#include "base/trusted.h"
#include "fuzz.h"

static size_t dashes_in(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += *text == '-';
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_auto(sw_buf) struct sw_buf picked = SW_BUF_INIT, pem = SW_BUF_INIT, again = SW_BUF_INIT;
    size_t certificates = sw_trusted_pick((const char *)data, size, &picked);
    size_t made = sw_trusted_to_pem(data, size, &pem);

    CLAIM((certificates == 0) == (picked.length == 0));
    CLAIM(picked.length <= size + certificates);
    CLAIM(dashes_in(sw_buf_text(&picked)) == 20 * certificates);      /* no other block's lines */
    CLAIM(sw_trusted_pick(sw_buf_text(&pem), pem.length, &again) == made);
    CLAIM(again.length == pem.length);
    return 0;
}
