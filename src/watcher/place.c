/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - where the watcher of a state folder has its lock and its socket.
 *
 * Both are in a folder of this host that only the user can enter, under a name made from the state folder's
 * device and inode. So the path is short whatever the state folder is called, hosts that share a home have a
 * watcher each, and a folder that was deleted and made again has another one.
 */
#include "watcher/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"

enum { NAME_LENGTH = 16 };

/* Owned path of the folder, made; the user's runtime folder where the system gives one. */
static char *runtime_folder(struct sw_error *err)
{
    const char *given = getenv("XDG_RUNTIME_DIR");
    sw_autofree char *usual = sw_format("/run/user/%u", (unsigned)geteuid());
    const char *const parents[] = { given, usual };

    for (size_t i = 0; i < SW_COUNT(parents); i++) {
        sw_autofree char *folder = NULL;

        if (sw_text_empty(parents[i]) || *parents[i] != '/' || !sw_folder_is_private(parents[i]))
            continue;
        folder = sw_path_join(parents[i], "slipway");
        if (sw_folder_make_private(folder, NULL) == 0)
            return sw_take(folder);
    }
    usual = (free(usual), sw_format("/tmp/slipway-%u", (unsigned)geteuid()));
    return sw_folder_make_private(usual, err) < 0 ? NULL : sw_take(usual);
}

int sw_watcher_place(const char *state_dir, struct sw_watcher_place *out, struct sw_error *err)
{
    sw_autofree char *folder = NULL, *identity = NULL;
    char name[SW_DIGEST_HEX];
    struct stat info;

    if (stat(state_dir, &info) < 0)
        return sw_fail_errno(err, SW_E_STORE, "cannot access '%s'", state_dir);
    folder = runtime_folder(err);
    if (!folder)
        return -1;
    identity = sw_format("%llu:%llu", (unsigned long long)info.st_dev, (unsigned long long)info.st_ino);
    sw_sha256_hex(identity, strlen(identity), name);
    *out = (struct sw_watcher_place){
        .socket = sw_format("%s/%.*s", folder, NAME_LENGTH, name),
        .lock = sw_format("%s/%.*s.lock", folder, NAME_LENGTH, name),
        .state_dir = sw_strdup(state_dir), .device = info.st_dev, .inode = info.st_ino };
    return 0;
}

void sw_watcher_place_done(struct sw_watcher_place *place)
{
    free(place->socket);
    free(place->lock);
    free(place->state_dir);
}

bool sw_watcher_place_holds(const struct sw_watcher_place *place)
{
    struct stat info;

    return stat(place->state_dir, &info) == 0 && info.st_dev == place->device && info.st_ino == place->inode;
}

int sw_watcher_lock(const struct sw_watcher_place *place, struct sw_error *err)
{
    sw_autofd int fd = open(place->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot open '%s'", place->lock);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return sw_take_fd(fd);
    if (errno == EWOULDBLOCK)
        return sw_fail(err, SW_E_CONFLICT, "a watcher of '%s' is already running", place->state_dir);
    return sw_fail_errno(err, SW_E_IO, "cannot lock '%s'", place->lock);
}

bool sw_watcher_is_locked(const struct sw_watcher_place *place)
{
    sw_autofd int lock = sw_watcher_lock(place, NULL);

    return lock < 0;
}
