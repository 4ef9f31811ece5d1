/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh.c - which jobs are to be looked at, gathered into one question per platform.
 *
 * Only names are gathered here. The rows themselves, with their plans, are read a thousand at a time
 * by whoever asks (look.c), so ten thousand watched jobs need no more memory than one thousand.
 */
#include "monitor/refresh.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "monitor/monitor_internal.h"

struct gathering {
    struct question *questions;
    size_t count;
    bool progress;
};

static void gathering_auto(struct gathering *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->questions[i].ids);
        free(all->questions[i].profile);
    }
    free(all->questions);
}

static struct question *question_for(struct gathering *all, const struct sw_platform *platform,
                                     const char *profile, int64_t place)
{
    struct question *question;

    for (size_t i = 0; i < all->count; i++)
        if (all->questions[i].platform == platform && all->questions[i].place == place &&
            (place || sw_text_same(all->questions[i].profile, profile)))
            return &all->questions[i];
    all->questions = sw_realloc_array(all->questions, all->count + 1, sizeof *all->questions);
    question = &all->questions[all->count++];
    *question = (struct question){ .platform = platform, .profile = sw_strdup(profile),
                                   .place = place, .progress = all->progress };
    return question;
}

static int add_job(void *context, const struct sw_job *job)
{
    const struct sw_platform *platform = sw_platform_find(job->platform);
    struct question *question;

    if (!platform || job->phase == SW_PHASE_OVER)    /* another version's platform: leave it be */
        return 0;
    question = question_for(context, platform, job->profile, job->place);
    if ((question->count & (question->count - 1)) == 0)       /* grow at powers of two */
        question->ids = sw_realloc_array(question->ids, question->count ? question->count * 2 : 1,
                                         sizeof *question->ids);
    memcpy(question->ids[question->count++], job->id, SW_ID_SIZE);
    return 0;
}

static int add_named(struct sw_store *store, const char *id, struct gathering *all,
                     struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job job = { 0 };
    struct sw_error why = { 0 };

    if (sw_store_get(store, id, SW_COLUMNS_LIST, &job, &why) == 0)
        return add_job(all, &job);
    if (why.code == SW_E_NOT_FOUND)       /* removed meanwhile, or never ours: not our problem */
        return 0;
    if (err)
        *err = why;
    return -1;
}

int sw_refresh(const struct sw_monitor *monitor, const char *const *ids, size_t count,
               const struct sw_refresh_options *options, json_t *unreachable,
               struct sw_error *err)
{
    const struct sw_job_filter active = { .active_only = true, .columns = SW_COLUMNS_NAMES };
    __attribute__((cleanup(gathering_auto))) struct gathering all = {
        .progress = options->progress,
    };

    if (count == 0 && sw_store_list(monitor->store, &active, add_job, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (add_named(monitor->store, ids[i], &all, err) < 0)
            return -1;
    return monitor_ask_all(monitor, all.questions, all.count, options->deadline_ms, unreachable,
                           err);
}
