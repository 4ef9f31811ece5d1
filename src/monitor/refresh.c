/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh.c - one batched look at the platforms, and what the answers mean for the store.
 *
 * Three answers need thought:
 *   - "no such job" once may be a lie (a cache, a restarting server). The first time only the
 *     reason becomes "missing"; if it is still so some seconds later, the job is lost.
 *   - A row still "submitting" whose submitter is alive is left alone. If the submitter is dead,
 *     one refresher claims the row and asks the platform: found -> adopted, absent -> nothing was
 *     started, and the row says so.
 *   - A cancel that was asked for but never confirmed (the client died) is carried out again.
 */
#include "monitor/refresh.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "diagnose/diagnose.h"

enum {
    MISSING_IS_LOST_MS = 5000,         /* how long "no such job" must last to be believed */
    CANCEL_AGAIN_MS = 30000,           /* how old an unconfirmed cancel must be to be repeated */
    FOREIGN_SUBMIT_MS = 5 * 60 * 1000, /* a submitter we cannot see (other machine, reboot) */
};

struct batch {                   /* the jobs of one platform and profile */
    const struct sw_platform *platform;
    char *profile;
    struct sw_job *jobs;
    size_t count;
};

struct batches {
    struct batch *items;
    size_t count;
};

static void batches_done(struct batches *all)
{
    for (size_t i = 0; i < all->count; i++) {
        for (size_t j = 0; j < all->items[i].count; j++)
            sw_job_done(&all->items[i].jobs[j]);
        free(all->items[i].jobs);
        free(all->items[i].profile);
    }
    free(all->items);
}

static void batches_auto(struct batches *all)
{
    batches_done(all);
}

/* Takes over what `job` owns. */
static void batches_add(struct batches *all, struct sw_job *job)
{
    const struct sw_platform *platform = sw_platform_find(job->platform);
    struct batch *batch = NULL;

    if (!platform || job->phase == SW_PHASE_OVER) {  /* another version's platform: leave it be */
        sw_job_done(job);
        return;
    }
    for (size_t i = 0; i < all->count && !batch; i++)
        if (all->items[i].platform == platform &&
            sw_text_same(all->items[i].profile, job->profile))
            batch = &all->items[i];
    if (!batch) {
        all->items = sw_realloc_array(all->items, all->count + 1, sizeof *all->items);
        batch = &all->items[all->count++];
        *batch = (struct batch){ .platform = platform, .profile = sw_strdup(job->profile) };
    }
    if ((batch->count & (batch->count - 1)) == 0)    /* grow at powers of two */
        batch->jobs = sw_realloc_array(batch->jobs, batch->count ? batch->count * 2 : 1,
                                       sizeof *batch->jobs);
    batch->jobs[batch->count++] = *job;
}

struct ids {
    char (*items)[SW_ID_SIZE];
    size_t count;
};

static int remember_id(void *context, const struct sw_job *job)
{
    struct ids *ids = context;

    if (!sw_platform_find(job->platform))      /* another version's platform: leave it be */
        return 0;
    if ((ids->count & (ids->count - 1)) == 0)
        ids->items = sw_realloc_array(ids->items, ids->count ? ids->count * 2 : 1,
                                      sizeof *ids->items);
    memcpy(ids->items[ids->count++], job->id, SW_ID_SIZE);
    return 0;
}

static int gather_one(struct sw_store *store, const char *id, struct batches *all,
                      struct sw_error *err)
{
    struct sw_job job = { 0 };
    struct sw_error why = { 0 };

    if (sw_store_get(store, id, SW_COLUMNS_ALL, &job, &why) == 0) {
        batches_add(all, &job);
        return 0;
    }
    if (why.code == SW_E_NOT_FOUND)       /* removed meanwhile, or never ours: not our problem */
        return 0;
    if (err)
        *err = why;
    return -1;
}

static int gather(struct sw_store *store, const char *const *ids, size_t count,
                  struct batches *all, struct sw_error *err)
{
    const struct sw_job_filter active = { .active_only = true };
    struct ids found = { 0 };
    int result = 0;

    if (count == 0 && sw_store_list(store, &active, remember_id, &found, err) < 0) {
        free(found.items);
        return -1;
    }
    for (size_t i = 0; i < count && result == 0; i++)
        result = gather_one(store, ids[i], all, err);
    for (size_t i = 0; i < found.count && result == 0; i++)
        result = gather_one(store, found.items[i], all, err);
    free(found.items);
    return result;
}

