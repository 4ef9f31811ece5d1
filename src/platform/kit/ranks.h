/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.h - the replicas of a job, as one observation. Pure.
 *
 * A job of several replicas is over when none of them goes on. It has failed when one of them failed, and
 * then the others, which wait for it, must be ended. Which replica failed first explains the failure: the
 * others end because of it.
 */
#ifndef SW_PLATFORM_KIT_RANKS_H
#define SW_PLATFORM_KIT_RANKS_H

#include "core/observation.h"

struct sw_rank {                     /* one replica, as the platform shows it */
    enum sw_presence presence;       /* anything but SW_PRESENT: there should be one, and it is missing */
    enum sw_state state;
    bool follows;                    /* it ended because another replica did, or was stopped */
    int64_t started_ms, ended_ms;    /* 0: not known */
};

enum sw_ranks_phase {
    SW_RANKS_NONE,                   /* the job has no replicas */
    SW_RANKS_STARTING,               /* all are there, and some have not started yet */
    SW_RANKS_RUNNING,
    SW_RANKS_PAUSED,                 /* at least one is paused */
    SW_RANKS_INCOMPLETE,             /* one is missing, others go on */
    SW_RANKS_FAILING,                /* one failed, others go on: those must be ended */
    SW_RANKS_OVER,                   /* none goes on */
};

struct sw_ranks {
    enum sw_ranks_phase phase;
    int count, missing, pending, paused, running, over;
    int first_failed;                /* -1: none */
    int first_missing;               /* -1: none */
    int64_t started_ms, ended_ms;    /* the first start and the last end; 0: not known */
};

void sw_ranks_count(struct sw_ranks *out, const struct sw_rank *ranks, int count);

/* Did `a` fail before `b`? A replica that only followed another did not fail first; of the others the one
 * that ended earlier did. A missing one says nothing about a job that was canceled. */
bool sw_rank_failed_before(const struct sw_rank *a, const struct sw_rank *b);
/* The one that failed first; -1: none did. */
int sw_ranks_first_failed(const struct sw_rank *ranks, int count);
/* Does it go on, so that it must be ended when another failed? */
bool sw_rank_goes_on(const struct sw_rank *rank);

/* Presence, state, reason, message, times and failed_replica of the job. How a failed replica ended (exit
 * code, words) is the caller's to add. */
void sw_ranks_observe(const struct sw_ranks *ranks, struct sw_observation *out);

#endif
