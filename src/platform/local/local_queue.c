/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_queue.c - see local_queue.h.
 *
 * A queue is a folder of numbered tickets, each locked by the job that waits: a ticket without a lock
 * belongs to a dead job and is passed over. First come, first served, strictly. Locks belong to open files,
 * so the kernel releases them with the last process that has the file, and no cleaning up is needed.
 *
 * All changes are made under the folder's own lock. Looking is done through descriptors opened for reading,
 * since closing one opened for writing wakes all that wait (inotify).
 *
 * The folder is shared by all users of the machine, so nothing in it is trusted: links are not followed, and
 * names that are not ours are ignored.
 */
#include "platform/local/local_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/text.h"

/* ---- locked files ------------------------------------------------------------------------- */

static struct flock whole_file(void)
{
    return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

bool local_lease_is_held(int folder, const char *name)
{
    sw_autofd int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct flock lock = whole_file();

    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Where others made the file, O_CREAT is refused in a sticky folder (fs.protected_regular). */
int local_lease_open(int folder, const char *name)
{
    for (int tries = 0; tries < 3; tries++) {
        int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

        if (fd >= 0 || errno != ENOENT)
            return fd;
        fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0) {
            fchmod(fd, 0666);          /* whatever the umask: other users lock it, too */
            return fd;
        }
    }
    return -1;
}

bool local_lease_lock(int fd)
{
    struct flock lock = whole_file();

    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* Held for microseconds by others; one that was stopped by its user must not stop us. */
static bool lock_soon(int fd)
{
    for (int tries = 0; tries < 100; tries++) {
        if (local_lease_lock(fd))
            return true;
        sw_sleep_ms(2);
    }
    return false;
}

static void unlock(int fd)
{
    struct flock lock = whole_file();

    lock.l_type = F_UNLCK;
    fcntl(fd, F_OFD_SETLK, &lock);
}

/* ---- the folder ----------------------------------------------------------------------------- */

static int open_folder_at(const char *path, mode_t mode)
{
    sw_autofd int fd = -1;

    if (mkdir(path, mode) == 0 && chmod(path, mode) < 0)
        return -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && faccessat(fd, ".", W_OK, AT_EACCESS) == 0 ? sw_take_fd(fd) : -1;
}

int local_lease_folder(const char *asked, const char *state_dir)
{
    sw_autofree char *ours = sw_format("%s/gpu-leases", state_dir);
    int fd = -1;

    if (!sw_text_empty(asked))
        fd = open_folder_at(asked, 01777);
    if (fd < 0)
        fd = open_folder_at("/run/lock/slipway", 01777);
    if (fd < 0)
        fd = open_folder_at(ours, 0700);
    return fd;
}

DIR *local_lease_entries(int folder)
{
    int copy = folder >= 0 ? openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    return copy >= 0 ? fdopendir(copy) : NULL;
}

/* ---- the queue ------------------------------------------------------------------------------ */

static const char *const kinds[] = { LOCAL_QUEUE_GPUS, LOCAL_QUEUE_ROOM };

static bool ticket_number(const char *name, const char *kind, unsigned long long *number)
{
    int end = 0;

    return sscanf(name, "%20llu.%n", number, &end) == 1 && end > 0 && strcmp(name + end, kind) == 0;
}

struct ticket_name { char text[64]; };

static struct ticket_name name_of(const struct local_queue *queue)
{
    struct ticket_name name;

    snprintf(name.text, sizeof name.text, "%020llu.%s", queue->number, queue->kind);
    return name;
}

/* How many wait before ours, and the highest number seen. */
static int count_ahead(const struct local_queue *queue, unsigned long long *highest)
{
    DIR *entries = local_lease_entries(queue->folder);
    int ahead = 0;

    *highest = 0;
    if (!entries)
        return 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        unsigned long long other;

        if (!ticket_number(entry->d_name, queue->kind, &other))
            continue;
        if (other > *highest)
            *highest = other;
        if (other >= queue->number)
            continue;
        if (local_lease_is_held(queue->folder, entry->d_name))
            ahead++;
        else
            unlinkat(queue->folder, entry->d_name, 0);      /* its owner is dead */
    }
    closedir(entries);
    return ahead;
}

static void take_ticket(struct local_queue *queue)
{
    unsigned long long highest;

    count_ahead(queue, &highest);
    queue->number = highest + 1;
    queue->ticket = openat(queue->folder, name_of(queue).text,
                           O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (queue->ticket < 0)
        return;
    fchmod(queue->ticket, 0644);        /* others must be able to ask whether we live */
    local_lease_lock(queue->ticket);
}

void local_queue_drop(struct local_queue *queue)
{
    if (queue->ticket < 0)
        return;
    unlinkat(queue->folder, name_of(queue).text, 0);
    close(queue->ticket);
    queue->ticket = -1;
}

int local_queue_ahead(const struct local_queue *queue)
{
    unsigned long long highest;

    return count_ahead(queue, &highest);
}

bool local_queue_enter(struct local_queue *queue)
{
    char events[4096] __attribute__((aligned(8)));

    while (queue->watch >= 0 && read(queue->watch, events, sizeof events) > 0)
        ;
    if (!lock_soon(queue->lock))
        return false;
    if (queue->ticket < 0)
        take_ticket(queue);
    return true;
}

void local_queue_exit(struct local_queue *queue)
{
    unlock(queue->lock);
}

void local_queue_init(struct local_queue *queue, const char *kind)
{
    *queue = (struct local_queue){ .kind = kind, .folder = -1, .lock = -1, .watch = -1, .ticket = -1 };
}

int local_queue_open(struct local_queue *queue, const char *lease_dir, const char *state_dir,
                     struct sw_error *err)
{
    char path[64];

    queue->folder = local_lease_folder(lease_dir, state_dir);
    queue->lock = queue->folder >= 0 ? local_lease_open(queue->folder, "queue.lock") : -1;
    if (queue->lock < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot use the folder of leases");
    queue->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (queue->watch < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", queue->folder);
    inotify_add_watch(queue->watch, path, IN_CLOSE_WRITE | IN_DELETE);
    return 0;
}

void local_queue_close(struct local_queue *queue)
{
    local_queue_drop(queue);
    sw_fd_auto(&queue->watch);
    sw_fd_auto(&queue->lock);
    sw_fd_auto(&queue->folder);
}

/* ---- what the dead left ---------------------------------------------------------------------- */

static bool is_our_dead_ticket(int folder, const char *name)
{
    unsigned long long number;
    struct stat info;
    bool ticket = false;

    for (size_t i = 0; i < SW_COUNT(kinds); i++)
        ticket |= ticket_number(name, kinds[i], &number);
    return ticket && fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(info.st_mode) && info.st_uid == geteuid() && !local_lease_is_held(folder, name);
}

static void path_of(int folder, const char *name, char *out, size_t size)
{
    char link[64], where[4096];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    n = readlink(link, where, sizeof where - 1);
    where[n > 0 ? n : 0] = '\0';
    snprintf(out, size, "%s/%s", where, name);
}

void local_dead_tickets(const char *lease_dir, const char *state_dir, bool remove,
                      void (*fn)(void *context, const char *path), void *context)
{
    sw_autofd int folder = local_lease_folder(lease_dir, state_dir);
    sw_autofd int lock = folder >= 0 ? local_lease_open(folder, "queue.lock") : -1;
    DIR *entries = local_lease_entries(folder);

    /* Under the folder's lock: a ticket is made first and locked a moment later. */
    if (entries && lock >= 0 && lock_soon(lock)) {
        for (struct dirent *entry; (entry = readdir(entries));) {
            char path[4400];

            if (!is_our_dead_ticket(folder, entry->d_name))
                continue;
            path_of(folder, entry->d_name, path, sizeof path);
            if (!remove || unlinkat(folder, entry->d_name, 0) == 0)
                fn(context, path);
        }
        unlock(lock);
    }
    if (entries)
        closedir(entries);
}
