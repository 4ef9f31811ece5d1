/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.c - see folder.h. Sorted by bytes: the same on every machine, whatever its language.
 */
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"

static int is_name(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

json_t *sw_folder_names(const char *folder, struct sw_error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_name, by_bytes);
    json_t *names;

    if (count < 0)
        return sw_null(sw_fail_errno(err, errno == ENOENT ? SW_E_NOT_FOUND : SW_E_IO,
                                     "cannot list '%s'", folder));
    names = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(names, sw_json_text(entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
    return names;
}

int sw_folder_may_make(const char *path, struct sw_error *err)
{
    sw_autofree char *folder = sw_strdup(path);
    struct stat info;

    while (stat(folder, &info) < 0) {
        char *slash = strrchr(folder, '/');

        if ((errno != ENOENT && errno != ENOTDIR) || !slash || slash[1] == '\0')
            return sw_fail_errno(err, SW_E_IO, "cannot create '%s'", path);
        slash[slash == folder] = '\0';
    }
    if (S_ISDIR(info.st_mode) && access(folder, W_OK | X_OK) == 0)
        return 0;
    if (S_ISDIR(info.st_mode))
        sw_fail_errno(err, SW_E_SPEC, "'%s' cannot be written", folder);
    else
        sw_fail(err, SW_E_SPEC, "cannot create '%s': '%s' is not a folder", path, folder);
    return sw_hint(err, "name a folder that you may write to");
}
