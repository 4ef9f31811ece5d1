/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_retry.h - retry that lives with the job: the texts around the step, and reading what the
 * attempts left behind.
 *
 * The batch script numbers its attempts, asks the runner what a failure was (the same rules as the
 * client's), and requeues itself or submits its own successor. A record tells about it: one job id,
 * numbered attempts, Slurm's job id and the part of the logs of each (docs/decisions/0027).
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
#include "core/observation.h"

#define SLURM_RETRIES 10                 /* when the job file says nothing (MAX_JOB_RETRIES) */

struct slurm_retry {
    const char *script;                  /* the batch script's own path, for a successor */
    const char *name, *comment;          /* by which its jobs are found in the queue */
    const char *rules;                   /* file of the user's own rules; NULL: none */
    const char *exclude;                 /* nodes that the job avoids anyway; NULL: none */
    const json_t *retry;                 /* the job file's `retry`; NULL: not given */
    const json_t *checkpoint;            /* the job file's `checkpoint`; NULL: not given */
    int first;                           /* number of the first run */
    int gpus;
};

/* Values and functions of slurm_retry.sh, behind sw_text_once(). Before they are called, the batch script
 * sets SW_RECORD, SW_OUT, SW_ERR, SW_CANCELED and SW_RUNNER. */
int slurm_retry_text(struct sw_buf *out, const struct slurm_retry *retry, struct sw_error *err);

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
/* Of a job that tried again: which attempt it is at, how those before went, and a word about it in
 * its message. */
void slurm_attempts_describe(const struct slurm_attempts *attempts, struct sw_observation *seen);

#endif
