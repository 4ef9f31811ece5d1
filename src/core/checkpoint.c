/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.c - the newest checkpoint that is complete.
 *
 * A job that was killed while it saved leaves a newest file that is only half there. Time cannot
 * tell: it may have been killed hours ago. What can: the file's own format, where it knows its
 * length (torch writes zip files, whose directory comes last; safetensors says its size first);
 * a marker or a manifest that is written last. What none of these can judge is taken when it
 * has been left alone for a while.
 */
#include "core/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

enum { MANIFEST_MAX = 64 * 1024 * 1024, ZIP_END_SIZE = 22, ZIP_COMMENT_MAX = 65535,
       SAFETENSORS_HEADER_MAX = 100 * 1024 * 1024 };

static const char *const resumable[] = { ".pth", ".pth.tar", ".pt", ".ckpt", ".safetensors" };
static const char *const partial_endings[] = { ".tmp", ".part", ".partial", ".temp", ".swp" };
static const char *const markers[] = { ".done", ".complete" };
static const char *const skipped[] = { "ptm", "inputs" };

/* ---- one file ------------------------------------------------------------------------------ */

static bool read_at(int fd, int64_t offset, void *bytes, size_t length)
{
    ssize_t n;

    do
        n = pread(fd, bytes, length, offset);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)length;
}

static uint64_t little_endian(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;

    while (count-- > 0)
        value = value << 8 | bytes[count];
    return value;
}

/* The end record of a zip is its last part, behind it only a comment whose length it states. */
static bool zip_has_its_end(int fd, int64_t size)
{
    size_t room = size < ZIP_END_SIZE + ZIP_COMMENT_MAX ? (size_t)size
                                                        : ZIP_END_SIZE + ZIP_COMMENT_MAX;
    sw_autofree unsigned char *tail = sw_alloc(room + 1);

    if (size < ZIP_END_SIZE || !read_at(fd, size - (int64_t)room, tail, room))
        return false;
    for (size_t at = room - ZIP_END_SIZE + 1; at-- > 0;)
        if (memcmp(tail + at, "PK\5\6", 4) == 0 &&
            little_endian(tail + at + 20, 2) == room - at - ZIP_END_SIZE)
            return true;
    return false;
}

static int64_t last_byte_named(const json_t *header)
{
    int64_t last = 0;
    const char *name;
    json_t *tensor;

    json_object_foreach((json_t *)header, name, tensor) {
        const json_t *offsets = json_object_get(tensor, "data_offsets");
        int64_t end = json_integer_value(json_array_get(offsets, 1));

        last = end > last ? end : last;
    }
    return last;
}

static bool safetensors_is_as_long_as_it_says(int fd, int64_t size)
{
    unsigned char length_bytes[8];
    sw_autofree char *text = NULL;
    sw_auto(json) json_t *header = NULL;
    uint64_t length;

    if (!read_at(fd, 0, length_bytes, sizeof length_bytes))
        return false;
    length = little_endian(length_bytes, 8);
    if (length > SAFETENSORS_HEADER_MAX || (int64_t)length + 8 > size)
        return false;
    text = sw_alloc(length + 1);
    if (!read_at(fd, 8, text, length))
        return false;
    header = json_loadb(text, length, 0, NULL);
    return json_is_object(header) && size - 8 - (int64_t)length >= last_byte_named(header);
}

static bool is_whole(const char *path)
{
    sw_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    unsigned char head[4];

    if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
        return false;
    for (size_t i = 0; i < SW_COUNT(partial_endings); i++)
        if (sw_text_ends(path, partial_endings[i]))
            return false;
    if (sw_text_ends(path, ".safetensors"))
        return safetensors_is_as_long_as_it_says(fd, info.st_size);
    if (read_at(fd, 0, head, sizeof head) && memcmp(head, "PK\3\4", 4) == 0)
        return zip_has_its_end(fd, info.st_size);
    return true;
}

/* ---- the newest of many -------------------------------------------------------------------- */

struct checkpoint_found {
    char *path;
    int64_t mtime_ns, size;
    bool marked;
};

struct checkpoint_search {
    const char *folder;
    struct checkpoint_found *items;
    size_t count;
    bool any_marked;
};

