/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.c - see processes.h.
 */
#include "processes.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static bool file_mentions(const char *pid, const char *name, const char *dir, const char *id)
{
    char path[64];
    sw_autofree char *text = NULL;
    sw_autofree char *mark = sw_format("SLIPWAY_JOB_ID=%s", id ? id : "");
    size_t length = 0;

    snprintf(path, sizeof path, "/proc/%.20s/%s", pid, name);
    text = sw_file_read(path, 4 << 20, &length, NULL);
    if (!text)
        return false;
    return memmem(text, length, dir, strlen(dir)) ||
           (id && memmem(text, length, mark, strlen(mark) + 1));
}

static bool is_zombie(const char *pid)
{
    char path[64], state = '?';
    sw_autofree char *text = NULL;
    const char *end;

    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    text = sw_file_read(path, 65536, NULL, NULL);
    end = text ? strrchr(text, ')') : NULL;
    if (end)
        sscanf(end + 1, " %c", &state);
    return !end || state == 'Z' || state == 'X';
}

static int parent_of(const char *pid)
{
    char path[64];
    sw_autofree char *text = NULL;
    const char *end;
    int parent = 0;

    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    text = sw_file_read(path, 65536, NULL, NULL);
    end = text ? strrchr(text, ')') : NULL;
    if (end)
        sscanf(end + 1, " %*c %d", &parent);
    return parent;
}

/* The client's own connection to a login host or shell: it carries the client's environment. */
static bool is_connection(const char *pid)
{
    char path[64];
    sw_autofree char *text = NULL;

    snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
    text = sw_file_read(path, 4096, NULL, NULL);
    return parent_of(pid) == getpid() || (text && strcmp(text, "ssh\n") == 0);
}

int processes_of(const char *dir, const char *id, char *first, size_t size)
{
    DIR *processes = opendir("/proc");
    int count = 0;

    if (!processes)
        abort();
    for (struct dirent *entry; (entry = readdir(processes));) {
        if (!isdigit((unsigned char)entry->d_name[0]) || atoi(entry->d_name) == getpid())
            continue;
        if ((file_mentions(entry->d_name, "environ", dir, id) ||
             file_mentions(entry->d_name, "cmdline", dir, NULL)) && !is_zombie(entry->d_name) &&
            !(id && is_connection(entry->d_name))) {
            if (count++ == 0 && first)
                snprintf(first, size, "%.20s", entry->d_name);
        }
    }
    closedir(processes);
    return count;
}
