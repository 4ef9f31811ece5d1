/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_codec.c - the plain bytes of a compressed file.
 *
 * The first bytes of a file say what it is packed with, not its name. gzip is always built in;
 * bzip2 and xz are when the build found their libraries; what is not built in is given to the
 * program of that name in the image, and when there is none the message says which one to install.
 */
#include "runner/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#ifdef SW_HAVE_BZ2
#include <bzlib.h>
#endif
#ifdef SW_HAVE_LZMA
#include <lzma.h>
#endif
#ifdef SW_HAVE_ZSTD
#include <zstd.h>
#endif

enum { PIECE = 64 * 1024 };

struct file_stream {                 /* what all of them begin with */
    struct sw_archive_stream head;
    int fd;
    unsigned char in[PIECE];
    size_t have, used;
    bool at_end;                     /* of the file */
    union {
        z_stream z;
#ifdef SW_HAVE_BZ2
        bz_stream bz;
#endif
#ifdef SW_HAVE_LZMA
        lzma_stream lzma;
#endif
#ifdef SW_HAVE_ZSTD
        ZSTD_DStream *zstd;
#endif
        pid_t program;
    } u;
    const char *program_name;
    bool member_over;
};

static ssize_t read_fd(int fd, void *bytes, size_t length)
{
    ssize_t n;

    do
        n = read(fd, bytes, length);
    while (n < 0 && errno == EINTR);
    return n;
}

