/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_room.c - CPUs and memory are shared out, and jobs queue for them as they do for GPUs.
 *
 * A share is a locked file, "JOB.PID.room", that says how much its job has. The descriptor is inherited by
 * everything the job starts: what it has stays taken while anything of it lives, and comes back by itself.
 * A share without a lock belongs to a dead job and counts for nothing.
 *
 * What a file says is not trusted: it may be another user's. A wrong number costs its writer's neighbours
 * no more than a job that asks for as much.
 */
#include "platform/local/local_room.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "core/id.h"
#include "platform/local/local_queue.h"

#define SHARE_END ".room"

enum { HOLDERS_MOST = 4096, HOLDERS_NAMED = 3 };

struct room_queue {
    struct room_request request;
    struct room machine;
    struct local_queue line;
};

struct room_lease {
    int fd;
    int folder;
    char name[128];
};

struct room room_of_machine(void)
{
    struct sysinfo info = { 0 };

    return (struct room){
        .cpus = (double)sysconf(_SC_NPROCESSORS_ONLN),
        .memory_bytes = sysinfo(&info) == 0 ? (int64_t)info.totalram * info.mem_unit : 0,
    };
}

/* ---- words ---------------------------------------------------------------------------------- */

/* "2 CPUs and 8 GiB", of what `asked` asks for. */
static void add_room(struct sw_buf *out, const struct room *asked, const struct room *room,
                     const char *memory)
{
    char size[32];

    if (asked->cpus > 0)
        sw_buf_addf(out, "%g CPU%s", room->cpus, room->cpus == 1 ? "" : "s");
    if (asked->cpus > 0 && asked->memory_bytes > 0)
        sw_buf_add(out, " and ");
    if (asked->memory_bytes > 0) {
        sw_size_format(room->memory_bytes, size);
        sw_buf_addf(out, "%s%s", size, memory);
    }
}

static bool holds(const struct room *asked, const struct room_holder *holder)
{
    return (asked->cpus > 0 && holder->room.cpus > 0) ||
           (asked->memory_bytes > 0 && holder->room.memory_bytes > 0);
}

static struct room free_room(const struct room *machine, const struct room_holder *holders, size_t count)
{
    struct room left = *machine;

    for (size_t i = 0; i < count; i++) {
        left.cpus -= holders[i].room.cpus;
        left.memory_bytes -= holders[i].room.memory_bytes;
    }
    left.cpus = left.cpus > 0 ? left.cpus : 0;
    left.memory_bytes = left.memory_bytes > 0 ? left.memory_bytes : 0;
    return left;
}

void room_message(const struct room *asked, const struct room *machine, const struct room_holder *holders,
                  size_t count, int ahead, char out[256])
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    struct room left = free_room(machine, holders, count);
    size_t named = 0, more = 0;

    sw_buf_add(&text, "waiting for ");
    add_room(&text, asked, asked, " of memory");
    sw_buf_add(&text, ": ");
    add_room(&text, asked, &left, "");
    sw_buf_add(&text, " free of ");
    add_room(&text, asked, machine, "");
    for (size_t i = 0; i < count; i++) {
        if (!holds(asked, &holders[i]))
            continue;
        if (named < HOLDERS_NAMED)
            sw_buf_addf(&text, "%s%s", named ? ", " : "; held by ", holders[i].job_id);
        else
            more++;
        named++;
    }
    if (more)
        sw_buf_addf(&text, " and %zu more", more);
    if (ahead)
        sw_buf_addf(&text, "; %d job%s ahead", ahead, ahead == 1 ? "" : "s");
    snprintf(out, 256, "%s", sw_buf_text(&text));
}

/* ---- shares --------------------------------------------------------------------------------- */

/* "JOB UID MILLI-CPUS BYTES"; digits that a number has no room for are not ours. */
bool room_share_parse(const char *text, struct room_holder *out)
{
    char id[65] = "";
    long long milli_cpus = 0, bytes = 0;

    if (sscanf(text, "%64s %*9d %15lld %15lld", id, &milli_cpus, &bytes) != 3 || milli_cpus < 0 || bytes < 0)
        return false;
    *out = (struct room_holder){ .room = { .cpus = (double)milli_cpus / 1000, .memory_bytes = bytes } };
    snprintf(out->job_id, sizeof out->job_id, "%.*s", SW_ID_MAX, sw_id_valid(id) ? id : "?");
    return true;
}

