/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle_zip.c - files to a zip that depends on nothing but the files, for a platform that unpacks no tar.
 *
 * Every entry is of 1980-01-01, the first day that the format knows, has no owner, and keeps its Unix mode,
 * so that a program stays one. A zip has no links that its readers agree about: a link to a file becomes a
 * copy of the file, a link to a folder is refused. Bounded: the caller says how large it may become.
 */
#include "plan/bundle.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"

enum {
    LEVEL = 6, MADE_ON_UNIX = 3, VERSION = 20, DEFLATED = 8, UTF8_NAMES = 1 << 11,
    FIRST_DAY = 0x21, ENTRIES_MOST = 65535,
};

void sw_zip_done(struct sw_zip *zip)
{
    sw_buf_done(&zip->bytes);
    sw_buf_done(&zip->directory);
}

static void put(struct sw_buf *out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        sw_buf_add_char(out, (char)(value >> (8 * i)));
}

/* What an entry and its row in the directory have in common: versions to sizes. */
static void put_facts(struct sw_buf *out, uint32_t crc, size_t packed, size_t length, size_t name)
{
    put(out, VERSION, 2);
    put(out, UTF8_NAMES, 2);
    put(out, DEFLATED, 2);
    put(out, 0, 2);
    put(out, FIRST_DAY, 2);
    put(out, crc, 4);
    put(out, (uint32_t)packed, 4);
    put(out, (uint32_t)length, 4);
    put(out, (uint32_t)name, 2);
    put(out, 0, 2);
}

static void deflate_into(const void *bytes, size_t length, struct sw_buf *out)
{
    z_stream z = { .next_in = (unsigned char *)bytes, .avail_in = (uInt)length };
    size_t room;

    if (deflateInit2(&z, LEVEL, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    room = deflateBound(&z, (uLong)length);
    z.next_out = (unsigned char *)sw_buf_reserve(out, room + 1);
    z.avail_out = (uInt)room;
    deflate(&z, Z_FINISH);
    out->length += room - z.avail_out;
    deflateEnd(&z);
}

void sw_zip_add(struct sw_zip *zip, const char *name, unsigned mode, const void *bytes, size_t length)
{
    sw_auto(sw_buf) struct sw_buf packed = SW_BUF_INIT;
    uint32_t crc = (uint32_t)crc32_z(0, bytes, length);
    size_t offset = zip->bytes.length, name_length = strlen(name);

    deflate_into(bytes, length, &packed);
    sw_buf_add_bytes(&zip->bytes, "PK\3\4", 4);
    put_facts(&zip->bytes, crc, packed.length, length, name_length);
    sw_buf_add_bytes(&zip->bytes, name, name_length);
    sw_buf_add_bytes(&zip->bytes, packed.data, packed.length);
    sw_buf_add_bytes(&zip->directory, "PK\1\2", 4);
    put(&zip->directory, VERSION | MADE_ON_UNIX << 8, 2);
    put_facts(&zip->directory, crc, packed.length, length, name_length);
    put(&zip->directory, 0, 2);                            /* comment, disk, text or not */
    put(&zip->directory, 0, 4);
    put(&zip->directory, (uint32_t)(S_IFREG | mode) << 16, 4);
    put(&zip->directory, (uint32_t)offset, 4);
    sw_buf_add_bytes(&zip->directory, name, name_length);
    zip->count++;
}

void sw_zip_end(struct sw_zip *zip)
{
    size_t offset = zip->bytes.length, length = zip->directory.length;

    sw_buf_add_bytes(&zip->bytes, zip->directory.data, length);
    sw_buf_add_bytes(&zip->bytes, "PK\5\6", 4);
    put(&zip->bytes, 0, 4);
    put(&zip->bytes, (uint32_t)zip->count, 2);
    put(&zip->bytes, (uint32_t)zip->count, 2);
    put(&zip->bytes, (uint32_t)length, 4);
    put(&zip->bytes, (uint32_t)offset, 4);
    put(&zip->bytes, 0, 2);
}

/* ---- the code of a job --------------------------------------------------------------------------- */

static int too_large(const struct sw_bundle_list *list, struct sw_error *err)
{
    sw_autofree char *what = sw_bundle_describe(list);

    sw_fail(err, SW_E_SPEC, "the code is too large to send: %s", what);
    return sw_hint(err, "leave files out with `code.exclude`, or put them into object storage and name them "
                        "under `inputs`");
}

static int add_file(struct sw_zip *zip, const char *root, const struct sw_bundle_file *file, size_t most,
                    struct sw_error *err)
{
    sw_autofree char *path = sw_path_join(root, file->path), *bytes = NULL;
    unsigned mode = (file->executable ? 0755 : 0644) & (file->is_private ? 0700 : 0777);
    size_t length = 0;
    struct stat info;

    if (file->target && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        sw_fail(err, SW_E_SPEC, "code: '%s' is a link to a folder, and a zip has no links", file->path);
        return sw_hint(err, "leave it out with `code.exclude`, or make it a folder");
    }
    if (!(bytes = sw_file_read(path, most, &length, err)))
        return sw_wrap(err, "cannot pack the code");
    sw_zip_add(zip, file->path, mode, bytes, length);
    return 0;
}

int sw_bundle_zip(const json_t *code, const char *base_dir, size_t most, struct sw_zip *zip,
                  struct sw_error *err)
{
    sw_auto(sw_bundle_list) struct sw_bundle_list list = { 0 };
    sw_autofree char *root = NULL;

    if (sw_bundle_list_code(code, base_dir, &root, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].size > (int64_t)most || zip->bytes.length > most || zip->count >= ENTRIES_MOST)
            return too_large(&list, err);
        else if (add_file(zip, root, &list.items[i], most, err) < 0)
            return -1;
    return zip->bytes.length > most ? too_large(&list, err) : 0;
}
