/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_http_text.c - any text as a date, a header block, a Location and a Retry-After.
 */
#include <string.h>
#include <strings.h>

#include "fuzz.h"
#include "net/http.h"
#include "net/retry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    sw_autofree char *decoded = sw_http_decode(text, strlen(text));
    sw_autofree char *location = sw_http_location("https://host/a/b?c", text);
    sw_auto(sw_buf) struct sw_buf encoded = SW_BUF_INIT;
    struct sw_http_reply reply = { 0 };
    sw_autofree char *header = NULL, *back = NULL;

    CLAIM(sw_http_date(text) >= -86400000);
    CLAIM(sw_retry_after(text, 0) >= -1);
    CLAIM(strlen(decoded) <= strlen(text));
    CLAIM(!location || strncasecmp(location, "http", 4) == 0);
    sw_buf_add(&reply.headers, text);
    header = sw_http_header(&reply, "etag");
    CLAIM(!header || strlen(header) < strlen(text));
    sw_http_reply_done(&reply);
    sw_http_encode(&encoded, text, strlen(text), "/");
    back = sw_http_decode(sw_buf_text(&encoded), encoded.length);
    CLAIM(strcmp(back, text) == 0);
    return 0;
}
