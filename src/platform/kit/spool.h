/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - the log of one replica as a local file that only grows, for platforms whose API gives a
 * stream.
 *
 * Several processes may extend it: messages are numbered from the beginning of the log, every
 * process sees them in the same order, and the holder of the lock writes only those that are not
 * there yet. The bytes of a process that died before it wrote its note are cut off by the next one.
 *
 * A platform can leave out what is older than a time, but not the first N messages. So a log is
 * taken up again by time, SW_SPOOL_OVERLAP_S before the newest message that is here, and the
 * messages of those seconds are counted. A clock of the platform that was set back by more than
 * that shows by the time of a message or by sw_spool_clock(); then the whole log is read again and
 * compared by number.
 *
 *     R.log      the bytes            R.state    struct sw_spool_note
 *     R.idx      their times          R.tail     the end of the log, kept when the replica ended (log_end.c)
 */
#ifndef SW_PLATFORM_KIT_SPOOL_H
#define SW_PLATFORM_KIT_SPOOL_H

#include "base/buf.h"
#include "platform/platform.h"

enum {
    SW_SPOOL_SECONDS = 8,
    SW_SPOOL_OVERLAP_S = 5,          /* how much later than its time a message may appear */
};

/* By which messages an answer of the platform is recognized. */
struct sw_spool_marks {
    int64_t begin_ns, newest_ns;     /* times of the first message and of the newest; 0: not known */
    struct sw_spool_mark {
        int64_t number, at_ns;
    } first[SW_SPOOL_SECONDS];       /* the first message of each of the last seconds, by second modulo */
    uint64_t check;                  /* of these, and of how many messages there are */
};

struct sw_spool_note {               /* the file R.state, whole */
    char magic[8];
    int64_t bytes, messages;         /* in the log so far */
    int64_t last_s;                  /* the newest message's time */
    int64_t recent[SW_SPOOL_SECONDS];    /* messages of the last seconds, by second modulo */
    int64_t indexed_ms;              /* time of the last line in the index */
    int64_t unsorted;                /* times do not grow: the log cannot be taken up by time */
    int64_t done;                    /* the replica ended and all of its log is here */
    int64_t skew_ms;                 /* the platform's clock minus this machine's since its start */
    uint64_t boot;                   /* which start of this machine that was; 0: not known */
    uint64_t check;                  /* of what is above; older versions end here */
    struct sw_spool_marks marks;
};

struct sw_spool {
    int log, index, state;           /* -1: not open */
    bool locked;
    struct sw_spool_note note;       /* as of the last lock */
    struct sw_buf fresh;             /* written when unlocked */
};
#define SW_SPOOL_INIT { .log = -1, .index = -1, .state = -1 }

int sw_spool_open(struct sw_spool *spool, const char *folder, int replica, struct sw_error *err);
void sw_spool_close(struct sw_spool *spool);
int sw_spool_lock(struct sw_spool *spool, struct sw_error *err);
int sw_spool_unlock(struct sw_spool *spool, struct sw_error *err);
/* Lock and unlock: the note as it is now. */
int sw_spool_read_note(struct sw_spool *spool, struct sw_error *err);

/* These need the lock. */

void sw_spool_add(struct sw_spool *spool, int64_t number, const struct sw_log_message *message);
/* A line of our own, which is no message: no platform counts it. */
void sw_spool_say(struct sw_spool *spool, const char *line);
/* The platform's clock is at server_ms, this machine's at machine_ms since its start `boot`. true:
 * the platform's clock was set back since the last call, so that messages written since then may
 * have times before those that are here: the log must be read from its beginning. */
bool sw_spool_clock(struct sw_spool *spool, int64_t server_ms, int64_t machine_ms, uint64_t boot);
/* Ask the platform for messages since *since_s (0: all); the first one then has the returned
 * number. */
int64_t sw_spool_resume(const struct sw_spool *spool, int64_t *since_s);
/* The time of the message with which such an answer must begin; a later one shows that the platform does not
 * have all of its log any more. 0: not known. */
int64_t sw_spool_expects(const struct sw_spool *spool, int64_t since_s);

/* log_end.c: the replica is gone from the platform: the end of its log that was kept joins the
 * spool. 1; 0: none was kept. Takes the lock itself. */
int sw_spool_join_end(struct sw_spool *spool, const char *folder, int replica, struct sw_error *err);

uint64_t sw_spool_hash(const void *bytes, size_t length);      /* shows changes, does not prevent them */

#endif