/* More packed bytes when there are none left; -1 with err. */
static int fill(struct file_stream *s, struct sw_error *err)
{
    ssize_t n;

    if (s->used < s->have || s->at_end)
        return 0;
    n = read_fd(s->fd, s->in, sizeof s->in);
    if (n < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot read the archive");
    s->have = (size_t)n;
    s->used = 0;
    s->at_end = n == 0;
    return 0;
}

static int cut_off(struct sw_error *err)
{
    return sw_fail(err, SW_E_IO, "the archive is cut off");
}

/* ---- plain --------------------------------------------------------------------------------- */

static ssize_t plain_read(struct sw_archive_stream *stream, void *bytes, size_t length,
                          struct sw_error *err)
{
    struct file_stream *s = (struct file_stream *)stream;
    ssize_t n = read_fd(s->fd, bytes, length);

    return n < 0 ? sw_fail_errno(err, SW_E_IO, "cannot read the archive") : n;
}

static void plain_close(struct sw_archive_stream *stream)
{
    free(stream);
}

/* ---- gzip ---------------------------------------------------------------------------------- */

static ssize_t gzip_read(struct sw_archive_stream *stream, void *bytes, size_t length,
                         struct sw_error *err)
{
    struct file_stream *s = (struct file_stream *)stream;

    s->u.z.next_out = bytes;
    s->u.z.avail_out = (uInt)(length < PIECE ? length : PIECE);
    for (uInt room = s->u.z.avail_out; s->u.z.avail_out == room;) {
        int how;

        if (fill(s, err) < 0)
            return -1;
        if (s->at_end)
            return s->member_over ? 0 : cut_off(err);
        if (s->member_over && inflateReset(&s->u.z) != Z_OK)    /* one more file behind */
            return sw_fail(err, SW_E_IO, "zlib does not start again");
        s->u.z.next_in = s->in + s->used;
        s->u.z.avail_in = (uInt)(s->have - s->used);
        how = inflate(&s->u.z, Z_NO_FLUSH);
        s->used = s->have - s->u.z.avail_in;
        if (how == Z_DATA_ERROR && s->member_over)
            return 0;                                           /* padding behind the last one */
        if (how != Z_OK && how != Z_STREAM_END && how != Z_BUF_ERROR)
            return sw_fail(err, SW_E_IO, "the gzip data is damaged");
        s->member_over = how == Z_STREAM_END;
        if (s->u.z.avail_out < room)
            return (ssize_t)(room - s->u.z.avail_out);
    }
    return 0;
}

static void gzip_close(struct sw_archive_stream *stream)
{
    inflateEnd(&((struct file_stream *)stream)->u.z);
    free(stream);
}

static int gzip_open(struct file_stream *s)
{
    s->head = (struct sw_archive_stream){ gzip_read, gzip_close };
    return inflateInit2(&s->u.z, MAX_WBITS + 16) == Z_OK ? 0 : -1;
}

/* ---- bzip2, xz, zstd: when the build has their libraries ----------------------------------- */

#ifdef SW_HAVE_BZ2
static ssize_t bzip2_read(struct sw_archive_stream *stream, void *bytes, size_t length,
                          struct sw_error *err)
{
    struct file_stream *s = (struct file_stream *)stream;
    unsigned room = (unsigned)(length < PIECE ? length : PIECE);

    s->u.bz.next_out = bytes;
    s->u.bz.avail_out = room;
    while (s->u.bz.avail_out == room) {
        int how;

        if (fill(s, err) < 0)
            return -1;
        if (s->at_end)
            return s->member_over ? 0 : cut_off(err);
        if (s->member_over) {
            BZ2_bzDecompressEnd(&s->u.bz);
            memset(&s->u.bz, 0, sizeof s->u.bz);
            if (BZ2_bzDecompressInit(&s->u.bz, 0, 0) != BZ_OK)
                return sw_fail(err, SW_E_IO, "bzip2 does not start again");
            s->u.bz.next_out = bytes;
            s->u.bz.avail_out = room;
        }
        s->u.bz.next_in = (char *)s->in + s->used;
        s->u.bz.avail_in = (unsigned)(s->have - s->used);
        how = BZ2_bzDecompress(&s->u.bz);
        s->used = s->have - s->u.bz.avail_in;
        if (how != BZ_OK && how != BZ_STREAM_END)
            return sw_fail(err, SW_E_IO, "the bzip2 data is damaged");
        s->member_over = how == BZ_STREAM_END;
    }
    return (ssize_t)(room - s->u.bz.avail_out);
}

static void bzip2_close(struct sw_archive_stream *stream)
{
    BZ2_bzDecompressEnd(&((struct file_stream *)stream)->u.bz);
    free(stream);
}

static int bzip2_open(struct file_stream *s)
{
    s->head = (struct sw_archive_stream){ bzip2_read, bzip2_close };
    return BZ2_bzDecompressInit(&s->u.bz, 0, 0) == BZ_OK ? 0 : -1;
}
#endif

#ifdef SW_HAVE_LZMA
enum { XZ_MEMORY_MAX = 256 * 1024 * 1024 };

static ssize_t xz_read(struct sw_archive_stream *stream, void *bytes, size_t length,
                       struct sw_error *err)
{
    struct file_stream *s = (struct file_stream *)stream;

    s->u.lzma.next_out = bytes;
    s->u.lzma.avail_out = length;
    while (s->u.lzma.avail_out == length) {
        lzma_ret how;

        if (fill(s, err) < 0)
            return -1;
        s->u.lzma.next_in = s->in + s->used;
        s->u.lzma.avail_in = s->have - s->used;
        how = lzma_code(&s->u.lzma, s->at_end ? LZMA_FINISH : LZMA_RUN);
        s->used = s->have - s->u.lzma.avail_in;
        if (how == LZMA_STREAM_END)
            break;
        if (how == LZMA_BUF_ERROR && s->at_end)
            return cut_off(err);
        if (how != LZMA_OK && how != LZMA_BUF_ERROR)
            return sw_fail(err, SW_E_IO, "the xz data is damaged");
    }
    return (ssize_t)(length - s->u.lzma.avail_out);
}

static void xz_close(struct sw_archive_stream *stream)
{
    lzma_end(&((struct file_stream *)stream)->u.lzma);
    free(stream);
}

static int xz_open(struct file_stream *s)
{
    s->head = (struct sw_archive_stream){ xz_read, xz_close };
    s->u.lzma = (lzma_stream)LZMA_STREAM_INIT;
    return lzma_stream_decoder(&s->u.lzma, XZ_MEMORY_MAX, LZMA_CONCATENATED) == LZMA_OK ? 0 : -1;
}
#endif

#ifdef SW_HAVE_ZSTD
static ssize_t zstd_read(struct sw_archive_stream *stream, void *bytes, size_t length,
                         struct sw_error *err)
{
    struct file_stream *s = (struct file_stream *)stream;
    ZSTD_outBuffer out = { bytes, length, 0 };

    while (out.pos == 0) {
        ZSTD_inBuffer in;
        size_t how;

        if (fill(s, err) < 0)
            return -1;
        if (s->at_end)
            return s->member_over ? 0 : cut_off(err);
        in = (ZSTD_inBuffer){ s->in, s->have, s->used };
        how = ZSTD_decompressStream(s->u.zstd, &out, &in);
        s->used = in.pos;
        if (ZSTD_isError(how))
            return sw_fail(err, SW_E_IO, "the zstd data is damaged");
        s->member_over = how == 0;
    }
    return (ssize_t)out.pos;
}

static void zstd_close(struct sw_archive_stream *stream)
{
    ZSTD_freeDStream(((struct file_stream *)stream)->u.zstd);
    free(stream);
}

static int zstd_open(struct file_stream *s)
{
    s->head = (struct sw_archive_stream){ zstd_read, zstd_close };
    s->u.zstd = ZSTD_createDStream();
    return s->u.zstd ? 0 : -1;
}
#endif

/* ---- by a program of the image ------------------------------------------------------------- */

static ssize_t program_read(struct sw_archive_stream *stream, void *bytes, size_t length,
                            struct sw_error *err)
{
    struct file_stream *s = (struct file_stream *)stream;
    ssize_t n = read_fd(s->fd, bytes, length);
    int status = 0;

    if (n > 0 || s->u.program <= 0)
        return n;
    while (waitpid(s->u.program, &status, 0) < 0 && errno == EINTR)
        ;
    s->u.program = 0;
    if (n == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        sw_fail(err, SW_E_UNSUPPORTED, "the archive needs '%s' to be unpacked, and the image has "
                "no such program", s->program_name);
        return sw_hint(err, "install %s in the image, or pack the input as .tar.gz or .zip",
                       s->program_name);
    }
    return sw_fail(err, SW_E_IO, "'%s' cannot unpack the archive", s->program_name);
}

static void program_close(struct sw_archive_stream *stream)
{
    struct file_stream *s = (struct file_stream *)stream;

    close(s->fd);
    if (s->u.program > 0) {
        kill(s->u.program, SIGKILL);
        while (waitpid(s->u.program, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    free(stream);
}

static int program_open(struct file_stream *s, const char *name)
{
    int ends[2], packed = s->fd;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        dup2(packed, 0);
        dup2(ends[1], 1);
        execlp(name, name, "-dc", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -1;
    }
    s->head = (struct sw_archive_stream){ program_read, program_close };
    s->fd = ends[0];
    s->u.program = pid;
    s->program_name = name;
    return 0;
}

/* ---- which ---------------------------------------------------------------------------------- */

static const struct codec {
    const char *program;
    unsigned char magic[6];
    size_t magic_length;
    int (*open)(struct file_stream *s);     /* NULL: not built in */
} codecs[] = {
    { "gzip", { 0x1f, 0x8b }, 2, gzip_open },
#ifdef SW_HAVE_BZ2
    { "bzip2", { 'B', 'Z', 'h' }, 3, bzip2_open },
#else
    { "bzip2", { 'B', 'Z', 'h' }, 3, NULL },
#endif
#ifdef SW_HAVE_LZMA
    { "xz", { 0xfd, '7', 'z', 'X', 'Z', 0 }, 6, xz_open },
#else
    { "xz", { 0xfd, '7', 'z', 'X', 'Z', 0 }, 6, NULL },
#endif
#ifdef SW_HAVE_ZSTD
    { "zstd", { 0x28, 0xb5, 0x2f, 0xfd }, 4, zstd_open },
#else
    { "zstd", { 0x28, 0xb5, 0x2f, 0xfd }, 4, NULL },
#endif
};

void archive_codecs_describe(struct sw_buf *out)
{
    for (size_t i = 0; i < SW_COUNT(codecs); i++)
        sw_buf_addf(out, "%s%s%s", i ? ", " : "", codecs[i].program,
                    codecs[i].open ? "" : " (by the image's program)");
}

struct sw_archive_stream *archive_stream_open(int fd, const char *name, struct sw_error *err)
{
    struct file_stream *s = sw_new(struct file_stream);
    unsigned char head[6] = { 0 };
    ssize_t got = pread(fd, head, sizeof head, 0);

    s->fd = fd;
    s->head = (struct sw_archive_stream){ plain_read, plain_close };
    for (size_t i = 0; got > 0 && i < SW_COUNT(codecs); i++) {
        const struct codec *codec = &codecs[i];

        if ((size_t)got < codec->magic_length ||
            memcmp(head, codec->magic, codec->magic_length) != 0)
            continue;
        if ((codec->open ? codec->open(s) : program_open(s, codec->program)) == 0)
            break;
        free(s);
        return sw_null(sw_fail(err, SW_E_IO, "cannot unpack '%s'", name));
    }
    return &s->head;
}
