/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs.h - observe, reconcile and cancel for a platform whose API lists jobs and knows each by a name.
 *
 * The platform supplies five small functions. The kit supplies what is easy to get wrong: a list without a
 * job proves nothing until the job was asked for by name, cancel() stops all jobs before it waits for one of
 * them, and a cancel is done only when nothing of the job runs. Where one call stops many jobs and one list
 * shows them all, a cancel costs as much for a hundred as for one.
 */
#ifndef SW_PLATFORM_KIT_JOBS_H
#define SW_PLATFORM_KIT_JOBS_H

#include "platform/kit/ranks.h"
#include "platform/platform.h"

struct sw_jobs_name { char text[192]; };

struct sw_jobs_api {
    /* Pure: what this attempt is called there. */
    struct sw_jobs_name (*name)(const char *id, int attempt);
    /* These jobs (NULL: all that are there; more is fine): an owned object, by name; NULL + err: one of them
     * may be missing. */
    json_t *(*list)(struct sw_connection *conn, const struct sw_observation *jobs, size_t count,
                    struct sw_error *err);
    /* One of them, owned; NULL + err, SW_E_NOT_FOUND: it is not there. */
    json_t *(*get)(struct sw_connection *conn, const char *name, struct sw_error *err);
    /* Pure: what such an answer says of the job. */
    void (*read)(const json_t *answer, struct sw_observation *seen);
    /* Tell it to end, once or again. `why`: SW_REASON_CANCELED, or SW_REASON_ENDING when a rank failed. */
    int (*stop)(struct sw_connection *conn, const char *name, const char *why, struct sw_error *err);
    /* Adds to an answer, before it is read, what another question tells (replicas, the end of the log), where
     * that says something new. What cannot be had stays out. NULL: an answer is complete. */
    void (*detail)(struct sw_connection *conn, const struct sw_jobref *job, json_t *answer);
    /* Where one call stops many jobs, for sw_jobs_cancel(), instead of stop(): `going_on` are the answers of
     * those of `jobs` that are not over. NULL: there is no such call. */
    int (*stop_all)(struct sw_connection *conn, const struct sw_batch_job *jobs, size_t count,
                    const json_t *going_on, struct sw_error *err);
    bool (*is_over)(const json_t *answer);       /* Pure. With stop_all: does nothing of it run? */
};

/* One replica of an answer, for read(). */
struct sw_jobs_rank {
    struct sw_rank rank;
    int exit_code;                   /* SW_NO_EXIT_CODE: not known */
    const char *log_tail;            /* the end of its log, where the runner's report is; NULL: not known */
};
/* Pure: what the replicas say of the job, the runner's report included. */
void sw_jobs_read_ranks(const struct sw_jobs_rank *ranks, int count, bool canceled,
                        struct sw_observation *seen);

/* A job that is over, where its log alone says how each rank ended. */
struct sw_jobs_end {
    enum sw_state over;              /* as the platform says it: complete, failed or canceled */
    int ranks;
    const json_t *reports;           /* the end of each rank's log, or its last report alone, {"0": text};
                                        or NULL */
    int64_t ended_ms;                /* 0: not known */
    int failed;                      /* the rank that failed first; -1: the platform does not say */
    const char *reason, *message;    /* of the platform, for an end of which no runner speaks; NULL: none */
};
/* Pure: reports decide; without one the platform's word does. */
void sw_jobs_read_end(const struct sw_jobs_end *end, struct sw_observation *seen);

/* Its state, and why: `message` (NULL: none) may be any text of the platform. */
void sw_jobs_say(struct sw_observation *seen, enum sw_state state, const char *reason, const char *message);

/* Is each of these reports ({"0": text}) of a run that is over? False: there is none. Pure. */
bool sw_jobs_have_ended(const json_t *reports, const char *id);

int sw_jobs_observe(const struct sw_jobs_api *api, struct sw_connection *conn, struct sw_observation *jobs,
                    size_t count, struct sw_error *err);
/* Ends the other ranks of jobs of which one failed (sw_jobs_read_ranks() says which those are). */
void sw_jobs_reconcile(const struct sw_jobs_api *api, struct sw_connection *conn,
                       const struct sw_observation *jobs, size_t count);
void sw_jobs_cancel(const struct sw_jobs_api *api, struct sw_connection *conn, struct sw_batch_job *jobs,
                    size_t count, int64_t deadline_ms);
/* The three as slots of a platform: NAME_observe, NAME_reconcile, NAME_cancel. */
#define SW_JOBS_SLOTS(NAME, API)                                                                        \
    static int NAME##_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,    \
                              struct sw_error *err)                                                     \
    {                                                                                                   \
        return sw_jobs_observe(API, conn, jobs, count, err);                                            \
    }                                                                                                   \
    static void NAME##_reconcile(struct sw_connection *conn, const struct sw_observation *jobs,         \
                                 size_t count)                                                          \
    {                                                                                                   \
        sw_jobs_reconcile(API, conn, jobs, count);                                                      \
    }                                                                                                   \
    static void NAME##_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,      \
                              int64_t deadline_ms)                                                      \
    {                                                                                                   \
        sw_jobs_cancel(API, conn, jobs, count, deadline_ms);                                            \
    }

/* The slot finalize: ends of logs are kept, and secrets that an attempt may have been sent are deleted. */
void sw_jobs_finalize(const struct sw_platform *platform, struct sw_connection *conn,
                      const struct sw_jobref *const *jobs, size_t count,
                      int (*delete_secrets)(struct sw_connection *conn, const char *id, int attempt,
                                            struct sw_error *err));
/* For log_fetch(): cursor->life, asked for where the caller does not know it. */
int sw_jobs_log_life(const struct sw_jobs_api *api, struct sw_connection *conn, const struct sw_jobref *job,
                     enum sw_log_life *life, struct sw_error *err);
/* What the runner reported, and the end of the log of the rank that failed. */
void sw_jobs_evidence(const struct sw_platform *platform, struct sw_connection *conn,
                      const struct sw_observation *const *seen, struct sw_evidence *out, size_t count);
/* For submit() and adopt(): what it is called there, and the signature beside its plan; NULL: none. */
void sw_jobs_receipt(struct sw_submission *out, const char *remote_id, const char *signature);
/* The newest attempt of a job that the caller knows by its id alone, borrowed from `list`; NULL: there is
 * none. */
const json_t *sw_jobs_newest(const struct sw_jobs_api *api, const json_t *list, const char *id);

#endif
