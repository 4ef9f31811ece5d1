/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_tar.c - the files that go into a container before it starts, as the engine wants them: a tar
 * with owner and mode of each; and small files that come back.
 *
 * Plain ustar, names of less than 100 bytes: all of them are ours. A number that needs more octal digits
 * than its field has (a user of a directory service) is written in base 256, as GNU tar does. Pure.
 */
#include "platform/docker/docker_job.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { BLOCK = 512, NAME_ROOM = 100 };

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

void docker_tar_wipe(struct sw_buf *tar)
{
    if (tar->data)
        explicit_bzero(tar->data, tar->room);
    sw_buf_clear(tar);
}

void docker_tar_reserve(struct sw_buf *tar, size_t more)
{
    struct sw_buf larger = SW_BUF_INIT;

    if (tar->room > tar->length + more)
        return;
    sw_buf_reserve(&larger, 2 * tar->length + more);
    if (tar->length)
        sw_buf_add_bytes(&larger, tar->data, tar->length);
    docker_tar_wipe(tar);
    sw_buf_done(tar);
    *tar = larger;
}

static void pad(struct sw_buf *tar)
{
    static const char zeros[BLOCK];

    sw_buf_add_bytes(tar, zeros, (BLOCK - tar->length % BLOCK) % BLOCK);
}

void docker_tar_add(struct sw_buf *tar, const char *name, unsigned mode, struct docker_owner owner,
                    const void *bytes, size_t length)
{
    char header[BLOCK] = { 0 };
    unsigned sum = 0;

    memcpy(header, name, strnlen(name, NAME_ROOM - 1));
    put_number(header + 100, 8, mode);
    put_number(header + 108, 8, (uint64_t)owner.uid);
    put_number(header + 116, 8, (uint64_t)owner.gid);
    put_number(header + 124, 12, length);
    put_number(header + 136, 12, 0);
    memset(header + 148, ' ', 8);
    header[156] = bytes ? '0' : '5';
    memcpy(header + 257, "ustar\00000", 8);
    for (int i = 0; i < BLOCK; i++)
        sum += (unsigned char)header[i];
    snprintf(header + 148, 8, "%06o", sum);
    docker_tar_reserve(tar, length + 2 * BLOCK);
    sw_buf_add_bytes(tar, header, BLOCK);
    if (bytes)
        sw_buf_add_bytes(tar, bytes, length);
    pad(tar);
}

void docker_tar_end(struct sw_buf *tar)
{
    static const char end[2 * BLOCK];

    docker_tar_reserve(tar, sizeof end);
    sw_buf_add_bytes(tar, end, sizeof end);
}

/* Digits of an octal field; -1: anything else, or more than we would ever read. */
static int64_t read_octal(const char *field, size_t width)
{
    int64_t value = 0;
    bool any = false;

    for (size_t i = 0; i < width && field[i] && field[i] != ' '; i++) {
        if (field[i] < '0' || field[i] > '7' || value > DOCKER_FILE_MAX)
            return -1;
        value = value * 8 + (field[i] - '0');
        any = true;
    }
    return any ? value : -1;
}

char *docker_tar_first(const char *tar, size_t length, size_t *size)
{
    size_t at = 0;

    while (at + BLOCK <= length && tar[at]) {
        int64_t content = read_octal(tar + at + 124, 12);
        char type = tar[at + 156];

        at += BLOCK;
        if (content < 0 || (uint64_t)content > length - at)
            return NULL;
        if (type == '0' || type == '\0') {
            if (size)
                *size = (size_t)content;
            return sw_strndup(tar + at, (size_t)content);
        }
        at += ((size_t)content + BLOCK - 1) / BLOCK * BLOCK;
        if (at > length)
            return NULL;
    }
    return NULL;
}

/* ---- who a container runs as ----------------------------------------------------------------- */

static bool read_number(const char *text, size_t length, int64_t *out)
{
    int64_t value = 0;

    if (length == 0 || length > 10)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *out = value;
    return true;
}

bool docker_user_numbers(const char *user, struct docker_owner *owner)
{
    const char *colon = strchr(user, ':');
    size_t length = colon ? (size_t)(colon - user) : strlen(user);

    *owner = (struct docker_owner){ 0, 0 };
    if (!read_number(user, length, &owner->uid))
        return false;
    if (colon && !read_number(colon + 1, strlen(colon + 1), &owner->gid))
        owner->gid = 0;                    /* a group's name: the owner alone must do */
    return true;
}

/* Lines "name:x:uid:gid:...". */
bool docker_user_lookup(const char *passwd, const char *user, struct docker_owner *owner)
{
    size_t length = strcspn(user, ":");

    for (const char *line = passwd; line && *line; line = strchr(line, '\n')) {
        const char *uid, *gid;

        line += *line == '\n';
        if (strncmp(line, user, length) != 0 || line[length] != ':')
            continue;
        uid = strchr(line + length + 1, ':');
        gid = uid ? strchr(uid + 1, ':') : NULL;
        if (!gid || !read_number(uid + 1, (size_t)(gid - uid - 1), &owner->uid) ||
            !read_number(gid + 1, strcspn(gid + 1, ":\n"), &owner->gid))
            return false;
        return true;
    }
    return false;
}