static bool read_share(int folder, const char *name, struct room_holder *out)
{
    sw_autofd int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    char text[160] = "";
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;

    text[n > 0 ? n : 0] = '\0';
    return room_share_parse(text, out);
}

/* Who holds something now. Shares of the dead are removed where we may. */
static size_t find_holders(int folder, struct room_holder holders[HOLDERS_MOST])
{
    DIR *entries = local_lease_entries(folder);
    size_t count = 0;

    for (struct dirent *entry; entries && (entry = readdir(entries)) && count < HOLDERS_MOST;) {
        if (!sw_text_ends(entry->d_name, SHARE_END))
            continue;
        if (!local_lease_is_held(folder, entry->d_name))
            unlinkat(folder, entry->d_name, 0);
        else if (read_share(folder, entry->d_name, &holders[count]))
            count++;
    }
    if (entries)
        closedir(entries);
    return count;
}

static bool fits(const struct room *asked, const struct room *left)
{
    return asked->cpus <= left->cpus + 0.0005 && asked->memory_bytes <= left->memory_bytes;
}

/* Written before it is locked: under the folder's lock, so none sees it in between. */
static struct room_lease *take(struct room_queue *queue)
{
    const struct room_request *request = &queue->request;
    sw_autofree struct room_lease *lease = sw_new(struct room_lease);
    sw_autofd int fd = -1, folder = dup(queue->line.folder);

    snprintf(lease->name, sizeof lease->name, "%.*s.%d" SHARE_END, SW_ID_MAX, request->job_id, (int)getpid());
    fd = openat(folder, lease->name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || folder < 0 || !local_lease_lock(fd) || ftruncate(fd, 0) < 0 || fchmod(fd, 0644) < 0 ||
        dprintf(fd, "%s %d %lld %lld\n", request->job_id, (int)getuid(),
                (long long)(request->room.cpus * 1000 + 0.5), (long long)request->room.memory_bytes) < 0)
        return NULL;
    fcntl(folder, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFD, 0);              /* inherited: see above */
    lease->fd = sw_take_fd(fd);
    lease->folder = sw_take_fd(folder);
    return sw_take(lease);
}

struct room_lease *room_queue_try(struct room_queue *queue, char message[256])
{
    sw_autofree struct room_holder *holders = sw_alloc(HOLDERS_MOST * sizeof *holders);
    const struct room *asked = &queue->request.room;
    struct room_lease *lease = NULL;
    struct room left;
    size_t count;
    int ahead;

    if (!local_queue_enter(&queue->line)) {
        snprintf(message, 256, "waiting for the queue of this machine");
        return NULL;
    }
    ahead = local_queue_ahead(&queue->line);
    count = find_holders(queue->line.folder, holders);
    left = free_room(&queue->machine, holders, count);
    if (ahead == 0 && fits(asked, &left))
        lease = take(queue);
    if (lease)
        local_queue_drop(&queue->line);
    local_queue_exit(&queue->line);
    room_message(asked, &queue->machine, holders, count, ahead, message);
    return lease;
}

struct room_queue *room_queue_join(const struct room_request *request, struct sw_error *err)
{
    struct room_queue *queue = sw_new(struct room_queue);
    int opened = 0;

    queue->request = *request;
    queue->machine = room_of_machine();
    local_queue_init(&queue->line, LOCAL_QUEUE_ROOM);
    if (!fits(&request->room, &queue->machine))
        opened = sw_fail(err, SW_E_REFUSED, "the job asks for more CPUs or memory than this machine has");
    else
        opened = local_queue_open(&queue->line, request->lease_dir, request->state_dir, err);
    if (opened == 0)
        return queue;
    room_queue_leave(queue);
    return NULL;
}

void room_queue_leave(struct room_queue *queue)
{
    if (!queue)
        return;
    local_queue_close(&queue->line);
    free(queue);
}

int room_queue_watch(const struct room_queue *queue)
{
    return queue->line.watch;
}

void room_lease_free(struct room_lease *lease)
{
    if (!lease)
        return;
    unlinkat(lease->folder, lease->name, 0);
    close(lease->folder);
    close(lease->fd);
    free(lease);
}
