/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_spool.h - the log of one container as a local file that only grows.
 *
 * Several processes may extend it at once: messages are numbered from the beginning of the log, all
 * see them in the same order, and whoever holds the lock writes only those that are not there yet. A
 * process that dies between its bytes and its note is cut back to the note by the next one.
 *
 * The engine can leave out what is older than a time, but not the first N messages. So a log is taken up
 * again by time, SPOOL_OVERLAP_S before the newest that is here; a clock that was set back by more than that
 * shows itself (by a message's time while somebody listens, by docker_spool_clock() after a gap), and
 * then all of it is read again, by number.
 */
#ifndef SW_PLATFORM_DOCKER_SPOOL_H
#define SW_PLATFORM_DOCKER_SPOOL_H

#include "platform/docker/docker_job.h"

enum {
    SPOOL_SECONDS = 8,
    SPOOL_OVERLAP_S = 5,             /* how much later than its time a message may be noted */
};

struct docker_spool_note {           /* the file R.state, whole */
    char magic[8];
    int64_t bytes, messages;         /* in the log so far */
    int64_t last_s;                  /* the newest message's time */
    int64_t recent[SPOOL_SECONDS];   /* messages of the last seconds, by second modulo */
    int64_t indexed_ms;              /* time of the last line in the index */
    int64_t unsorted;                /* the engine's clock was set back: times cannot be relied on */
    int64_t done;                    /* it is over and all of it is here */
    int64_t skew_ms;                 /* the engine's clock minus one of ours that nobody sets */
    uint64_t boot;                   /* since which start of this machine that one counts; 0: never */
    uint64_t check;
};

struct docker_spool {
    int log, index, state;           /* -1: not open */
    struct docker_spool_note note;   /* true while locked */
    struct sw_buf fresh;             /* to be written when unlocked */
};
#define DOCKER_SPOOL_INIT { .log = -1, .index = -1, .state = -1 }

uint64_t docker_hash(const void *bytes, size_t length);      /* tells changes, not intentions */
int docker_spool_open(struct docker_spool *spool, const char *folder, int replica,
                      struct sw_error *err);
void docker_spool_close(struct docker_spool *spool);
int docker_spool_lock(struct docker_spool *spool, struct sw_error *err);
int docker_spool_unlock(struct docker_spool *spool, struct sw_error *err);
/* Locked: this is message `number`. */
void docker_spool_add(struct docker_spool *spool, int64_t number,
                      const struct docker_message *message);
/* Locked: the engine's clock shows engine_ms, ours since the start `boot` of this machine machine_ms.
 * true: the engine's was set back since somebody last looked, and what was written then has times before
 * those we know: the log must be read from its beginning. */
bool docker_spool_clock(struct docker_spool *spool, int64_t engine_ms, int64_t machine_ms,
                        uint64_t boot);
/* Locked: ask the engine for everything since *since_s (0: all); the first message that comes then
 * has this number. A few seconds more than needed are asked for, since two streams may be noted in
 * another order than their times. */
int64_t docker_spool_resume(const struct docker_spool *spool, int64_t *since_s);

#endif
