/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh.h - bring the store up to date: one observe() per place, whatever the number of jobs.
 */
#ifndef SW_MONITOR_REFRESH_H
#define SW_MONITOR_REFRESH_H

#include "monitor/attempt.h"

struct sw_refresh_pool;      /* the tasks that run now; they may outlive the call that started them */

struct sw_refresh_pool *sw_refresh_pool_new(void);
void sw_refresh_pool_free(struct sw_refresh_pool *pool);      /* only when no task runs */

/* What refreshing needs from its caller. */
struct sw_monitor {
    struct sw_store *store;
    /* The open connection to the place of these rows (kept by the caller), or NULL + err. */
    struct sw_connection *(*connect)(void *context, const struct sw_platform *platform,
                            const char *profile, int64_t place, struct sw_error *err);
    /* Does the place answer as it did when they were sent there? 0: yes, or it cannot tell; else + err. May
     * be NULL. */
    int (*verify)(void *context, const struct sw_platform *platform, const char *profile,
                  int64_t place, struct sw_error *err);
    void *context;
    struct sw_refresh_pool *pool;
    /* Called around each task that may go on after sw_refresh() returned: between the two,
     * everything named here must stay. */
    void (*hold)(void *context);
    void (*release)(void *context);
    const json_t *(*rules)(void *context);    /* the user's own rules; asked after connect() */
    void (*warn)(void *context, const char *text);        /* may be NULL */
    /* The secrets that this job was given with; NULL: look where it was submitted. Owned. May be NULL. */
    struct sw_secrets *(*secrets)(void *context, const char *id);
    char host[SW_HOST_SIZE];         /* where this process runs */
    bool watcher;                    /* it is that host's watcher */
};

enum { SW_ANOTHER_PLACE = 1 };     /* what verify() says when another engine or cluster answers */

#define SW_REFRESH_PATIENT (-1)      /* deadline: as long as it takes */

struct sw_refresh_options {
    int64_t deadline_ms;             /* a platform that is slower is reported as "no answer after ..." */
    bool progress;                   /* read the logs for progress, too */
    /* Do what is due: start waiting jobs, retry, repeat cancels, enforce guards. Else it is only named; what
     * belongs to an end (its log, its secrets) is done anyway: an ended job is observed no more. */
    bool act;
    /* Of a watcher: a place that another host's asked within this time is left to it; 0: none is. */
    int64_t unless_asked_ms;
};

/* Observe these jobs (count 0: all that are not over), all platforms at once. A platform that does
 * not answer, or not in time, changes no job: it is added to `unreachable` (JSON array of
 * {"platform","message"}, may be NULL) and the others go on. With `act`, failures that are to be
 * retried are retried, and attempts that are due are sent. -1 only when the store itself fails. */
int sw_refresh(const struct sw_monitor *monitor, const char *const *ids, size_t count,
               const struct sw_refresh_options *options, json_t *unreachable,
               struct sw_error *err);

#endif
