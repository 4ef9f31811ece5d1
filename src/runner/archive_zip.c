/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_zip.c - reading zip files, zip64 included: stored and deflated members.
 *
 * The directory at the end of the file is the truth; the header before each member is only used
 * to find its bytes. Every member's length and CRC are checked.
 */
#include "runner/archive.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { END_SIZE = 22, COMMENT_MAX = 65535, LOCATOR_SIZE = 20, END64_SIZE = 56, ENTRY_SIZE = 46,
       LOCAL_SIZE = 30, DIRECTORY_MAX = 256 * 1024 * 1024, PIECE = 64 * 1024,
       MADE_ON_UNIX = 3, ENCRYPTED = 1, STORED = 0, DEFLATED = 8 };

struct zip {
    int fd;
    int64_t size;
    unsigned char *directory;       /* the central directory, whole */
    size_t directory_size;
};

struct zip_entry {
    char *name;
    unsigned flags, method, made_on;
    uint32_t crc, attributes;
    uint64_t packed, size, offset;
    int64_t mtime_s;
};

static int broken(struct sw_error *err, const char *what)
{
    return sw_fail(err, SW_E_IO, "the zip file is damaged: %s", what);
}

static uint64_t le(const unsigned char *bytes, int count)
{
    uint64_t value = 0;

    while (count-- > 0)
        value = value << 8 | bytes[count];
    return value;
}

