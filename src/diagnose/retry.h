/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry.h - is this failure tried again, and when? Pure: no clock, no chance, no store.
 */
#ifndef SW_DIAGNOSE_RETRY_H
#define SW_DIAGNOSE_RETRY_H

#include "core/observation.h"

struct sw_retry {
    bool again;
    int64_t wait_ms;         /* from the failure to the next attempt */
    bool only_collect;       /* the command is done: only its outputs are brought again */
    bool avoid_node;         /* the next attempt keeps away from where this one failed */
    int number, most;        /* "retry 2 of 3" */
    char why[352];           /* for people, either way; has room for a whole message */
};

/* `plan` and `verdict` as stored (either may be NULL). `usual_most`: retries when the plan does not say
 * (sw_platform_retries). `jitter` (0 to 999) spreads jobs that failed
 * together: a quarter of the pause at most is added. */
void sw_retry_decide(const json_t *plan, int usual_most, const struct sw_observation *failed,
                     const json_t *verdict, unsigned jitter, struct sw_retry *out);

/* The same number for the same attempt of the same job, so that two watchers agree. */
unsigned sw_retry_jitter(const char *id, int attempt);

#endif
