/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_lease.c - two jobs never share a GPU unless asked: leases and the queue for them.
 *
 * A lease is a lock on a file named after the GPU's UUID. The descriptor is inherited by
 * everything the job starts, so the GPU stays taken while anything of the job lives, even after
 * its supervisor was killed; the kernel releases it, and no cleaning up is needed. The queue is a
 * folder of numbered tickets, each locked by the job that waits: a ticket without a lock belongs
 * to a dead job and is passed over. First come, first served, strictly.
 *
 * All changes are made under the folder's own lock. Looking is done through descriptors opened
 * for reading, since closing one opened for writing wakes all that wait (inotify).
 *
 * The folder is shared by all users of the machine, so nothing in it is trusted: links are not
 * followed, and names that are not ours are ignored.
 */
#include "platform/local/local_gpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/id.h"

struct gpu_queue {
    struct gpu_request request;
    struct sw_gpu gpus[SW_GPU_MAX];          /* those that fit the request */
    int gpu_count;
    int folder;                        /* of leases and tickets */
    int lock;                          /* the folder's own */
    int watch;
    int ticket;                        /* -1: not queued yet */
    unsigned long long number;
};

/* ---- which devices a job may have ----------------------------------------------------------- */

static bool is_among(const struct sw_gpu *gpu, const json_t *ids)
{
    size_t i;
    json_t *id;
    char number[16];

    snprintf(number, sizeof number, "%d", gpu->index);
    json_array_foreach(ids, i, id) {
        if (json_is_integer(id) && json_integer_value(id) == gpu->index)
            return true;
        if (json_is_string(id) && (sw_text_same(json_string_value(id), number) ||
                                   sw_text_same_nocase(json_string_value(id), gpu->uuid)))
            return true;
    }
    return false;
}

bool gpu_fits(const struct sw_gpu *gpu, const char *type, const json_t *ids)
{
    if (!sw_text_empty(type) && !strcasestr(gpu->name, type))
        return false;
    return json_array_size(ids) == 0 || is_among(gpu, ids);
}

/* ---- locked files ------------------------------------------------------------------------- */

