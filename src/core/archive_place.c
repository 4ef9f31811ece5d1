/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_place.c - members of an archive become files below one folder, and nowhere else.
 *
 * Three walls: a name that leads out is refused before anything is opened; every folder on the way
 * is opened relative to the one before without following links; a link may only point to something
 * inside. The last holds for chains of links too, because a target may begin with ".." but never
 * have one after a name, and the folder of a link is always a real one.
 */
#include "core/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { NAME_BYTES_MAX = 4096, PART_BYTES_MAX = 255 };

struct sw_archive_place {
    int root;
    void (*warn)(void *context, const char *text);
    void *warn_context;
    char *parent;                   /* the folder opened last, and its descriptor */
    int parent_fd;
    int file;                       /* being written; -1: none */
    struct sw_archive_member member;   /* mode and time of that file */
};

/* ---- names --------------------------------------------------------------------------------- */

char *sw_archive_name(const char *name)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    if (*name == '/' || strlen(name) > NAME_BYTES_MAX)
        return NULL;
    while (*name) {
        size_t length = strcspn(name, "/");

        if ((length == 2 && memcmp(name, "..", 2) == 0) || length > PART_BYTES_MAX)
            return NULL;
        if (length > 0 && !(length == 1 && *name == '.')) {
            if (out.length)
                sw_buf_add_char(&out, '/');
            sw_buf_add_bytes(&out, name, length);
        }
        name += length + (name[length] == '/');
    }
    return out.data ? sw_buf_steal(&out) : sw_strdup("");
}

bool sw_archive_link_stays_inside(const char *name, const char *target)
{
    size_t depth = 0;
    bool seen_name = false;

    if (!*target || *target == '/' || strlen(target) > NAME_BYTES_MAX)
        return false;
    for (const char *at = name; (at = strchr(at, '/')); at++)
        depth++;
    for (const char *at = target; *at;) {
        size_t length = strcspn(at, "/");

        if (length == 2 && memcmp(at, "..", 2) == 0) {
            if (seen_name || depth == 0)
                return false;
            depth--;
        } else if (length > 0 && !(length == 1 && *at == '.')) {
            seen_name = true;
        }
        at += length + (at[length] == '/');
    }
    return true;
}

/* ---- folders ------------------------------------------------------------------------------- */

static int enter(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 || errno != ENOENT)
        return fd;
    if (mkdirat(at, name, 0777) < 0 && errno != EEXIST)
        return -1;
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Descriptor of the folder `path` below the root, made on the way; the place keeps it. */
static int open_folder(struct sw_archive_place *place, const char *path)
{
    int at = place->root;
    const char *step = path;

    if (place->parent && strcmp(place->parent, path) == 0)
        return place->parent_fd;
    while (*step) {
        size_t length = strcspn(step, "/");
        sw_autofree char *name = sw_strndup(step, length);
        int next = enter(at, name), saved = errno;

        if (at != place->root)
            close(at);
        errno = saved;
        if (next < 0)
            return -1;
        at = next;
        step += length + (step[length] == '/');
    }
    free(place->parent);
    if (place->parent_fd >= 0 && place->parent_fd != place->root)
        close(place->parent_fd);
    place->parent = sw_strdup(path);
    place->parent_fd = at;
    return at;
}

static int open_parent(struct sw_archive_place *place, const char *path, const char **base)
{
    const char *slash = strrchr(path, '/');
    sw_autofree char *folder = slash ? sw_strndup(path, (size_t)(slash - path)) : sw_strdup("");

    *base = slash ? slash + 1 : path;
    return open_folder(place, folder);
}

/* ---- members ------------------------------------------------------------------------------- */

static void warn(const struct sw_archive_place *place, const char *name, const char *why)
{
    sw_autofree char *text = sw_format("'%s' in the archive is left out: %s", name, why);

    if (place->warn)
        place->warn(place->warn_context, text);
}

/* An earlier member of the same name gives way; a folder does not. */
static int make_way(int folder, const char *base)
{
    return unlinkat(folder, base, 0) == 0 || errno == ENOENT ? 0 : -1;
}

