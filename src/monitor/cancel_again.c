/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel_again.c - cancels that were never confirmed are asked for once more, all of a place in one call.
 */
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/reason.h"
#include "monitor/monitor_internal.h"

void monitor_cancel_again(struct sw_store *store, const struct sw_platform *platform,
                          struct sw_connection *conn, struct sw_observation *const *seen, size_t count)
{
    sw_autofree struct sw_batch_job *jobs = count ? sw_alloc(count * sizeof *jobs) : NULL;
    sw_autofree size_t *which = count ? sw_alloc(count * sizeof *which) : NULL;
    sw_autofd int owners = count ? sw_owner_open(store) : -1;
    size_t ours = 0;

    for (size_t i = 0; i < count; i++) {
        sw_autofree char *lock = sw_format(SW_OWNER_CANCEL "%s", seen[i]->job.id);

        if (!sw_owner_take(owners, lock))
            continue;
        jobs[ours].job = &seen[i]->job;
        which[ours++] = i;
    }
    if (ours == 0)
        return;
    platform->cancel(conn, jobs, ours, SW_NO_DEADLINE);
    for (size_t i = 0; i < ours; i++)
        if (jobs[i].result == 1)
            monitor_say(seen[which[i]], SW_CANCELED, SW_REASON_CANCELED, "canceled before it started");
}
