/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walker.c - see walker.h. The tree may belong to a job that still runs, so nothing it holds may lead
 * us out: folders are entered without following links, and a link is followed only below the root
 * (base/beneath.h). What is left out (links that lead out or nowhere, pipes, sockets, devices) is
 * told with the reason. The hidden files of a copy under way are left out in silence.
 */
#include "storage/walker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/buf.h"
#include "base/text.h"
#include "core/archive.h"
#include "storage/partial.h"

#define AHEAD_MAX 4096
#define DEPTH_MAX 64

struct walker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t room;
    struct walked *first, **end;
    size_t count;
    bool over, stop, failed;
    struct sw_error err;
    int root;
    char *root_name;
    enum walker_links links;
    void (*poke)(void *context);
    void *context;
    struct { dev_t dev; ino_t ino; } above[DEPTH_MAX];
};

void walked_free(struct walked *walked)
{
    free(walked->target);
    free(walked);
}

/* -1: we were told to stop. */
static int give(struct walker *walker, struct walked *found)
{
    bool first;

    pthread_mutex_lock(&walker->lock);
    while (walker->count >= AHEAD_MAX && !walker->stop)
        pthread_cond_wait(&walker->room, &walker->lock);
    if (walker->stop) {
        pthread_mutex_unlock(&walker->lock);
        walked_free(found);
        return -1;
    }
    first = walker->count == 0;
    *walker->end = found;
    walker->end = &found->next;
    walker->count++;
    pthread_mutex_unlock(&walker->lock);
    if (first)
        walker->poke(walker->context);
    return 0;
}

static struct walked *walked_new(const struct sw_buf *name)
{
    struct walked *found = sw_alloc(sizeof *found + name->length + 1);

    strcpy(found->name, sw_buf_text(name));
    return found;
}

static int give_file(struct walker *walker, const struct sw_buf *name, const struct stat *info)
{
    struct walked *found = walked_new(name);

    found->size = S_ISREG(info->st_mode) ? info->st_size : 0;
    found->mtime_ms = (int64_t)info->st_mtim.tv_sec * 1000 + info->st_mtim.tv_nsec / 1000000;
    return give(walker, found);
}

static int leave_out(struct walker *walker, const struct sw_buf *name, const char *why)
{
    struct walked *found = walked_new(name);

    found->left_out = why;
    return give(walker, found);
}

static bool is_above(const struct walker *walker, int depth, const struct stat *info)
{
    for (int i = 0; i < depth; i++)
        if (walker->above[i].dev == info->st_dev && walker->above[i].ino == info->st_ino)
            return true;
    return false;
}

static int walk(struct walker *walker, int fd, struct sw_buf *name, int depth);

/* Takes the descriptor of a folder below. */
static int enter(struct walker *walker, int fd, struct sw_buf *name, int depth)
{
    struct stat info;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return 0;                              /* it went away, or became something else */
    if (fd < 0 || fstat(fd, &info) < 0)
        return sw_fail_errno(&walker->err, SW_E_IO, "cannot read '%s/%s'", walker->root_name,
                             sw_buf_text(name));
    if (depth + 1 >= DEPTH_MAX || is_above(walker, depth + 1, &info)) {
        close(fd);
        return leave_out(walker, name, depth + 1 >= DEPTH_MAX
                                           ? "it is nested too deeply"
                                           : "it is a link to a folder that holds it");
    }
    sw_buf_add_char(name, '/');
    return walk(walker, fd, name, depth + 1);
}

/* ---- links ------------------------------------------------------------------------------------ */

static int keep_link(struct walker *walker, int folder, const char *entry, const struct sw_buf *name)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(folder, entry, target, sizeof target - 1);
    struct walked *found;

    if (n < 0)
        return 0;                              /* it became something else: the next copy sees it */
    target[n] = '\0';
    if (!sw_archive_link_stays_inside(sw_buf_text(name), target))
        return leave_out(walker, name, "it links to outside the folder");
    found = walked_new(name);
    found->target = sw_strdup(target);
    return give(walker, found);
}

static int open_connection(const struct walker *walker, int folder, const char *entry, const char *name,
                     int flags)
{
    return walker->links == WALK_ANYWHERE ? openat(folder, entry, flags | O_CLOEXEC)
                                          : sw_open_beneath(walker->root, name, flags, true);
}

