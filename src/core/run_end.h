/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_end.h - how a run ended: its runner's report, exit code, signal, memory and who stopped it become
 * state, reason and message, the same on every platform.
 *
 * A platform fills in what it knows, for the rank that decides; what it does not know stays as
 * SW_RUN_END_INIT has it. A report that could not be read leaves the end undecided: the caller keeps the
 * state and asks again. Pure.
 */
#ifndef SW_CORE_RUN_END_H
#define SW_CORE_RUN_END_H

#include "core/observation.h"

struct sw_run_end {                /* texts are borrowed */
    int exit_code;                 /* SW_NO_EXIT_CODE: not known; a stop has the usual one then */
    int signal;                    /* that ended the command; 0: none */
    int rank;                      /* of several, to be named in the message; -1: not named */

    /* Of the report. */
    bool reported;                 /* its runner said how it ended */
    bool unread;                   /* there may be a report, and it could not be read */
    bool stopped;                  /* it was ended from outside, before it was done */
    bool canceled, timed_out;
    int failed_peer;               /* it was ended because that rank failed; -1: no */
    const char *failed;            /* reason, when a phase of the runner failed; NULL */
    const char *message;           /* the runner's own words; NULL */

    /* Of the platform. */
    bool oom;
    int64_t memory_limit_bytes;    /* 0: not known */
    int64_t time_limit_ms;         /* 0: not known */
    bool by_hand;                  /* a person stopped it with the platform's own tools */
    bool host_ended;               /* its machine or engine went down under it */
    const char *error;       /* why the platform could not start it; NULL */
    const char *stopped_message;   /* the platform's words for by_hand, host_ended, stopped; NULL: ours */
};
#define SW_RUN_END_INIT { .exit_code = SW_NO_EXIT_CODE, .rank = -1, .failed_peer = -1 }

/* Takes over what a report says (core/report.h; NULL: there is none). Without one an exit code above 128 is
 * the signal that ended the runner itself. */
void sw_run_end_report(struct sw_run_end *end, const json_t *report);

/* Sets state, reason, message, exit code and signal. False: it is undecided, and nothing is set. */
bool sw_run_end_judge(const struct sw_run_end *end, struct sw_observation *seen);

#endif
