/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_smi.c - asks nvidia-smi about the GPUs, and never waits for it without end.
 *
 * A driver in trouble can hold nvidia-smi for minutes, and a supervisor must go on moving logs;
 * so it gets a deadline and is killed after it.
 */
#include "core/gpu_seen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"

extern char **environ;

enum { DEADLINE_MS = 5000, ANSWER_MAX = 64 * 1024, SMI_GPU_IS_LOST = 15 };

#define QUERY "--query-gpu=index,uuid,pci.bus_id,memory.total,memory.used,utilization.gpu," \
              "ecc.errors.uncorrected.volatile.total,name"

static int start(int output, pid_t *pid)
{
    char *const argv[] = { (char *)"nvidia-smi", (char *)QUERY,
                           (char *)"--format=csv,noheader,nounits", NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int failed;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, 0, 2);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    failed = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? -1 : 0;
}

/* All it says until it closes its output, or false when that takes too long or is too much. */
static bool hear(int fd, struct sw_buf *answer)
{
    int64_t deadline = sw_monotonic_ms() + DEADLINE_MS;
    char piece[4096];

    for (;;) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        int64_t left = deadline - sw_monotonic_ms();
        ssize_t n;

        if (left <= 0 || answer->length > ANSWER_MAX)
            return false;
        if (poll(&wait, 1, (int)left) <= 0)
            continue;
        n = read(fd, piece, sizeof piece);
        if (n == 0)
            return true;
        if (n > 0)
            sw_buf_add_bytes(answer, piece, (size_t)n);
        else if (errno != EINTR)
            return false;
    }
}

static int ask(struct sw_buf *answer)
{
    int ends[2], status = -1;
    pid_t pid, reaped;
    bool heard;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    if (start(ends[1], &pid) < 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    close(ends[1]);
    heard = hear(ends[0], answer);
    close(ends[0]);
    if (!heard)
        kill(pid, SIGKILL);
    while ((reaped = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
        ;
    /* A caller that ignores SIGCHLD leaves us no status: then the answer must speak for itself. */
    if (reaped < 0)
        status = 0;
    return heard && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int sw_gpu_seen_by_smi(struct sw_gpu_seen *out, int room, bool *lost)
{
    sw_auto(sw_buf) struct sw_buf answer = SW_BUF_INIT;
    int status = ask(&answer), found = 0;
    sw_autofree char *text = sw_buf_steal(&answer);
    char *rest = text, *line;

    *lost = status == SMI_GPU_IS_LOST;
    if (status != 0)
        return -1;
    while (rest && found < room && (line = strsep(&rest, "\n")))
        if (sw_gpu_seen_line(line, &out[found]))
            found++;
    return found;
}
