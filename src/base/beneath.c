/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beneath.c - see beneath.h.
 */
#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/auto.h"

enum { DEPTH_MOST = 96, LINKS_MOST = 40, RACES_MOST = 32 };

/* Of <linux/openat2.h>, which older headers do not have. */
enum { OPENAT2 = 437, NO_MAGIC = 0x02, NO_LINKS = 0x04, BENEATH = 0x08 };
struct how {
    uint64_t flags, mode, resolve;
};

/* Folders opened on the way down; [0] is the caller's root. */
struct path_steps {
    int fds[DEPTH_MOST];
    int depth;
};

static void go_up(struct path_steps *steps)
{
    int saved = errno;

    close(steps->fds[steps->depth--]);
    errno = saved;
}

static int fail_with(int problem)
{
    errno = problem;
    return -1;
}

/* The link `part` in the last folder: what is left to walk becomes its target and then `rest`. */
static int splice_link(char **left, const char *target, size_t length, const char *rest)
{
    char *longer;

    if (*target == '/')
        return fail_with(EXDEV);
    if (length + strlen(rest) > PATH_MAX)
        return fail_with(ENAMETOOLONG);
    longer = sw_format("%.*s/%s", (int)length, target, rest);
    free(*left);
    *left = longer;
    return 0;
}

/* One folder down. */
static int go_down(struct path_steps *steps, const char *part)
{
    int fd;

    if (steps->depth + 1 >= DEPTH_MOST)
        return fail_with(ENAMETOOLONG);
    fd = openat(steps->fds[steps->depth], part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    steps->fds[++steps->depth] = fd;
    return 0;
}

static int walk(struct path_steps *steps, char **left, int flags, bool follow)
{
    int links = 0;
    char *at = *left;

    while (*(at += strspn(at, "/"))) {
        size_t length = strcspn(at, "/");
        sw_autofree char *part = sw_strndup(at, length), *rest = sw_strdup(at + length);
        char target[PATH_MAX];
        ssize_t n = readlinkat(steps->fds[steps->depth], part, target, sizeof target);

        at += length;
        if (strcmp(part, ".") == 0)
            continue;
        if (strcmp(part, "..") == 0) {
            if (steps->depth == 0)
                return fail_with(EXDEV);
            go_up(steps);
        } else if (n >= 0) {
            if (!follow || ++links > LINKS_MOST || n == (ssize_t)sizeof target)
                return fail_with(ELOOP);
            if (splice_link(left, target, (size_t)n, rest) < 0)
                return -1;
            at = *left;
        } else if (!rest[strspn(rest, "/")]) {
            return openat(steps->fds[steps->depth], part, flags | O_NOFOLLOW | O_CLOEXEC);
        } else if (go_down(steps, part) < 0) {
            return -1;
        }
    }
    return openat(steps->fds[steps->depth], ".", flags | O_CLOEXEC);
}

int sw_open_by_steps(int root, const char *path, int flags, bool follow)
{
    struct path_steps steps = { .fds = { root } };
    char *left = sw_strdup(path);
    int fd = *path == '/' ? fail_with(EXDEV) : walk(&steps, &left, flags, follow);

    while (steps.depth)
        go_up(&steps);
    free(left);
    return fd;
}

int sw_open_beneath(int root, const char *path, int flags, bool follow)
{
    const struct how how = { .flags = (uint64_t)(flags | O_CLOEXEC),
                             .resolve = BENEATH | NO_MAGIC | (follow ? 0 : NO_LINKS) };
    long fd = -1;

    /* EAGAIN: something was renamed while the kernel looked. */
    for (int i = 0; i < RACES_MOST; i++) {
        fd = syscall(OPENAT2, root, path, &how, sizeof how);
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
        return sw_open_by_steps(root, path, flags, follow);
    return (int)fd;
}
