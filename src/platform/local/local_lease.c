/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_lease.c - two jobs never share a GPU unless asked: leases and the queue for them.
 *
 * A lease is a lock on a file named after the GPU's UUID. The descriptor is inherited by
 * everything the job starts, so the GPU stays taken while anything of the job lives, even after
 * its supervisor was killed; the kernel releases it, and no cleaning up is needed. Who waits is in the
 * queue of local_queue.c.
 */
#include "platform/local/local_gpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "core/id.h"
#include "platform/local/local_queue.h"

struct gpu_queue {
    struct gpu_request request;
    struct sw_gpu gpus[SW_GPU_MAX];          /* those that fit the request */
    int gpu_count;
    struct local_queue line;
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

struct lease_name { char text[128]; };

static struct lease_name name_of(const struct sw_gpu *gpu)
{
    struct lease_name name;

    snprintf(name.text, sizeof name.text, "%s.lease", gpu->uuid);
    return name;
}

/* ---- taking ------------------------------------------------------------------------------- */

static bool take_one(struct gpu_queue *queue, const struct sw_gpu *gpu, struct gpu_lease *lease)
{
    sw_autofd int fd = local_lease_open(queue->line.folder, name_of(gpu).text);

    if (fd < 0 || !local_lease_lock(fd))
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
        if (!local_lease_is_held(queue->line.folder, name_of(&queue->gpus[i]).text))
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
    struct gpu_lease *lease;
    int ahead, free_count;

    if (queue->request.share)
        return share(queue);
    snprintf(message, 256, "waiting for %d GPU%s", queue->request.count,
             sw_text_plural(queue->request.count));
    if (!local_queue_enter(&queue->line))
        return NULL;
    ahead = local_queue_ahead(&queue->line);
    lease = take(queue, ahead == 0, &free_count);
    if (lease)
        local_queue_drop(&queue->line);
    local_queue_exit(&queue->line);
    snprintf(message + strlen(message), 200, ": %d of %d free, %d job%s ahead", free_count,
             queue->gpu_count, ahead, sw_text_plural(ahead));
    return lease;
}

struct gpu_queue *gpu_queue_join(const struct gpu_request *request, struct sw_error *err)
{
    struct sw_gpu all[SW_GPU_MAX];
    int total = sw_gpu_list(all, SW_GPU_MAX);
    struct gpu_queue *queue = sw_new(struct gpu_queue);
    int opened = 0;

    queue->request = *request;
    local_queue_init(&queue->line, LOCAL_QUEUE_GPUS);
    for (int i = 0; i < total; i++)
        if (gpu_fits(&all[i], request->type, request->ids))
            queue->gpus[queue->gpu_count++] = all[i];
    if (queue->gpu_count < request->count)
        opened = sw_fail(err, SW_E_REFUSED, "the job needs %d GPU%s; this machine has %d that fit",
                         request->count, sw_text_plural(request->count), queue->gpu_count);
    else if (!request->share)
        opened = local_queue_open(&queue->line, request->lease_dir, request->state_dir, err);
    if (opened == 0)
        return queue;
    gpu_queue_leave(queue);
    return NULL;
}

void gpu_queue_leave(struct gpu_queue *queue)
{
    if (!queue)
        return;
    local_queue_close(&queue->line);
    free(queue);
}

int gpu_queue_watch(const struct gpu_queue *queue)
{
    return queue->line.watch;
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
    sw_autofd int folder = local_lease_folder(lease_dir, state_dir);
    struct lease_name name = name_of(gpu);
    char text[128] = "";
    sw_autofd int fd = -1;
    ssize_t n;

    if (folder < 0 || !local_lease_is_held(folder, name.text))
        return false;
    fd = openat(folder, name.text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, " \n")] = '\0';
    snprintf(id, SW_ID_SIZE, "%.*s", SW_ID_MAX, sw_id_valid(text) ? text : "?");
    return true;
}
