/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_room.h - who uses how much of this machine's CPUs and memory.
 *
 * Counted are the jobs that ask for `cpus` or `memory`, of all users; a job that asks for neither is not.
 */
#ifndef SW_PLATFORM_LOCAL_ROOM_H
#define SW_PLATFORM_LOCAL_ROOM_H

#include <stdint.h>

#include "base/error.h"

struct room {
    double cpus;
    int64_t memory_bytes;
};

/* What this machine has. */
struct room room_of_machine(void);

struct room_request {
    struct room room;                  /* of the whole job; 0: not asked for */
    const char *job_id;
    const char *lease_dir, *state_dir; /* as for GPUs */
};

struct room_queue;                     /* our ticket in the queue */
struct room_lease;                     /* our share; inherited by the job, it lives as long as that */

/* Join the queue. NULL + err when this machine can never give what is requested. */
struct room_queue *room_queue_join(const struct room_request *request, struct sw_error *err);
void room_queue_leave(struct room_queue *queue);
int room_queue_watch(const struct room_queue *queue);        /* readable when something changed */
/* A lease (owned), or NULL and why not yet in `message`. */
struct room_lease *room_queue_try(struct room_queue *queue, char message[256]);
void room_lease_free(struct room_lease *lease);

/* What people read while a job waits; pure. */
struct room_holder {
    char job_id[SW_ID_SIZE];
    struct room room;
};
void room_message(const struct room *asked, const struct room *machine, const struct room_holder *holders,
                  size_t count, int ahead, char out[256]);

/* What the file of a share says; false: nothing that counts. */
bool room_share_parse(const char *text, struct room_holder *out);

#endif
