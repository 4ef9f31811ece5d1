/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marked.h - jobs that are found on a service by the marks that Slipway gave them: the slots jobs() and
 * orphans(). The platform only lists them; its connection begins with struct sw_cloud.
 */
#ifndef SW_PLATFORM_KIT_MARKED_H
#define SW_PLATFORM_KIT_MARKED_H

#include "platform/kit/cloud.h"
#include "platform/kit/orphans.h"

struct sw_marked {                   /* one attempt of a job; all borrowed, NULL: not known */
    const char *id, *where;          /* the job; what the service calls it */
    int attempt;
    const char *store, *uid, *owner;
    enum sw_state state;
    bool over;                       /* nothing of it runs: a leftover, if no store knows it */
    int64_t created_ms;
    const json_t *answer;            /* for remove() */
};
typedef void sw_marked_take(void *context, const struct sw_marked *one);

struct sw_marked_api {
    const char *what;                /* "job", "workload" */
    /* Calls `take` for each that is there. */
    int (*visit)(struct sw_connection *conn, sw_marked_take *take, void *context, struct sw_error *err);
    int (*remove)(struct sw_connection *conn, const json_t *answer, struct sw_error *err);
    /* Adds what else may be left: secrets, logins. NULL: nothing. */
    int (*more)(struct sw_connection *conn, const struct sw_orphans *search, struct sw_error *err);
};

json_t *sw_marked_jobs(const struct sw_marked_api *api, struct sw_connection *conn, struct sw_error *err);
json_t *sw_marked_orphans(const struct sw_marked_api *api, struct sw_connection *conn,
                          const struct sw_sweep *sweep, struct sw_error *err);

/* The two as slots of a platform: NAME_jobs, NAME_orphans. */
#define SW_MARKED_SLOTS(NAME, API)                                                                      \
    json_t *NAME##_jobs(struct sw_connection *conn, struct sw_error *err)                               \
    {                                                                                                   \
        return sw_marked_jobs(API, conn, err);                                                          \
    }                                                                                                   \
    json_t *NAME##_orphans(struct sw_connection *conn, const struct sw_sweep *sweep,                    \
                           struct sw_error *err)                                                        \
    {                                                                                                   \
        return sw_marked_orphans(API, conn, sweep, err);                                                \
    }

#endif
