/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - one of many does the work, on whatever file system they share; when it dies, another
 * takes over.
 *
 * A lease is a series of files NAME.1, NAME.2, ...: the process that makes the next one (exclusively:
 * that is atomic everywhere, NFS included) holds it. The holder writes a growing number into its file; a
 * waiter that sees the same number for the lease's length, by its own clock, makes the next file. No two
 * clocks are compared, and two waiters cannot both win. A holder that was only slow finds a younger file
 * and knows that it has lost; its work is harmless, since everything it writes gets its name by rename.
 * Releasing removes the file: nothing stays among the user's data.
 */
#ifndef SW_RUNNER_LEASE_H
#define SW_RUNNER_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/error.h"

/* ---- what to do: pure ------------------------------------------------------------------------ */

struct lease_state {             /* what is seen of the youngest file */
    int64_t generation;          /* 0: there is none */
    uint64_t beat;
    bool released;
    bool holder_dead;            /* known for certain: same machine, and the process is gone */
};

struct lease_memory {            /* what a waiter remembers between two looks; zeroed at first */
    int64_t generation;
    uint64_t beat;
    int64_t since_ms;
};

enum lease_move { LEASE_WAIT, LEASE_TAKE };

enum lease_move lease_decide(struct lease_memory *memory, const struct lease_state *seen,
                             int64_t now_ms, int64_t length_ms);

/* ---- doing it -------------------------------------------------------------------------------- */

struct lease_rules {
    int64_t length_ms;           /* 0: 20 s, or $SLIPWAY_LEASE_MS */
    int64_t give_up_ms;          /* 0: waits for ever */
    bool (*is_done)(void *context);     /* asked at every look: nothing left to do; may be NULL */
    void *context;
};

struct lease;

/* Wait for the lease of this path (its folder must exist). *out NULL: the work is done already. */
int lease_take(const char *path, const struct lease_rules *rules, struct lease **out,
               struct sw_error *err);
bool lease_is_lost(struct lease *lease);     /* another one took over */
void lease_release(struct lease *lease);
SW_DEFINE_AUTO(lease, struct lease *, lease_release)

#endif
