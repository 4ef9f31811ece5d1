/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh.h - bring the store up to date: one question per platform, whatever the number of jobs.
 */
#ifndef SW_MONITOR_REFRESH_H
#define SW_MONITOR_REFRESH_H

#include "platform/platform.h"
#include "store/store.h"

/* What refreshing needs from its caller. */
struct sw_harbour {
    struct sw_store *store;
    /* The open connection for a platform and profile (kept by the caller), or NULL + err. */
    struct sw_link *(*link)(void *context, const struct sw_platform *platform,
                            const char *profile, struct sw_error *err);
    void *context;
};

/* Look at these jobs (count 0: all that are not over). A platform that does not answer changes
 * no job: it is added to `unreachable` (JSON array of {"platform","message"}, may be NULL) and the
 * others go on. -1 only when the store itself fails. */
int sw_refresh(const struct sw_harbour *harbour, const char *const *ids, size_t count,
               json_t *unreachable, struct sw_error *err);

#endif
