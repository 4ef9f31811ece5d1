/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearsal_internal.h - what the files of the pretend platform share.
 *
 * script   what shall happen ("pending 1s, running 2s, exit 3"), parsed
 * run      when it was submitted, canceled, and what time it is now
 * timeline script + run: what an observer sees at that moment (pure)
 * fault    how the pretended API misbehaves
 * server   the files of the pretended other side of the wire
 */
#ifndef SW_PLATFORM_REHEARSAL_INTERNAL_H
#define SW_PLATFORM_REHEARSAL_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/json.h"
#include "core/observation.h"

#define REHEARSAL_SCRIPT_MAX 8192        /* characters of a whole script */
#define REHEARSAL_STEPS_MAX  200         /* steps of one attempt */
#define REHEARSAL_FOR_EVER   INT64_MAX

/* ---- script: rehearsal_script.c ---------------------------------------------------------- */

enum rehearsal_kind {
    REHEARSE_PENDING,      /* the first five last `length_ms` */
    REHEARSE_RUNNING,
    REHEARSE_PAUSED,
    REHEARSE_REQUEUED,     /* preempted, and the platform starts it again by itself */
    REHEARSE_UNSCHEDULABLE,/* in the queue, and nothing will ever fit it */
    REHEARSE_EPOCHS,       /* running, `number` times `length_ms`, one line of log each */
    REHEARSE_LOG_TEXT,     /* no time passes: `text` is one line of log */
    REHEARSE_LOG_LINES,    /* no time passes: `number` lines of log */
    REHEARSE_EXIT,         /* from here on: endings; `number` is the code or signal */
    REHEARSE_SIGNAL,
    REHEARSE_MEMORY,
    REHEARSE_LOST,
    REHEARSE_NODE_LOST,
    REHEARSE_PREEMPTED,
    REHEARSE_IMAGE,
    REHEARSE_VANISHED,     /* the platform forgets the job without a word */
};

static inline bool rehearsal_is_ending(enum rehearsal_kind kind)
{
    return kind >= REHEARSE_EXIT;
}

struct rehearsal_step {
    enum rehearsal_kind kind;
    int64_t length_ms;
    int64_t number;
    int64_t at_ms, ends_ms;    /* since the submit; log lines and endings take no time */
    int rank;              /* endings: the replica it happens to */
    char *text;
};

static inline int64_t rehearsal_later(int64_t at, int64_t by)
{
    return by >= REHEARSAL_FOR_EVER - at ? REHEARSAL_FOR_EVER : at + by;
}

struct rehearsal_script {
    struct rehearsal_step *steps;
    size_t count;
};

/* The steps of one attempt (from 1). Attempts are separated by ';', the last one repeats. */
int rehearsal_script_parse(const char *text, int attempt, struct rehearsal_script *out,
                           struct sw_error *err);
/* Are all attempts well written, and do their ranks exist among `nodes` replicas? */
int rehearsal_script_check(const char *text, int nodes, struct sw_error *err);
void rehearsal_script_done(struct rehearsal_script *script);
static inline void rehearsal_script_auto(struct rehearsal_script *s) { rehearsal_script_done(s); }

/* A bounded whole number; -1 when the text is anything else. For the two parsers. */
int64_t rehearsal_number(const char *text, int64_t most);
/* Cut the next piece off *rest at any of `separators`, not inside double quotes; blanks around it
 * are gone. NULL: nothing left. Changes the text. */
char *rehearsal_cut(char **rest, const char *separators);

/* ---- timeline: rehearsal_timeline.c ------------------------------------------------------- */

struct rehearsal_run {
    int64_t submitted_ms;
    int64_t canceled_ms;     /* 0: not canceled */
    int64_t limit_ms;        /* wall clock limit from the start; 0: none */
    int64_t now_ms;
};

/* Fills in all but the job itself, its node and its last output. */
void rehearsal_observe_at(const struct rehearsal_script *script, const struct rehearsal_run *run,
                          struct sw_observation *out);
int64_t rehearsal_log_size(const struct rehearsal_script *script, const struct rehearsal_run *run);
/* The first byte written at or after a time; when a byte was written (0: it is not there yet), and
 * the first one that may have another time. */
int64_t rehearsal_log_since(const struct rehearsal_script *script,
                            const struct rehearsal_run *run, int64_t at_ms);
void rehearsal_log_time(const struct rehearsal_script *script, const struct rehearsal_run *run,
                        int64_t offset, int64_t *at_ms, int64_t *until);
/* Bytes of the log from `offset`: as many as there are, at most `size`. */
size_t rehearsal_log_read(const struct rehearsal_script *script, const struct rehearsal_run *run,
                          int64_t offset, char *bytes, size_t size);

/* When the log last grew; when the job began, if there is no log; 0: not begun. */
int64_t rehearsal_last_output(const struct rehearsal_script *script,
                              const struct rehearsal_run *run);

/* ---- faults: rehearsal_script.c ----------------------------------------------------------- */

struct rehearsal_faults {
    int64_t slow_ms;               /* every answer takes that long */
    int64_t down_calls;            /* so many first calls get no answer */
    int64_t lost_answers;          /* so many first submits are accepted, the answer is lost */
    int64_t unseen_calls;          /* so many first polls do not show the job */
    int64_t cut_every;             /* one of so many calls gets no answer; 0: none */
    int64_t rotate_bytes;          /* the log lies in files of that size; 0: in one */
    int64_t clock_back_ms;         /* the server's clock is that late */
};

int rehearsal_faults_parse(const char *text, struct rehearsal_faults *out, struct sw_error *err);

/* ---- server: rehearsal_server.c ----------------------------------------------------------- */

struct rehearsal_job {             /* one attempt, as the pretended server remembers it */
    char *script;
    char *api;                     /* faults the job itself asked for; may be NULL */
    int nodes;
    int first_node;                /* number of rank 0's node: the first that is not avoided */
    struct rehearsal_run run;      /* `now_ms`: when it was read */
    struct rehearsal_script steps; /* of this attempt, when it was read */
    struct rehearsal_faults faults;    /* those that hold for it; the caller's */
};
void rehearsal_job_done(struct rehearsal_job *job);
static inline void rehearsal_job_auto(struct rehearsal_job *job) { rehearsal_job_done(job); }

char *rehearsal_server_id(const char *server, struct sw_error *err);   /* owned; made once */
/* Make the job unless it is there already; *made tells. Safe from many processes at once. */
int rehearsal_job_make(const char *server, const char *id, int attempt,
                       const json_t *job, bool *made, struct sw_error *err);
/* SW_E_NOT_FOUND: there is certainly no such job. Done with rehearsal_job_done(), also after a
 * failure. */
int rehearsal_job_read(const char *server, const char *id, int attempt, struct rehearsal_job *out,
                       struct sw_error *err);
/* The newest attempt there is; 0: none. */
int rehearsal_job_newest(const char *server, const char *id);
/* The first cancel counts. Also stops a job that is only on its way to the server. */
int rehearsal_job_cancel(const char *server, const char *id, int attempt, int64_t now_ms,
                         struct sw_error *err);
/* Count one more event of that name for a job, over all processes: how many came before. */
int64_t rehearsal_job_count(const char *server, const char *id, const char *name);

#endif
