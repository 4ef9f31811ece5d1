/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replace.c - a watcher whose file was replaced becomes the new program, in the same process.
 *
 * The new one inherits two descriptors: the lock, so that no other watcher comes between, and a pipe that
 * holds the secrets. A pipe is in the kernel's memory and on no disk. SLIPWAY_WATCHER_HEIR="LOCK PIPE" names
 * them.
 */
#include "watcher/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

#define HEIR "SLIPWAY_WATCHER_HEIR"
#define DELETED " (deleted)"             /* as the kernel says it */

enum { PIPE_MOST = 1 << 20 };

void sw_program_note(struct sw_program *program)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    struct stat info;

    *program = (struct sw_program){ NULL, 0, 0 };
    if (n <= 0 || stat("/proc/self/exe", &info) < 0)
        return;
    path[n] = '\0';
    if (sw_text_ends(path, DELETED))                 /* already replaced */
        path[n - (ssize_t)strlen(DELETED)] = '\0';
    *program = (struct sw_program){ sw_strdup(path), info.st_dev, info.st_ino };
}

void sw_program_done(struct sw_program *program)
{
    free(program->path);
}

bool sw_program_replaced(const struct sw_program *program)
{
    struct stat info;

    return program->path && stat(program->path, &info) == 0 && S_ISREG(info.st_mode) &&
           (info.st_dev != program->device || info.st_ino != program->inode) &&
           access(program->path, X_OK) == 0;
}

static int fill_pipe(const struct sw_secrets *secrets)
{
    int ends[2];
    sw_autofd int out = -1, in = -1;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    out = ends[0];
    in = ends[1];
    fcntl(in, F_SETPIPE_SZ, PIPE_MOST);
    fcntl(in, F_SETFL, O_NONBLOCK);                  /* more than it holds is an error, not a wait */
    return sw_secrets_send(secrets, in) < 0 ? -1 : sw_take_fd(out);
}

int sw_program_become(const struct sw_program *program, const struct sw_watcher_place *place, int lock,
                      const struct sw_secrets *secrets, struct sw_error *err)
{
    sw_autofd int held = fill_pipe(secrets);
    sw_autofree char *heir = sw_format("%d %d", lock, held);
    char *argv[] = { (char *)"slipway-watcher", place->state_dir, NULL };

    if (held < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot pass on the secrets");
    fcntl(lock, F_SETFD, 0);
    fcntl(held, F_SETFD, 0);
    setenv(HEIR, heir, 1);
    execv(program->path, argv);
    sw_fail_errno(err, SW_E_IO, "cannot become %s", program->path);
    unsetenv(HEIR);
    fcntl(lock, F_SETFD, FD_CLOEXEC);
    return -1;
}

/* A descriptor that we were given, and nothing else of that number. */
static bool is_of(int fd, mode_t kind)
{
    struct stat info;

    return fd > 2 && fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == kind;
}

int sw_watcher_inherit(struct sw_secrets **secrets)
{
    const char *heir = getenv(HEIR);
    int lock = -1, held = -1;

    *secrets = NULL;
    if (!heir || sscanf(heir, "%d %d", &lock, &held) != 2)
        return -1;
    unsetenv(HEIR);
    if (!is_of(lock, S_IFREG) || !is_of(held, S_IFIFO))
        return -1;
    fcntl(lock, F_SETFD, FD_CLOEXEC);
    *secrets = sw_secrets_receive(held, NULL);
    close(held);
    return lock;
}
