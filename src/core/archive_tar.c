/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_tar.c - reading tar: ustar, GNU long names and base-256 numbers, pax headers.
 *
 * Our own reader, because the runner has to stay below 1 MiB in all and unpacking is one screen
 * of format (docs/decisions/0012-archives-in-the-runner.md). Every number is checked before it is
 * used, and the fuzzer knows it (tests/fuzz/fuzz_tar.c).
 */
#include "core/archive.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { BLOCK = 512, NAME_MAX_BYTES = 16 * 1024, PAX_MAX = 1024 * 1024, PIECE = 64 * 1024 };

/* Offsets of the header's fields. */
enum { NAME = 0, MODE = 100, SIZE = 124, MTIME = 136, CHECKSUM = 148, TYPE = 156, LINK = 157,
       MAGIC = 257, PREFIX = 345 };

struct overrides {                  /* what L, K and pax headers say about the next member */
    char *name, *target;
    int64_t size, mtime;            /* -1: not said */
};

static void overrides_reset(struct overrides *o)
{
    free(o->name);
    free(o->target);
    *o = (struct overrides){ .size = -1, .mtime = -1 };
}

static int broken(struct sw_error *err, const char *what)
{
    return sw_fail(err, SW_E_IO, "the tar archive is damaged: %s", what);
}

/* Exactly `length` bytes. 0: the end, before the first byte. */
static int read_all(struct sw_archive_stream *stream, void *bytes, size_t length,
                    struct sw_error *err)
{
    size_t got = 0;

    while (got < length) {
        ssize_t n = stream->read(stream, (char *)bytes + got, length - got, err);

        if (n < 0)
            return -1;
        if (n == 0)
            return got == 0 ? 0 : broken(err, "it ends in the middle");
        got += (size_t)n;
    }
    return 1;
}

/* Octal, or base-256 when the first bit is set; -1: no number. */
static int64_t number(const unsigned char *field, size_t length)
{
    uint64_t value = 0;
    size_t i = 0;

    if (field[0] & 0x80) {
        if (field[0] != 0x80)
            return -1;                               /* negative, or beyond 64 bits */
        for (i = 1; i < length; i++) {
            if (value >> 55)
                return -1;
            value = value << 8 | field[i];
        }
        return (int64_t)value;
    }
    while (i < length && (field[i] == ' ' || field[i] == '0'))
        i++;
    for (; i < length && field[i] >= '0' && field[i] <= '7'; i++) {
        if (value >> 59)
            return -1;
        value = value << 3 | (uint64_t)(field[i] - '0');
    }
    return i == length || field[i] == ' ' || field[i] == '\0' ? (int64_t)value : -1;
}

static bool checksum_holds(const unsigned char *header)
{
    int64_t sum = 0, said = number(header + CHECKSUM, 8);

    for (int i = 0; i < BLOCK; i++)
        sum += i >= CHECKSUM && i < CHECKSUM + 8 ? ' ' : header[i];
    return sum == said;
}

static bool is_empty_block(const unsigned char *header)
{
    for (int i = 0; i < BLOCK; i++)
        if (header[i])
            return false;
    return true;
}

static int64_t padding(int64_t size)
{
    return (BLOCK - size % BLOCK) % BLOCK;
}

/* The content of a header member (a long name, a pax table) as an owned text. */
static char *read_text(struct sw_archive_stream *stream, int64_t size, int64_t most, size_t *length,
                       struct sw_error *err)
{
    sw_autofree char *text = NULL;
    char rest[BLOCK];

    if (size < 0 || size > most) {
        broken(err, "a name or header is too long");
        return NULL;
    }
    text = sw_alloc((size_t)size + 1);
    if ((size > 0 && read_all(stream, text, (size_t)size, err) != 1) ||
        (padding(size) && read_all(stream, rest, (size_t)padding(size), err) != 1)) {
        if (!err || err->code == SW_OK)
            broken(err, "it ends in the middle");
        return NULL;
    }
    *length = (size_t)size;
    return sw_take(text);
}

