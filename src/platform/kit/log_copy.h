/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_copy.h - the spool of one replica's log, extended from the platform.
 */
#ifndef SW_PLATFORM_KIT_LOG_COPY_H
#define SW_PLATFORM_KIT_LOG_COPY_H

#include "platform/kit/log.h"
#include "platform/kit/spool.h"

struct sw_log_copy {
    char *folder;                    /* of the spool */
    int replica;
    struct sw_spool spool;
    int64_t used_ms;

    const struct sw_log *source;     /* during a call */
    struct sw_log_sink sink;
    struct sw_log_cursor open;       /* of a follow, while open.stream is set */
    struct sw_buf pending;           /* messages that are not in the spool yet */
    int64_t next;                    /* number of the message that comes next */
    struct sw_error failure;         /* of the spool, during a fetch */

    bool caught_up;                  /* all that the platform had was fetched; from now on it is followed */
    bool ended;                      /* and nothing more will come */
    bool polls;                      /* the platform keeps no stream open */
    int64_t asked_ms;                /* when the last fetch that is not repeated at once ended */

    int64_t until_ms;                /* when a best-effort read has enough; 0: never */
    int64_t known;                   /* messages in the spool when the platform was asked */
    int64_t since_s, since_ns;       /* what it was asked for */
    int64_t expect_ns;               /* time of the message that must come first; 0: not known */
    int64_t newest_ns;               /* and of the newest that is known */
    bool came, cut;                  /* a message came; the answer begins later than it must */
    int64_t behind;                  /* cut: how many messages its own come behind */
    const struct sw_log_cursor *cursor;      /* during a call */
    int64_t first_s;                 /* time of the first message of a tail; -1: none came yet */
    bool tail, too_short;            /* it does not reach back to what is known */

    bool set_back;                   /* the platform's clock, seen in this fetch */
    bool answered;                   /* something came of this fetch */
    struct sw_log_recent {           /* the last messages of this fetch */
        int64_t at_ns[256], count;
    } recent;
    int64_t hop_ns, hop_next;        /* where the next fetch begins after a cut; hop_ns 0: by the note */
    int fruitless;                   /* answers in a row that brought nothing new */
    int64_t pause_ms, again_ms;      /* the platform is not asked before then */
};

/* log.c: ROOT/JOB/attempt-N/logs; owned. */
char *sw_log_spool_folder(const struct sw_log *log);

struct sw_log_copy *sw_log_copy_new(char *folder, int replica, struct sw_error *err);   /* owns folder */
void sw_log_copy_free(struct sw_log_copy *copy);

/* After it the spool has more than `offset` bytes, or there are no more for now. */
int sw_log_copy_extend(struct sw_log_copy *copy, const struct sw_log *log, int64_t offset,
                       struct sw_error *err);

#endif
