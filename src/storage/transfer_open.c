/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_open.c - the local end of an item: a file of the source, opened below the source's folder
 * and nowhere else, and a link made at the destination.
 *
 * The tree that is copied may be a running job's. Between the walk and the opening a folder may have
 * become a link to elsewhere, so each file is opened by its name below the folder, never by its path.
 */
#include "storage/transfer_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/beneath.h"
#include "base/text.h"

/* O_NONBLOCK: a pipe in a file's place must not keep us waiting. "at": partial.c tells why. */
int source_open(struct item *item, const char *path, struct stat *info, struct sw_error *err)
{
    const struct copy *copy = item->copy;
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    bool below = copy->from_fd >= 0 && !item->relayed && copy->links != WALK_ANYWHERE;
    sw_autofd int fd = below ? sw_open_beneath(copy->from_fd, item->name, flags,
                                               copy->links == WALK_INSIDE)
                             : openat(AT_FDCWD, path, flags);

    if (fd < 0 && below && (errno == EXDEV || errno == ELOOP))
        return sw_fail(err, SW_E_CONFLICT, "'%s' became a link while it was copied", path);
    if (fd < 0 || fstat(fd, info) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot read '%s'", path);
    if (!S_ISREG(info->st_mode))
        return sw_fail(err, SW_E_IO, "'%s' is not a file", path);
    return sw_take_fd(fd);
}

/* Below folders that are none themselves, so that where it leads is what its text says. */
static int open_parent(const struct item *item, struct sw_error *err)
{
    const char *slash = strrchr(item->name, '/');
    sw_autofree char *parent = slash ? sw_strndup(item->name, (size_t)(slash - item->name))
                                     : sw_strdup(".");
    sw_autofd int root = -1;
    int fd;

    if (partial_parents(item->path, err) < 0)
        return -1;
    root = open(item->copy->to.base, O_PATH | O_DIRECTORY | O_CLOEXEC);
    fd = root < 0 ? -1 : sw_open_beneath(root, parent, O_PATH | O_DIRECTORY, false);
    return fd >= 0 ? fd : sw_fail_errno(err, SW_E_IO, "cannot create the link '%s'", item->path);
}

enum item_found link_make(struct item *item)
{
    const char *base = sw_uri_last(item->name);
    sw_autofd int folder = open_parent(item, item->err);
    char there[4096];
    ssize_t n = folder < 0 ? -1 : readlinkat(folder, base, there, sizeof there - 1);

    if (folder < 0)
        return FOUND_FAILED;
    if (n >= 0) {
        there[n] = '\0';
        if (strcmp(there, item->target) == 0)
            return FOUND_SAME;
    }
    return partial_link(folder, base, item->target, item->err) < 0 ? FOUND_FAILED : FOUND_NEW;
}
