/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - how many processes the kernel ended for memory in this container.
 *
 * Docker says it of a container, Podman does not; but the container's own control group counts, and
 * it is where every engine puts it. Only a container's first process looks: elsewhere the same
 * file would count for the whole machine.
 */
#include "runner/runner.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { FILE_MOST = 4096 };

static const char *const places[] = {
    "/sys/fs/cgroup/memory.events",                /* the second version of control groups */
    "/sys/fs/cgroup/memory/memory.oom_control",    /* the first */
};

int64_t runner_oom_count(const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, "oom_kill ", strlen("oom_kill ")) == 0)
            return strtoll(line + strlen("oom_kill "), NULL, 10);
    return 0;
}

int64_t runner_oom_kills(void)
{
    for (size_t i = 0; i < SW_COUNT(places) && getpid() == 1; i++) {
        sw_autofree char *text = sw_file_read(places[i], FILE_MOST, NULL, NULL);

        if (text)
            return runner_oom_count(text);
    }
    return 0;
}
