/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes.h - one scene for each public report of people who suffered from a tool like ours.
 *
 * Where a report needs a platform that this house does not have yet, the row says which; it is
 * printed with the others: silence is no proof.
 */
#ifndef SW_TESTS_SCENARIOS_SCENES_H
#define SW_TESTS_SCENARIOS_SCENES_H

#include "stage.h"

struct scene {
    const char *issue;            /* where it was reported */
    const char *claim;
    const struct fixture *fixture;
    void (*prove)(void **state);  /* NULL: see `instead` */
    const char *instead;          /* what it needs, or which test plays it */
    bool passed;
};

#define SCENE(where, name, platform) \
    { where, #name, &fixture_##platform, name, NULL, false }
#define NEEDS(where, claim, what) { where, claim, NULL, NULL, "needs " what, false }
/* Played by a test of its own, since it needs a server that this program cannot start. */
#define ELSEWHERE(where, claim, test) \
    { where, claim, NULL, NULL, "by '" test "'", false }

/* Each ends with a row without a claim. */
extern struct scene scenes_status[];        /* states */
extern struct scene scenes_truth[];         /* what is true */
extern struct scene scenes_logs[];          /* logs */
extern struct scene scenes_keeping[];       /* secrets, orphans, cancel */
extern struct scene scenes_watching[];      /* controllers */
extern struct scene scenes_opaque[];        /* opacity, many nodes, data */

#endif
