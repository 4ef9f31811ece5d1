/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh.c - which jobs are to be observed, gathered into one group per place.
 *
 * Only names are gathered here; reconcile.c reads the rows.
 */
#include "monitor/refresh.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "monitor/monitor_internal.h"

struct poll_groups {
    struct poll_group *groups;
    size_t count;
    bool progress, act;
};

static void poll_groups_auto(struct poll_groups *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->groups[i].ids);
        free(all->groups[i].profile);
    }
    free(all->groups);
}

static struct poll_group *group_for(struct poll_groups *all, const struct sw_platform *platform,
                                    const char *profile, int64_t place)
{
    struct poll_group *group;

    for (size_t i = 0; i < all->count; i++)
        if (all->groups[i].platform == platform && all->groups[i].place == place &&
            (place || sw_text_same(all->groups[i].profile, profile)))
            return &all->groups[i];
    all->groups = sw_realloc_array(all->groups, all->count + 1, sizeof *all->groups);
    group = &all->groups[all->count++];
    *group = (struct poll_group){ .platform = platform, .profile = sw_strdup(profile),
                                  .place = place, .progress = all->progress, .act = all->act };
    return group;
}

static int add_job(void *context, const struct sw_job *job)
{
    const struct sw_platform *platform = sw_platform_find(job->platform);
    struct poll_group *group;

    if (!platform || job->phase == SW_PHASE_OVER)    /* another version's platform: left alone */
        return 0;
    group = group_for(context, platform, job->profile, job->place);
    if ((group->count & (group->count - 1)) == 0)       /* grow at powers of two */
        group->ids = sw_realloc_array(group->ids, group->count ? group->count * 2 : 1,
                                      sizeof *group->ids);
    memcpy(group->ids[group->count++], job->id, SW_ID_SIZE);
    return 0;
}

static int add_named(struct sw_store *store, const char *id, struct poll_groups *all,
                     struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job job = { 0 };
    struct sw_error why = { 0 };

    if (sw_store_get(store, id, SW_COLUMNS_LIST, &job, &why) == 0)
        return add_job(all, &job);
    if (why.code == SW_E_NOT_FOUND)       /* removed meanwhile, or never ours: not our problem */
        return 0;
    return sw_pass(err, &why);
}

/* Another host's watcher asked the place just now: we send the attempts that were left here. */
static int leave_to_other(const struct sw_monitor *monitor, struct poll_groups *all, size_t index,
                          struct sw_error *err)
{
    struct poll_groups own = { .progress = all->progress, .act = all->act };
    struct poll_group *group = &all->groups[index];
    int result;

    group->count = 0;
    result = sw_store_own_attempts(monitor->store, group->place, monitor->host, add_job, &own, err);
    if (own.count > 0) {
        free(group->ids);
        group->ids = sw_take(own.groups[0].ids);
        group->count = own.groups[0].count;
    }
    poll_groups_auto(&own);
    return result;
}

static int ask_places(const struct sw_monitor *monitor, struct poll_groups *all, int64_t every_ms,
                      struct sw_error *err)
{
    for (size_t i = 0; i < all->count; i++) {
        int64_t place = all->groups[i].place;
        int ours = place ? sw_store_place_ask(monitor->store, place, monitor->host, every_ms, err) : 1;

        if (ours < 0 || (!ours && leave_to_other(monitor, all, i, err) < 0))
            return -1;
        all->groups[i].asked = ours && place;
    }
    return 0;
}

int sw_refresh(const struct sw_monitor *monitor, const char *const *ids, size_t count,
               const struct sw_refresh_options *options, json_t *unreachable,
               struct sw_error *err)
{
    const struct sw_job_filter active = { .active_only = true, .columns = SW_COLUMNS_NAMES };
    __attribute__((cleanup(poll_groups_auto))) struct poll_groups all = {
        .progress = options->progress, .act = options->act,
    };

    if (count == 0 && sw_store_list(monitor->store, &active, add_job, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (add_named(monitor->store, ids[i], &all, err) < 0)
            return -1;
    if (options->unless_asked_ms && ask_places(monitor, &all, options->unless_asked_ms, err) < 0)
        return -1;
    return monitor_poll_all(monitor, all.groups, all.count, options->deadline_ms, unreachable, err);
}
