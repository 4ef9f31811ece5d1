/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor_internal.h - what the files of monitor/ share: the jobs of one place, and the steps that follow
 * when they were observed.
 */
#ifndef SW_MONITOR_INTERNAL_H
#define SW_MONITOR_INTERNAL_H

#include "monitor/refresh.h"

struct poll_group {                  /* the jobs of one place, by name */
    const struct sw_platform *platform;
    char *profile;                   /* NULL: the platform's own name */
    int64_t place;                   /* 0: rows of an older version; those of one profile belong together */
    char (*ids)[SW_ID_SIZE];
    size_t count;
    bool progress, act;              /* as in struct sw_refresh_options */
    bool asked;                      /* the store says that this host asks it now */
};

/* refresh_threads.c: reconcile all of these, in parallel; takes over what they own. */
int monitor_poll_all(const struct sw_monitor *monitor, struct poll_group *groups, size_t count,
                     int64_t deadline_ms, json_t *unreachable, struct sw_error *err);

/* reconcile.c: observe the jobs of one place, and do what follows. -1: the store fails. */
int monitor_reconcile(const struct sw_monitor *monitor, const struct poll_group *group,
                      json_t *unreachable, struct sw_error *err);

/* Fill in an observation of our own making. */
void monitor_say(struct sw_observation *seen, enum sw_state state, const char *reason,
                 const char *message);

/* cancel_again.c: cancels that were asked for and never confirmed are asked for again, unless another process
 * waits for them at this moment. Of each that will never begin the observation says so afterwards. */
void monitor_cancel_again(struct sw_store *store, const struct sw_platform *platform,
                          struct sw_connection *conn, struct sw_observation *const *seen, size_t count);

/* send.c: submit the attempts that these rows are at. They are claimed by the caller, and the platform has
 * nothing of them. -1: the store fails. */
int monitor_send(const struct sw_monitor *monitor, const struct sw_platform *platform,
                 struct sw_connection *conn, const char *const *ids, size_t count, struct sw_error *err);

/* send.c: secrets to jobs whose runners wait for them. What fails is tried again after the next observe(). */
void monitor_hand_secrets(const struct sw_monitor *monitor, const struct sw_platform *platform,
                          struct sw_connection *conn, const struct sw_observation *seen, size_t count);

/* progress.c: what the log of a job, and its runner, say about how far it is. */
struct monitor_words {
    const struct sw_job *job;      /* borrowed */
    char *log_end;                 /* of one that is over, where it was read already; owned; else NULL */
    json_t *document;              /* for the store; owned; NULL: nothing to keep */
    json_t *milestones;            /* reached since the last reading; owned */
};
/* Read on in the log of out->job. */
void monitor_read_progress(const struct sw_platform *platform, struct sw_connection *conn,
                           const struct sw_observation *seen, struct monitor_words *out);
/* Only what its runner reported last: there is no log yet, or the caller does not want it. */
/* progress.c: how busy its GPUs were so far: `known` and what was seen now. Pure but for `known`, which it
 * may share. */
json_t *monitor_gpu_use(const json_t *known, const json_t *live, int64_t now_ms);
void monitor_take_report(const struct sw_observation *seen, struct monitor_words *out);
/* What is new of it, in one transaction; the words are freed. */
void monitor_keep(struct sw_store *store, struct monitor_words *words, size_t count);

/* guard.c: a job that makes no progress, on platforms that do not watch for it themselves. */
void monitor_guard(struct sw_store *store, const struct sw_platform *platform,
                   struct sw_connection *conn, struct sw_job *job, const struct sw_observation *seen,
                   int64_t now_ms);

#endif