static void search_auto(struct checkpoint_search *search)
{
    for (size_t i = 0; i < search->count; i++)
        free(search->items[i].path);
    free(search->items);
}

static bool is_resumable(const char *relative)
{
    const char *slash = strrchr(relative, '/'), *name = slash ? slash + 1 : relative;
    sw_autofree char *framed = sw_format("/%s", relative);

    if (*name == '.')
        return false;
    for (size_t i = 0; i < SW_COUNT(skipped); i++) {
        sw_autofree char *inside = sw_format("/%s/", skipped[i]);

        if (strstr(framed, inside))
            return false;
    }
    for (size_t i = 0; i < SW_COUNT(resumable); i++)
        if (sw_text_ends(name, resumable[i]))
            return true;
    return false;
}

static bool has_marker(const char *path)
{
    for (size_t i = 0; i < SW_COUNT(markers); i++) {
        sw_autofree char *marker = sw_format("%s%s", path, markers[i]);

        if (sw_file_exists(marker))
            return true;
    }
    return false;
}

static int64_t mtime_ns(const struct stat *info)
{
    return (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

static int consider(void *context, const char *relative, const struct stat *info)
{
    struct checkpoint_search *search = context;
    struct checkpoint_found one = { .mtime_ns = mtime_ns(info), .size = info->st_size };

    if (!S_ISREG(info->st_mode) || info->st_size == 0 || !is_resumable(relative))
        return 0;
    one.path = sw_path_join(search->folder, relative);
    one.marked = has_marker(one.path);
    search->any_marked |= one.marked;
    search->items = sw_realloc_array(search->items, search->count + 1, sizeof *search->items);
    search->items[search->count++] = one;
    return 0;
}

static int newest_first(const void *left, const void *right)
{
    const struct checkpoint_found *a = left, *b = right;

    if (a->mtime_ns != b->mtime_ns)
        return a->mtime_ns > b->mtime_ns ? -1 : 1;
    return -strcmp(a->path, b->path);
}

/* A manifest.json beside the file that lists it must agree on its size. */
static bool manifest_agrees(const struct checkpoint_found *one)
{
    const char *slash = strrchr(one->path, '/');
    sw_autofree char *path = sw_format("%.*s/manifest.json", (int)(slash - one->path), one->path);
    size_t length = 0, i;
    sw_autofree char *text = sw_file_exists(path) ? sw_file_read(path, MANIFEST_MAX, &length, NULL)
                                                  : NULL;
    sw_auto(json) json_t *manifest = text ? json_loadb(text, length, 0, NULL) : NULL;
    const json_t *entry;

    json_array_foreach(json_object_get(manifest, "files"), i, entry)
        if (sw_text_same(sw_json_str(entry, "path"), slash + 1))
            return sw_json_int(entry, "size", -1) == one->size;
    return true;
}

static bool stays_as_it_is(const struct checkpoint_found *one, int64_t settle_ms)
{
    struct stat info;

    for (int64_t age; (age = sw_now_ms() - one->mtime_ns / 1000000) < settle_ms && age >= 0;)
        sw_sleep_ms(settle_ms - age);
    return stat(one->path, &info) == 0 && info.st_size == one->size &&
           mtime_ns(&info) == one->mtime_ns;
}

char *sw_checkpoint_newest_complete(const char *const *folders, size_t count, int64_t settle_ms)
{
    __attribute__((cleanup(search_auto))) struct checkpoint_search search = { 0 };

    for (size_t i = 0; i < count; i++) {
        search.folder = folders[i];
        if (sw_file_exists(folders[i]))
            sw_walk(folders[i], consider, &search, NULL);   /* what cannot be read is no answer */
    }
    if (search.count > 0)
        qsort(search.items, search.count, sizeof *search.items, newest_first);
    for (size_t i = 0; i < search.count; i++) {
        const struct checkpoint_found *one = &search.items[i];

        if ((!search.any_marked || one->marked) && is_whole(one->path) &&
            manifest_agrees(one) && stays_as_it_is(one, settle_ms))
            return sw_strdup(one->path);
    }
    return NULL;
}
