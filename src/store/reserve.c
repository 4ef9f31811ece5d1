/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reserve.c - a little room kept for a full disk.
 *
 * A job that costs money must be stopped and written down even when its own output filled the disk. So
 * while there is plenty of room a small file is kept beside the store; when a write finds none, the file
 * is given up once and the write tried again. The next program that finds plenty keeps a new one.
 */
#include "store/store_internal.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"

enum { RESERVE_BYTES = 512 * 1024, PLENTY_BYTES = 16 * 1024 * 1024 };

static char *reserve_path(const struct sw_store *store)
{
    return sw_format("%s.reserve", store->path);
}

void store_reserve_keep(const struct sw_store *store, const char *folder)
{
    sw_autofree char *path = reserve_path(store);
    sw_autofd int fd = -1;
    struct statvfs info;

    if (store->read_only || access(path, F_OK) == 0 || statvfs(folder, &info) < 0 ||
        (uint64_t)info.f_bavail * info.f_frsize < PLENTY_BYTES)
        return;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && posix_fallocate(fd, 0, RESERVE_BYTES) != 0)
        unlink(path);
}

bool sw_store_is_full(const struct sw_store *store)
{
    return store->full;
}

bool sw_store_make_room(struct sw_store *store)
{
    sw_autofree char *path = reserve_path(store);

    if (!store->full || unlink(path) < 0)
        return false;
    store->full = false;
    return true;
}