/* "28 path=some/name\n" ... */
static int read_pax(char *text, size_t length, struct overrides *next, struct sw_error *err)
{
    char *at = text, *end = text + length;

    while (at < end && *at) {
        char *after = NULL, *equals;
        long long record = strtoll(at, &after, 10);

        if (record < 5 || record > end - at || *after != ' ' || at[record - 1] != '\n')
            return broken(err, "a pax header");
        at[record - 1] = '\0';
        equals = strchr(++after, '=');
        if (!equals)
            return broken(err, "a pax header without '='");
        *equals++ = '\0';
        if (sw_text_starts(after, "GNU.sparse."))
            return sw_fail(err, SW_E_UNSUPPORTED, "the archive holds sparse files");
        if (strcmp(after, "path") == 0) {
            free(next->name);
            next->name = sw_strdup(equals);
        } else if (strcmp(after, "linkpath") == 0) {
            free(next->target);
            next->target = sw_strdup(equals);
        } else if (strcmp(after, "size") == 0) {
            next->size = strtoll(equals, NULL, 10);
            if (next->size < 0)
                return broken(err, "a negative size");
        } else if (strcmp(after, "mtime") == 0) {
            next->mtime = strtoll(equals, NULL, 10);
        }
        at += record;
    }
    return 0;
}

static char *field_text(const unsigned char *field, size_t length)
{
    return sw_strndup((const char *)field, strnlen((const char *)field, length));
}

static char *header_name(const unsigned char *header)
{
    sw_autofree char *name = field_text(header + NAME, 100), *prefix = NULL;

    if (memcmp(header + MAGIC, "ustar\0", 6) != 0 || !header[PREFIX])
        return sw_take(name);
    prefix = field_text(header + PREFIX, 155);
    return sw_format("%s/%s", prefix, name);
}

static enum sw_archive_kind kind_of(unsigned char type, const char *name)
{
    switch (type) {
    case '0': case '\0': case '7':
        return *name && name[strlen(name) - 1] == '/' ? SW_ARCHIVE_FOLDER : SW_ARCHIVE_FILE;
    case '1':
        return SW_ARCHIVE_HARD_LINK;
    case '2':
        return SW_ARCHIVE_LINK;
    case '5':
        return SW_ARCHIVE_FOLDER;
    default:
        return SW_ARCHIVE_OTHER;
    }
}

/* The bytes of a member, to the visitor or past it. */
static int pass_data(struct sw_archive_stream *stream, int64_t size,
                     const struct sw_archive_visitor *visitor, struct sw_error *err)
{
    sw_autofree char *piece = sw_alloc(PIECE);
    int64_t left = size + padding(size), content = size;

    while (left > 0) {
        size_t wanted = left < PIECE ? (size_t)left : PIECE;
        size_t useful = content < (int64_t)wanted ? (size_t)content : wanted;
        int got = read_all(stream, piece, wanted, err);

        if (got != 1)
            return got < 0 ? -1 : broken(err, "it ends in the middle");
        if (visitor && useful && visitor->data(visitor->context, piece, useful, err) != 0)
            return -1;
        left -= (int64_t)wanted;
        content -= (int64_t)useful;
    }
    return 0;
}

static int one_member(struct sw_archive_stream *stream, const unsigned char *header, int64_t size,
                      struct overrides *next, const struct sw_archive_visitor *visitor,
                      struct sw_error *err)
{
    sw_autofree char *name = next->name ? sw_take(next->name) : header_name(header);
    sw_autofree char *target = next->target ? sw_take(next->target)
                                            : field_text(header + LINK, 100);
    struct sw_archive_member member = {
        .name = name, .kind = kind_of(header[TYPE], name), .target = target,
        .mode = (mode_t)(number(header + MODE, 8) & 0777),
        .mtime_s = next->mtime >= 0 ? next->mtime : number(header + MTIME, 12),
    };
    bool has_data = member.kind == SW_ARCHIVE_FILE;

    member.size = has_data ? size : 0;
    if (visitor->member(visitor->context, &member, err) != 0)
        return -1;
    /* Links and folders carry no data, whatever their size says; unknown kinds may. */
    if ((has_data || member.kind == SW_ARCHIVE_OTHER) &&
        pass_data(stream, size, has_data ? visitor : NULL, err) < 0)
        return -1;
    return visitor->end(visitor->context, err);
}

