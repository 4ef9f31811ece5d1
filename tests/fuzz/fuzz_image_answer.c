/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_image_answer.c - any bytes as a registry's challenge and as its manifest: a token comes over https or
 * from this machine, and what an image is built for is a list. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "net/http.h"
#include "storage/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_auto(sw_image_challenge) struct sw_image_challenge asked = { 0 };
    char *text = malloc(size + 1);
    sw_auto(json) json_t *document = sw_json_parse((const char *)data, size, "fuzz", NULL);
    sw_auto(json) json_t *platforms = sw_image_platforms(document);
    sw_auto(sw_buf) struct sw_buf found = SW_BUF_INIT;

    memcpy(text, data, size);
    text[size] = '\0';
    if (sw_image_challenge_parse(text, &asked) && !asked.basic)
        CLAIM(sw_text_starts(asked.realm, "https://") || sw_http_is_loopback(asked.realm));
    free(text);
    CLAIM(json_is_array(platforms));
    CLAIM(json_array_size(platforms) > 0 || sw_image_fits(platforms, "amd64", &found));
    return 0;
}
