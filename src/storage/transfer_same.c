/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_same.c - is a file identical already, and is it what it claims to be?
 *
 * The size must agree first. Then, cheapest first: the modification time (kept on every copy), the
 * digest of the content where one is known. What is left over is unsure, and the source is asked
 * for the time it keeps with the object.
 */
#include "storage/transfer_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

#define READ_SIZE     (128 * 1024)
#define CLOSE_SECONDS 2

bool etag_is_md5(const char *etag)
{
    return etag && strlen(etag) == 32 && strspn(etag, "0123456789abcdef") == 32;
}

static int digest_range(int fd, int64_t offset, int64_t length, struct sw_digest *digest,
                        struct sw_error *err)
{
    sw_autofree char *buffer = sw_alloc(READ_SIZE);

    while (length > 0) {
        ssize_t got = pread(fd, buffer, length < READ_SIZE ? (size_t)length : READ_SIZE, offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sw_fail_errno(err, SW_E_IO, "cannot read the file");
        if (got == 0)
            return sw_fail(err, SW_E_CONFLICT, "the file became shorter while it was read");
        sw_digest_add(digest, buffer, (size_t)got);
        offset += got;
        length -= got;
    }
    return 0;
}

int file_digest(int fd, int64_t offset, int64_t length, enum sw_digest_algorithm algorithm,
                char out[SW_DIGEST_HEX], struct sw_error *err)
{
    struct sw_digest digest;

    sw_digest_init(&digest, algorithm);
    if (digest_range(fd, offset, length, &digest, err) < 0)
        return -1;
    sw_digest_end_hex(&digest, out);
    return 0;
}

int file_matches(int fd, int64_t size, enum sw_digest_kind kind, const char *wanted,
                 struct sw_error *err)
{
    static const enum sw_digest_algorithm algorithms[] = {
        [SW_DIGEST_MD5] = SW_MD5, [SW_DIGEST_SHA256] = SW_SHA256, [SW_DIGEST_GIT_SHA1] = SW_SHA1,
        [SW_DIGEST_CRC32C] = SW_CRC32C,
    };
    struct sw_digest digest;
    char hex[SW_DIGEST_HEX];

    if (kind == SW_DIGEST_NONE)
        return 1;
    sw_digest_init(&digest, algorithms[kind]);
    if (kind == SW_DIGEST_GIT_SHA1) {
        char header[40];
        int length = snprintf(header, sizeof header, "blob %lld", (long long)size);

        sw_digest_add(&digest, header, (size_t)length + 1);
    }
    if (digest_range(fd, 0, size, &digest, err) < 0)
        return -1;
    sw_digest_end_hex(&digest, hex);
    return sw_text_same_nocase(hex, wanted);
}

/* Times agree, and that means something. A time in whole seconds says little about a file that we
 * wrote within those seconds: the object may have been replaced in the same one. */
static bool same_time(const struct stat *info, const struct sw_object *object)
{
    int64_t at_ms = (int64_t)info->st_mtim.tv_sec * 1000 + info->st_mtim.tv_nsec / 1000000;

    if (!object->mtime_ms)
        return false;
    if (object->mtime_ms % 1000)
        return at_ms == object->mtime_ms;
    return at_ms / 1000 == object->mtime_ms / 1000 &&
           info->st_ctim.tv_sec > object->mtime_ms / 1000 + CLOSE_SECONDS;
}

enum item_found same_as_local(const char *path, const struct sw_object *object, bool checksum)
{
    struct stat info;
    enum sw_digest_kind kind = object->digest_kind;
    const char *digest = object->digest;
    sw_autofd int fd = -1;

    if (stat(path, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size != object->size)
        return FOUND_NEW;
    if (!checksum && same_time(&info, object))
        return FOUND_SAME;
    if (kind == SW_DIGEST_NONE && etag_is_md5(object->etag)) {
        kind = SW_DIGEST_MD5;
        digest = object->etag;
    }
    if (kind == SW_DIGEST_NONE)
        return checksum ? FOUND_NEW : FOUND_UNSURE;
    if (kind == SW_DIGEST_MD5 && object->size > MD5_CHEAP && !checksum)
        return FOUND_UNSURE;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && file_matches(fd, object->size, kind, digest, NULL) == 1 ? FOUND_SAME
                                                                              : FOUND_NEW;
}
