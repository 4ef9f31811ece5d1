/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observation.h - what a platform says about one job when observe() asks it.
 *
 * The caller fills in the reference part; observe() fills in the rest. A job the platform cannot
 * see stays SW_UNKNOWN with presence SW_ABSENT or SW_UNSEEN: that is different from "failed".
 */
#ifndef SW_CORE_OBSERVATION_H
#define SW_CORE_OBSERVATION_H

#include "base/json.h"

/* Which job: everything a platform needs to find it again. All borrowed. */
struct sw_jobref {
    const char *id;
    const char *remote_id;     /* what submit gave back; NULL when it never came that far */
    int attempt;               /* from 1 */
    enum sw_state state;       /* when it was last observed; SW_UNKNOWN: the caller does not know */
    int log_attempt;           /* of its log the part of this attempt alone; 0: as the platform keeps it */
    const json_t *details;     /* what submit wanted remembered; may be NULL */
    const json_t *plan;        /* the stored plan as JSON; may be NULL (adopted jobs) */
    bool finished;             /* the caller knows that this attempt ended: its log grows no more */
    bool best_effort;          /* read at most one piece of its log: the caller polls many jobs */
};

enum sw_presence {
    SW_UNSEEN = 0,    /* we do not know (yet): change nothing */
    SW_PRESENT,
    SW_ABSENT,        /* asked, and there is certainly no such job */
};

#define SW_NO_EXIT_CODE (-1)
enum { SW_DIGEST_TEXT = 72 };          /* "sha256:" and 64 digits */
#define SW_RETRY_WAIT   "30s..10m"     /* before a new attempt, when the job file does not say */

struct sw_observation {
    struct sw_jobref job;

    int attempt;               /* the platform tries again by itself and is at this one; 0: as asked */
    json_t *before;            /* and how those before went, as sw_store_attempts() says it, with "why" and
                                  "not_before_ms" of the next one, and "only_collect"; owned by the caller
                                  of observe(); NULL */
    bool unattended;           /* what would have tried it again there is gone. After a failure: the caller
                                  decides. With SW_ABSENT: that attempt was announced, and never began */
    enum sw_presence presence;
    bool needs_reconcile;      /* SW_UNSEEN until reconcile() has acted; then observe() can say more */
    bool wants_secrets;        /* it runs, and its runner waits for its secrets: hand_secrets() */
    bool leaves_secrets;       /* it is over and its secrets are still there: reconcile() removes them */
    bool by_absence;           /* present, and its end follows from its not being there any more: believed
                                  only at the place that it was sent to, like SW_ABSENT */
    enum sw_state state;
    char reason[48];           /* one word: "exit", "signal", "time", "memory", "gpu-wait" */
    char message[256];         /* for people */
    int exit_code;             /* SW_NO_EXIT_CODE: not known */
    int signal;                /* 0: none */
    int64_t until_ms;          /* a waiting job is expected to start then; 0: not known. Never part of
                                  the message: a countdown is no news */
    int64_t started_ms;        /* 0: not known */
    int64_t ended_ms;
    char remote_id[128];       /* learnt now; empty: nothing new */
    char node[128];            /* where it runs; for several nodes the first */
    char image_digest[SW_DIGEST_TEXT];    /* of the image that was started; empty: nothing new */
    bool bad_node;             /* of a failure: `node` could not run it, and the next attempt avoids it */
    int failed_replica;        /* the first rank that failed; -1: none */
    int64_t last_output_ms;    /* when its log last grew; 0: not known */
    json_t *live;              /* {"memory_bytes","gpus":[{"uuid","name","used_percent",
                                  "memory_used","memory_total"}]}; owned by the caller; NULL */
    json_t *runner;            /* what its runner reported, clean (core/report.h); owned likewise; NULL */
    json_t *facts;             /* what observe() learnt about its end, for evidence(); owned likewise; NULL */
};

/* Free what observe() gave. */
static inline void sw_observation_done(struct sw_observation *seen)
{
    json_decref(sw_take(seen->before));
    json_decref(sw_take(seen->live));
    json_decref(sw_take(seen->runner));
    json_decref(sw_take(seen->facts));
}

#endif
