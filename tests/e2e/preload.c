/* SPDX-License-Identifier: Apache-2.0 */
/* preload.c - a library that leaves a trace when any program loads it (for hostile-folder). */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void leave_a_trace(void)
{
    const char *path = getenv("TEST_CANARY");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

    if (fd >= 0 && write(fd, "preload\n", 8) == 8)
        close(fd);
}
