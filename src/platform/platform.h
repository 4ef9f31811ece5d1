/* SPDX-License-Identifier: Apache-2.0 */
/*
 * platform.h - a place where jobs run. Callers know this struct and nothing else.
 *
 * A new platform is one folder, one struct sw_platform and one line in registry.c
 * (docs/add-a-platform.md). Slots marked optional may be NULL: the caller then says
 * "not available on NAME".
 */
#ifndef SW_PLATFORM_PLATFORM_H
#define SW_PLATFORM_PLATFORM_H

#include "base/buf.h"
#include "base/proc.h"
#include "base/secret.h"
#include "core/evidence.h"
#include "core/option.h"
#include "core/place.h"
#include "core/stream.h"
#include "core/observation.h"
#include "plan/plan.h"

struct sw_connection;      /* an open connection; each platform defines its own */

struct sw_connect_options {            /* what open() may know; all borrowed for the call */
    const char *state_dir;          /* our own folder on this machine */
    const json_t *options;          /* the platform's block: of a job, of its row, or of the profile */
    void (*warn)(void *context, const char *text);
    void *warn_context;
    /* How far something is that a job waits for (its image); non-zero: stop it. May be NULL. */
    int (*progress)(void *context, const char *what, const struct sw_copy_progress *progress);
    void *progress_context;
    /* Values by name, for as long as the connection lives: the environment, and .env files behind it. */
    sw_env_fn *env;
    void *env_context;
    sw_borrow_fn *borrow;       /* a shell that a watcher lends; may be NULL */
    void *borrow_context;
};

struct sw_submission {                 /* what submit gives back */
    char remote_id[128];
    json_t *details;                /* to be remembered with the job; owned by the caller after */
    char *results_dir;              /* where results will be; likewise owned; may be NULL */
    char signature[72];             /* of adopt(): the plan's, as it was found beside it; "": none */
    bool trusted;                   /* of adopt(): only this user can have written the plan */
};

/* A deadline is a time of sw_monotonic_ms(); this one leaves it to the patience of the platform. */
#define SW_NO_DEADLINE INT64_C(0)

/* One job of several, and what came of it: each has an answer of its own, and a bad one stops no other. */
struct sw_batch_job {
    const struct sw_jobref *job;    /* borrowed */
    int result;                     /* 0 until the platform says otherwise; -1: see err */
    struct sw_error err;
};

/* ---- logs that an API gives as a stream -------------------------------------------------------- */

struct sw_log_message {             /* a line, or a part of a long one */
    int64_t at_ns;                  /* since 1970; 0: the platform tells no time */
    const char *bytes;              /* with its newline */
    size_t length;                  /* 0: it counts, and is not shown */
};

struct sw_log_sink {
    int (*take)(void *context, const struct sw_log_message *message);    /* non-zero: stop */
    /* The platform's clock, before the first message of each answer that tells it. Non-zero: stop. May be
     * NULL: not wanted. */
    int (*clock)(void *context, int64_t server_ms);
    void *context;
};

enum sw_log_life {                  /* of the replica, before its log is asked for */
    SW_LOG_LIFE_UNKNOWN,            /* the platform finds out, and fills it in */
    SW_LOG_NOT_BEGUN,               /* nothing is handed over */
    SW_LOG_GROWS,
    SW_LOG_ENDED,                   /* an answer that is asked for now is complete */
};

enum { SW_LOG_STAYS_OPEN = 1 };

struct sw_log_cursor {
    int64_t since_ns;               /* messages of this time and later; 0: from the first */
    int last;                       /* > 0: the last so many messages, whatever since_ns says */
    int64_t silence_ms;             /* silence of so long is SW_E_TIMEOUT; 0: the platform's own patience */
    enum sw_log_life life;
    bool whole_seconds;             /* filled in: of since_ns only the seconds count */
    bool misses;                    /* filled in before the first message, where all or the last are asked
                                       for: the beginning of the log is (or may be) not there any more */

