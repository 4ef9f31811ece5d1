/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage.h - what the scenes are played with: a stay (tests/contract), scripts for the rehearsal,
 * the real program, and a clock that can be moved.
 */
#ifndef SW_TESTS_SCENARIOS_STAGE_H
#define SW_TESTS_SCENARIOS_STAGE_H

#include "../contract/trial.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"

extern const char *slipway_program;

/* trial_begin() on that platform, and its end with the true clock and a healthy API again. */
int stage_begin(const struct fixture *fixture, void **state);
int stage_end(void **state);

/* A request for a script; more keys and values follow, the last one is NULL. */
struct sw_request *script(struct trial *here, const char *steps, ...)
    __attribute__((sentinel));
/* The same, sent. Returns here->id. */
const char *rehearse(struct trial *here, const char *steps, ...) __attribute__((sentinel));

/* The clock of this process runs on from here: `ms` later (or earlier) than before. */
void time_passes(int64_t ms);

/* Run `slipway WORDS...` (the last is NULL) on the stay's store. Its stdout goes to *out (owned)
 * unless that is NULL, its stderr to the file "stderr" of the stay. Returns the exit status. */
int slipway(struct trial *here, char **out, const char *word, ...) __attribute__((sentinel));
/* The same, begun only: its stdout goes to the file `out`. */
pid_t begin_slipway(struct trial *here, const char *out, const char *word, ...)
    __attribute__((sentinel));
int end_of(pid_t child);                                     /* 128+N for a signal */

json_t *answer(char *text);                                  /* parsed and released; never NULL */
json_t *list_all(struct trial *here, enum sw_look look);
json_t *events_of(struct trial *here, const char *id);
int count_events(struct trial *here, const char *id, const char *kind);
json_t *analysis(struct trial *here, const char *id);         /* sw_failure_analysis */
json_t *why(struct trial *here, const char *id);              /* sw_why */

/* Fail unless it took less than that since `begun_ms` (monotonic). */
void expect_quick(int64_t begun_ms, int64_t most_ms, const char *what);
void expect_has(const char *text, const char *words);

#endif