static struct sw_jobref ref_of(const struct sw_job *job)
{
    return (struct sw_jobref){ .id = job->id, .remote_id = job->remote_id,
                               .attempt = job->attempt, .details = job->details,
                               .plan = job->plan };
}

static bool submitter_may_live(const struct sw_job *job)
{
    struct sw_proc owner;

    if (!job->owner || sw_proc_from_json(job->owner, &owner) < 0)
        return false;
    if (sw_proc_same_boot(&owner))
        return sw_proc_alive(&owner);
    return sw_now_ms() - job->created_ms < FOREIGN_SUBMIT_MS;
}

/* Does this row belong to us to look at? A submitting one only after its submitter died. */
static bool ours_to_look_at(struct sw_store *store, const struct sw_job *job)
{
    sw_auto(json) json_t *me = NULL;
    struct sw_proc self;
    bool won = false;

    if (job->phase != SW_PHASE_SUBMITTING)
        return true;
    if (submitter_may_live(job) || sw_proc_self(&self) < 0)
        return false;
    me = sw_proc_json(&self);
    return sw_store_claim(store, job->id, job->owner, me, &won, NULL) == 0 && won;
}

static void say(struct sw_sighting *seen, enum sw_state state, const char *reason,
                const char *message)
{
    seen->presence = SW_PRESENT;
    seen->state = state;
    seen->exit_code = SW_NO_EXIT_CODE;
    seen->failed_replica = -1;
    snprintf(seen->reason, sizeof seen->reason, "%s", reason);
    snprintf(seen->message, sizeof seen->message, "%s", message);
}

/* The platform has no such job: what that means depends on how far we were. */
static void judge_absence(const struct sw_job *job, struct sw_sighting *seen, int64_t now)
{
    if (job->phase == SW_PHASE_SUBMITTING && job->canceling)
        say(seen, SW_CANCELED, "canceled", "canceled before anything was started");
    else if (job->phase == SW_PHASE_SUBMITTING)
        say(seen, SW_ERROR, "not-started",
            "the submit was interrupted before anything was started");
    else if (!sw_text_same(job->reason, "missing"))
        say(seen, job->state, "missing", "the platform says there is no such job; looking again");
    else if (now - job->updated_ms >= MISSING_IS_LOST_MS)
        say(seen, SW_ERROR, "lost", "the platform no longer knows this job");
    else
        seen->presence = SW_UNSEEN;
    seen->ended_ms = sw_state_is_final(seen->state) ? now : 0;
}

/* A claimed row whose job exists after all: remember what submit could not. */
static int take_over(struct sw_store *store, const struct sw_platform *platform,
                     struct sw_link *link, const struct sw_job *job, struct sw_error *err)
{
    struct sw_receipt receipt = { 0 };
    json_t *plan = NULL;
    int result;

    if (platform->adopt && platform->adopt(link, job->id, &plan, &receipt, NULL) < 0)
        receipt = (struct sw_receipt){ 0 };
    result = sw_store_submitted(store, job->id, receipt.remote_id, receipt.details,
                                receipt.results_dir ? receipt.results_dir : job->results_dir, err);
    json_decref(plan);
    json_decref(receipt.details);
    free(receipt.results_dir);
    return result;
}

static json_t *verdict_of(const struct sw_platform *platform, struct sw_link *link,
                          const struct sw_sighting *seen)
{
    struct sw_evidence evidence = { 0 };
    json_t *verdict;

    if (seen->state != SW_ERROR)
        return NULL;
    if (!platform->evidence || platform->evidence(link, &seen->job, &evidence, NULL) < 0) {
        sw_evidence_done(&evidence);
        evidence = (struct sw_evidence){ 0 };
    }
    /* The sighting is what the store will say; evidence may only add to it. */
    evidence.state = seen->state;
    memcpy(evidence.reason, seen->reason, sizeof evidence.reason);
    memcpy(evidence.message, seen->message, sizeof evidence.message);
    evidence.exit_code = seen->exit_code;
    evidence.signal = seen->signal;
    evidence.failed_replica = seen->failed_replica;
    verdict = sw_diagnose(&evidence);
    sw_evidence_done(&evidence);
    return verdict;
}