static int follow_link(struct walker *walker, int folder, const char *entry, struct sw_buf *name,
                       int depth)
{
    static const struct { int problem; const char *words; } why[] = {
        { EXDEV, "it links to outside the folder" },
        { ELOOP, "it is a link that leads to itself" },
        { ENOENT, "it is a link to nothing" },
        { ENOTDIR, "it is a link to nothing" },
    };
    sw_autofd int fd = open_connection(walker, folder, entry, sw_buf_text(name), O_PATH);
    int problem = errno;
    struct stat info;

    for (size_t i = 0; fd < 0 && i < SW_COUNT(why); i++)
        if (why[i].problem == problem)
            return leave_out(walker, name, why[i].words);
    if (fd < 0 || fstat(fd, &info) < 0)
        return leave_out(walker, name, "it is a link that cannot be followed");
    if (S_ISDIR(info.st_mode))
        return enter(walker, open_connection(walker, folder, entry, sw_buf_text(name),
                                       O_RDONLY | O_DIRECTORY), name, depth);
    return S_ISREG(info.st_mode) ? give_file(walker, name, &info)
                                 : leave_out(walker, name, "it links to no file");
}

/* ---- the tree --------------------------------------------------------------------------------- */

static int visit(struct walker *walker, int fd, const char *entry, struct sw_buf *name, int depth)
{
    struct stat info;

    if (fstatat(fd, entry, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (S_ISLNK(info.st_mode))
        return walker->links == WALK_KEEP ? keep_link(walker, fd, entry, name)
                                          : follow_link(walker, fd, entry, name, depth);
    if (S_ISDIR(info.st_mode))
        return enter(walker, openat(fd, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                     name, depth);
    return S_ISREG(info.st_mode) ? give_file(walker, name, &info)
                                 : leave_out(walker, name, "it is not a file, folder or link");
}

/* Takes the descriptor. `name` is "" or ends in '/'. */
static int walk(struct walker *walker, int fd, struct sw_buf *name, int depth)
{
    size_t length = name->length;
    DIR *folder = fdopendir(fd);
    const struct dirent *entry;
    bool empty = true;
    struct stat info;
    int result = 0;

    if (!folder || fstat(fd, &info) < 0) {
        close(fd);
        return sw_fail_errno(&walker->err, SW_E_IO, "cannot read '%s'", walker->root_name);
    }
    walker->above[depth].dev = info.st_dev;
    walker->above[depth].ino = info.st_ino;
    while (result == 0 && (errno = 0, entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        empty = false;
        if (sw_text_starts(entry->d_name, PARTIAL_PREFIX))
            continue;
        sw_buf_add(name, entry->d_name);
        result = visit(walker, fd, entry->d_name, name, depth);
        name->length = length;
        name->data[length] = '\0';
    }
    if (result == 0 && errno)
        result = sw_fail_errno(&walker->err, SW_E_IO, "cannot read '%s'", walker->root_name);
    if (result == 0 && empty && length)
        result = give_file(walker, name, &info);
    closedir(folder);
    return result;
}

static void *walker_main(void *context)
{
    struct walker *walker = context;
    sw_auto(sw_buf) struct sw_buf name = SW_BUF_INIT;
    int fd = openat(walker->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result;

    sw_buf_add(&name, "");
    result = fd < 0 ? sw_fail_errno(&walker->err, SW_E_IO, "cannot read '%s'", walker->root_name)
                    : walk(walker, fd, &name, 0);
    pthread_mutex_lock(&walker->lock);
    walker->over = true;
    walker->failed = result < 0 && !walker->stop;
    pthread_mutex_unlock(&walker->lock);
    walker->poke(walker->context);
    return NULL;
}

struct walker *walker_start(int root, const char *name, enum walker_links links,
                            void (*poke)(void *context), void *context)
{
    struct walker *walker = sw_new(struct walker);

    pthread_mutex_init(&walker->lock, NULL);
    pthread_cond_init(&walker->room, NULL);
    walker->end = &walker->first;
    walker->root = root;
    walker->root_name = sw_strdup(name);
    walker->links = links;
    walker->poke = poke;
    walker->context = context;
    if (pthread_create(&walker->thread, NULL, walker_main, walker) == 0)
        return walker;
    free(walker->root_name);
    free(walker);
    return NULL;
}

struct walked *walker_take(struct walker *walker, bool *over, struct sw_error *err)
{
    struct walked *all;

    pthread_mutex_lock(&walker->lock);
    all = walker->first;
    walker->first = NULL;
    walker->end = &walker->first;
    walker->count = 0;
    *over = walker->over;
    if (walker->over && walker->failed && err && !err->code)
        *err = walker->err;
    pthread_cond_signal(&walker->room);
    pthread_mutex_unlock(&walker->lock);
    return all;
}

void walker_stop(struct walker *walker)
{
    if (!walker)
        return;
    pthread_mutex_lock(&walker->lock);
    walker->stop = true;
    pthread_cond_signal(&walker->room);
    pthread_mutex_unlock(&walker->lock);
    pthread_join(walker->thread, NULL);
    for (struct walked *next; walker->first; walker->first = next) {
        next = walker->first->next;
        walked_free(walker->first);
    }
    pthread_mutex_destroy(&walker->lock);
    pthread_cond_destroy(&walker->room);
    free(walker->root_name);
    free(walker);
}
