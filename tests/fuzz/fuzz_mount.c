/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_mount.c - any text as an entry of `mounts:`: an entry or a reason, and nothing in it that a
 * mount table or a command could take for something else.
 */
#include <string.h>

#include "core/mount.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    sw_auto(sw_mount) struct sw_mount mount = { 0 };
    struct sw_error err = { 0 };
    int result = sw_mount_parse(text, &mount, &err);

    CLAIM((result == 0) == (err.code == SW_OK) && (result == 0) == (mount.target != NULL));
    if (result < 0)
        return 0;
    CLAIM(mount.target[0] == '/' && !strchr(mount.target, ':') && !strstr(mount.target, "/../"));
    CLAIM(mount.source[0] != '-' || mount.kind == SW_MOUNT_PATH);
    CLAIM(!strpbrk(mount.source, " ,\n'\"$") && !strpbrk(mount.target, " ,\n'\"$"));
    if (mount.kind == SW_MOUNT_GIT)
        CLAIM(mount.ref[0] != '-' && mount.ref[0] != '\0' && strstr(mount.source, "://"));
    sw_mount_is_commit(&mount);
    sw_mount_is_writable(&mount);
    return 0;
}
