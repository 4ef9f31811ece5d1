/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_retry.h - retry that lives with the job: the texts around the step, and reading what the
 * attempts left behind.
 *
 * The batch script numbers its attempts, asks the runner what a failure was (the same rules as the
 * client's), and requeues itself or submits its own successor. `meta/ID.attempts` tells about it:
 * one job id, numbered attempts, Slurm's job id and the logs of each (docs/decisions/0027).
 *
 * Pure: no I/O.
 */
#ifndef SW_PLATFORM_SLURM_RETRY_H
#define SW_PLATFORM_SLURM_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

#define SLURM_RETRIES 10                 /* when the job file says nothing (MAX_JOB_RETRIES) */
#define SLURM_AHEAD_S 120                /* --signal=B:USR1@120 */

struct slurm_retry {
    const char *job_id;
    const char *record;                  /* file of the attempts: meta/ID.attempts */
    const char *script;                  /* the batch script's own path, for a successor */
    const char *log_dir;                 /* slurm-logs: ID-JOBID/main.out and main.err below it */
    const char *runner;                  /* path on the shared file system */
    const char *exclude;                 /* nodes that the job avoids anyway; NULL: none */
    const json_t *retry;                 /* the job file's `retry`; NULL: not given */
    const json_t *checkpoint;            /* the job file's `checkpoint`; NULL: not given */
    int gpus;
    int ahead_s;                         /* how early USR1 comes; 0: SLURM_AHEAD_S */
};

/* Shell text for the top of the batch script; SLURM_TEXT_ONCE has to stand before it. Afterwards
 * SLIPWAY_ATTEMPT is exported, `sw_step COMMAND...` runs the job, and SLURM_RETRY_END is the last
 * line. A script that gives up before sets SW_EXIT and SW_REASON and calls sw_finish, too. */
int slurm_retry_begin(struct sw_buf *out, const struct slurm_retry *retry, struct sw_error *err);
#define SLURM_RETRY_END "sw_finish\n"
/* Text for `or_else` places: the job ends, with a reason that the rules know. */
#define SLURM_GIVE_UP(reason) "{ SW_EXIT=78 SW_REASON=" reason "; sw_finish; }"

/* ---- what the attempts left behind ---------------------------------------------------------- */

struct slurm_attempt {
    int number;                          /* from 1 */
    char slurm_job_id[32];
    int restart;
    char nodes[256];
    int64_t began_s, ended_s;            /* ended_s 0: not over, or it could not say */
    int64_t out_from, err_from;          /* where its part of the logs begins */
    int exit_code;                       /* SW_NO_EXIT_CODE: not known */
    char err_class[16], cause[16], rule[32], node[128];
    char action[16];                     /* none, requeue, successor, lost; empty: not over */
    char next[32];                       /* Slurm's id of the next attempt; empty: none */
};

struct slurm_attempts {
    struct slurm_attempt *items;         /* by number */
    size_t count;
};

/* Lines that cannot be read (torn by a crash) are left out; at most 1001 attempts are kept. */
void slurm_attempts_parse(const char *text, size_t length, struct slurm_attempts *out);
void slurm_attempts_done(struct slurm_attempts *attempts);
static inline void slurm_attempts_auto(struct slurm_attempts *a) { slurm_attempts_done(a); }
/* Slurm's id of what comes or runs now: the last attempt's, or its successor's. Borrowed; NULL: no
 * attempt has begun. */
const char *slurm_attempts_current(const struct slurm_attempts *attempts);

#endif
