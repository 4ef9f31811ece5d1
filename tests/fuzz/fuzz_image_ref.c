/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_image_ref.c - any text as an image: a reference or a reason, and what we make of it reads
 * back as the same image.
 */
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "core/image_ref.h"
#include "core/registry_login.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    sw_auto(sw_image_ref) struct sw_image_ref image = { 0 }, again = { 0 };
    sw_autofree char *printed = NULL;
    struct sw_error err = { 0 };
    int result = sw_image_ref_parse(text, &image, &err);

    free(sw_unbase64(text));
    sw_registry_key_is(text, "docker.io");
    CLAIM((result == 0) == (err.code == SW_OK));
    if (result < 0)
        return 0;
    printed = sw_image_ref_text(&image);
    CLAIM(!strpbrk(printed, " \n'\"$;`?&%"));
    CLAIM(image.tag || image.digest);
    CLAIM(sw_image_ref_parse(printed, &again, NULL) == 0);
    /* A registry without dot or port, as enroot may write it, is read back with the usual port. */
    CLAIM(sw_text_same(image.registry, again.registry) ||
          (sw_text_starts(again.registry, image.registry) && sw_text_ends(again.registry, ":443")));
    CLAIM(sw_text_same(image.repository, again.repository));
    CLAIM(sw_text_same(image.digest, again.digest));
    return 0;
}