static struct flock whole_file(void)
{
    return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

static bool is_held(int folder, const char *name)
{
    sw_autofd int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct flock lock = whole_file();

    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Where others made the file, O_CREAT is refused in a sticky folder (fs.protected_regular). */
static int open_shared(int folder, const char *name)
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

static bool try_lock(int fd)
{
    struct flock lock = whole_file();

    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* Held for microseconds by others; one that was stopped by its user must not stop us. */
static bool lock_soon(int fd)
{
    for (int tries = 0; tries < 100; tries++) {
        if (try_lock(fd))
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

static int open_lease_folder(const char *asked, const char *state_dir)
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

struct lease_name { char text[128]; };

static struct lease_name name_of(const struct sw_gpu *gpu)
{
    struct lease_name name;

    snprintf(name.text, sizeof name.text, "%s.lease", gpu->uuid);
    return name;
}

static DIR *open_entries(int folder)
{
    int copy = folder >= 0 ? openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    return copy >= 0 ? fdopendir(copy) : NULL;
}

/* ---- the queue ------------------------------------------------------------------------------ */

static bool ticket_number(const char *name, unsigned long long *number)
{
    int end = 0;

    return sscanf(name, "%20llu.ticket%n", number, &end) == 1 && end > 0 && name[end] == '\0';
}

/* How many wait before `number`, and the highest number seen. */
static int count_ahead(int folder, unsigned long long number, unsigned long long *highest)
{
    DIR *entries = open_entries(folder);
    int ahead = 0;

    *highest = 0;
    if (!entries)
        return 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        unsigned long long other;

        if (!ticket_number(entry->d_name, &other))
            continue;
        if (other > *highest)
            *highest = other;
        if (other >= number)
            continue;
        if (is_held(folder, entry->d_name))
            ahead++;
        else
            unlinkat(folder, entry->d_name, 0);      /* its owner is dead */
    }
    closedir(entries);
    return ahead;
}

static bool take_ticket(struct gpu_queue *queue)
{
    unsigned long long highest;
    char name[64];

    count_ahead(queue->folder, 0, &highest);
    queue->number = highest + 1;
    snprintf(name, sizeof name, "%020llu.ticket", queue->number);
    queue->ticket = openat(queue->folder, name,
                           O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (queue->ticket < 0)
        return false;
    fchmod(queue->ticket, 0644);        /* others must be able to ask whether we live */
    return try_lock(queue->ticket);
}

static void drop_ticket(struct gpu_queue *queue)
{
    char name[64];

    if (queue->ticket < 0)
        return;
    snprintf(name, sizeof name, "%020llu.ticket", queue->number);
    unlinkat(queue->folder, name, 0);
    close(queue->ticket);
    queue->ticket = -1;
}

/* ---- taking ------------------------------------------------------------------------------- */

static bool take_one(struct gpu_queue *queue, const struct sw_gpu *gpu, struct gpu_lease *lease)
{
    sw_autofd int fd = open_shared(queue->folder, name_of(gpu).text);

    if (fd < 0 || !try_lock(fd))
        return false;
    if (ftruncate(fd, 0) == 0)
        dprintf(fd, "%s %d\n", queue->request.job_id, (int)getuid());
    fcntl(fd, F_SETFD, 0);              /* inherited: see above */
    lease->gpus[lease->count] = *gpu;
    lease->fds[lease->count++] = sw_take_fd(fd);
    return true;
}

/* NULL: not enough are free; *free_count says how many are. */
static struct gpu_lease *take(struct gpu_queue *queue, bool our_turn, int *free_count)
{
    struct gpu_lease *lease = sw_new(struct gpu_lease);
    const struct sw_gpu *free_ones[SW_GPU_MAX];

    *free_count = 0;
    for (int i = 0; i < queue->gpu_count; i++)
        if (!is_held(queue->folder, name_of(&queue->gpus[i]).text))
            free_ones[(*free_count)++] = &queue->gpus[i];
    if (our_turn && *free_count >= queue->request.count)
        for (int i = 0; i < *free_count && lease->count < queue->request.count; i++)
            take_one(queue, free_ones[i], lease);
    if (lease->count == queue->request.count)
        return lease;
    gpu_lease_free(lease);
    return NULL;
}

static int least_busy_first(const void *a, const void *b)
{
    const struct sw_gpu *one = a, *other = b;

    if (one->memory_used_bytes != other->memory_used_bytes)
        return one->memory_used_bytes > other->memory_used_bytes ? 1 : -1;
    return one->index - other->index;
}

/* Sharing: no lease, only names; begin with those that are least busy. */
static struct gpu_lease *share(struct gpu_queue *queue)
{
    struct gpu_lease *lease = sw_new(struct gpu_lease);

    qsort(queue->gpus, (size_t)queue->gpu_count, sizeof *queue->gpus, least_busy_first);
    for (; lease->count < queue->request.count; lease->count++) {
        lease->gpus[lease->count] = queue->gpus[lease->count];
        lease->fds[lease->count] = -1;
    }
    return lease;
}

struct gpu_lease *gpu_queue_try(struct gpu_queue *queue, char message[256])
{
    char events[4096] __attribute__((aligned(8)));
    struct gpu_lease *lease;
    unsigned long long highest;
    int ahead, free_count;

    if (queue->request.share)
        return share(queue);
    while (queue->watch >= 0 && read(queue->watch, events, sizeof events) > 0)
        ;
    snprintf(message, 256, "waiting for %d GPU%s", queue->request.count,
             queue->request.count == 1 ? "" : "s");
    if (!lock_soon(queue->lock))
        return NULL;
    if (queue->ticket < 0)
        take_ticket(queue);
    ahead = count_ahead(queue->folder, queue->number, &highest);
    lease = take(queue, ahead == 0, &free_count);
    if (lease)
        drop_ticket(queue);
    unlock(queue->lock);
    snprintf(message + strlen(message), 200, ": %d of %d free, %d job%s ahead", free_count,
             queue->gpu_count, ahead, ahead == 1 ? "" : "s");
    return lease;
}

struct gpu_queue *gpu_queue_join(const struct gpu_request *request, struct sw_error *err)
{
    struct sw_gpu all[SW_GPU_MAX];
    int total = sw_gpu_list(all, SW_GPU_MAX);
    struct gpu_queue *queue = sw_new(struct gpu_queue);

    *queue = (struct gpu_queue){ .request = *request, .folder = -1, .lock = -1, .watch = -1,
                                 .ticket = -1 };
    for (int i = 0; i < total; i++)
        if (gpu_fits(&all[i], request->type, request->ids))
            queue->gpus[queue->gpu_count++] = all[i];
    if (queue->gpu_count < request->count)
        sw_fail(err, SW_E_REFUSED, "the job needs %d GPUs, and this machine has %d that fit",
                request->count, queue->gpu_count);
    else if (request->share)
        return queue;
    else if ((queue->folder = open_lease_folder(request->lease_dir, request->state_dir)) < 0 ||
             (queue->lock = open_shared(queue->folder, "queue.lock")) < 0)
        sw_fail_errno(err, SW_E_IO, "cannot use the folder of GPU leases");
    if (queue->lock < 0) {
        gpu_queue_leave(queue);
        return NULL;
    }
    queue->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (queue->watch >= 0) {
        char path[64];

        snprintf(path, sizeof path, "/proc/self/fd/%d", queue->folder);
        inotify_add_watch(queue->watch, path, IN_CLOSE_WRITE | IN_DELETE);
    }
    return queue;
}

void gpu_queue_leave(struct gpu_queue *queue)
{
    if (!queue)
        return;
    drop_ticket(queue);
    sw_fd_auto(&queue->watch);
    sw_fd_auto(&queue->lock);
    sw_fd_auto(&queue->folder);
    free(queue);
}

int gpu_queue_watch(const struct gpu_queue *queue)
{
    return queue->watch;
}

void gpu_lease_free(struct gpu_lease *lease)
{
    if (!lease)
        return;
    for (int i = 0; i < lease->count; i++)
        sw_fd_auto(&lease->fds[i]);
    free(lease);
}

bool gpu_holder(const struct sw_gpu *gpu, const char *lease_dir, const char *state_dir,
                char id[SW_ID_SIZE])
{
    sw_autofd int folder = open_lease_folder(lease_dir, state_dir);
    struct lease_name name = name_of(gpu);
    char text[128] = "";
    sw_autofd int fd = -1;
    ssize_t n;

    if (folder < 0 || !is_held(folder, name.text))
        return false;
    fd = openat(folder, name.text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, " \n")] = '\0';
    snprintf(id, SW_ID_SIZE, "%.*s", SW_ID_MAX, sw_id_valid(text) ? text : "?");
    return true;
}

static bool is_our_dead_ticket(int folder, const char *name)
{
    unsigned long long number;
    struct stat info;

    return ticket_number(name, &number) && fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(info.st_mode) && info.st_uid == geteuid() && !is_held(folder, name);
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

void gpu_dead_tickets(const char *lease_dir, const char *state_dir, bool remove,
                      void (*fn)(void *context, const char *path), void *context)
{
    sw_autofd int folder = open_lease_folder(lease_dir, state_dir);
    sw_autofd int lock = folder >= 0 ? open_shared(folder, "queue.lock") : -1;
    DIR *entries = open_entries(folder);

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