/* One header and what belongs to it. 1: go on, 0: the end. */
static int one_header(struct sw_archive_stream *stream, unsigned char *header,
                      struct overrides *next, const struct sw_archive_visitor *visitor,
                      struct sw_error *err)
{
    sw_autofree char *text = NULL;
    size_t length = 0;
    int64_t size = number(header + SIZE, 12);
    unsigned char type = header[TYPE];

    if (!checksum_holds(header))
        return broken(err, "a header's checksum is wrong");
    if (size < 0 || size > INT64_MAX - BLOCK)
        return broken(err, "a size is not a number");
    switch (type) {
    case 'L': case 'K': case 'x': case 'g':
        text = read_text(stream, size, type == 'x' || type == 'g' ? PAX_MAX : NAME_MAX_BYTES,
                         &length, err);
        if (!text)
            return -1;
        if (type == 'L') {
            free(next->name);
            next->name = sw_take(text);
        } else if (type == 'K') {
            free(next->target);
            next->target = sw_take(text);
        } else if (type == 'x' && read_pax(text, length, next, err) < 0) {
            return -1;
        }
        return 1;
    case 'S':
        return sw_fail(err, SW_E_UNSUPPORTED, "the archive holds sparse files");
    default:
        if (next->size >= 0)
            size = next->size;
        if (size > INT64_MAX - BLOCK)
            return broken(err, "a size is not a number");
        if (one_member(stream, header, size, next, visitor, err) < 0)
            return -1;
        overrides_reset(next);
        return 1;
    }
}

int sw_archive_read_tar(struct sw_archive_stream *stream, const struct sw_archive_visitor *visitor,
                     struct sw_error *err)
{
    unsigned char header[BLOCK];
    struct overrides next = { .size = -1, .mtime = -1 };
    bool any = false;
    int result;

    while ((result = read_all(stream, header, BLOCK, err)) == 1) {
        if (is_empty_block(header)) {
            result = 0;
            any = true;                     /* an archive of nothing is one, too */
            break;
        }
        result = one_header(stream, header, &next, visitor, err);
        if (result <= 0)
            break;
        any = true;
    }
    overrides_reset(&next);
    if (result == 0 && !any)
        return broken(err, "it is empty");
    return result;
}

void sw_archive_stream_close(struct sw_archive_stream *stream)
{
    if (stream)
        stream->close(stream);
}

/* ---- one small file ------------------------------------------------------------------------ */

struct tar_in_memory {
    struct sw_archive_stream stream;
    const char *bytes;
    size_t left;
};

static ssize_t read_memory(struct sw_archive_stream *stream, void *bytes, size_t length,
                           struct sw_error *err)
{
    struct tar_in_memory *tar = (struct tar_in_memory *)stream;
    size_t part = length < tar->left ? length : tar->left;

    (void)err;
    memcpy(bytes, tar->bytes, part);
    tar->bytes += part;
    tar->left -= part;
    return (ssize_t)part;
}

struct first_file {
    struct sw_buf content;
    bool inside, found;
};

static int first_member(void *context, const struct sw_archive_member *member, struct sw_error *err)
{
    struct first_file *first = context;

    (void)err;
    first->inside = member->kind == SW_ARCHIVE_FILE;
    return 0;
}

static int first_data(void *context, const void *bytes, size_t length, struct sw_error *err)
{
    (void)err;
    sw_buf_add_bytes(&((struct first_file *)context)->content, bytes, length);
    return 0;
}

/* -1 stops the reader: what follows is of no interest. */
static int first_end(void *context, struct sw_error *err)
{
    struct first_file *first = context;

    (void)err;
    first->found = first->inside;
    return first->found ? -1 : 0;
}

char *sw_tar_first_file(const void *tar, size_t length, size_t *size)
{
    struct tar_in_memory memory = { { read_memory, NULL }, tar, length };
    struct first_file first = { 0 };
    const struct sw_archive_visitor visitor = { first_member, first_data, first_end, &first };

    sw_archive_read_tar(&memory.stream, &visitor, NULL);
    if (!first.found) {
        sw_buf_done(&first.content);
        return NULL;
    }
    if (size)
        *size = first.content.length;
    return sw_buf_steal(&first.content);
}