    /* Keep a stream open between calls: each hands over what came meanwhile and returns within milliseconds,
     * and 0 once the replica has ended. A platform without such streams leaves `stream` NULL, does nothing
     * and returns 0: then the kit asks again and again. */
    bool follow;
    void *stream;                   /* the platform's own */
    void (*close)(void *stream);    /* filled in with it; called once */
};

struct sw_log_spools;               /* kit/log.h */

/* What gc wants. Only what carries the id of this store is ever removed. */
struct sw_sweep {
    bool (*known)(void *context, const char *id);      /* a job of this store */
    void *context;
    const char *store_id;           /* NULL: nothing can be told to be ours */
    bool remove;
    bool results;                   /* results that were not fetched, too */
    bool caches;                    /* and what jobs share and none uses at the moment */
};

struct sw_platform {
    const char *name;                        /* what users write after "platform:" */
    const char *alias;                       /* another word for it, in job files and profiles too; or NULL */
    const char *summary;                     /* one line for `slipway platforms` */
    const struct sw_option *options;         /* its block of the job file */
    const struct sw_credential *credentials; /* NULL: needs none; ends with a row without name */
    const char *const *variables;            /* more names that open() or submit() ask `env` for, besides
                                                those of options and credentials; NULL-ended, or NULL */
    bool guards;                             /* watches for what `guard:` names by itself */
    /* The attempt that it would begin by itself at some time begins now. Optional where it `retries`. */
    int (*hurry)(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err);
    bool collects;                           /* obeys plan->only_collect */
    /* In a watcher: the descriptors of a shell that is ready, where `key` is this connection's, and `facts`
     * that spare the borrower a question. `fds` NULL: make one ready, for the next. NULL: none is lent. */
    bool (*lend)(struct sw_connection *conn, const char *key, int fds[SW_CHANNELS], struct sw_buf *facts);
    bool queues;                             /* reconcile() starts its waiting jobs and ends ranks */
    bool shares;                             /* a connection takes its time: commands use a watcher's */
    bool retries;                            /* does what `retry:` says by itself, clients or none */
    bool terminals;                          /* exec_open() gives a terminal where its caller has one */
    bool one_log;                            /* of all attempts that it makes by itself: they go on in it */
    bool measures;                           /* what a job uses: it has no group of the kernel to itself */
    bool own_ray;                            /* a Ray cluster is its own, and so is the cluster's token */
    int retry_max;                           /* new attempts when the job file does not say; 0: 3 */

    /* Connect. Cheap where possible: no question is asked before it is needed. */
    struct sw_connection *(*open)(const struct sw_connect_options *config, struct sw_error *err);
    void (*close)(struct sw_connection *conn);

    /* Where this connection leads, without asking: fills in address and options of `out`, which lead open()
     * here again whatever the environment says then. Optional: this machine, and the options as given. */
    void (*place)(struct sw_connection *conn, struct sw_place *out);
    /* Who answers there: an id of the engine or cluster that stays the same, then a space and words for
     * people. An id that changes between two questions is none: then `identity` stays empty. Optional. */
    int (*identify)(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err);

    /* Does this job have no files of its own, so that the paths it declares are rewritten? Optional: it
     * has a container to itself. Pure. */
    bool (*rewrites_paths)(const struct sw_plan *plan);

    /* Pure: exactly what submit would send, as JSON array of {"what","text"}. */
    json_t *(*render)(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);

    /* Is 127.0.0.1 of this machine also that of the job? Without asking. Optional: it is not. */
    bool (*sees_loopback)(struct sw_connection *conn, const struct sw_plan *plan);

    /* Can this plan run here at all? Found before anything is remembered or sent. Optional. */
    int (*preflight)(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);

    /* All that this plan needs here, looked at one by one: JSON array of {"check","ok","message",
     * "fix"}. May take its time; changes nothing. Optional. */
    json_t *(*preflight_report)(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);

