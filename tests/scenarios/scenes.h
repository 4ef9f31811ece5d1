/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes.h - one scene for each public thread of people who suffered from a tool like ours.
 *
 * Where a thread needs a platform that this house does not have yet, the row says which; it is
 * printed with the others, so nobody takes silence for proof.
 */
#ifndef SW_TESTS_SCENARIOS_SCENES_H
#define SW_TESTS_SCENARIOS_SCENES_H

#include "stage.h"

struct scene {
    int thread;                   /* its number in the list of forty */
    const char *issue;            /* where it was told */
    const char *claim;
    const struct fixture *fixture;
    void (*prove)(void **state);  /* NULL: see `instead` */
    const char *instead;          /* what it needs, or which test plays it */
    bool passed;
};

#define SCENE(number, where, name, platform) \
    { number, where, #name, &fixture_##platform, name, NULL, false }
#define NEEDS(number, where, claim, what) { number, where, claim, NULL, NULL, "needs " what, false }
/* Played by a test of its own, since it needs a server that this program cannot start. */
#define ELSEWHERE(number, where, claim, test) \
    { number, where, claim, NULL, NULL, "by '" test "'", false }

/* Each ends with a row without a claim. */
extern struct scene scenes_status[];        /* threads 1 to 9 */
extern struct scene scenes_truth[];         /* 10 to 14 */
extern struct scene scenes_logs[];          /* 15 to 21 */
extern struct scene scenes_keeping[];       /* 22 to 28: secrets, orphans, cancel */
extern struct scene scenes_watching[];      /* 29 to 32: controllers */
extern struct scene scenes_opaque[];        /* 33 to 40: opacity, many nodes, data */

#endif
