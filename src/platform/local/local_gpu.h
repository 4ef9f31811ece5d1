/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_gpu.h - who may use which of this machine's GPUs (core/gpu.h).
 *
 * A device is leased by locking a file named after its UUID; waiting jobs queue by tickets.
 */
#ifndef SW_PLATFORM_LOCAL_GPU_H
#define SW_PLATFORM_LOCAL_GPU_H

#include "base/error.h"
#include "base/json.h"
#include "core/gpu.h"

/* Does this device fit what the job wants? `type` and `ids` may be NULL. */
bool gpu_fits(const struct sw_gpu *gpu, const char *type, const json_t *ids);

/* ---- leases ------------------------------------------------------------------------------- */

struct gpu_request {
    int count;                         /* of the whole job */
    const char *type;                  /* NULL: any */
    const json_t *ids;                 /* array of UUIDs or numbers to choose from; NULL: any */
    bool share;                        /* take them even while other jobs use them */
    const char *job_id;
    const char *lease_dir;             /* where leases are kept; NULL: the machine's own place */
    const char *state_dir;             /* for a machine that has no such place */
};

struct gpu_lease {
    struct sw_gpu gpus[SW_GPU_MAX];
    int fds[SW_GPU_MAX];                  /* inherited by the job: the lease lives as long as it */
    int count;
};

struct gpu_queue;                      /* our ticket in the queue */

/* Join the queue. NULL + err when this machine can never give what is requested. */
struct gpu_queue *gpu_queue_join(const struct gpu_request *request, struct sw_error *err);
void gpu_queue_leave(struct gpu_queue *queue);
int gpu_queue_watch(const struct gpu_queue *queue);      /* readable when something changed */
/* A lease (owned), or NULL and why not yet in `message`. */
struct gpu_lease *gpu_queue_try(struct gpu_queue *queue, char message[256]);
void gpu_lease_free(struct gpu_lease *lease);

/* Who holds this device? Writes the job's id; false: it is free. */
bool gpu_holder(const struct sw_gpu *gpu, const char *lease_dir, const char *state_dir,
                char id[SW_ID_SIZE]);

#endif
