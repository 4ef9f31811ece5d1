/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warden.c - see warden.h.
 */
#include "warden.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "processes.h"

enum { PATIENCE_MS = 20000, PAUSE_US = 50000 };

/* Some start others while they are told to end, and write into the folder until then. */
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
    while (read(line, &byte, 1) > 0)
        continue;
    if (sw_file_exists(dir))
        tidy_up(dir);
    _exit(0);
}

int warden_start(struct warden *warden, const char *dir)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    warden->pid = fork();
    if (warden->pid == 0) {
        close(ends[1]);
        keep_watch(ends[0], dir);
    }
    close(ends[0]);
    warden->line = ends[1];
    return warden->pid < 0 ? -1 : 0;
}

void warden_end(struct warden *warden)
{
    close(warden->line);
    while (waitpid(warden->pid, NULL, 0) < 0)
        continue;
}
