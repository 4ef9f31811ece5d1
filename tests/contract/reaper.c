/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reaper.c - see reaper.h.
 */
#include "reaper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "processes.h"

enum { PATIENCE_MS = 60000, PAUSE_US = 50000 };

/* Some start others while they are asked to end, and write into the folder until then. */
static void tidy_up(const char *dir)
{
    int64_t until_ms = sw_monotonic_ms() + PATIENCE_MS;
    char pid[24] = "";

    while (sw_monotonic_ms() < until_ms) {
        if (processes_of(dir, NULL, pid, sizeof pid) > 0)
            kill((pid_t)atoi(pid), SIGKILL);
        else if (sw_remove_tree(dir, NULL) == 0 || !sw_file_exists(dir))
            return;
        usleep(PAUSE_US);
    }
}

static void keep_watch(int line, const char *dir)
{
    char byte;

    setsid();                  /* who ends the test ends its group */
    if (line > 3)              /* other reapers wait for the end of their pipes, which we inherited */
        syscall(SYS_close_range, 3U, (unsigned)line - 1, 0U);
    syscall(SYS_close_range, (unsigned)line + 1, ~0U, 0U);
    while (read(line, &byte, 1) > 0)
        continue;
    if (sw_file_exists(dir))
        tidy_up(dir);
    _exit(0);
}

int reaper_start(struct reaper *reaper, const char *dir)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    reaper->pid = fork();
    if (reaper->pid == 0) {
        close(ends[1]);
        keep_watch(ends[0], dir);
    }
    close(ends[0]);
    reaper->line = ends[1];
    return reaper->pid < 0 ? -1 : 0;
}

void reaper_end(struct reaper *reaper)
{
    close(reaper->line);
    while (waitpid(reaper->pid, NULL, 0) < 0)
        continue;
}
