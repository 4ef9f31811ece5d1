/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_tar.c - any bytes as a tar archive: every member gets exactly the bytes it announced, and
 * its name either stays inside or is refused; or there is a reason.
 */
#include <string.h>

#include "fuzz.h"
#include "runner/archive.h"

struct bytes {
    struct sw_archive_stream head;
    const uint8_t *data;
    size_t size, at;
};

struct seen {
    bool open;
    int64_t announced, got;
};

static ssize_t read_bytes(struct sw_archive_stream *stream, void *out, size_t length,
                          struct sw_error *err)
{
    struct bytes *bytes = (struct bytes *)stream;
    size_t left = bytes->size - bytes->at;

    (void)err;
    length = length < left ? length : left;
    memcpy(out, bytes->data + bytes->at, length);
    bytes->at += length;
    return (ssize_t)length;
}

static int member(void *context, const struct sw_archive_member *one, struct sw_error *err)
{
    struct seen *seen = context;
    char *name = sw_archive_name(one->name);

    (void)err;
    CLAIM(!seen->open);
    CLAIM(one->size >= 0);
    CLAIM(!name || (*name != '/' && strcmp(name, "..") != 0 && strncmp(name, "../", 3) != 0 &&
                    !strstr(name, "/../")));
    if (name && one->kind == SW_ARCHIVE_LINK && sw_archive_link_stays_inside(name, one->target))
        CLAIM(*one->target != '/');
    free(name);
    *seen = (struct seen){ true, one->size, 0 };
    return 0;
}

static int data(void *context, const void *bytes, size_t length, struct sw_error *err)
{
    struct seen *seen = context;

    (void)bytes, (void)err;
    CLAIM(seen->open && length > 0);
    seen->got += (int64_t)length;
    return 0;
}

static int end(void *context, struct sw_error *err)
{
    struct seen *seen = context;

    (void)err;
    CLAIM(seen->open && seen->got == seen->announced);
    seen->open = false;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    struct bytes bytes = { .head = { .read = read_bytes }, .data = input, .size = size };
    struct seen seen = { 0 };
    const struct sw_archive_visitor visitor = { member, data, end, &seen };
    struct sw_error err = { 0 };
    int result = sw_archive_read_tar(&bytes.head, &visitor, &err);

    CLAIM((result == 0) == (err.code == SW_OK));
    return 0;
}
