/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpose.c - kills a program at its Nth call that changes the world (LD_PRELOAD).
 *
 * Every call that writes, syncs, renames, makes, removes, forks, starts or talks is counted; at
 * number CRASH_AT the process is killed with SIGKILL, before or after the call. So the moments
 * of a crash are enumerated, not guessed by sleeping.
 *
 *     CRASH_PROGRAM  only the program of this name is counted and killed
 *     CRASH_AT       the number of the call, from 1
 *     CRASH_WHEN     "before" or "after"
 *     CRASH_FORKS    for how many forks the child goes on being counted (a program that
 *                    detaches itself); children of later forks are left alone
 *     CRASH_LOG      file that gets the name of the fatal call
 *
 * The log is written with bare system calls: the interposer must not count itself.
 */
#undef _FILE_OFFSET_BITS          /* both spellings, open and open64, are functions here */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static int armed = -1;            /* -1: not looked at the environment yet */
static long calls, fatal_call, forks_left;
static int kill_after;

static void look_around(void)
{
    const char *program = getenv("CRASH_PROGRAM"), *at = getenv("CRASH_AT");
    const char *when = getenv("CRASH_WHEN"), *forks = getenv("CRASH_FORKS");

    armed = program && at && strcmp(program, program_invocation_short_name) == 0;
    if (!armed)
        return;
    fatal_call = atol(at);
    kill_after = when && strcmp(when, "after") == 0;
    forks_left = forks ? atol(forks) : 0;
}

static void die(const char *name)
{
    const char *path = getenv("CRASH_LOG");
    long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;

    if (fd >= 0) {
        syscall(SYS_write, fd, name, strlen(name));
        syscall(SYS_write, fd, "\n", 1);
    }
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
}

/* Returns the number of this call; 0 when calls are not counted. */
static long before(const char *name)
{
    if (armed < 0)
        look_around();
    if (!armed)
        return 0;
    if (++calls == fatal_call && !kill_after)
        die(name);
    return calls;
}

static void after(const char *name, long number)
{
    int kept = errno;

    if (number && number == fatal_call && kill_after)
        die(name);
    errno = kept;
}

#define REAL(name) (__extension__(__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define COUNTED(type, name, parameters, arguments)      \
    SHOWN type name parameters                          \
    {                                                   \
        long number = before(#name);                    \
        type result = REAL(name) arguments;             \
                                                        \
        after(#name, number);                           \
        return result;                                  \
    }

COUNTED(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
COUNTED(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
COUNTED(ssize_t, pwrite64, (int fd, const void *bytes, size_t size, off64_t at),
        (fd, bytes, size, at))
COUNTED(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
COUNTED(int, fsync, (int fd), (fd))
COUNTED(int, fdatasync, (int fd), (fd))
COUNTED(int, ftruncate, (int fd, off_t size), (fd, size))
COUNTED(int, ftruncate64, (int fd, off64_t size), (fd, size))
COUNTED(int, fallocate, (int fd, int mode, off_t from, off_t size), (fd, mode, from, size))
COUNTED(int, fallocate64, (int fd, int mode, off64_t from, off64_t size), (fd, mode, from, size))
COUNTED(int, rename, (const char *from, const char *to), (from, to))
COUNTED(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
COUNTED(int, link, (const char *from, const char *to), (from, to))
COUNTED(int, linkat, (int a, const char *from, int b, const char *to, int flags),
        (a, from, b, to, flags))
COUNTED(int, symlink, (const char *from, const char *to), (from, to))
COUNTED(int, unlink, (const char *path), (path))
COUNTED(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
COUNTED(int, mkdir, (const char *path, mode_t mode), (path, mode))
COUNTED(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode))
COUNTED(int, rmdir, (const char *path), (path))
COUNTED(int, fchmod, (int fd, mode_t mode), (fd, mode))
COUNTED(int, mkostemp, (char *path, int flags), (path, flags))
COUNTED(int, mkostemp64, (char *path, int flags), (path, flags))
COUNTED(int, mkstemp, (char *path), (path))
COUNTED(FILE *, fopen, (const char *path, const char *mode), (path, mode))
COUNTED(FILE *, fopen64, (const char *path, const char *mode), (path, mode))
COUNTED(int, fclose, (FILE *file), (file))
COUNTED(ssize_t, send, (int fd, const void *bytes, size_t size, int flags),
        (fd, bytes, size, flags))
COUNTED(ssize_t, recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags))
COUNTED(int, kill, (pid_t pid, int signal), (pid, signal))
COUNTED(int, execv, (const char *path, char *const words[]), (path, words))
COUNTED(int, execve, (const char *path, char *const words[], char *const env[]),
        (path, words, env))
COUNTED(int, posix_spawn,
        (pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attributes, char *const words[], char *const env[]),
        (pid, path, actions, attributes, words, env))

SHOWN pid_t fork(void)
{
    long number = before("fork");
    pid_t child = REAL(fork)();

    if (child != 0)
        after("fork", number);
    else if (armed > 0 && forks_left-- <= 0)
        armed = 0;
    return child;
}

/* Opening counts when it may make a file. */
#define COUNTED_OPEN(name, first, leading)                                  \
    SHOWN int name(first const char *path, int flags, ...)                  \
    {                                                                       \
        long number = flags & O_CREAT ? before(#name) : 0;                  \
        mode_t mode = 0;                                                    \
        va_list rest;                                                       \
        int fd;                                                             \
                                                                            \
        va_start(rest, flags);                                              \
        if (flags & (O_CREAT | O_TMPFILE))                                  \
            mode = va_arg(rest, mode_t);                                    \
        va_end(rest);                                                       \
        fd = REAL(name)(leading path, flags, mode);                         \
        after(#name, number);                                               \
        return fd;                                                          \
    }
#define NOTHING
#define FOLDER        int folder,
#define PASS_FOLDER   folder,

COUNTED_OPEN(open, NOTHING, NOTHING)
COUNTED_OPEN(open64, NOTHING, NOTHING)
COUNTED_OPEN(openat, FOLDER, PASS_FOLDER)
COUNTED_OPEN(openat64, FOLDER, PASS_FOLDER)
