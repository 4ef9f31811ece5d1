/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_queue.h - the folder in which local jobs note what they use of this machine, and queue for it.
 *
 * What is in use is a locked file, and so is a ticket in a queue: one without a lock belongs to a dead job.
 */
#ifndef SW_PLATFORM_LOCAL_QUEUE_H
#define SW_PLATFORM_LOCAL_QUEUE_H

#include <dirent.h>
#include <stdbool.h>

#include "base/error.h"

/* What the queues are for: the ends of their tickets' names. */
#define LOCAL_QUEUE_GPUS "ticket"
#define LOCAL_QUEUE_ROOM "room-ticket"

struct local_queue {
    const char *kind;
    int folder;                        /* of leases and tickets */
    int lock;                          /* the folder's own, for all queues */
    int watch;                         /* readable when something changed; -1: not to be had */
    int ticket;                        /* -1: not queued yet */
    unsigned long long number;
};

/* Nothing is queued yet; local_queue_close() also accepts one that was only begun here. */
void local_queue_init(struct local_queue *queue, const char *kind);
/* `lease_dir`: where leases are kept, NULL: the machine's own place; `state_dir`: where there is none. */
int local_queue_open(struct local_queue *queue, const char *lease_dir, const char *state_dir,
                     struct sw_error *err);
void local_queue_close(struct local_queue *queue);

/* Take the folder's lock and, the first time, a ticket; forget what woke us. False: not to be had soon. */
bool local_queue_enter(struct local_queue *queue);
int local_queue_ahead(const struct local_queue *queue);      /* how many wait before us; inside */
void local_queue_drop(struct local_queue *queue);            /* our turn has come: the ticket goes */
void local_queue_exit(struct local_queue *queue);

/* Files of the folder. Links are not followed. */
int local_lease_folder(const char *lease_dir, const char *state_dir);    /* -1: there is none */
DIR *local_lease_entries(int folder);                                    /* NULL: it cannot be read */
int local_lease_open(int folder, const char *name);                      /* made when it is not there */
bool local_lease_lock(int fd);
bool local_lease_is_held(int folder, const char *name);

/* Tickets of this user, of any kind, whose waiter is dead: `fn` gets the path of each; with `remove` they
 * are removed. */
void local_dead_tickets(const char *lease_dir, const char *state_dir, bool remove,
                        void (*fn)(void *context, const char *path), void *context);

#endif
