/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_write.c - writing tar: ustar, with pax headers for long names. Pure.
 *
 * Our own writer: the same members give the same bytes for ever, and no library adds a time or an owner in
 * its next version (docs/decisions/0052-one-tar-each-way.md). A number that needs more octal digits than
 * its field has (a user of a directory service) is written in base 256, as GNU tar does.
 */
#include "core/archive.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/secret.h"

enum { BLOCK = 512, NAME_ROOM = 100 };

static char zeros[2 * BLOCK];          /* not const: it takes no room in the runner then */

static void put_number(char *field, int width, uint64_t value)
{
    if (value >> 3 * (width - 1)) {
        for (int i = width - 1; i > 0; i--, value /= 256)
            field[i] = (char)(value % 256);
        field[0] = (char)0x80;
        return;
    }
    for (int i = width - 2; i >= 0; i--, value /= 8)
        field[i] = (char)('0' + value % 8);
}

static void add_header(struct sw_buf *tar, char type, const struct sw_archive_member *member)
{
    const char *target = member->target ? member->target : "";
    char header[BLOCK] = { 0 };
    unsigned sum = 0;

    memcpy(header, member->name, strnlen(member->name, NAME_ROOM));
    put_number(header + 100, 8, member->mode);
    put_number(header + 108, 8, (uint64_t)member->uid);
    put_number(header + 116, 8, (uint64_t)member->gid);
    put_number(header + 124, 12, (uint64_t)member->size);
    put_number(header + 136, 12, (uint64_t)member->mtime_s);
    memset(header + 148, ' ', 8);
    header[156] = type;
    memcpy(header + 157, target, strnlen(target, NAME_ROOM));
    memcpy(header + 257, "ustar\00000", 8);
    for (int i = 0; i < BLOCK; i++)
        sum += (unsigned char)header[i];
    snprintf(header + 148, 8, "%06o", sum);
    sw_buf_add_bytes(tar, header, BLOCK);
}

/* "LENGTH key=value\n", where LENGTH counts itself. */
static void add_record(struct sw_buf *out, const char *key, const char *value)
{
    size_t bare = strlen(key) + strlen(value) + 3, length = bare + 1;

    while (length != bare + (size_t)snprintf(NULL, 0, "%zu", length))
        length = bare + (size_t)snprintf(NULL, 0, "%zu", length);
    sw_buf_addf(out, "%zu %s=%s\n", length, key, value);
}

static void add_pax(struct sw_buf *tar, const struct sw_archive_member *member)
{
    sw_auto(sw_buf) struct sw_buf records = SW_BUF_INIT;

    if (strlen(member->name) > NAME_ROOM)
        add_record(&records, "path", member->name);
    if (member->target && strlen(member->target) > NAME_ROOM)
        add_record(&records, "linkpath", member->target);
    if (!records.length)
        return;
    add_header(tar, 'x', &(struct sw_archive_member){ .name = "pax_header", .mode = 0644,
                                                      .size = (int64_t)records.length });
    sw_buf_add_bytes(tar, records.data, records.length);
    sw_tar_pad(tar);
}

void sw_tar_head(struct sw_buf *tar, const struct sw_archive_member *member)
{
    static const char types[] = { [SW_ARCHIVE_FILE] = '0', [SW_ARCHIVE_FOLDER] = '5',
                                  [SW_ARCHIVE_LINK] = '2', [SW_ARCHIVE_HARD_LINK] = '1' };

    assert((size_t)member->kind < SW_COUNT(types) && tar->length % BLOCK == 0);
    add_pax(tar, member);
    add_header(tar, types[member->kind], member);
}

void sw_tar_begin(struct sw_buf *tar, const struct sw_archive_member *member)
{
    sw_buf_reserve_wiping(tar, (size_t)member->size + strlen(member->name) + 8 * BLOCK);
    sw_tar_head(tar, member);
}

void sw_tar_pad(struct sw_buf *tar)
{
    sw_buf_add_bytes(tar, zeros, (BLOCK - tar->length % BLOCK) % BLOCK);
}

void sw_tar_add(struct sw_buf *tar, const struct sw_archive_member *member, const void *bytes)
{
    sw_tar_begin(tar, member);
    if (member->size > 0)
        sw_buf_add_bytes(tar, bytes, (size_t)member->size);
    sw_tar_pad(tar);
}

void sw_tar_end(struct sw_buf *tar)
{
    sw_buf_reserve_wiping(tar, sizeof zeros);
    sw_buf_add_bytes(tar, zeros, sizeof zeros);
}
