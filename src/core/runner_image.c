/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_image.c - finds the static runner of an architecture: inside the program, or beside it.
 *
 * A development build carries nothing and maps "slipway-runner-ARCH" from the folder that
 * $SLIPWAY_RUNNERS names, or from where its helpers are; a mapped page that is not read costs
 * nothing. Found once, kept for ever: two architectures.
 */
#include "core/runner_image.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"

struct image {
    const char *arch;
    const void *bytes;
    size_t size;
};

static struct image images[] = { { .arch = "x86_64" }, { .arch = "aarch64" } };
static pthread_mutex_t images_lock = PTHREAD_MUTEX_INITIALIZER;

static struct image *image_of(const char *arch)
{
    for (size_t i = 0; i < SW_COUNT(images); i++)
        if (sw_text_same(images[i].arch, arch))
            return &images[i];
    return NULL;
}

void sw_runner_image_inside(const char *arch, const void *bytes, size_t size)
{
    struct image *image = image_of(arch);

    if (image)
        *image = (struct image){ image->arch, bytes, size };
}

static int map(struct image *image, const char *path, struct sw_error *err)
{
    sw_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    void *bytes;

    if (fd < 0 || fstat(fd, &info) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot read '%s'", path);
    if (info.st_size == 0)
        return sw_fail(err, SW_E_IO, "'%s' is empty", path);
    bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return sw_fail_errno(err, SW_E_IO, "cannot read '%s'", path);
    image->bytes = bytes;
    image->size = (size_t)info.st_size;
    return 0;
}

static int find(struct image *image, struct sw_error *err)
{
    const char *folder = getenv("SLIPWAY_RUNNERS");
    sw_autofree char *name = sw_format("slipway-runner-%s", image->arch);
    sw_autofree char *path = !sw_text_empty(folder) ? sw_path_join(folder, name)
                                                    : sw_helper_path(name, err);

    if (!path)
        return sw_hint(err, "'make static' builds it; the released program carries it inside");
    return map(image, path, err);
}

const void *sw_embedded_runner(const char *arch, size_t *size, struct sw_error *err)
{
    struct image *image = image_of(arch);
    int found;

    if (!image) {
        sw_fail(err, SW_E_NOT_FOUND, "no runner for '%s' machines", arch);
        return sw_null(sw_hint(err, "runners exist for x86_64 and aarch64"));
    }
    pthread_mutex_lock(&images_lock);
    found = image->bytes ? 0 : find(image, err);
    pthread_mutex_unlock(&images_lock);
    if (found < 0)
        return NULL;
    *size = image->size;
    return image->bytes;
}
