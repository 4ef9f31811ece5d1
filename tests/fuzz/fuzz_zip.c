/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_zip.c - any bytes as a zip file: every file gets exactly the bytes it announced, or there is a
 * reason.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "runner/archive.h"

struct seen {
    int64_t announced, got;
};

static int member(void *context, const struct sw_archive_member *one, struct sw_error *err)
{
    struct seen *seen = context;

    (void)err;
    CLAIM(one->size >= 0);
    *seen = (struct seen){ one->size, 0 };
    return 0;
}

static int data(void *context, const void *bytes, size_t length, struct sw_error *err)
{
    struct seen *seen = context;

    (void)bytes, (void)err;
    seen->got += (int64_t)length;
    CLAIM(seen->got <= seen->announced);
    return 0;
}

static int end(void *context, struct sw_error *err)
{
    const struct seen *seen = context;

    (void)err;
    CLAIM(seen->got == seen->announced);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    struct seen seen = { 0 };
    const struct sw_archive_visitor visitor = { member, data, end, &seen };
    struct sw_error err = { 0 };
    int fd = memfd_create("zip", MFD_CLOEXEC), result;

    if (fd < 0 || write(fd, input, size) != (ssize_t)size) {
        close(fd);
        return 0;
    }
    result = archive_read_zip(fd, &visitor, &err);
    CLAIM((result == 0) == (err.code == SW_OK));
    close(fd);
    return 0;
}
