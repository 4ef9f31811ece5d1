/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_digest.c - the digest in an image's name. Pure.
 */
#include "platform/kit/image_digest.h"

#include <stdio.h>
#include <string.h>

void sw_image_digest(const char *said, char out[SW_DIGEST_TEXT])
{
    static const char kind[] = "sha256:";
    const char *at = said ? strstr(said, kind) : NULL;
    bool begins = at && (at == said || at[-1] == '@' || at[-1] == '/');

    out[0] = '\0';
    if (begins && strspn(at + strlen(kind), "0123456789abcdef") == 64 && !at[strlen(kind) + 64])
        snprintf(out, SW_DIGEST_TEXT, "%s", at);
}
