/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_gpu.h - the GPUs of this machine, and who may use which.
 *
 * Devices are seen through NVML, loaded at run time; without it there are none. A device is
 * leased by locking a file named after its UUID; waiting jobs stand in line by tickets.
 */
#ifndef SW_PLATFORM_LOCAL_GPU_H
#define SW_PLATFORM_LOCAL_GPU_H

#include "base/error.h"
#include "base/json.h"

enum { GPU_MAX = 64 };

struct gpu {
    int index;
    char uuid[96];
    char name[96];
    int64_t memory_bytes, memory_used_bytes;
    int busy_percent;                  /* -1: not known */
};

/* All devices; 0 when the machine has none or no driver. */
int gpu_list(struct gpu *out, int room);

/* Does this device fit what the job wants? `type` and `ids` may be NULL. */
bool gpu_fits(const struct gpu *gpu, const char *type, const json_t *ids);

/* ---- meter: the same devices looked at again and again --------------------------------------- */

struct gpu_meter;                      /* keeps NVML open; opening it takes longer than a look */

struct gpu_meter *gpu_meter_open(const struct gpu *gpus, int count);     /* NULL: no NVML */
void gpu_meter_close(struct gpu_meter *meter);
/* Fills in used memory and load of each (`gpus` as given to open). */
void gpu_meter_read(struct gpu_meter *meter, struct gpu *gpus);
/* What went wrong with them since open: "gpu_lost", "ecc_uncorrected", into `facts`. */
void gpu_meter_facts(struct gpu_meter *meter, json_t *facts);
/* The PCI address of a device, "0000:3b:00" as the kernel writes it; false: not known. */
bool gpu_meter_pci(struct gpu_meter *meter, int which, char out[32]);

/* ---- leases ------------------------------------------------------------------------------- */

struct gpu_wish {
    int count;                         /* of the whole job */
    const char *type;                  /* NULL: any */
    const json_t *ids;                 /* array of UUIDs or numbers to choose from; NULL: any */
    bool share;                        /* take them whoever else uses them */
    const char *job_id;
    const char *lease_dir;             /* where leases are kept; NULL: the machine's own place */
    const char *state_dir;             /* for a machine that has no such place */
};

struct gpu_lease {
    struct gpu gpus[GPU_MAX];
    int fds[GPU_MAX];                  /* inherited by the job: the lease lives as long as it */
    int count;
};

struct gpu_queue;                      /* our place in the line */

/* Stand in line. NULL + err when the machine can never give what is wished. */
struct gpu_queue *gpu_queue_join(const struct gpu_wish *wish, struct sw_error *err);
void gpu_queue_leave(struct gpu_queue *queue);
int gpu_queue_watch(const struct gpu_queue *queue);      /* readable when something changed */
/* A lease (owned), or NULL and why not yet in `message`. */
struct gpu_lease *gpu_queue_try(struct gpu_queue *queue, char message[256]);
void gpu_lease_free(struct gpu_lease *lease);

/* Who holds this device? Writes the job's id; false: it is free. */
bool gpu_holder(const struct gpu *gpu, const char *lease_dir, const char *state_dir,
                char id[SW_ID_SIZE]);

/* Tickets of this user whose waiter is dead: `fn` hears each one's path; with `remove` they go. */
void gpu_dead_tickets(const char *lease_dir, const char *state_dir, bool remove,
                      void (*fn)(void *context, const char *path), void *context);

#endif
