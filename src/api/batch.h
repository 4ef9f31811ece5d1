/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - something is done to many jobs: those of one place together, the places side by side.
 */
#ifndef SW_API_BATCH_H
#define SW_API_BATCH_H

#include "api/api_internal.h"

struct api_one {                   /* one job of a batch */
    size_t at;                     /* among those that the caller named */
    struct sw_job row;             /* as it was read last; owned */
    bool done;                     /* nothing is left to do, or it failed */
    int result;                    /* -1: err */
    struct sw_error err;
};

struct api_batch {                 /* jobs of one place */
    struct sw_session *session;
    const void *options;              /* the verb's own */
    const struct sw_platform *platform;
    const char *profile;           /* borrowed */
    int64_t place;
    struct sw_connection *conn;
    struct api_one *jobs;
    size_t count;
};

/* Do `fn` to these jobs, once for each place, and tell the outcome of each (`tell` may be NULL) in the order
 * given, in the caller's thread. 0: all went well; -1: err is that of the first that did not. */
typedef void api_batch_fn(struct api_batch *batch);
int api_batch_run(struct sw_session *session, const char *const *ids, size_t count, api_batch_fn *fn,
                  const void *options, sw_outcome_fn *tell, void *context, struct sw_error *err);

/* Look at those that are not done, within so many ms; likewise their rows read anew. */
int api_batch_refresh(struct api_batch *batch, int64_t deadline_ms, json_t *unreachable,
                      struct sw_error *err);
int api_batch_reload(struct api_batch *batch, struct sw_error *err);
/* Those that are not done fail for this reason. */
void api_batch_fail(struct api_batch *batch, const struct sw_error *why);
void api_one_fail(struct api_one *one, const struct sw_error *why);
size_t api_batch_open(const struct api_batch *batch);           /* how many are not done */

#endif
