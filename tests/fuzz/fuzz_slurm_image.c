/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_slurm_image.c - any text as an image: an image or a reason; what Pyxis gets is read back as the
 * same image, and the file in the cache has a plain name.
 */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "platform/slurm/slurm_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    sw_auto(slurm_image) struct slurm_image image = { 0 }, again = { 0 };
    sw_autofree char *pyxis = NULL, *file = NULL, *twice = NULL;
    struct sw_error err = { 0 };
    int result = slurm_image_parse(text, &image, &err);

    CLAIM((result == 0) == (err.code == SW_OK));
    if (result < 0 || image.kind == SLURM_IMAGE_NONE)
        return 0;
    pyxis = slurm_image_pyxis(&image);
    file = slurm_image_file_name(&image);
    CLAIM(!strpbrk(pyxis, " \t\n'\"`;|&<>(){}*?\\"));
    CLAIM(!file || (!strchr(file, '/') && sw_text_ends(file, ".sqsh") && strlen(file) < 180));
    CLAIM(slurm_image_parse(pyxis, &again, NULL) == 0 && again.kind == image.kind);
    twice = slurm_image_pyxis(&again);
    CLAIM(strcmp(pyxis, twice) == 0);
    return 0;
}
