/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walker.c - see walker.h. Links to files stand for their content; links to folders are entered,
 * unless they lead back to a folder we are in. Dangling links, sockets and devices have no content
 * and are left out, and so are the hidden files of a copy under way.
 */
#include "storage/walker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/text.h"
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
    char *root;
    void (*poke)(void *context);
    void *context;
    struct { dev_t dev; ino_t ino; } above[DEPTH_MAX];
};

/* false: we were told to stop. */
static bool give(struct walker *walker, const char *name, const struct stat *info)
{
    struct walked *found = sw_alloc(sizeof *found + strlen(name) + 1);
    bool first;

    strcpy(found->name, name);
    found->size = S_ISREG(info->st_mode) ? info->st_size : 0;
    found->mtime_ms = (int64_t)info->st_mtim.tv_sec * 1000 + info->st_mtim.tv_nsec / 1000000;
    pthread_mutex_lock(&walker->lock);
    while (walker->count >= AHEAD_MAX && !walker->stop)
        pthread_cond_wait(&walker->room, &walker->lock);
    if (walker->stop) {
        pthread_mutex_unlock(&walker->lock);
        free(found);
        return false;
    }
    first = walker->count == 0;
    *walker->end = found;
    walker->end = &found->next;
    walker->count++;
    pthread_mutex_unlock(&walker->lock);
    if (first)
        walker->poke(walker->context);
    return true;
}

static bool is_above(const struct walker *walker, int depth, const struct stat *info)
{
    for (int i = 0; i < depth; i++)
        if (walker->above[i].dev == info->st_dev && walker->above[i].ino == info->st_ino)
            return true;
    return false;
}

static int walk(struct walker *walker, int fd, struct sw_buf *name, int depth);

static int enter(struct walker *walker, int folder, const char *entry, struct sw_buf *name, int depth)
{
    int fd = openat(folder, entry, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return sw_fail_errno(&walker->err, SW_E_IO, "cannot read '%s/%s'", walker->root,
                             sw_buf_text(name));
    sw_buf_add_char(name, '/');
    return walk(walker, fd, name, depth + 1);
}

static int visit(struct walker *walker, int fd, const char *entry, struct sw_buf *name, int depth)
{
    struct stat info;

    if (fstatat(fd, entry, &info, 0) < 0)
        return 0;
    if (S_ISDIR(info.st_mode))
        return depth + 1 < DEPTH_MAX && !is_above(walker, depth + 1, &info)
                   ? enter(walker, fd, entry, name, depth)
                   : 0;
    if (!S_ISREG(info.st_mode))
        return 0;
    return give(walker, sw_buf_text(name), &info) ? 0 : -1;
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
        return sw_fail_errno(&walker->err, SW_E_IO, "cannot read '%s'", walker->root);
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
        result = sw_fail_errno(&walker->err, SW_E_IO, "cannot read '%s'", walker->root);
    if (result == 0 && empty && length)
        result = give(walker, sw_buf_text(name), &info) ? 0 : -1;
    closedir(folder);
    return result;
}

static void *walker_main(void *context)
{
    struct walker *walker = context;
    sw_auto(sw_buf) struct sw_buf name = SW_BUF_INIT;
    int fd = open(walker->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result;

    sw_buf_add(&name, "");
    result = fd < 0 ? sw_fail_errno(&walker->err, SW_E_IO, "cannot read '%s'", walker->root)
                    : walk(walker, fd, &name, 0);
    pthread_mutex_lock(&walker->lock);
    walker->over = true;
    walker->failed = result < 0 && !walker->stop;
    pthread_mutex_unlock(&walker->lock);
    walker->poke(walker->context);
    return NULL;
}

struct walker *walker_start(const char *root, void (*poke)(void *context), void *context)
{
    struct walker *walker = sw_new(struct walker);

    pthread_mutex_init(&walker->lock, NULL);
    pthread_cond_init(&walker->room, NULL);
    walker->end = &walker->first;
    walker->root = sw_strdup(root);
    walker->poke = poke;
    walker->context = context;
    if (pthread_create(&walker->thread, NULL, walker_main, walker) == 0)
        return walker;
    free(walker->root);
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
        free(walker->first);
    }
    pthread_mutex_destroy(&walker->lock);
    pthread_cond_destroy(&walker->room);
    free(walker->root);
    free(walker);
}
