/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_docker_image.c - any text as an image: a reference or a reason, and what we make of it reads
 * back as the same image.
 */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "platform/docker/docker_image.h"
#include "platform/docker/docker_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    sw_auto(docker_image) struct docker_image image = { 0 }, again = { 0 };
    sw_autofree char *printed = NULL;
    struct sw_error err = { 0 };
    int result = docker_image_parse(text, &image, &err);

    free(docker_unbase64(text));
    docker_same_registry(text, "docker.io");
    CLAIM((result == 0) == (err.code == SW_OK));
    if (result < 0)
        return 0;
    printed = docker_image_text(&image);
    CLAIM(!strpbrk(printed, " \n'\"$;`?&%"));
    CLAIM(image.tag || image.digest);
    CLAIM(docker_image_parse(printed, &again, NULL) == 0);
    CLAIM(sw_text_same(image.registry, again.registry));
    CLAIM(sw_text_same(image.repository, again.repository));
    CLAIM(sw_text_same(image.digest, again.digest));
    return 0;
}