    /* Hand over one plan. Called again after a crash: must find the job it already made (every
     * name derives from plan->job_id) instead of making a second one. SW_E_UNREACHABLE means
     * "maybe": the caller keeps the row and looks again. Any other failure: nothing runs. */
    int (*submit)(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                  const struct sw_secrets *secrets, struct sw_submission *receipt,
                  struct sw_error *err);

    /* Looks at all these jobs of the connection at once, whatever their number, and changes nothing there.
     * Failing to reach the platform is -1 and changes no job. */
    int (*observe)(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                struct sw_error *err);

    /* Acts on what observe() saw: starts a queued job, ends the other ranks, removes a secret. What fails is
     * tried again after the next observe(). Optional: nothing is ever left to do. */
    void (*reconcile)(struct sw_connection *conn, const struct sw_observation *jobs, size_t count);

    /* For a job that wants_secrets: where the platform has no channel for them, they are handed over when its
     * runner is there to take them. `secrets` NULL: they are not here, unless submit() kept them in this
     * connection. 0 also when it cannot take them yet: the next observe() says so. Optional: submit() hands
     * them over. */
    int (*hand_secrets)(struct sw_connection *conn, const struct sw_observation *seen,
                        const struct sw_secrets *secrets, struct sw_error *err);

    /* A descriptor that becomes readable when something here may have changed, for a caller that would
     * otherwise poll; what changed, only observe() knows. The connection owns it; the caller that waited
     * reads the 8 bytes. -1: this place has no events. Optional. */
    int (*wake_fd)(struct sw_connection *conn);

    /* Logs; callers use kit/log.h. Either a log can be read at any offset (log_read, log_size), or the API
     * gives a stream only (log_fetch, log_spools) and the kit keeps a copy. */

    /* Bytes read, 0: nothing there (yet), -1. Bounded memory whatever its size. */
    ssize_t (*log_read)(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                        int64_t offset, char *bytes, size_t size, struct sw_error *err);
    int (*log_size)(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                    int64_t *size, struct sw_error *err);
    /* When the byte at `offset` was written, and the first offset of another time. Optional. With
     * log_time_asks it costs a question, and is left out where the times are not wanted. */
    bool log_time_asks;
    int (*log_time)(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                    int64_t offset, int64_t *at_ms, int64_t *until, struct sw_error *err);
    /* The first byte written at or after a time. Optional. */
    int (*log_since)(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                     int64_t at_ms, int64_t *offset, struct sw_error *err);

    /* Hand over what `cursor` asks for, in the platform's order and always cut into the same messages. 0: all
     * that is there now was handed over; SW_LOG_STAYS_OPEN: a follow goes on. -1 with SW_E_NOT_FOUND: the
     * replica is gone; SW_E_UNREACHABLE: cut off, and what came was handed over; SW_E_TIMEOUT: silence;
     * SW_E_UNSUPPORTED: no log is kept there; SW_E_INTERRUPTED: the sink stopped it. */
    int (*log_fetch)(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                     struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err);
    /* The spools that open() made (sw_log_spools_open). */
    struct sw_log_spools *(*log_spools)(struct sw_connection *conn);

    /* Stop these jobs, all at once, and return when it is certain that nothing of them runs. Each result: 0,
     * also when it was over already; 1: it waited and will never begin, which is all that there is to know
     * about it; -1. A place that does not answer is found out once, not once for each job. */
    void (*cancel)(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                   int64_t deadline_ms);

    /* A job that is paused there goes on: `slipway retry` of one. Returns at once. Optional. */
    int (*resume)(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err);

    /* These jobs are over, and that is written down: copy the end of their logs where the platform may
     * forget them, and put away what their options say they shall not leave. May be called again; what
     * fails stays for cleanup(). Few round trips for all of them. Optional. */
    void (*finalize)(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count);

    /* Remove what we made for these finished jobs; missing things are success. */
    void (*cleanup)(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, bool keep_results,
                    int64_t deadline_ms);

    /* JSON array of {"rank","node","status","exit_code","pid",...}. Optional. */
    json_t *(*replicas)(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err);

