/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - one job alone is a batch of one: there is no second way to cancel or to remove.
 */
#include "platform/platform.h"

static int answer_of(const struct sw_batch_job *one, struct sw_error *err)
{
    if (one->result < 0 && err)
        *err = one->err;
    return one->result;
}

int sw_platform_cancel(const struct sw_platform *platform, struct sw_connection *conn,
                       const struct sw_jobref *job, struct sw_error *err)
{
    struct sw_batch_job one = { .job = job };

    platform->cancel(conn, &one, 1, SW_NO_DEADLINE);
    return answer_of(&one, err);
}

int sw_platform_cleanup(const struct sw_platform *platform, struct sw_connection *conn,
                        const struct sw_jobref *job, bool keep_results, struct sw_error *err)
{
    struct sw_batch_job one = { .job = job };

    platform->cleanup(conn, &one, 1, keep_results, SW_NO_DEADLINE);
    return answer_of(&one, err);
}

void sw_batch_fail(struct sw_batch_job *jobs, size_t count, const struct sw_error *why)
{
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].result < 0)
            continue;
        jobs[i].result = -1;
        jobs[i].err = *why;
    }
}