static void cancel_again(const struct sw_platform *platform, struct sw_link *link,
                         const struct sw_job *job, const struct sw_sighting *seen, int64_t now)
{
    if (job->canceling && seen->presence == SW_PRESENT && !sw_state_is_final(seen->state) &&
        now - job->updated_ms >= CANCEL_AGAIN_MS)
        platform->cancel(link, &seen->job, NULL);
}

static int apply(struct sw_store *store, struct batch *batch, struct sw_link *link,
                 struct sw_sighting *seen, const size_t *rows, size_t count, struct sw_error *err)
{
    int64_t now = sw_now_ms();
    json_t **verdicts = sw_alloc(count * sizeof *verdicts);
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++) {
        const struct sw_job *job = &batch->jobs[rows[i]];

        if (seen[i].presence == SW_ABSENT)
            judge_absence(job, &seen[i], now);
        else if (seen[i].presence == SW_PRESENT && job->phase == SW_PHASE_SUBMITTING)
            result = take_over(store, batch->platform, link, job, err);
        cancel_again(batch->platform, link, job, &seen[i], now);
        verdicts[i] = verdict_of(batch->platform, link, &seen[i]);
    }
    if (result == 0)
        result = sw_store_saw_many(store, seen, count, verdicts, now, NULL, err);
    for (size_t i = 0; i < count; i++)
        json_decref(verdicts[i]);
    free(verdicts);
    return result;
}

/* We claimed these rows to find out, and did not: let the next one try. */
static void release_claims(struct sw_store *store, const struct batch *batch,
                           const struct sw_sighting *seen, const size_t *rows, size_t count)
{
    struct sw_proc self;
    sw_auto(json) json_t *me = sw_proc_self(&self) == 0 ? sw_proc_json(&self) : NULL;

    for (size_t i = 0; me && i < count; i++) {
        const struct sw_job *job = &batch->jobs[rows[i]];
        bool won;

        if (job->phase == SW_PHASE_SUBMITTING && seen[i].presence == SW_UNSEEN)
            sw_store_claim(store, job->id, me, NULL, &won, NULL);
    }
}

static void note_unreachable(json_t *unreachable, const char *platform, const struct sw_error *why)
{
    if (unreachable)
        json_array_append_new(unreachable, sw_json_object(SW_STR("platform", platform),
                                                          SW_STR("message", why->message)));
}

static int refresh_batch(const struct sw_harbour *harbour, struct batch *batch,
                         json_t *unreachable, struct sw_error *err)
{
    struct sw_error why = { 0 };
    struct sw_link *link = harbour->link(harbour->context, batch->platform, batch->profile, &why);
    sw_autofree struct sw_sighting *seen = NULL;
    sw_autofree size_t *rows = NULL;
    size_t count = 0;

    if (!link) {
        note_unreachable(unreachable, batch->platform->name, &why);
        return 0;
    }
    seen = sw_alloc(batch->count * sizeof *seen);
    rows = sw_alloc(batch->count * sizeof *rows);
    for (size_t i = 0; i < batch->count; i++) {
        if (!ours_to_look_at(harbour->store, &batch->jobs[i]))
            continue;
        seen[count] = (struct sw_sighting){ .job = ref_of(&batch->jobs[i]),
                                            .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1 };
        rows[count++] = i;
    }
    if (count == 0)
        return 0;
    if (batch->platform->poll(link, seen, count, &why) < 0) {
        note_unreachable(unreachable, batch->platform->name, &why);
        for (size_t i = 0; i < count; i++)
            seen[i].presence = SW_UNSEEN;
        release_claims(harbour->store, batch, seen, rows, count);
        return 0;
    }
    release_claims(harbour->store, batch, seen, rows, count);
    return apply(harbour->store, batch, link, seen, rows, count, err);
}

int sw_refresh(const struct sw_harbour *harbour, const char *const *ids, size_t count,
               json_t *unreachable, struct sw_error *err)
{
    __attribute__((cleanup(batches_auto))) struct batches all = { 0 };

    if (gather(harbour->store, ids, count, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < all.count; i++)
        if (refresh_batch(harbour, &all.items[i], unreachable, err) < 0)
            return -1;
    return 0;
}