    /* Facts and the end of the log for diagnose/, of jobs that were just seen: out[i] holds what the
     * observation says already (sw_evidence_of) and is added to. What cannot be read stays out. Optional. */
    void (*evidence)(struct sw_connection *conn, const struct sw_observation *const *seen,
                     struct sw_evidence *out, size_t count, int64_t deadline_ms);

    /* The ends of the logs of jobs that are over, for their progress: texts[i], owned, NULL: not read.
     * Optional: where a log is read without asking anybody, log_read() does. */
    void (*log_ends)(struct sw_connection *conn, const struct sw_observation *const *seen,
                     char **texts, size_t count);

    /* Owned path or URI of the results; NULL + err. Optional: the receipt's is used. */
    char *(*results_dir)(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err);

    /* Copy the results into a folder here, where results_dir() is a path of another machine: JSON
     * {"files","bytes","to"}. Optional: results_dir() is read from here. */
    json_t *(*fetch_results)(struct sw_connection *conn, const struct sw_jobref *job, const char *to,
                     struct sw_error *err);

    int (*check_path)(struct sw_connection *conn, const char *path, bool *exists, struct sw_error *err);
    json_t *(*list_path)(struct sw_connection *conn, const char *path, struct sw_error *err);

    /* Find a job by its id alone, as another machine would: fills in a plan (may be NULL) and a
     * receipt. SW_E_NOT_FOUND. Optional. */
    int (*adopt)(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *receipt,
                 struct sw_error *err);

    /* Every job of ours that is here, whichever store knows it: JSON array of {"id","state","owner",
     * "created_ms"}. Optional. */
    json_t *(*jobs)(struct sw_connection *conn, struct sw_error *err);

    /* Start a command beside a running replica, with its environment and GPUs; *out is owned by the
     * caller. The terminal is the caller's, too. Optional. */
    int (*exec_open)(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_exec *what,
                     struct sw_stream **out, struct sw_error *err);

    /* Connect to a TCP port that a running replica listens at, on the loopback address of its own place; *out
     * is owned by the caller. read() puts what comes as output 1, and words about a failure as output 2.
     * Optional. */
    int (*port_open)(struct sw_connection *conn, const struct sw_jobref *job, int replica, int port,
                     struct sw_stream **out, struct sw_error *err);

    /* What carries our mark and belongs to no job of this store: JSON array of {"what","where",
     * "job","owner","kept","removed"}; "owner": whose it is, when it is not this store's; "kept": why it
     * stays. Optional. */
    json_t *(*orphans)(struct sw_connection *conn, const struct sw_sweep *sweep, struct sw_error *err);

    /* What is here: JSON object. Optional. */
    json_t *(*inventory)(struct sw_connection *conn, struct sw_error *err);
};

/* Declares the function NAME_SLOT of a platform, as the struct above has it. */
#define SW_PLATFORM_SLOT(name, slot) __typeof__(*((struct sw_platform *)0)->slot) name##_##slot

/* How many new attempts a job here gets when its file does not say. */
static inline int sw_platform_retries(const struct sw_platform *platform)
{
    return platform->retry_max > 0 ? platform->retry_max : 3;
}

/* batch.c: one job alone, as a batch of one. As cancel() and cleanup(); -1 + err. */
int sw_platform_cancel(const struct sw_platform *platform, struct sw_connection *conn,
                       const struct sw_jobref *job, struct sw_error *err);
int sw_platform_cleanup(const struct sw_platform *platform, struct sw_connection *conn,
                        const struct sw_jobref *job, bool keep_results, struct sw_error *err);
/* The same answer for all of them that have none yet. */
void sw_batch_fail(struct sw_batch_job *jobs, size_t count, const struct sw_error *why);

const struct sw_platform *sw_platform_find(const char *name);     /* NULL: no such platform */
const struct sw_platform *sw_platform_at(size_t index);           /* 0: the default; NULL: past the end */
/* SW_E_NOT_FOUND with a "did you mean". */
const struct sw_platform *sw_platform_need(const char *name, struct sw_error *err);

#endif
