/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle_pack.c - files to a .tar.gz that depends on nothing but the files: the archive has no times and no
 * owners (core/archive_write.c), gzip carries no name and no time either.
 */
#include "plan/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/digest.h"
#include "base/file.h"
#include "core/archive.h"

enum { LEVEL = 9, PIECE = 64 * 1024 };

void sw_bundle_done(struct sw_bundle *bundle)
{
    free(bundle->bytes);
    *bundle = (struct sw_bundle){ 0 };
}

/* ---- gzip ---------------------------------------------------------------------------------- */

static void deflate_all(z_stream *z, int flush, struct sw_buf *out)
{
    do {
        z->next_out = (unsigned char *)sw_buf_reserve(out, PIECE);
        z->avail_out = PIECE;
        deflate(z, flush);
        out->length += PIECE - z->avail_out;
        out->data[out->length] = '\0';
    } while (z->avail_out == 0);
}

void sw_gzip(const void *bytes, size_t length, struct sw_buf *out)
{
    const unsigned char *at = bytes;
    z_stream z = { 0 };

    /* zlib's own gzip header has time 0 and no name; its "made on" byte is set below. */
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    deflateSetHeader(&z, &(gz_header){ .os = 255 });
    while (length > 0) {
        size_t piece = length < (1u << 30) ? length : 1u << 30;

        z.next_in = (unsigned char *)at;
        z.avail_in = (uInt)piece;
        at += piece;
        length -= piece;
        deflate_all(&z, Z_NO_FLUSH, out);
    }
    deflate_all(&z, Z_FINISH, out);
    deflateEnd(&z);
}

/* ---- tar ----------------------------------------------------------------------------------- */

/* A file that grows or shrinks while it is read would spoil everything behind it. */
static int add_content(struct sw_buf *out, const char *path, int64_t size, struct sw_error *err)
{
    sw_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int64_t got = 0;

    if (fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot read '%s'", path);
    while (got < size) {
        size_t piece = size - got < PIECE ? (size_t)(size - got) : PIECE;
        ssize_t n = read(fd, sw_buf_reserve(out, piece), piece);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return sw_fail(err, SW_E_CONFLICT, "'%s' changed while it was packed", path);
        out->length += (size_t)n;
        got += n;
    }
    sw_tar_pad(out);
    return 0;
}

/* What others could not read here they cannot read there. */
static unsigned mode_of(const struct sw_bundle_file *file)
{
    return (file->executable ? 0755 : 0644) & (file->is_private ? 0700 : 0777);
}

int sw_bundle_pack(const char *root, const struct sw_bundle_list *list, struct sw_bundle *out,
                   struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf tar = SW_BUF_INIT, packed = SW_BUF_INIT;

    for (size_t i = 0; i < list->count; i++) {
        const struct sw_bundle_file *file = &list->items[i];
        sw_autofree char *path = sw_path_join(root, file->path);

        sw_tar_begin(&tar, &(struct sw_archive_member){
            .name = file->path, .kind = file->target ? SW_ARCHIVE_LINK : SW_ARCHIVE_FILE,
            .target = file->target, .mode = mode_of(file), .size = file->size });
        if (!file->target && add_content(&tar, path, file->size, err) < 0)
            return sw_wrap(err, "cannot pack the code");
    }
    sw_tar_end(&tar);
    sw_gzip(tar.data, tar.length, &packed);
    out->length = packed.length;
    sw_sha256_hex(packed.data, packed.length, out->hash);
    out->bytes = sw_buf_steal(&packed);
    return 0;
}
