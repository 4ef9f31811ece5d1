/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak_watcher.h - the real watcher process, for which time passes as a test says.
 */
#ifndef SW_TESTS_SCENARIOS_SOAK_WATCHER_H
#define SW_TESTS_SCENARIOS_SOAK_WATCHER_H

#include "stage.h"

/* Starts it for the trial's state folder. `later` is the library made from later.c. */
pid_t watcher_begin(struct trial *here, const char *later);
/* It is `ms` later than when it began: it looks, and what was due then is done when this returns. */
void watcher_look(struct trial *here, int64_t ms);
void watcher_end(struct trial *here, pid_t pid);

#endif