static bool read_at(int fd, uint64_t offset, void *bytes, size_t length)
{
    size_t got = 0;

    while (got < length) {
        ssize_t n = pread(fd, (char *)bytes + got, length - got, (off_t)(offset + got));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

/* Where the directory is: *offset, *length. */
static int find_directory(const struct zip *zip, uint64_t *offset, uint64_t *length,
                          struct sw_error *err)
{
    size_t room = zip->size < END_SIZE + COMMENT_MAX ? (size_t)zip->size : END_SIZE + COMMENT_MAX;
    sw_autofree unsigned char *tail = sw_alloc(room + 1);
    uint64_t start = (uint64_t)zip->size - room, end_at = 0;
    unsigned char locator[LOCATOR_SIZE], end64[END64_SIZE];
    const unsigned char *end = NULL;

    if (zip->size < END_SIZE || !read_at(zip->fd, start, tail, room))
        return broken(err, "it is too short");
    for (size_t at = room - END_SIZE + 1; !end && at-- > 0;)
        if (memcmp(tail + at, "PK\5\6", 4) == 0 && at + END_SIZE + le(tail + at + 20, 2) <= room) {
            end = tail + at;
            end_at = start + at;
        }
    if (!end)
        return broken(err, "its directory is missing");
    *length = le(end + 12, 4);
    *offset = le(end + 16, 4);
    if ((*length == UINT32_MAX || *offset == UINT32_MAX) && end_at >= LOCATOR_SIZE &&
        read_at(zip->fd, end_at - LOCATOR_SIZE, locator, sizeof locator) &&
        memcmp(locator, "PK\6\7", 4) == 0) {
        if (!read_at(zip->fd, le(locator + 8, 8), end64, sizeof end64) ||
            memcmp(end64, "PK\6\6", 4) != 0)
            return broken(err, "its zip64 record is missing");
        *length = le(end64 + 40, 8);
        *offset = le(end64 + 48, 8);
    }
    if (*length > DIRECTORY_MAX || *offset > (uint64_t)zip->size ||
        *length > (uint64_t)zip->size - *offset)
        return broken(err, "its directory lies outside");
    return 0;
}

/* DOS time, taken as UTC. */
static int64_t dos_time(unsigned date, unsigned clock)
{
    struct tm tm = { .tm_year = (int)(date >> 9) + 80, .tm_mon = (int)(date >> 5 & 15) - 1,
                     .tm_mday = (int)(date & 31), .tm_hour = (int)(clock >> 11),
                     .tm_min = (int)(clock >> 5 & 63), .tm_sec = (int)(clock & 31) * 2 };

    return (int64_t)timegm(&tm);
}

static void read_zip64(struct zip_entry *entry, const unsigned char *extra, size_t length)
{
    uint64_t *const wanted[] = { &entry->size, &entry->packed, &entry->offset };

    while (length >= 4) {
        size_t field = le(extra + 2, 2), at = 4;

        if (field > length - 4)
            return;
        if (le(extra, 2) == 1)
            for (size_t i = 0; i < SW_COUNT(wanted); i++)
                if (*wanted[i] == UINT32_MAX && at + 8 <= field + 4) {
                    *wanted[i] = le(extra + at, 8);
                    at += 8;
                }
        extra += field + 4;
        length -= field + 4;
    }
}

/* The entry at `at` of the directory; its length, or -1. */
static int64_t read_entry(const struct zip *zip, size_t at, struct zip_entry *out,
                          struct sw_error *err)
{
    const unsigned char *p = zip->directory + at;
    size_t left = zip->directory_size - at, name, extra, comment;

    if (left < ENTRY_SIZE || memcmp(p, "PK\1\2", 4) != 0)
        return broken(err, "an entry of its directory");
    name = le(p + 28, 2);
    extra = le(p + 30, 2);
    comment = le(p + 32, 2);
    if (ENTRY_SIZE + name + extra + comment > left)
        return broken(err, "an entry of its directory is cut off");
    if (memchr(p + ENTRY_SIZE, '\0', name))
        return broken(err, "a name holds a NUL");
    *out = (struct zip_entry){
        .made_on = p[5], .flags = (unsigned)le(p + 8, 2), .method = (unsigned)le(p + 10, 2),
        .mtime_s = dos_time((unsigned)le(p + 14, 2), (unsigned)le(p + 12, 2)),
        .crc = (uint32_t)le(p + 16, 4), .packed = le(p + 20, 4), .size = le(p + 24, 4),
        .attributes = (uint32_t)le(p + 38, 4), .offset = le(p + 42, 4),
        .name = sw_strndup((const char *)p + ENTRY_SIZE, name) };
    read_zip64(out, p + ENTRY_SIZE + name, extra);
    return (int64_t)(ENTRY_SIZE + name + extra + comment);
}

static int data_offset(const struct zip *zip, const struct zip_entry *entry, uint64_t *out,
                       struct sw_error *err)
{
    unsigned char local[LOCAL_SIZE];

    if (entry->offset > (uint64_t)zip->size || !read_at(zip->fd, entry->offset, local, LOCAL_SIZE) ||
        memcmp(local, "PK\3\4", 4) != 0)
        return broken(err, "a member is not where the directory says");
    *out = entry->offset + LOCAL_SIZE + le(local + 26, 2) + le(local + 28, 2);
    if (*out > (uint64_t)zip->size || entry->packed > (uint64_t)zip->size - *out)
        return broken(err, "a member is cut off");
    return 0;
}

struct zip_unpacking {
    const struct zip_entry *entry;
    const struct sw_archive_visitor *visitor;
    struct sw_buf *collect;         /* a link's target, instead of the visitor */
    uint64_t size;
    uint32_t crc;
};

static int deliver(struct zip_unpacking *u, const unsigned char *bytes, size_t length,
                   struct sw_error *err)
{
    u->size += length;
    u->crc = (uint32_t)crc32(u->crc, bytes, (uInt)length);
    if (u->size > u->entry->size)
        return broken(err, "a member is longer than it says");
    if (u->collect) {
        sw_buf_add_bytes(u->collect, bytes, length);
        return 0;
    }
    return length && u->visitor->data(u->visitor->context, bytes, length, err) != 0 ? -1 : 0;
}

static int inflate_piece(struct zip_unpacking *u, z_stream *z, unsigned char *out, bool *over,
                         struct sw_error *err)
{
    do {
        int how;

        z->next_out = out;
        z->avail_out = PIECE;
        how = inflate(z, Z_NO_FLUSH);
        if (how != Z_OK && how != Z_STREAM_END && how != Z_BUF_ERROR)
            return broken(err, "a member cannot be inflated");
        if (deliver(u, out, PIECE - z->avail_out, err) < 0)
            return -1;
        *over = how == Z_STREAM_END;
        if (how == Z_BUF_ERROR)
            break;
    } while (!*over && (z->avail_in > 0 || z->avail_out == 0));
    return 0;
}

static int unpack_bytes(const struct zip *zip, struct zip_unpacking *u, struct sw_error *err)
{
    sw_autofree unsigned char *in = sw_alloc(PIECE), *out = sw_alloc(PIECE);
    uint64_t at = 0, left = u->entry->packed;
    bool deflated = u->entry->method == DEFLATED, over = false;
    z_stream z = { 0 };
    int result = 0;

    if (data_offset(zip, u->entry, &at, err) < 0)
        return -1;
    if (deflated && inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return sw_fail(err, SW_E_INTERNAL, "zlib does not start");
    while (result == 0 && left > 0 && !over) {
        size_t n = left < PIECE ? (size_t)left : PIECE;

        if (!read_at(zip->fd, at, in, n)) {
            result = broken(err, "a member cannot be read");
            break;
        }
        at += n;
        left -= n;
        z.next_in = in;
        z.avail_in = (uInt)n;
        result = deflated ? inflate_piece(u, &z, out, &over, err) : deliver(u, in, n, err);
    }
    if (deflated)
        inflateEnd(&z);
    if (result == 0 && (u->size != u->entry->size || u->crc != u->entry->crc))
        return broken(err, "a member's length or checksum is wrong");
    return result;
}

static enum sw_archive_kind kind_of(const struct zip_entry *entry)
{
    mode_t mode = entry->made_on == MADE_ON_UNIX ? entry->attributes >> 16 : 0;
    size_t length = strlen(entry->name);

    if (S_ISLNK(mode))
        return SW_ARCHIVE_LINK;
    if (S_ISDIR(mode) || (length > 0 && entry->name[length - 1] == '/'))
        return SW_ARCHIVE_FOLDER;
    return (mode & S_IFMT) == 0 || S_ISREG(mode) ? SW_ARCHIVE_FILE : SW_ARCHIVE_OTHER;
}

static int one_member(const struct zip *zip, const struct zip_entry *entry,
                      const struct sw_archive_visitor *visitor, struct sw_error *err)
{
    mode_t mode = entry->made_on == MADE_ON_UNIX ? entry->attributes >> 16 & 0777 : 0;
    sw_auto(sw_buf) struct sw_buf target = SW_BUF_INIT;
    struct sw_archive_member member = { .name = entry->name, .kind = kind_of(entry),
                                     .mtime_s = entry->mtime_s };
    struct zip_unpacking u = { .entry = entry, .visitor = visitor };

    member.mode = mode ? mode : member.kind == SW_ARCHIVE_FOLDER ? 0755 : 0644;
    if (entry->flags & ENCRYPTED)
        return sw_fail(err, SW_E_UNSUPPORTED, "'%s' is encrypted", entry->name);
    if (entry->method != STORED && entry->method != DEFLATED)
        return sw_fail(err, SW_E_UNSUPPORTED, "'%s' is packed by method %u (stored and deflated "
                       "are read)", entry->name, entry->method);
    if (member.kind == SW_ARCHIVE_LINK) {
        u.collect = &target;
        if (entry->size > 4096 || unpack_bytes(zip, &u, err) < 0)
            return entry->size > 4096 ? broken(err, "a link is too long") : -1;
        member.target = sw_buf_text(&target);
    }
    member.size = member.kind == SW_ARCHIVE_FILE ? (int64_t)entry->size : 0;
    if (visitor->member(visitor->context, &member, err) != 0 ||
        (member.kind == SW_ARCHIVE_FILE && unpack_bytes(zip, &u, err) < 0))
        return -1;
    return visitor->end(visitor->context, err);
}

int archive_read_zip(int fd, const struct sw_archive_visitor *visitor, struct sw_error *err)
{
    struct zip zip = { .fd = fd };
    sw_autofree unsigned char *directory = NULL;
    uint64_t offset = 0, length = 0;
    struct stat info;

    if (fstat(fd, &info) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot look at the zip file");
    zip.size = info.st_size;
    if (find_directory(&zip, &offset, &length, err) < 0)
        return -1;
    zip.directory = directory = sw_alloc(length + 1);
    zip.directory_size = length;
    if (!read_at(fd, offset, directory, length))
        return broken(err, "its directory cannot be read");
    for (size_t at = 0; at < length;) {
        struct zip_entry entry;
        int64_t size = read_entry(&zip, at, &entry, err);
        int result = size < 0 ? -1 : one_member(&zip, &entry, visitor, err);

        if (size >= 0)
            free(entry.name);
        if (result < 0)
            return -1;
        at += (size_t)size;
    }
    return 0;
}