static int make_link(struct sw_archive_place *place, int folder, const char *path, const char *base,
                     const struct sw_archive_member *member)
{
    sw_autofree char *target = NULL;
    const char *target_base;
    int target_folder, mine, result;

    if (member->kind == SW_ARCHIVE_LINK) {
        if (!sw_archive_link_stays_inside(path, member->target)) {
            warn(place, path, "it is a link that leads out of the archive");
            return 0;
        }
        return make_way(folder, base) < 0 ? -1 : symlinkat(member->target, folder, base);
    }
    target = sw_archive_name(member->target);
    if (!target || !*target) {
        warn(place, path, "it is a link that leads out of the archive");
        return 0;
    }
    mine = dup(folder);               /* opening the target's folder forgets ours */
    target_folder = mine < 0 ? -1 : open_parent(place, target, &target_base);
    result = target_folder < 0 || make_way(mine, base) < 0
                 ? -1 : linkat(target_folder, target_base, mine, base, 0);
    if (mine >= 0)
        close(mine);
    return result;
}

static int member_begins(void *context, const struct sw_archive_member *member, struct sw_error *err)
{
    struct sw_archive_place *place = context;
    sw_autofree char *path = sw_archive_name(member->name);
    const char *base;
    int folder, result = 0;

    if (!path)
        return sw_fail(err, SW_E_REFUSED, "the archive has '%s', which leads out of its folder",
                       member->name);
    if (!*path)
        return 0;                     /* "./" */
    if (member->kind == SW_ARCHIVE_OTHER) {
        warn(place, path, "it is not a file, folder or link");
        return 0;
    }
    folder = member->kind == SW_ARCHIVE_FOLDER ? open_folder(place, path)
                                            : open_parent(place, path, &base);
    if (folder < 0)
        return sw_fail_errno(err, SW_E_REFUSED, "cannot unpack '%s': a file is in the way", path);
    if (member->kind == SW_ARCHIVE_LINK || member->kind == SW_ARCHIVE_HARD_LINK)
        result = make_link(place, folder, path, base, member);
    if (member->kind == SW_ARCHIVE_FILE) {
        result = make_way(folder, base);
        place->file = result < 0 ? -1 : openat(folder, base, O_WRONLY | O_CREAT | O_EXCL |
                                               O_NOFOLLOW | O_CLOEXEC, 0600);
        place->member = *member;
        result = place->file < 0 ? -1 : 0;
    }
    return result < 0 ? sw_fail_errno(err, SW_E_IO, "cannot unpack '%s'", path) : 0;
}

static int member_data(void *context, const void *bytes, size_t length, struct sw_error *err)
{
    struct sw_archive_place *place = context;

    if (place->file >= 0 && sw_write_all(place->file, bytes, length) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot write from the archive");
    return 0;
}

static int member_ends(void *context, struct sw_error *err)
{
    struct sw_archive_place *place = context;
    int fd = place->file;
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                                       { .tv_sec = place->member.mtime_s } };
    mode_t mask = umask(0);

    umask(mask);
    place->file = -1;
    if (fd < 0)
        return 0;
    fchmod(fd, ((place->member.mode ? place->member.mode : 0644) | 0600) & ~mask);
    if (place->member.mtime_s > 0)
        futimens(fd, times);          /* a time the file system does not know is no loss */
    return close(fd) < 0 ? sw_fail_errno(err, SW_E_IO, "cannot write from the archive") : 0;
}

struct sw_archive_visitor sw_archive_place_visitor(struct sw_archive_place *place)
{
    return (struct sw_archive_visitor){ member_begins, member_data, member_ends, place };
}

struct sw_archive_place *sw_archive_place_open(const char *folder,
                                         void (*warn_fn)(void *context, const char *text),
                                         void *warn_context, struct sw_error *err)
{
    struct sw_archive_place *place;
    int root;

    if (sw_mkdirs(folder, 0777, err) < 0)
        return NULL;
    root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return sw_null(sw_fail_errno(err, SW_E_IO, "cannot enter '%s'", folder));
    place = sw_new(struct sw_archive_place);
    *place = (struct sw_archive_place){ .root = root, .warn = warn_fn, .warn_context = warn_context,
                                     .parent_fd = -1, .file = -1 };
    return place;
}

void sw_archive_place_close(struct sw_archive_place *place)
{
    if (!place)
        return;
    if (place->file >= 0)
        close(place->file);
    if (place->parent_fd >= 0 && place->parent_fd != place->root)
        close(place->parent_fd);
    close(place->root);
    free(place->parent);
    free(place);
}
