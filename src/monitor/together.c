/* SPDX-License-Identifier: Apache-2.0 */
/*
 * together.c - what a place is asked for many of its jobs at once: cancels that were never confirmed, and the
 * evidence of failures.
 */
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "diagnose/diagnose.h"
#include "monitor/monitor_internal.h"

void monitor_cancel_again(struct sw_store *store, const struct sw_platform *platform,
                          struct sw_link *link, struct sw_sighting *const *seen, size_t count)
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
    platform->cancel(link, jobs, ours);
    for (size_t i = 0; i < ours; i++)
        if (jobs[i].result == 1)
            monitor_say(seen[which[i]], SW_CANCELED, "canceled", "canceled before it started");
}

/* The sighting is what the store will say; evidence only adds to it. */
void monitor_verdicts(const struct sw_platform *platform, struct sw_link *link, const json_t *rules,
                      struct sw_sighting *const *failed, json_t **verdicts, size_t count)
{
    sw_autofree struct sw_evidence *all = count ? sw_alloc(count * sizeof *all) : NULL;

    for (size_t i = 0; i < count; i++)
        all[i] = sw_evidence_of(failed[i]);
    if (platform->evidence && count > 0)
        platform->evidence(link, (const struct sw_sighting *const *)failed, all, count);
    for (size_t i = 0; i < count; i++) {
        sw_auto(json) json_t *together =
            sw_diagnose_rules(json_object_get(failed[i]->job.plan, "rules"), rules);

        verdicts[i] = sw_diagnose_with(&all[i], together);
        if (!failed[i]->runner)
            failed[i]->runner = json_incref(json_object_get(all[i].facts, "runner"));
        sw_evidence_done(&all[i]);
    }
}
