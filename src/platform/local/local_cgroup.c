/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_cgroup.c - where processes are in cgroup v2, and the cgroups that jobs left behind.
 *
 * A supervisor makes "slipway-ID-ATTEMPT" beside its own cgroup or below it and removes it at the
 * end (supervisor_limits.c); one that was killed cannot. Only names of that form are ours.
 */
#include "platform/local/local_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

#define HIERARCHY "/sys/fs/cgroup"

/* The line "0::/path" of /proc/PID/cgroup. */
char *local_cgroup_of(pid_t pid)
{
    sw_autofree char *path = sw_format("/proc/%d/cgroup", (int)pid);
    sw_autofree char *text = sw_file_read(path, 65536, NULL, NULL);
    char *line = !text ? NULL : sw_text_starts(text, "0::") ? text : strstr(text, "\n0::");

    if (!line)
        return NULL;
    line = strstr(line, "0::") + 3;
    line[strcspn(line, "\n")] = '\0';
    return sw_strdup(line);
}

char *local_cgroup_of_job(pid_t pid)
{
    sw_autofree char *place = local_cgroup_of(pid);
    const char *name = place ? strrchr(place, '/') : NULL;

    return name && sw_text_starts(name + 1, LOCAL_CGROUP_PREFIX)
               ? sw_format(HIERARCHY "%s", place) : NULL;
}

static bool is_empty(const char *path)
{
    sw_autofree char *file = sw_path_join(path, "cgroup.events");
    sw_autofree char *text = sw_file_read(file, 4096, NULL, NULL);

    return text && strstr(text, "populated 0");
}

static void each_below(const char *folder,
                       void (*fn)(void *context, const char *path, const char *name),
                       void *context)
{
    DIR *entries = opendir(folder);

    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        sw_autofree char *path = sw_path_join(folder, entry->d_name);

        if (sw_text_starts(entry->d_name, LOCAL_CGROUP_PREFIX) && is_empty(path))
            fn(context, path, entry->d_name);
    }
    if (entries)
        closedir(entries);
}

void local_cgroup_empty(void (*fn)(void *context, const char *path, const char *name),
                        void *context)
{
    sw_autofree char *place = local_cgroup_of(getpid());
    sw_autofree char *here = place ? sw_format(HIERARCHY "%s", place) : NULL;
    sw_autofree char *above = place && place[1] ? sw_path_absolute("..", here) : NULL;

    if (above)
        each_below(above, fn, context);
    if (here)
        each_below(here, fn, context);
}
